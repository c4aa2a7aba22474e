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


def odd(name):
    """Arrays that lie or count otherwise than JavaScript's."""
    return {
        "strided": lambda: numpy.arange(10.0)[::3],
        "backwards": lambda: numpy.arange(4, dtype="int32")[::-1],
        "big_endian": lambda: numpy.arange(3, dtype=">i4"),
        "fortran": lambda: numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3)),
        "broadcast": lambda: numpy.broadcast_to(numpy.float32(1.5), (2, 2)),
        "empty": lambda: numpy.zeros((0, 3)),
        "scalar": lambda: [numpy.float32(1.5), numpy.int64(2**60), numpy.bool_(True), numpy.array(7)],
        "large_strided": lambda: numpy.ones((400, 400))[::2, ::2],
        "masked": lambda: numpy.ma.array([1.0, 2.0], mask=[0, 1]),
        "structured": lambda: numpy.zeros(2, dtype=[("a", "i4")]),
        "text": lambda: numpy.array(["a"]),
    }[name]()
