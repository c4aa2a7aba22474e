"""Frames of pandas, arrays and tensors that travel to TypeScript, to other processes of Python, and back."""

import datetime
import decimal


import numpy
import pandas


def frames():
    index = pandas.date_range("2026-01-01", periods=3, freq="D", tz="Europe/Berlin")
    return {
        "plain": pandas.DataFrame({"n": [1, 2, 3], "x": [0.5, None, 1.5], "t": ["a", None, "c"], "b": [True, False, True]}),
        "index": pandas.DataFrame({"x": [1, 2, 3]}, index=index),
        "named": pandas.DataFrame({"x": [1, 2]}, index=pandas.Index(["a", "b"], name="key")),
        "many": pandas.DataFrame({"x": [1, 2]}, index=pandas.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["k", "n"])),
        "columns": pandas.DataFrame(numpy.arange(4).reshape(2, 2)),
        "categories": pandas.DataFrame({"c": pandas.Categorical(["a", "b", None], categories=["b", "a", "z"], ordered=True)}),
        "nullable": pandas.DataFrame({"i": pandas.array([1, None], dtype="Int64"), "f": pandas.array([0.5, None], dtype="Float32"), "b": pandas.array([True, None], dtype="boolean"), "s": pandas.array(["x", None], dtype="string")}),
        "times": pandas.DataFrame({"utc": pandas.to_datetime(["2026-01-01T01:02:03.456789123Z", None]), "local": pandas.to_datetime(["2026-01-01", "2026-01-02"]).tz_localize("Asia/Tokyo"), "length": pandas.to_timedelta(["1h", None])}),
        "period": pandas.DataFrame({"p": pandas.period_range("2026-01", periods=2, freq="M")}),
        "exact": pandas.DataFrame({"d": [decimal.Decimal("1.10"), None], "day": [datetime.date(2026, 1, 1), None], "raw": [b"a", b"b"]}),
        "small": pandas.DataFrame({"a": numpy.array([1, 2], dtype="int8"), "f": numpy.array([1, 2], dtype="float32")}),
        "empty": pandas.DataFrame({"a": pandas.Series([], dtype="int64")}),
        "series": pandas.Series([1.5, 2.5], index=["a", "b"], name="s"),
        "nameless": pandas.Series(pandas.Categorical(["x", "y"])),
        "numbered": pandas.Series([1, 2], name=7, index=index[:2]),
    }


def large():
    return pandas.DataFrame({"x": numpy.arange(200000.0), "n": numpy.arange(200000)})


def same(found):
    given = frames()
    wrong = []
    for name, frame in given.items():
        try:
            check = pandas.testing.assert_series_equal if isinstance(frame, pandas.Series) else pandas.testing.assert_frame_equal
            check(frame, found[name])
        except AssertionError as error:
            wrong.append("%s: %s" % (name, error))
    return wrong


def large_facts(frame):
    frame.loc[0, "x"] = 5.0
    frame["n"] += 1
    return [type(frame).__name__, float(frame["x"].sum()), int(frame["n"].iloc[-1])]


def table_type(value):
    return type(value).__name__


def user_table():
    """A table that pandas had made, of the user's."""
    import pyarrow

    return pyarrow.Table.from_pandas(pandas.DataFrame({"a": [1]}))


class Thing:
    pass


def mixed():
    return {"in": [pandas.DataFrame({"fine": [1], "bad": [Thing()]})]}


def stamps():
    return [pandas.Timestamp("2026-01-02T03:04:05.678Z"), pandas.NaT, pandas.Timedelta("90s")]


def missing():
    return [pandas.NA]


def arrays():
    return {
        "times": numpy.array(["2026-01-02", "NaT"], dtype="datetime64[ns]"),
        "days": numpy.array(["2026-01-02"], dtype="datetime64[D]"),
        "lengths": numpy.array([[1, 2]], dtype="timedelta64[ms]"),
        "complex": numpy.array([[1 + 2j, 3]], dtype="complex64"),
        "wide": numpy.array([1 + 2j]),
        "time": numpy.datetime64("2026-01-02T03:04:05"),
        "length": numpy.timedelta64(5, "s"),
    }


def same_arrays(found):
    given = arrays()
    return [name for name in given if not (given[name].dtype == found[name].dtype and given[name].shape == found[name].shape and bool(numpy.array_equal(given[name], found[name], equal_nan=True)))]


class Model:
    def __init__(self, weights):
        self.weights = weights


def model(count):
    return Model(numpy.ones(count))


def model_facts(value):
    import shoal

    return [float(value.weights.sum()), shoal.object_store_statistics()["mapped_bytes"] >= value.weights.nbytes, bool(value.weights.flags.writeable)]


