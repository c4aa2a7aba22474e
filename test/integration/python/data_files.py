"""Writes files of arrays and tables by NumPy and pyarrow, and tells what they read of ours. Run as a program: the name of a function, then its arguments."""
import json
import sys

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


def storage(column):
    array = column.combine_chunks()
    return array.storage if isinstance(array, pa.ExtensionArray) else array


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
