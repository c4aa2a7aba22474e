"""Both codecs read and write the same values: the vectors of ``test/vectors/values.json``, and what Python alone has.

Run by ``test/integration/python-values.test.ts``, or by hand: ``python3 -m unittest discover -s python/tests -t python``. The vectors that are written again go to
the file that ``SHOAL_WRITTEN_VECTORS`` names, for TypeScript to read them.
"""

import dataclasses
import json
import math
import os
import sys
import unittest
from array import array
from collections import OrderedDict, namedtuple
from datetime import date, datetime, timezone
from pathlib import PurePosixPath

from shoal import Hole, InvalidDate, Match, NullPrototype, OrderedSet, RegExp, SparseArray, Undefined
from shoal._decode import DecodeError, decode_value
from shoal._encode import EncodeError, encode_value
from shoal.values import AggregateError, Custom, DomException

VECTORS = os.path.join(os.path.dirname(__file__), "..", "..", "test", "vectors", "values.json")
sys.setrecursionlimit(5000)

#: What the expressions of the vectors refer to.
NAMES = {
    name: value
    for name, value in globals().items()
    if name in ("Undefined", "Hole", "InvalidDate", "SparseArray", "NullPrototype", "OrderedSet", "RegExp", "Match", "datetime", "timezone")
}

#: Written in another form than JavaScript's, as Python has one kind of thing for several there.
WRITTEN_OTHERWISE = {
    "bigint of 8 bytes",
    "negative bigint of 8 bytes",
    "smallest bigint of 8 bytes",
    "bigint of 9 bytes",
    "objects of one shape",
    "empty Map",
    "boxed number",
    "boxed string",
    "Buffer",
    "ArrayBuffer",
    "DataView",
    "Uint8ClampedArray",
}


def read_vectors():
    with open(VECTORS, encoding="utf-8") as file:
        return json.load(file)


def value_of(vector):
    buffers = [bytes(size) for size in vector.get("bufferSizes", [])]
    return decode_value(bytes.fromhex(vector["hex"]), buffers)


class VectorTest(unittest.TestCase):
    def test_each_vector_is_what_it_says(self):
        checked = 0
        for vector in read_vectors():
            try:
                expected = eval(vector["python"], dict(NAMES))
            except (SyntaxError, NameError):
                # Told in words: arrays, errors and cycles have tests of their own.
                continue
            with self.subTest(vector["name"]):
                value = value_of(vector)
                self.assertIs(type(value), type(expected))
                if isinstance(expected, float) and math.isnan(expected):
                    self.assertTrue(math.isnan(value))
                else:
                    self.assertEqual(value, expected)
                checked += 1
        self.assertGreater(checked, 50)

    def test_each_vector_is_written_as_it_was_read(self):
        written = []
        for vector in read_vectors():
            with self.subTest(vector["name"]):
                in_band, buffers = encode_value(value_of(vector))
                written.append({"name": vector["name"], "hex": in_band.hex(), "bufferSizes": [len(buffer) for buffer in buffers]})
                self.assertEqual(in_band.hex() != vector["hex"], vector["name"] in WRITTEN_OTHERWISE)
        if "SHOAL_WRITTEN_VECTORS" in os.environ:
            with open(os.environ["SHOAL_WRITTEN_VECTORS"], "w", encoding="utf-8") as file:
                json.dump(written, file)

    def test_typed_arrays(self):
        for vector in read_vectors():
            words = vector["python"].split()
            if words[0] != "array":
                continue
            with self.subTest(vector["name"]):
                value = value_of(vector)
                self.assertEqual(list(value), json.loads(vector["python"].split(" ", 2)[2]))

    def test_errors(self):
        values = {vector["name"]: value_of(vector) for vector in read_vectors()}
        error = values["Error"]
        self.assertIsInstance(error, ValueError)
        self.assertEqual((str(error), error.cause, error.stack, error.code), ("too big", 5, "RangeError: too big", 7))
        self.assertIsInstance(values["AggregateError"], AggregateError)
        self.assertEqual(values["AggregateError"].errors, ["a"])
        self.assertEqual((values["DOMException"].name, str(values["DOMException"])), ("AbortError", "m"))
        self.assertIsInstance(values["DOMException"], DomException)

    def test_identity(self):
        values = {vector["name"]: value_of(vector) for vector in read_vectors()}
        self.assertIs(values["shared object"][0], values["shared object"][1])
        self.assertIs(values["cycle"][0], values["cycle"])
        a, b, c, d = values["two shared objects"]
        self.assertTrue(a is d and b is c and (a, b) == ([1], [2]))


class DecodeTest(unittest.TestCase):
    def refuses(self, data, buffers=()):
        with self.assertRaises(DecodeError):
            decode_value(bytes.fromhex(data), buffers)

    def test_what_is_cut_short(self):
        for vector in read_vectors():
            whole = bytes.fromhex(vector["hex"])
            buffers = [bytes(size) for size in vector.get("bufferSizes", [])]
            for end in range(len(whole)):
                with self.subTest(vector["name"], end=end), self.assertRaises(DecodeError):
                    decode_value(whole[:end], buffers)

    def test_what_is_malformed(self):
        self.refuses("c000")  # a second value
        self.refuses("c1")
        self.refuses("dd7fffffff")  # a length that cannot be
        self.refuses("8101c0")  # a number as a key
        self.refuses("d40700")  # a reference to nothing
        self.refuses("d41001")  # a marker alone
        self.refuses("d40100")  # a hole outside of an array
        self.refuses("92c0d41001")  # a marker that is not first
        self.refuses("91d410ff")  # an unknown form
        self.refuses("91d41405")  # an unknown shape
        self.refuses("d42900")  # an unknown extension
        self.refuses("c705060400000000")  # a buffer that is not there
        self.refuses("c0", [b"x"])  # a buffer that is not named
        self.refuses("92d4110092d41100" + "90")  # two objects with one id
        self.refuses("c70405030000")

    def test_depth(self):
        decode_value(b"\x91" * 999 + b"\xc0")
        with self.assertRaises(DecodeError):
            decode_value(b"\x91" * 1001 + b"\xc0")


class EncodeTest(unittest.TestCase):
    def again(self, value):
        in_band, buffers = encode_value(value)
        return decode_value(in_band, [bytes(buffer) for buffer in buffers])

    def refusal(self, value):
        with self.assertRaises(EncodeError) as caught:
            encode_value(value)
        return str(caught.exception)

    def test_what_python_has(self):
        Point = namedtuple("Point", "x y")

        @dataclasses.dataclass
        class Inner:
            b: list

        @dataclasses.dataclass
        class Outer:
            a: int
            inner: Inner

        class Number(int):
            pass

        self.assertEqual(self.again((1, (2,))), [1, [2]])
        self.assertEqual(self.again(Point(1, 2)), [1, 2])
        self.assertEqual(self.again(Outer(1, Inner([2]))), {"a": 1, "inner": {"b": [2]}})
        self.assertEqual(self.again({1: "a", (1, 2): None}), [(1, "a"), ([1, 2], None)])
        self.assertEqual(self.again({1, 2}), {1, 2})
        self.assertEqual(self.again(frozenset("a")), {"a"})
        self.assertEqual(self.again(bytearray(b"x")), b"x")
        self.assertEqual(self.again(Number(5)), 5)
        self.assertEqual(self.again(OrderedDict(a=1)), {"a": 1})
        self.assertEqual(self.again(2**200), 2**200)
        self.assertEqual(self.again(-(2**200)), -(2**200))
        self.assertEqual(self.again([2**63, 2**64, -(2**63) - 1]), [2**63, 2**64, -(2**63) - 1])
        self.assertEqual(self.again(Custom(9, [1])), Custom(9, [1]))
        self.assertEqual(self.again(b"x" * 5000), b"x" * 5000)
        moment = datetime(2020, 1, 2, 3, 4, 5, 678000, timezone.utc)
        self.assertEqual(self.again(moment), moment)
        self.assertEqual(self.again(moment.astimezone().replace(tzinfo=None)), moment)

    def test_times_are_never_rounded_up(self):
        last = datetime(9999, 12, 31, 23, 59, 59, 999999, timezone.utc)
        self.assertEqual(self.again(last), last.replace(microsecond=999000))
        self.assertEqual(self.again(datetime(1969, 12, 31, 23, 59, 59, 1500, timezone.utc)), datetime(1969, 12, 31, 23, 59, 59, 1000, timezone.utc))
        self.assertIn("tzinfo=timezone.utc", self.refusal(datetime.min))

    def test_views_keep_their_elements(self):
        self.assertEqual(list(self.again(memoryview(array("d", [1.5, 2])))), [1.5, 2])
        self.assertEqual(self.again(memoryview(b"abcdef")[::2]), b"ace")

    def test_long_chains_of_causes(self):
        last = None
        for number in range(100):
            error = ValueError("try %d" % number)
            error.__cause__ = last
            error.lock = object()
            last = error
        arrived = self.again(last)
        self.assertEqual((str(arrived), str(arrived.__cause__.__cause__)), ("try 99", "try 97"))
        circle = ValueError("circle")
        circle.__cause__ = ValueError("other")
        circle.__cause__.__cause__ = circle
        self.assertIs(self.again(circle).__cause__.__cause__.__class__, ValueError)

    def test_shared_objects_and_cycles(self):
        shared = {"a": 1}
        one = {"x": shared, "y": [shared]}
        one["me"] = one
        arrived = self.again(one)
        self.assertIs(arrived["x"], arrived["y"][0])
        self.assertIs(arrived["me"], arrived)

    def test_errors(self):
        try:
            try:
                {}["missing"]
            except KeyError as error:
                raise RuntimeError("wrapped") from error
        except RuntimeError as error:
            error.details = {"n": 1}
            error.lock = object()
            arrived = self.again(error)
        self.assertEqual((str(arrived), arrived.name, arrived.details), ("wrapped", "RuntimeError", {"n": 1}))
        self.assertFalse(hasattr(arrived, "lock"))
        self.assertEqual(arrived.__cause__.name, "KeyError")
        self.assertIn("Traceback (most recent call last)", arrived.stack)
        self.assertIn("test_values.py", arrived.stack)

    def test_what_cannot_cross_is_told_with_its_path(self):
        self.assertIn("at [0].model['a b'].f: functions and classes", self.refusal([{"model": {"a b": {"f": print}}}]))
        self.assertIn("received object", self.refusal(object()))
        self.assertIn("make the class a dataclass: received", self.refusal([object()]))
        self.assertIn("isoformat", self.refusal(date(2020, 1, 1)))
        self.assertIn("complex", self.refusal(1j))
        self.assertIn("send list(...)", self.refusal(range(3)))
        self.assertIn("send str(...)", self.refusal(PurePosixPath("/")))
        self.assertIn("generator", self.refusal([x for x in [iter([])]]))
        self.assertIn("at [0]", self.refusal([type]))
        deep = []
        for _ in range(600):
            deep = [deep]
        self.assertIn("nested more than 500 levels", self.refusal(deep))


if __name__ == "__main__":
    unittest.main()
