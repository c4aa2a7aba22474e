"""Writes files of arrays and tables by NumPy and pyarrow, and tells what they read of ours. Run as a program: the name of a function, then its arguments."""
import decimal
import json
import sys

# Modules beside this program have names of the standard library, which pandas needs.
sys.path.pop(0)

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def write_tensors(path):
    array = np.arange(24, dtype="int16").reshape(4, 3, 2)
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(array)
    nullable = pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.float32(), [2]), pa.array([[1, 2], None, [3, 4]] + [None], pa.list_(pa.float32(), 2))
    )
    turned = pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.int16(), [3, 2], permutation=[1, 0]), pa.FixedSizeListArray.from_arrays(pa.array(array.ravel()), 6)
    )
    table = pa.table({"t": tensors, "n": nullable, "turned": turned})
    pq.write_table(table, path + "/tensors.parquet")
    with pa.OSFile(path + "/tensors.arrow", "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def read_tensors(path):
    table = pq.read_table(path)
    fixed = table.column("fixed").combine_chunks()
    shown = {
        "type": str(fixed.type),
        "shape": fixed.type.shape,
        "nulls": fixed.null_count,
        "values": [None if one is None else one for one in fixed.storage.to_pylist()],
        "ndarray": list(table.column("whole").combine_chunks().to_numpy_ndarray().shape),
        "variable": [None if one is None else [one["data"], one["shape"]] for one in storage(table.column("variable")).to_pylist()],
    }
    print(json.dumps(shown))


def write_arrays(path):
    expected = {}
    for code in ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]:
        for order in "<>":
            for layout in "CF":
                array = np.asarray(np.arange(12).reshape(3, 2, 2) % 5, dtype=np.dtype(code).newbyteorder(order), order=layout)
                np.save(f"{path}/{code}{'lb'[order == '>']}{layout}.npy", array)
                expected[f"{code}{'lb'[order == '>']}{layout}"] = array.astype(float).ravel().tolist()
    for version in [(1, 0), (2, 0), (3, 0)]:
        with open(f"{path}/version{version[0]}.npy", "wb") as file:
            np.lib.format.write_array(file, np.arange(3.0), version=version)
    np.savez(f"{path}/stored.npz", ids=np.arange(3), names=np.ones((3, 2), "f4"))
    np.savez_compressed(f"{path}/deflated.npz", ids=np.arange(3), names=np.ones((3, 2), "f4"))
    np.save(f"{path}/times.npy", np.array(["2026-01-02T03:04:05.678", "NaT"], "M8[ms]"))
    np.save(f"{path}/objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    print(json.dumps(expected))


def read_arrays(*paths):
    arrays = [np.load(path) for path in sorted(paths)]
    array = np.concatenate(arrays)
    print(json.dumps({"dtype": str(array.dtype), "shape": array.shape, "values": array.ravel().tolist()}))


def write_decimals(path):
    columns = {
        "a": pa.array(decimals("1.23", None, "-99999.99"), pa.decimal128(7, 2)),
        "w": pa.array(decimals("12345678901234567890123456789.123", None, "-0.001"), pa.decimal128(38, 3)),
        "x": pa.array(decimals("1" + "0" * 60, None, "-1"), pa.decimal256(70, 0)),
    }
    pq.write_table(pa.table(columns), path + "/decimals.parquet")
    pq.write_table(pa.table(columns), path + "/integers.parquet", store_decimal_as_integer=True)
    narrow = {"d": pa.array(decimals("1.5", None, "-2.5"), pa.decimal32(3, 1)), "e": pa.array(decimals("-1.50", "0.01", None), pa.decimal64(12, 2))}
    table = pa.table(narrow)
    with pa.OSFile(path + "/narrow.arrow", "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def write_prices(path):
    cents = [None if i % 7 == 3 else decimal.Decimal(i - 300) * decimal.Decimal("1.01") for i in range(600)]
    table = pa.table({"id": range(600), "p": pa.array(cents, pa.decimal128(9, 2)), "w": pa.array(cents, pa.decimal128(38, 2))})
    pq.write_table(table, path + "/prices.parquet", row_group_size=100)
    pq.write_table(table, path + "/price-integers.parquet", row_group_size=100, store_decimal_as_integer=True)


def write_wide(path):
    big = 2**60

    def table(lists, structs, maps):
        return pa.table(
            {
                "l": pa.array(lists, pa.list_(pa.int64())),
                "s": pa.array(structs, pa.struct([("x", pa.int64()), ("t", pa.string())])),
                "m": pa.array(maps, pa.map_(pa.string(), pa.int64())),
                "x": pa.array(range(1, len(lists) + 1), pa.int64()),
            }
        )

    wide = table([[1, big], [3]], [{"x": -big, "t": "a"}, None], [[("k", big)], []])
    pq.write_table(wide, path + "/with.parquet")
    pq.write_table(wide, path + "/without.parquet", write_statistics=False)
    pq.write_table(table([[7]], [None], [[]]), path + "/narrow.parquet")
    names = {"x": pa.array([big], pa.int64()), "s": pa.array([{"x": 2}], pa.struct([("x", pa.int64())]))}
    pq.write_table(pa.table(names), path + "/names.parquet")


def read_wide(path):
    # JSON's numbers are doubles for its reader.
    print(json.dumps([[str(one) for one in row] for row in pq.read_table(path).column("l").to_pylist()]))


TIMES = {
    "t_s": ("time32[s]", [0, 86_399, None]),
    "t_ms": ("time32[ms]", [1, 86_399_999, None]),
    "t_us": ("time64[us]", [1, 86_399_999_999, None]),
    "t_ns": ("time64[ns]", [1, 86_399_999_999_999, None]),
    "d_s": ("duration[s]", [-1, 2**40, None]),
    "d_ms": ("duration[ms]", [-1, 2**40, None]),
    "d_us": ("duration[us]", [-1, 2**62, None]),
    "d_ns": ("duration[ns]", [-1, 2**62, None]),
}


def time_type(name):
    kind, unit = name.rstrip("]").split("[")
    return getattr(pa, kind)(unit)


def write_times(path):
    columns = {name: pa.array(values, time_type(type_)) for name, (type_, values) in TIMES.items()}
    columns["l"] = pa.array([[1, None], [], None], pa.list_(pa.duration("ms")))
    columns["s"] = pa.array([{"t": 5}, {"t": None}, None], pa.struct([("t", pa.time32("ms"))]))
    table = pa.table(columns)
    pq.write_table(table, path + "/times.parquet", row_group_size=2)
    with pa.OSFile(path + "/times.arrow", "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def read_times(path):
    table = pq.read_table(path)
    counts = {name: table.column(name).combine_chunks() for name in table.column_names}
    width = lambda type_: pa.int32() if pa.types.is_time32(type_) else pa.int64()
    print(json.dumps({name: [str(one.type), [None if n is None else str(n) for n in one.cast(width(one.type)).to_pylist()]] for name, one in counts.items() if name in TIMES}))


CATEGORIES = ["b", None, "a", "é", "b", None, "a"]


def write_categories(path):
    """Files of the same rows: of pandas, of pyarrow in row groups and batches with dictionaries of their own, and with plain texts."""
    import pandas

    frame = pandas.DataFrame({"id": range(7), "c": pandas.Categorical(CATEGORIES, categories=["unused", "é", "b", "a"])})
    frame.to_parquet(path + "/pandas.parquet")
    parts = [pa.array(CATEGORIES[start : start + 3]).dictionary_encode() for start in range(0, 7, 3)]
    table = pa.table({"id": list(range(7)), "c": pa.chunked_array(parts)})
    pq.write_table(table, path + "/pyarrow.parquet", row_group_size=2)
    pq.write_table(pa.table({"id": list(range(7)), "c": CATEGORIES}), path + "/plain.parquet")
    growing = pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.int16()), ["a", "b"]), pa.DictionaryArray.from_arrays(pa.array([2, 1, None, 0], pa.int16()), ["a", "b", "é"])])
    for name, column, deltas in (("replaced", table.column("c"), False), ("deltas", growing, True)):
        own = pa.table({"id": list(range(7)), "c": column})
        with pa.OSFile("%s/%s.arrow" % (path, name), "wb") as sink:
            with pa.ipc.new_stream(sink, own.schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=deltas)) as writer:
                writer.write_table(own)


def read_categories(path):
    column = pq.read_table(path, columns=["c"]).column("c")
    frame = pq.read_table(path).to_pandas()
    print(json.dumps({"type": str(column.type.value_type), "values": column.to_pylist(), "dtype": str(frame["c"].dtype), "categories": sorted(frame["c"].cat.categories)}))


def decimals(*texts):
    return [None if text is None else decimal.Decimal(text) for text in texts]


def read_decimals(path):
    table = pq.read_table(path)
    print(json.dumps({name: [str(table.schema.field(name).type), [None if one is None else str(one) for one in table.column(name).to_pylist()]] for name in table.column_names}))


def storage(column):
    array = column.combine_chunks()
    return array.storage if isinstance(array, pa.ExtensionArray) else array


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
