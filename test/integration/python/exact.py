"""Values of every kind that Python has, and how they differ from what arrived: the same as after a pickle."""

import array
import dataclasses
import datetime
import decimal
import enum
import fractions
import io
import pathlib
import pickle
import types
import uuid
import zoneinfo
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque, namedtuple

UTC = datetime.timezone.utc
DAY = datetime.datetime(2026, 3, 4, 5, 6, 7, 123456)
Point = namedtuple("Point", "x y")


class Color(enum.Enum):
    RED = "r"


class Paint(enum.Enum):
    RED = "r"


class Name(str, enum.Enum):
    A = "a"
    B = "b"


class Bits(enum.Flag):
    READ = 1
    WRITE = 2


class Level(enum.IntEnum):
    LOW = 1


class UserId(int):
    pass


class Text(str):
    pass


class Rate(float):
    pass


class Raw(bytes):
    pass


class Pair(tuple):
    pass


class Config(dict):
    def __init__(self, *args, **fields):
        super().__init__(*args, **fields)
        self.source = "a file"


class Stack(list):
    def __init__(self, items=()):
        super().__init__(items)
        self.limit = 3


class Tags(frozenset):
    pass


@dataclasses.dataclass
class Item:
    key: tuple
    tags: set
    when: datetime.datetime


@dataclasses.dataclass
class Guarded:
    value: int

    def __getstate__(self):
        return {"value": self.value + 1}

    def __setstate__(self, state):
        self.value = state["value"] - 1


@dataclasses.dataclass
class Node:
    items: list


def circle():
    node = Node([])
    node.items.append(node)
    return node


def tuple_circle():
    items = []
    pair = (items, 1)
    items.append(pair)
    return pair


def plain_values():
    """Those of the standard library."""
    shared = (1, 2)
    return {
        "tuple": (1, "a", None),
        "empty tuple": (),
        "tuples in lists": [(1, 2), [3, (4,)], ((),)],
        "shared tuple": [shared, shared],
        "set": {1, (1, 2), "a"},
        "frozen set": frozenset([frozenset([1]), 2]),
        "empty set": set(),
        "tuple keys": {(1, 2): "a", (3, 4): "b", 5: "c"},
        "frozen keys": {frozenset([1]): [1]},
        "mixed keys": {1: "a", "1": "b", None: "c", b"x": "d", 1.5: "e"},
        "naive": DAY,
        "aware": DAY.replace(tzinfo=UTC),
        "whole": DAY.replace(microsecond=5000, tzinfo=UTC),
        "offset": DAY.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=5, minutes=30))),
        "named offset": DAY.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=1), "CET")),
        "zone": DAY.replace(tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")),
        "fold": DAY.replace(tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"), fold=1),
        "first": datetime.datetime.min,
        "last": datetime.datetime.max,
        "time": datetime.time(1, 2, 3, 4),
        "time with zone": datetime.time(1, 2, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")),
        "time with offset": datetime.time(1, 2, tzinfo=UTC),
        "date": datetime.date(2026, 1, 2),
        "span": datetime.timedelta(days=-1, microseconds=1),
        "bytes": b"abc",
        "many bytes": b"ab" * 5000,
        "bytearray": bytearray(b"abc"),
        "many in a bytearray": bytearray(10000),
        "memoryview": memoryview(b"abc"),
        "signed memoryview": memoryview(array.array("b", [-1, 2])),
        "array of doubles": array.array("d", [1.5, 2]),
        "array of bytes": array.array("B", [1, 2]),
        "array of signed": array.array("b", [-1]),
        "ordered": OrderedDict([("b", 1), ("a", (1,))]),
        "default": defaultdict(list, {"a": [1], (1, 2): [2]}),
        "counter": Counter("abca"),
        "deque": deque([1, (2,)], maxlen=5),
        "chain": ChainMap({"a": 1}, {"b": (2,)}),
        "proxied": types.SimpleNamespace(a=(1,)),
        "range": range(1, 10, 2),
        "slice": slice(1, 2),
        "ellipsis": ...,
        "fraction": fractions.Fraction(1, 3),
        "path": pathlib.PurePosixPath("/a/b"),
        "complex": complex(1.5, -0.0),
        "decimals": [decimal.Decimal("1.10"), decimal.Decimal("-Infinity"), decimal.Decimal("1E+30"), decimal.Decimal("-0")],
        "uuid": uuid.UUID(int=5),
        "large": [2**60 + 1, -(2**63), 2**200, 2**53],
        "floats": [1.0, -0.0, 5e-324, float("inf"), 1e16],
        "text": ["\ud800", "", "é\0", "x" * 70000],
        "enum": [Color.RED, Paint.RED, Level.LOW, Name.A, Bits.READ | Bits.WRITE],
        "keys like numbers": {"10": 1, "a": {"b": 2, "1": 3}, "2": (4,), "01": 5},
        "enum keys": {Name.A: 1, Name.B: (2,), "c": 3},
        "enum set": {Color.RED, Level.LOW},
        "number of a class": [UserId(5), Rate(1.5), Text("a"), Raw(b"a"), Pair((1, 2)), Tags([1])],
        "dictionary of a class": Config({"a": (1,)}, b=2),
        "list of a class": Stack([1, (2,)]),
        "named tuple": Point(1, (2,)),
        "dataclass": Item((1, 2), {3}, DAY),
        "dataclass with a state": Guarded(5),
        "booleans": [True, False, 1, 0, None],
    }


def enumerations():
    """Equal in JavaScript."""
    return {Color.RED: 1, Paint.RED: 2}


def science():
    """Those of NumPy and pandas."""
    import numpy
    import pandas

    kinds = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128", ">i2", ">f8", "U3", "S3", "O", "datetime64[ns]", "timedelta64[s]", "longdouble"]
    frames = {
        "booleans as names": pandas.DataFrame([[1, 2]], columns=[True, False]),
        "numbers as names": pandas.DataFrame([[1, 2]], columns=[3, 1.5]),
        "range of names": pandas.DataFrame(numpy.ones((2, 2))),
        "tuples as names": pandas.DataFrame([[1, 2]], columns=pandas.MultiIndex.from_tuples([("a", 1), ("a", 2)])),
        "times as names": pandas.DataFrame([[1, 2]], columns=pandas.date_range("2026-01-01", periods=2)),
        "spans as names": pandas.DataFrame([[1, 2]], columns=pandas.to_timedelta([1, 2], unit="h")),
        "named names": pandas.DataFrame([[1]], columns=pandas.Index(["a"], name="n")),
        "two of one name": pandas.DataFrame([[1, 2]], columns=["a", "a"]),
        "intervals": pandas.DataFrame({"a": [1, 2]}, index=pandas.interval_range(0, 2)),
        "periods": pandas.DataFrame({"a": [1, 2]}, index=pandas.period_range("2026-01", periods=2, freq="M")),
        "categories": pandas.DataFrame({"a": [1, 2]}, index=pandas.CategoricalIndex(["x", "y"], categories=["y", "x", "z"], ordered=True)),
        "business hours": pandas.DataFrame({"a": [1, 2]}, index=pandas.date_range("2026-01-01 09:00", periods=2, freq=pandas.offsets.BusinessHour(start="08:00", end="12:00"))),
        "days": pandas.DataFrame({"a": [1, 2]}, index=pandas.date_range("2026-01-01", periods=2, freq="D")),
        "spans as index": pandas.DataFrame({"a": [1, 2]}, index=pandas.timedelta_range("1h", periods=2, freq="h")),
        "spans": pandas.DataFrame({"a": pandas.to_timedelta([1, None], unit="s")}),
        "large numbers of objects": pandas.DataFrame({"a": pandas.Series([2**60 + 1, None], dtype="object")}),
        "objects": pandas.DataFrame({"a": pandas.Series([1, "a", (1, 2), {3}], dtype="object")}),
        "missing texts": pandas.DataFrame({"a": pandas.Series(["a", None], dtype="object"), "b": pandas.Series(["a", float("nan")], dtype="object")}),
        "decimals": pandas.DataFrame({"a": [decimal.Decimal("1.1"), decimal.Decimal("1.10")]}),
        "days of the year": pandas.DataFrame({"a": [datetime.date(2026, 1, 1), None]}),
        "sparse": pandas.DataFrame({"a": pandas.arrays.SparseArray([0, 0, 1])}),
        "interval column": pandas.DataFrame({"a": pandas.arrays.IntervalArray.from_breaks([0, 1, 2])}),
        "period column": pandas.DataFrame({"a": pandas.period_range("2026-01", periods=2, freq="M")}),
        "half": pandas.DataFrame({"a": numpy.array([1, 2], dtype="float16")}),
        "units": pandas.DataFrame({"a": numpy.array([1, 2], dtype="datetime64[s]")}),
        "zones": pandas.DataFrame({"a": pandas.to_datetime(["2026-01-01"]).tz_localize("Asia/Tokyo"), "b": pandas.to_datetime(["2026-01-01"]).tz_localize("+03:00")}),
        "nullable": pandas.DataFrame({"a": pandas.array([1, None], dtype="Int64"), "b": pandas.array([True, None], dtype="boolean")}),
        "category of spans": pandas.DataFrame({"a": pandas.Categorical(pandas.to_timedelta([1, 2], unit="h"))}),
        "empty": pandas.DataFrame(),
        "empty with index": pandas.DataFrame(index=[1, 2]),
        "series of spans": pandas.Series(pandas.to_timedelta([1], unit="s"), name=("a", 1)),
        "series": pandas.Series([1, 2], index=[True, False]),
    }
    with_attributes = pandas.DataFrame({"a": [1]})
    with_attributes.attrs["unit"] = ("m", 1)
    return {
        **{"array of %s" % kind: numpy.array([1, 0, 1]).astype(kind) for kind in kinds if kind != "longdouble" or numpy.dtype(kind).itemsize > 8},
        **{"scalar %s" % kind: numpy.array([1, 0, 1]).astype(kind)[0] for kind in kinds},
        **{"point %s" % kind: numpy.array(1).astype(kind) for kind in kinds},
        "square": numpy.arange(6, dtype="uint8").reshape(2, 3),
        "many bytes": numpy.arange(10000, dtype="uint8"),
        "structure": numpy.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")]),
        "masked": numpy.ma.masked_array([1, 2], [True, False]),
        "matrix": numpy.array([["a", "b"]]),
        "record": numpy.rec.array([(1, "a")], dtype=[("n", "i4"), ("t", "U1")]),
        "timestamp": pandas.Timestamp("2026-01-02T03:04:05.123456789", tz="Europe/Berlin"),
        "naive timestamp": pandas.Timestamp("2026-01-02"),
        "span": pandas.Timedelta(5, unit="ns"),
        "not a time": pandas.NaT,
        "period": pandas.Period("2026-01"),
        "interval": pandas.Interval(0, 1),
        "index": pandas.Index([1, 2]),
        "category": pandas.Categorical(["a", "b"]),
        "attributes": with_attributes,
        **{"frame with %s" % name: frame for name, frame in frames.items()},
    }


def tables():
    import pyarrow

    table = pyarrow.table({"a": [1, 2], "b": ["x", None]})
    return {
        "table": table,
        "batch": table.to_batches()[0],
        "empty batch": pyarrow.RecordBatch.from_pylist([], schema=table.schema),
        "column": pyarrow.array([1, 2]),
        "schema": table.schema,
    }


KINDS = {"plain": plain_values, "science": science, "tables": tables}


def send(kind):
    return KINDS[kind]()


def in_order(names, values):
    return {name: values[name] for name in names}


def files():
    made = [io.BytesIO(b"abc"), io.StringIO("abc")]
    for file in made:
        file.seek(1)
    return made


def rests(found):
    return [[type(file).__name__, file.tell(), str(file.read())] for file in found]


def keys_of(values):
    return list(values)


def differences(kind, found):
    """What is not the same as after a pickle."""
    wrong = []
    given = KINDS[kind]()
    if list(given) != list(found):
        wrong.append("other names")
    for name, value in given.items():
        try:
            # A memoryview has no pickle, and one over an array loses the byte order.
            kept = value if type(value).__name__ in ("memoryview", "ndarray") else pickle.loads(pickle.dumps(value))
            difference = _difference(kept, found[name])
        except Exception as error:
            difference = repr(error)
        if difference is not None:
            wrong.append("%s: %s" % (name, difference))
    return wrong


def _difference(one, other):
    if type(one) is not type(other):
        return "%s is %s" % (type(one).__name__, type(other).__name__)
    module = type(one).__module__.split(".")[0]
    if module == "numpy":
        return _numpy_difference(one, other)
    if module == "pandas":
        return _pandas_difference(one, other)
    if module == "pyarrow":
        return None if one.equals(other) else "%r is %r" % (one, other)
    if isinstance(one, (list, tuple, deque)):
        if len(one) != len(other):
            return "%r is %r" % (one, other)
        found = [difference for difference in map(_difference, one, other) if difference is not None]
        if found:
            return found[0]
    elif isinstance(one, (dict,)):
        return _difference(list(one.items()), list(other.items())) or _fields(one, other)
    elif isinstance(one, (set, frozenset)):
        return None if one == other and sorted(map(_name, one)) == sorted(map(_name, other)) else "%r is %r" % (one, other)
    elif dataclasses.is_dataclass(one):
        return _fields(one, other)
    elif isinstance(one, datetime.datetime):
        zones = (type(one.tzinfo), str(one.tzinfo), one.fold)
        if (one.replace(tzinfo=None), zones) != (other.replace(tzinfo=None), (type(other.tzinfo), str(other.tzinfo), other.fold)):
            return "%r is %r" % (one, other)
        return None
    elif isinstance(one, memoryview):
        if (one.format, one.shape, one.tolist()) != (other.format, other.shape, other.tolist()):
            return "another view"
        return None
    if repr(one) != repr(other) and one != other:
        return "%r is %r" % (one, other)
    if repr(one) != repr(other):
        return "%r is %r" % (one, other)
    return _fields(one, other)


def _name(value):
    return "%s %r" % (type(value).__name__, value)


def _fields(one, other):
    return _difference(getattr(one, "__dict__", None), getattr(other, "__dict__", None)) if hasattr(one, "__dict__") and not isinstance(one, enum.Enum) else None


def _numpy_difference(one, other):
    import numpy

    if not isinstance(one, (numpy.ndarray, numpy.generic)):
        return None if one == other else "%r is %r" % (one, other)
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return "%s %s is %s %s" % (one.dtype, one.shape, other.dtype, other.shape)
    return None if repr(one) == repr(other) else "%r is %r" % (one, other)


def _pandas_difference(one, other):
    import pandas

    if isinstance(one, pandas.DataFrame):
        pandas.testing.assert_frame_equal(one, other, check_index_type="exact", check_column_type="exact", check_exact=True, check_freq=True, check_flags=True)
        pandas.testing.assert_index_equal(one.columns, other.columns, exact=True)
        objects = [_difference(list(one.iloc[:, place]), list(other.iloc[:, place])) for place in range(one.shape[1]) if one.dtypes.iloc[place] == object]
        return next((difference for difference in objects if difference is not None), _difference(one.attrs, other.attrs))
    if isinstance(one, pandas.Series):
        pandas.testing.assert_series_equal(one, other, check_index_type="exact", check_exact=True)
        return _difference(one.name, other.name)
    if isinstance(one, pandas.Index):
        pandas.testing.assert_index_equal(one, other, exact=True)
        return None
    return None if repr(one) == repr(other) and getattr(one, "tz", None) == getattr(other, "tz", None) else "%r is %r" % (one, other)


def circles():
    return [circle(), tuple_circle()]


def circles_are_whole(found):
    node, pair = found
    return [type(node) is Node and node.items[0] is node, type(pair) is tuple and pair[0][0] is pair]


def local():
    @dataclasses.dataclass
    class Inside:
        a: int

    return Inside(1)


def name_of(value):
    return type(value).__name__


def contains(value):
    return [(1, 2) in value, type(value).__name__]


class AppError(LookupError):
    """Its constructor takes other arguments than those that an exception keeps."""

    def __init__(self, code, text):
        super().__init__("%s: %s" % (code, text))
        self.code = code


def raises(kind):
    if kind == "key":
        raise KeyError("k")
    if kind == "file":
        open("/no/such/file")
    if kind == "own":
        raise AppError(5, "gone")
    if kind == "unicode":
        b"\xff".decode("utf-8")
    if kind == "syntax":
        compile("a b", "f", "exec")
    if kind == "lock":
        import threading

        error = AppError(6, "with a lock")
        error.lock = threading.Lock()
        raise error
    try:
        raise ValueError("inner")
    except ValueError as inner:
        raise AppError(7, "outer") from inner


def caught(ref):
    import shoal

    try:
        shoal.get(ref[0])
    except shoal.TaskError as error:
        cause = error.__cause__
        inner = cause.__cause__
        return [[kind.__name__ for kind in type(cause).__mro__[:2]], str(cause), getattr(cause, "code", None), getattr(cause, "errno", None), inner and type(inner).__name__]


def echo(value):
    return value


def times_out(ref):
    import shoal

    try:
        shoal.get(ref[0], timeout=0.1)
    except TimeoutError as error:
        return type(error).__name__


def error_facts(ref):
    import shoal

    try:
        shoal.get(ref[0])
    except shoal.TaskError as error:
        cause = error.__cause__
        return [type(cause).__name__, getattr(cause, "name", None), str(cause), cause.__dict__.get("details"), "boom" in cause.__dict__.get("stack", "")]


class TwoArguments(Exception):
    """One whose pickle cannot be read: its constructor takes more than its message."""

    def __init__(self, first, second):
        super().__init__("%s and %s" % (first, second))
        self.second = second


def raises_group():
    raise ExceptionGroup("several", [ValueError("a"), TwoArguments(1, 2), ExceptionGroup("inner", [KeyError("k")])])


def caught_group(refs):
    """The exceptions of a group, as ``except*`` finds them."""
    import shoal

    try:
        shoal.get(refs[0])
    except shoal.TaskError as error:
        group = error.__cause__
        names = [type(item).__name__ for item in group.exceptions]
        return [type(group).__name__, str(group), names, group.exceptions[1].second, repr(group.exceptions[2].exceptions)]


def has_groups():
    import builtins

    return hasattr(builtins, "ExceptionGroup")
