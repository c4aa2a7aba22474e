"""Blocks of ``shoal/data`` as Arrow tables, and what users have of tables: NumPy arrays, frames of pandas.

A block is what TypeScript has in the object store: columns in Arrow's layout, as NumPy arrays over shared memory. They become Arrow arrays over the same memory, and a table becomes a block
over its own. Only strings, lists and columns with nulls are copied for NumPy, which has no such arrays. Whole numbers with nulls become floats there, as in Ray, but never those that a float
would round.
"""

import importlib

from .errors import DataError

_SAFE_INTEGER = 2**53 - 1
_FORMATS = "a dict of arrays, a pyarrow Table or RecordBatch, a pandas DataFrame, or a generator of them"


def library(name, needed_by):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        import sys

        raise ImportError("%s needs %s, which this Python lacks: %s -m pip install %s" % (needed_by, name, sys.executable, name)) from error


def concatenated(pyarrow, tables):
    if len(tables) < 2:
        return tables[0] if tables else None
    return pyarrow.concat_tables(_of_one_kind(pyarrow, tables), promote_options="permissive")


def _of_one_kind(pyarrow, tables):
    """Columns that have a dictionary in some tables and none in others have none in all; where all have one, its indices are wide enough for all values."""
    is_dictionary = pyarrow.types.is_dictionary
    encoded = {field.name for table in tables for field in table.schema if is_dictionary(field.type)}
    for name in encoded:
        types = [table.schema.field(name).type for table in tables if name in table.column_names]
        is_plain = any(not is_dictionary(type_) and not pyarrow.types.is_null(type_) for type_ in types)
        change = _decoded if is_plain else _with_wide_indices
        tables = [_with_column(table, name, change(pyarrow, table.column(name))) if name in table.column_names else table for table in tables]
    return tables


def _with_column(table, name, column):
    return table.set_column(table.column_names.index(name), name, column)


def _decoded(pyarrow, column):
    """The values of a column with a dictionary; other columns as they are."""
    if not pyarrow.types.is_dictionary(column.type):
        return column
    if not isinstance(column, pyarrow.ChunkedArray):
        return column.dictionary_decode()
    return pyarrow.chunked_array([chunk.dictionary_decode() for chunk in column.chunks], column.type.value_type)


def _with_distinct_words(pyarrow, table):
    """Columns whose dictionary has a value twice, which no categories of pandas may, get one without."""
    for name, column in zip(table.column_names, table.columns):
        if pyarrow.types.is_dictionary(column.type) and any(len(chunk.dictionary.unique()) < len(chunk.dictionary) for chunk in column.chunks):
            table = _with_column(table, name, _decoded(pyarrow, column).dictionary_encode())
    return table


def _with_wide_indices(pyarrow, column):
    """Columns whose parts have dictionaries of their own, which pyarrow only joins where the indices are wide enough for the values of all."""
    if not pyarrow.types.is_dictionary(column.type) or column.num_chunks == 0:
        return column
    wide = [pyarrow.DictionaryArray.from_arrays(chunk.indices.cast(pyarrow.int32()), chunk.dictionary, ordered=column.type.ordered) for chunk in column.chunks]
    return pyarrow.chunked_array(wide)


# ---- from blocks


def table_of_block(pyarrow, block):
    arrays = [_array_of(pyarrow, vector) for vector in block["vectors"]]
    if not arrays:
        return pyarrow.table({"": pyarrow.nulls(block["rowCount"])}).drop_columns([""])
    return pyarrow.table(arrays, names=list(block["names"]))


def _array_of(pyarrow, vector):
    type_ = vector["type"]
    kind = type_["kind"]
    length = vector["length"]
    nulls = vector["nullCount"]
    if kind == "null":
        return pyarrow.nulls(length)
    if kind == "bool":
        # Bits of values begin where those of nulls do.
        buffers = [_buffer(pyarrow, vector.get("validity")) if nulls else None, _buffer(pyarrow, vector["values"])]
        return pyarrow.Array.from_buffers(pyarrow.bool_(), length, buffers, nulls, vector["bitOffset"])
    validity = _bits(pyarrow, vector)
    if kind == "dictionary":
        codes = vector["values"]
        width = {1: pyarrow.int8, 2: pyarrow.int16, 4: pyarrow.int32}[memoryview(codes).itemsize]()
        indices = pyarrow.Array.from_buffers(width, length, [validity, _buffer(pyarrow, codes)], nulls)
        return pyarrow.DictionaryArray.from_arrays(indices, _array_of(pyarrow, vector["children"][0]), safe=False)
    arrow = _arrow_type(pyarrow, type_)
    if kind in ("string", "binary"):
        values = vector.get("values")
        return pyarrow.Array.from_buffers(arrow, length, [validity, _buffer(pyarrow, vector["offsets"]), _buffer(pyarrow, values)], nulls)
    if kind == "list":
        child = _array_of(pyarrow, vector["children"][0])
        return pyarrow.Array.from_buffers(arrow, length, [validity, _buffer(pyarrow, vector["offsets"])], nulls, 0, [child])
    if kind == "struct":
        return pyarrow.Array.from_buffers(arrow, length, [validity], nulls, 0, [_array_of(pyarrow, child) for child in vector["children"]])
    values = _buffer(pyarrow, vector["values"])
    if kind != "tensor":
        return pyarrow.Array.from_buffers(arrow, length, [validity, values], nulls)
    storage = arrow.storage_type
    elements = pyarrow.Array.from_buffers(storage.value_type, length * storage.list_size, [None, values])
    rows = pyarrow.Array.from_buffers(storage, length, [validity], nulls, 0, [elements])
    return pyarrow.ExtensionArray.from_storage(arrow, rows)


def _buffer(pyarrow, array):
    return pyarrow.py_buffer(b"" if array is None else array)


def _bits(pyarrow, vector):
    """The bitmap of values, from bit 0 on; None where none is null."""
    if not vector["nullCount"]:
        return None
    bits = vector["validity"]
    offset = vector["bitOffset"]
    if offset == 0:
        return _buffer(pyarrow, bits)
    numpy = library("numpy", "a column with nulls")
    every = numpy.unpackbits(numpy.frombuffer(bits, numpy.uint8), bitorder="little")
    return _buffer(pyarrow, numpy.packbits(every[offset : offset + vector["length"]], bitorder="little"))


def _arrow_type(pyarrow, type_):
    kind = type_["kind"]
    if kind == "decimal":
        return (pyarrow.decimal128 if type_["bits"] == 128 else pyarrow.decimal256)(type_["precision"], type_["scale"])
    if kind == "timestamp":
        return pyarrow.timestamp(type_["unit"], type_.get("timeZone"))
    if kind in ("time32", "time64", "duration"):
        return getattr(pyarrow, kind)(type_["unit"])
    if kind == "list":
        return pyarrow.list_(_arrow_type(pyarrow, type_["of"]))
    if kind == "struct":
        return pyarrow.struct([(field["name"], _arrow_type(pyarrow, field["type"])) for field in type_["fields"]])
    if kind == "tensor":
        return pyarrow.fixed_shape_tensor(_arrow_type(pyarrow, type_["of"]), [int(size) for size in type_["shape"]])
    return {"bool": pyarrow.bool_, "date": pyarrow.date32}.get(kind, getattr(pyarrow, kind, None))()


def batch_of(table, options, wide=()):
    """The rows in the form that the options name. ``wide``: the columns that TypeScript reads as bigint."""
    format_ = options["batchFormat"]
    if format_ == "arrow":
        return table
    columns = dict(zip(table.column_names, table.columns))
    if format_ == "pandas":
        library("pandas", options["name"])
        frame = _with_distinct_words(library("pyarrow", options["name"]), table).to_pandas()
        for name, column in columns.items():
            if _is_rounded(column, name in wide):
                frame[name] = _objects_of(column)
        return frame
    return {name: numpy_of(column, name in wide) for name, column in columns.items()}


def numpy_of(column, is_wide=False):
    column = _decoded(library("pyarrow", "a column"), column)
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if hasattr(array, "to_numpy_ndarray") and array.null_count == 0:
        return array.to_numpy_ndarray()
    if _is_rounded(array, is_wide):
        return _objects_of(array)
    try:
        return array.to_numpy(zero_copy_only=True)
    except Exception:
        return array.to_numpy(zero_copy_only=False)


def _is_rounded(array, is_wide):
    """Whether NumPy would have floats for whole numbers that a float does not hold, since there are nulls among them. Of a column of bigints that is said of all, so that each batch is exact."""
    if hasattr(array, "chunks"):
        return any(_is_rounded(chunk, is_wide) for chunk in array.chunks)
    types = library("pyarrow", "a column").types
    if types.is_list(array.type):
        return _is_rounded(array.flatten(), is_wide)
    if types.is_struct(array.type):
        return any(_is_rounded(part, is_wide) for part in array.flatten())
    if array.null_count == 0 or not (types.is_int64(array.type) or types.is_uint64(array.type)):
        return False
    if is_wide:
        return True
    ends = library("pyarrow.compute", "a column with nulls").min_max(array).as_py().values()
    return any(end is not None and abs(end) > _SAFE_INTEGER for end in ends)


def _objects_of(array):
    """Python's own whole numbers, lists and dicts, and None for null."""
    objects = library("numpy", "a column with nulls").empty(len(array), dtype=object)
    for row, value in enumerate(array.to_pylist()):
        objects[row] = value
    return objects


# ---- to blocks


def table_of(pyarrow, result, name):
    if isinstance(result, pyarrow.Table):
        return result
    if isinstance(result, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([result])
    if isinstance(result, dict):
        columns = {key: _column_of(pyarrow, key, value, name) for key, value in result.items()}
        lengths = {key: len(column) for key, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise DataError("%s: the columns of a batch have equally many rows: received %s" % (name, ", ".join("%s: %d" % one for one in lengths.items())))
        return pyarrow.table(list(columns.values()), names=list(columns))
    import sys

    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(result, pandas.DataFrame):
        return pyarrow.Table.from_pandas(result, preserve_index=False)
    raise DataError("%s: the function gives %s: received %s" % (name, _FORMATS, type(result).__name__))


def _column_of(pyarrow, key, value, name):
    if not isinstance(key, str):
        raise DataError("%s: names of columns are texts: received %r" % (name, key))
    if isinstance(value, (pyarrow.Array, pyarrow.ChunkedArray)):
        return value
    numpy = library("numpy", name)
    try:
        if isinstance(value, (list, tuple)):
            return pyarrow.array(value)
        array = numpy.asarray(value)
        if array.ndim == 0:
            raise TypeError("it is a single value: received %s" % type(value).__name__)
        if array.ndim > 1 and array.dtype != object:
            return pyarrow.FixedShapeTensorArray.from_numpy_ndarray(numpy.ascontiguousarray(array))
        return pyarrow.array(array, from_pandas=array.dtype == object)
    except (ArithmeticError, LookupError, TypeError, ValueError, pyarrow.ArrowException) as error:
        raise DataError("%s: column %r is no array of one type: %s" % (name, key, error)) from error


def block_of(pyarrow, table, wide, name):
    vectors = []
    for key, column in zip(table.column_names, table.columns):
        if column.num_chunks > 1:
            column = _with_wide_indices(pyarrow, column)
        array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if isinstance(array, pyarrow.ChunkedArray):
            array = pyarrow.concat_arrays(array.chunks) if array.num_chunks else pyarrow.array([], column.type)
        try:
            vectors.append(_vector_of(pyarrow, array, key in wide, is_column=True))
        except NotImplementedError as error:
            raise DataError("%s: column %r: there is no column of the type %s" % (name, key, error)) from None
    return {"rowCount": table.num_rows, "names": list(table.column_names), "vectors": vectors}


def _vector_of(pyarrow, array, is_wide, is_column=False):
    types = pyarrow.types
    type_ = array.type
    if isinstance(type_, pyarrow.FixedShapeTensorType) and list(type_.permutation or []) in ([], list(range(len(type_.shape)))):
        return _tensor_of(pyarrow, array, is_wide)
    if isinstance(array, pyarrow.ExtensionArray):
        return _vector_of(pyarrow, array.storage, is_wide)
    if types.is_dictionary(type_):
        return _dictionary_of(pyarrow, array, is_wide) if is_column else _vector_of(pyarrow, array.dictionary_decode(), is_wide)
    cast = _cast_of(pyarrow, type_)
    if cast is not None:
        return _vector_of(pyarrow, array.cast(cast), is_wide)
    if array.offset != 0 and not types.is_null(type_):
        # Joined with nothing it is copied, and begins at 0.
        array = pyarrow.concat_arrays([array.slice(0, 0), array])
    if types.is_null(type_):
        return {"type": {"kind": "null"}, "length": len(array), "nullCount": len(array), "bitOffset": 0}
    own = {"length": len(array), "nullCount": array.null_count, "bitOffset": 0}
    buffers = array.buffers()
    if array.null_count > 0:
        own["validity"] = _view(buffers[0], "uint8", (len(array) + 7) // 8)
    if types.is_list(type_):
        child = _vector_of(pyarrow, array.values, is_wide)
        return {**own, "type": {"kind": "list", "of": child["type"], "as": "array"}, "offsets": _view(buffers[1], "int32", len(array) + 1), "children": [child]}
    if types.is_struct(type_):
        children = [_vector_of(pyarrow, array.field(i), is_wide) for i in range(type_.num_fields)]
        fields = [{"name": type_.field(i).name, "type": child["type"]} for i, child in enumerate(children)]
        return {**own, "type": {"kind": "struct", "fields": fields}, "children": children}
    if types.is_string(type_) or types.is_binary(type_):
        offsets = _view(buffers[1], "int32", len(array) + 1)
        kind = "string" if types.is_string(type_) else "binary"
        return {**own, "type": {"kind": kind}, "offsets": offsets, "values": _view(buffers[2], "uint8", int(offsets[-1]))}
    if types.is_boolean(type_):
        return {**own, "type": {"kind": "bool"}, "values": _view(buffers[1], "uint8", (len(array) + 7) // 8)}
    if types.is_decimal(type_):
        bits = type_.bit_width
        values = _view(buffers[1], "uint64", len(array) * bits // 64)
        return {**own, "type": {"kind": "decimal", "precision": type_.precision, "scale": type_.scale, "bits": bits, "as": "text"}, "values": values}
    kind, dtype = _kind_of(pyarrow, type_)
    values = _view(buffers[1], dtype, len(array))
    return {**own, "type": _with_reading(kind, values, is_wide), "values": values}


def _dictionary_of(pyarrow, array, is_wide):
    """A column with its dictionary where this has texts or bytes, without nulls among them; of other dictionaries the values. A slice of few rows leaves behind the values that none of them has."""
    cast = _cast_of(pyarrow, array.dictionary.type)
    if cast is not None:
        # pyarrow takes no rows of some of these, such as views of texts.
        array = pyarrow.DictionaryArray.from_arrays(array.indices, array.dictionary.cast(cast), safe=False)
    words = _vector_of(pyarrow, array.dictionary, is_wide)
    if words["type"]["kind"] not in ("string", "binary"):
        return _vector_of(pyarrow, array.dictionary_decode(), is_wide)
    if array.dictionary.null_count > 0 or len(array.dictionary) > len(array):
        array = array.dictionary_decode().dictionary_encode()
        words = _vector_of(pyarrow, array.dictionary, is_wide)
    indices = array.indices
    if str(indices.type) not in ("int8", "int16", "int32"):
        indices = indices.cast(pyarrow.int32())
    codes = _vector_of(pyarrow, indices, False)
    return {**codes, "type": {"kind": "dictionary", "of": words["type"]}, "children": [words]}


def _tensor_of(pyarrow, array, is_wide):
    storage = array.storage
    if storage.null_count > 0 or storage.offset != 0:
        storage = pyarrow.concat_arrays([storage.slice(0, 0), storage])
    elements = _vector_of(pyarrow, storage.values if storage.null_count == 0 else storage.fill_null(0).values, is_wide)
    own = {"length": len(array), "nullCount": array.null_count, "bitOffset": 0}
    if array.null_count > 0:
        own["validity"] = _view(storage.buffers()[0], "uint8", (len(array) + 7) // 8)
    return {**own, "type": {"kind": "tensor", "of": elements["type"], "shape": [int(size) for size in array.type.shape]}, "values": elements["values"]}


def _cast_of(pyarrow, type_):
    """The type that a block has for values of this one; None where it has this one itself."""
    types = pyarrow.types
    if types.is_float16(type_):
        return pyarrow.float32()
    if types.is_large_string(type_) or types.is_string_view(type_):
        return pyarrow.string()
    if types.is_large_binary(type_) or types.is_fixed_size_binary(type_) or types.is_binary_view(type_):
        return pyarrow.binary()
    if types.is_large_list(type_) or types.is_fixed_size_list(type_):
        return pyarrow.list_(type_.value_type)
    if types.is_date64(type_):
        return pyarrow.date32()
    return None


def _kind_of(pyarrow, type_):
    types = pyarrow.types
    if types.is_timestamp(type_):
        zone = {} if type_.tz is None else {"timeZone": type_.tz}
        return {"kind": "timestamp", "unit": type_.unit, **zone}, "int64"
    if types.is_date32(type_):
        return {"kind": "date"}, "int32"
    if types.is_time32(type_):
        return {"kind": "time32", "unit": type_.unit}, "int32"
    if types.is_time64(type_):
        return {"kind": "time64", "unit": type_.unit}, "int64"
    if types.is_duration(type_):
        return {"kind": "duration", "unit": type_.unit}, "int64"
    if types.is_integer(type_) or types.is_floating(type_):
        name = {"float": "float32", "double": "float64"}.get(str(type_), str(type_))
        return {"kind": name}, name
    raise NotImplementedError(str(type_))


def _with_reading(type_, values, is_wide):
    """Whole numbers of 64 bits are read as numbers, or as bigint where the column was or one of them is beyond 2^53."""
    if type_["kind"] not in ("int64", "uint64"):
        return type_
    beyond = len(values) > 0 and (int(values.max()) > _SAFE_INTEGER or int(values.min()) < -_SAFE_INTEGER)
    return {**type_, "as": "bigint" if is_wide or beyond else "number"}


def _view(buffer, dtype, length):
    numpy = library("numpy", "a column")
    if buffer is None:
        return numpy.zeros(length, dtype)
    return numpy.frombuffer(buffer, dtype, length)


def facts_of(block):
    schema = [{"name": name, "type": vector["type"]} for name, vector in zip(block["names"], block["vectors"])]
    return {"rowCount": block["rowCount"], "sizeBytes": sum(map(_bytes_of, block["vectors"])), "schema": schema}


def _bytes_of(vector):
    own = sum(vector[part].nbytes for part in ("validity", "values", "offsets") if part in vector)
    return own + sum(map(_bytes_of, vector.get("children", ())))
