"""Functions and classes that `data-python.test.ts` maps batches with."""

import os
import signal

import numpy


def same(batch):
    return batch


def doubled(batch):
    return {"id": batch["id"] * 2, "rows": numpy.full(len(batch["id"]), len(batch["id"]))}


def addresses(batch):
    """Where the array lies, what may be done with it, and whether that is shared memory."""
    x = batch["x"]
    buffer = None if isinstance(x, numpy.ndarray) else x.chunk(0).buffers()[1]
    at = x.__array_interface__["data"][0] if buffer is None else buffer.address
    with open("/proc/self/maps") as maps:
        ranges = [line.split(None, 5) for line in maps]
    places = [parts[5].strip() for parts in ranges if len(parts) > 5 and int(parts[0].split("-")[0], 16) <= at < int(parts[0].split("-")[1], 16)]
    writeable = x.flags.writeable if buffer is None else buffer.is_mutable
    return {"place": [",".join(places)] * len(x), "aligned": [at % 64 == 0] * len(x), "writeable": [writeable] * len(x)}


def types(batch):
    names = {name: str(column.type) if hasattr(column, "type") else str(column.dtype) for name, column in (batch.items() if isinstance(batch, dict) else zip(batch.column_names, batch.columns))}
    rows = len(next(iter(batch.values()))) if isinstance(batch, dict) else batch.num_rows
    return {"types": [repr(sorted(names.items()))] * rows}


def kinds(batch):
    """The type of each column in NumPy, and the types of its values."""
    named = {name: "%s of %s" % (batch[name].dtype, " ".join(type(value).__name__ for value in batch[name].tolist())) for name in batch}
    rows = len(next(iter(batch.values()))) if isinstance(batch, dict) else len(batch)
    return {name: [kind] * rows for name, kind in named.items()}


def categories(frame):
    import pandas

    texts = ["n%d" % (n % 7) if n % 5 else None for n in frame["id"]]
    return pandas.DataFrame({"id": frame["id"], "x": pandas.Categorical(texts)})


def distinct(table):
    """A text a row, in two parts with dictionaries of their own, whose indices are as narrow as pandas makes them."""
    import pyarrow

    texts = ["n%d" % n for n in table["id"].to_pylist()]
    half = len(texts) // 2
    type_ = pyarrow.dictionary(pyarrow.int8(), pyarrow.string())
    return pyarrow.table({"x": pyarrow.chunked_array([pyarrow.array(texts[:half], type_), pyarrow.array(texts[half:], type_)])})


def repeated(table):
    """A dictionary that has a value twice, as Arrow allows."""
    import pyarrow

    return pyarrow.table({"x": pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1, 2], pyarrow.int8()), ["a", "b", "a"])})


def with_pandas(frame):
    frame = frame.copy()
    frame["total"] = frame["a"].fillna(0) + 1
    return frame


def parts(batch):
    for value in batch["id"]:
        yield {"id": numpy.repeat(value, int(value) % 3)}


def images(batch):
    rows = len(batch["id"])
    return {"id": batch["id"], "image": numpy.arange(rows * 6, dtype="uint8").reshape(rows, 2, 3)}


def brightness(batch):
    return {"mean": batch["image"].reshape(len(batch["image"]), -1).mean(axis=1), "shape": [str(batch["image"].shape[1:])] * len(batch["image"])}


def fails(batch):
    raise ValueError("no batch of %d" % len(batch["id"]))


def wrong(batch):
    return [1, 2]


def ragged(batch):
    return {"a": numpy.zeros(2), "b": numpy.zeros(3)}


def single(batch):
    return {"a": 1}


def intervals(batch):
    import pyarrow

    return {"a": pyarrow.array([(1, 2, 3)], pyarrow.month_day_nano_interval())}


async def later(batch):
    return batch


def dies_once(batch):
    marker = os.environ["MARKER"]
    if batch["id"][0] == 500 and not os.path.exists(marker):
        open(marker, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"id": batch["id"]}


class Adder:
    def __init__(self, more, marker=None):
        self.more = more
        self.marker = marker
        self.calls = 0

    def __call__(self, batch):
        self.calls += 1
        if self.marker is not None and self.calls == 2 and not os.path.exists(self.marker):
            open(self.marker, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return {"id": batch["id"] + self.more, "pid": numpy.full(len(batch["id"]), os.getpid())}


class NotCallable:
    pass


def scaled(batch, factor, offset=0, *, label="none"):
    rows = len(batch["id"])
    return {"id": batch["id"] * factor + offset, "label": [label] * rows}


class Scaler:
    def __init__(self, factor, *, offset=0):
        self.factor = factor
        self.offset = offset

    def __call__(self, batch, label, *, suffix=""):
        return {"id": batch["id"] * self.factor + self.offset, "label": [label + suffix] * len(batch["id"])}


def refuses(batch, number):
    if number in batch["km"]:
        raise ValueError("no ride of %d km" % number)
    return batch


def refuses_later(batch, number):
    yield {"km": batch["km"][:1]}
    refuses(batch, number)


class Refuser:
    def __init__(self, number):
        self.number = number

    def __call__(self, batch):
        return refuses(batch, self.number)
