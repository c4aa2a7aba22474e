"""Consumers of parts of datasets, for `data-python-iterators.test.ts`."""

import numpy
import shoal
from shoal.data import DataIterator


def kind(part):
    return [type(part).__module__, isinstance(part, DataIterator), repr(part)]


def ids_of(batches):
    found = [batch["id"] for batch in batches]
    return [[int(value) for value in batch] for batch in found]


class Consumer:
    def __init__(self, part):
        self.part = part

    def epoch(self, options=None):
        return ids_of(self.part.iter_batches(**(options or {})))

    def rows(self, count=None):
        found = []
        for row in self.part.iter_rows():
            found.append(row)
            if len(found) == count:
                break
        return found

    def again(self, times):
        batches = self.part.iter_batches(batch_size=None)
        return [sum(len(batch["id"]) for batch in batches) for _ in range(times)]

    def materialized(self):
        kept = self.part.materialize()
        return [ids_of(kept.iter_batches(batch_size=64)) for _ in range(2)] + [repr(kept)]

    def shuffled(self, seed, buffer):
        found = ids_of(self.part.iter_batches(batch_size=10, local_shuffle_buffer_size=buffer, local_shuffle_seed=seed))
        return [value for batch in found for value in batch]

    def formats(self):
        made = []
        for format_ in ("numpy", "default", "pandas", "pyarrow", None):
            first = next(iter(self.part.iter_batches(batch_format=format_, batch_size=4)))
            made.append([type(first).__name__, len(first["id"]) if format_ != "pyarrow" and format_ is not None else first.num_rows])
        return made

    def failing(self):
        try:
            self.epoch()
        except Exception as error:
            cause = error.__cause__
            return [type(error).__name__, str(error), None if cause is None else "%s: %s" % (type(cause).__name__, cause)]
        return None

    def memory(self):
        """Of batches within a block: whether they own their memory, may be written to, and in what mapping they lie."""
        facts = []
        for batch in self.part.iter_batches(batch_size=1000):
            x = batch["x"]
            facts.append([bool(x.flags.owndata), bool(x.flags.writeable), place_of(x)])
        return facts

    def overlap(self, batches):
        """Whether the next block was asked for while a batch is in use."""
        import time

        spent = []
        iterator = iter(self.part.iter_batches(batch_size=None, prefetch_batches=batches))
        next(iterator)
        while True:
            time.sleep(0.1)
            began = time.perf_counter()
            if next(iterator, None) is None:
                return spent
            spent.append(time.perf_counter() - began)


def place_of(array):
    at = array.__array_interface__["data"][0]
    with open("/proc/self/maps") as maps:
        for line in maps:
            parts = line.split(None, 5)
            low, high = (int(one, 16) for one in parts[0].split("-"))
            if low <= at < high:
                return parts[5].strip() if len(parts) > 5 else ""
    return "nowhere"


def wrong_options(part):
    messages = []
    for options in (
        {"batch_format": "cudf"},
        {"batch_size": 0},
        {"batch_size": "ten"},
        {"prefetch_batches": -1},
        {"batch_size": None, "local_shuffle_buffer_size": 5},
        {"local_shuffle_buffer_size": 0},
    ):
        try:
            part.iter_batches(**options)
        except (TypeError, ValueError) as error:
            messages.append(str(error))
    return messages


def through_python(holder):
    """A part inside a value, on to another task of Python."""
    return shoal.get(shoal.remote(whole).remote(holder))


def whole(holder):
    return sum(len(batch["id"]) for batch in holder["part"].iter_batches())


def back(part):
    return {"part": part, "same": part}


class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    @classmethod
    def __from_shoal__(cls, data):
        return cls(data["x"], data["y"])

    def __to_shoal__(self):
        return {"x": self.x, "y": self.y}


def mirrored(points):
    return [Point(point.y, point.x) for point in points]


def passed_on(value):
    return [type(value).__name__, value]


def rich(part):
    rows = list(part.iter_rows())
    return [{name: (value.tolist() if isinstance(value, numpy.ndarray) else value) for name, value in row.items()} for row in rows]


def exact(part):
    """The texts of the column `n`, in all forms."""
    kept = part.materialize()
    batches = [next(iter(kept.iter_batches(batch_format=format_)))["n"] for format_ in ("numpy", "pandas")]
    return [[str(value) for value in column.tolist()] for column in (*batches, kept.to_pandas()["n"])]


class Threads(Consumer):
    """An actor whose calls run on threads, so that batches are made ahead."""

    def early(self):
        """Leaves an epoch early, then has a whole one. @returns the rows of both, and whether the thread of the first has ended"""
        import threading
        import time

        first = next(iter(self.part.iter_batches(batch_size=10)))
        whole = self.epoch({"batch_size": 10})
        for _ in range(100):
            left = [thread.name for thread in threading.enumerate() if thread.name == "shoal-batches"]
            if not left:
                break
            time.sleep(0.05)
        return [len(first["id"]), sum(map(len, whole)), left]
