"""Values that Python alone has, which the tests send to TypeScript, to other processes of Python, and back."""

import dataclasses
import datetime
import decimal
import enum
import math
import os
import threading
import typing
import uuid
from collections import deque, namedtuple
from fractions import Fraction
from pathlib import PurePosixPath

import shoal
from beside import Neighbour


class Color(enum.Enum):
    RED = "red"
    PAIR = (1, 2)


class Level(enum.IntEnum):
    LOW = 1


class Bits(enum.Flag):
    A = 1
    B = 2


Point3 = namedtuple("Point3", "x y z")


@dataclasses.dataclass
class Config:
    kinds: typing.ClassVar[int] = 3
    name: str = "a"
    rate: float = 0.5
    color: Color = Color.RED
    tags: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: int


@dataclasses.dataclass
class Node:
    name: str
    parent: object = None
    children: list = dataclasses.field(default_factory=list)


class Model:
    """An instance with state, a property and a method."""

    def __init__(self, weights):
        self.weights = weights
        self.hooks = {"after": [Neighbour(1)]}

    def score(self, x):
        return sum(weight * x for weight in self.weights)

    def __eq__(self, other):
        return type(other) is Model and list(self.weights) == list(other.weights) and self.hooks == other.hooks

    def __call__(self, x):
        return self.score(x)


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a = a
        self.b = b

    def __eq__(self, other):
        return type(other) is Slotted and (self.a, self.b) == (other.a, other.b)


class Reduced:
    def __init__(self, text):
        self.text = text
        self.lock = threading.Lock()

    def __reduce__(self):
        return Reduced, (self.text,)

    def __eq__(self, other):
        return type(other) is Reduced and self.text == other.text


class Stateful:
    def __init__(self, n):
        self.n = n
        self.cache = threading.Lock()

    def __getstate__(self):
        return {"n": self.n}

    def __setstate__(self, state):
        self.n = state["n"]
        self.cache = threading.Lock()

    def __eq__(self, other):
        return type(other) is Stateful and self.n == other.n


class Holder:
    """Something of the cluster inside of what is pickled."""

    def __init__(self, ref, actor=None):
        self.ref = ref
        self.actor = actor


def extended():
    config = Config("b", 0.25, Color.PAIR, [1, Frozen(2)])
    config.note = "set later"
    return config


EXACT = {
    "decimal": [decimal.Decimal("0.1"), decimal.Decimal("1E+30"), decimal.Decimal("-0.00"), decimal.Decimal("NaN"), decimal.Decimal("-Infinity")],
    "uuid": uuid.UUID("12345678-1234-5678-1234-567812345678"),
    "date": datetime.date(2026, 1, 31),
    "time": [datetime.time(23, 59, 59, 500000), datetime.time(1, tzinfo=datetime.timezone.utc)],
    "timedelta": [datetime.timedelta(days=-1, microseconds=1), datetime.timedelta(hours=30), datetime.timedelta(0)],
    "complex": [1.5 - 2j, complex("inf"), 2j],
}

CLASSES = {
    "enums": [Color.RED, Color.PAIR, Color.RED, Level.LOW, Bits.A | Bits.B],
    "keys": {Color.RED: 1, 2: Level.LOW},
    "config": extended(),
    "point": Point3(1, Frozen(2), [3]),
}

OBJECTS = {
    "model": Model([1.0, 2.0]),
    "slotted": Slotted(1, {"b": [Slotted(2, None)]}),
    "reduced": (Reduced("x"), [Reduced("y")]),
    "stateful": Stateful(5),
    "library": [deque([1, 2]), Fraction(1, 3), PurePosixPath("/a/b"), range(3)],
}

KINDS = {"exact": EXACT, "classes": CLASSES, "objects": OBJECTS}


def give(kind):
    return KINDS[kind]


def same(kind, value):
    """Whether it is equal, part by part, with the same classes."""
    return differences(KINDS[kind], value, "")


def differences(given, found, path):
    if isinstance(given, dict) and isinstance(found, dict) and given.keys() == found.keys():
        return [line for key in given for line in differences(given[key], found[key], "%s.%s" % (path, key))]
    if isinstance(given, (list, tuple)) and not hasattr(given, "_fields") and isinstance(found, (list, tuple)) and len(given) == len(found):
        return [line for index, pair in enumerate(zip(given, found)) for line in differences(*pair, "%s[%d]" % (path, index))]
    if type(given) is type(found) and (given == found or given != given):
        return [] if getattr(given, "note", None) == getattr(found, "note", None) else ["%s: another note" % path]
    return ["%s: %r is %r" % (path, given, found)]


@shoal.remote
def same_there(kind, value):
    return same(kind, value) + [""] * (0 if os.getpid() else 1)


def through_a_task(kind):
    """By value and by reference, to another process."""
    return shoal.get([same_there.options(num_cpus=0.5).remote(kind, KINDS[kind]), same_there.remote(kind, shoal.put(KINDS[kind]))])


def family():
    root = Node("root")
    root.children = [Node("leaf", root)]
    return root


def family_facts(root):
    found = root if isinstance(root, dict) else vars(root)
    leaf = found["children"][0]
    leaf = leaf if isinstance(leaf, dict) else vars(leaf)
    return [type(root).__name__, leaf["parent"] is root]


class Counter:
    def __init__(self):
        self.count = 0

    def add(self, by):
        self.count += by
        return self.count


def held():
    """References in pickled instances: nobody else holds these."""
    return Holder(shoal.put("kept" * 20000), [shoal.remote(Counter).options(num_cpus=0).remote()])


def use_held(holder):
    return [len(shoal.get(holder.ref)), shoal.get(holder.actor[0].add.remote(2))]


def score(model, x):
    return [model.score(x), model(x), type(model).__module__]


def large_model(count):
    import numpy

    return Model(numpy.ones(count))


def large_score(model):
    return [float(model.weights.sum()), shoal.object_store_statistics()["mapped_bytes"] >= model.weights.nbytes]


class Elsewhere:
    pass


Elsewhere.__module__ = "__main__"


def refused(name):
    class Inside:
        pass

    held = {
        "inside": lambda: Inside(),
        "lock": lambda: Slotted(threading.Lock(), None),
        "main": lambda: Elsewhere(),
        "lambda": lambda: Slotted(lambda: 1, 2),
        "function": lambda: refused,
        "generator": lambda: (number for number in range(3)),
    }[name]()
    return {"deep": [1, held]}


def gone():
    """An instance whose class nobody else finds, although it is named well here."""
    made = type("Gone", (), {"__module__": __name__})
    globals()["Gone"] = made
    return made()
