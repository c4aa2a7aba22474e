"""NumPy arrays and Arrow tables that the tests send and receive."""

import sys

import numpy
import shoal


def facts(array):
    return [type(array).__name__, str(array.dtype), list(array.shape), bool(array.flags.writeable), float(array.sum())]


def mapped_bytes():
    return shoal.object_store_statistics()["mapped_bytes"]


def mapped_by(array):
    """What a sum needs of it, and what had been mapped for that."""
    return [float(array.sum()), array.nbytes, shoal.object_store_statistics()["mapped_bytes"]]


def ones(count):
    return numpy.ones(count)


def of_types():
    return {
        "matrix": numpy.arange(6, dtype="int32").reshape(2, 3),
        "turned": numpy.arange(6, dtype="float32").reshape(2, 3).T,
        "flags": numpy.array([True, False]),
        "strided": numpy.arange(10)[::2],
        "scalar": numpy.float32(1.5),
        "number": numpy.int64(7),
        "big_endian": numpy.array([1, 2], dtype=">i2"),
    }


def echo(value):
    return value


def words():
    return [numpy.array(["a"])]


def table():
    import pyarrow

    return pyarrow.table({"n": list(range(100000)), "t": ["x"] * 100000})


def table_facts(value):
    return [type(value).__name__, value.num_rows, value.column_names, value["n"][7].as_py()]


def is_numpy_loaded():
    return "numpy" in sys.modules


kept = []


def keep(array):
    kept.append(array)


def drop():
    kept.clear()
