"""Between two processes of Python a value is what it was: beside ``pickle``, over the kinds of test/integration/python/exact.py and random values of them."""

import os
import pickle
import random
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "..", "test", "integration", "python"))

import exact
from shoal._codec import Codec
from shoal._targets import Targets


class Store:
    """No shared memory."""

    def writable(self, view):
        return bytearray(view)


CODEC = Codec(None, Store(), Targets([]), {}, {})


class Arrived:
    graph = False
    location = None
    refs = ()

    def __init__(self, in_band, buffers):
        self.in_band = in_band
        self.buffers = buffers


def travelled(value):
    in_band, buffers, _ = CODEC.encode(value)
    return CODEC.decode(Arrived(in_band, [memoryview(bytes(buffer)).toreadonly() for buffer in buffers]))


def kinds():
    try:
        import numpy  # noqa: F401
    except ImportError:
        return ["plain"]
    return list(exact.KINDS)


class ExactTest(unittest.TestCase):
    maxDiff = None

    def test_a_dictionary_in_a_circle_keeps_the_order_of_its_keys(self):
        value = {"2": 1, "1": []}
        value["1"].append(value)
        found = travelled(value)
        self.assertEqual(list(found), ["2", "1"])
        self.assertIs(found["1"][0], found)

    def test_each_value_is_what_it_was(self):
        for kind in kinds():
            found = {}
            for name, value in exact.send(kind).items():
                try:
                    found[name] = travelled(value)
                except Exception as error:
                    found[name] = error
            self.assertEqual(exact.differences(kind, found), [])

    def test_random_values_are_what_they_were(self):
        seed = int(os.environ.get("SHOAL_SEED", "1"))
        chance = random.Random(seed)
        leaves = [value for name, value in exact.plain_values().items() if "memoryview" not in name]
        for round_ in range(400):
            value = made(chance, leaves, 4)
            kept = pickle.loads(pickle.dumps(value))
            self.assertIsNone(exact._difference(kept, travelled(value)), "seed %d, round %d" % (seed, round_))

    def test_circles_are_whole(self):
        self.assertEqual(exact.circles_are_whole(travelled(exact.circles())), [True, True])


def made(chance, leaves, depth):
    if depth == 0 or chance.random() < 0.2:
        return chance.choice(leaves)
    items = [made(chance, leaves, depth - 1) for _ in range(chance.randrange(4))]
    way = chance.randrange(6)
    if way == 0:
        return items
    if way == 1:
        return tuple(items)
    if way == 2:
        return {chance.choice(["a", (1, chance.randrange(9)), 5, exact.Name.A, b"k", None]): item for item in items}
    if way == 3:
        return exact.Item(tuple(items), {chance.randrange(5)}, exact.DAY)
    if way == 4:
        return exact.Stack(items)
    return exact.OrderedDict((str(place), item) for place, item in enumerate(items))


if __name__ == "__main__":
    unittest.main()
