"""Functions and classes that the tests call from TypeScript."""

import os
import shutil
import sys
import threading
import time

import beside
import shoal


def double(x):
    return x * 2


def echo(*values):
    return list(values) if len(values) != 1 else values[0]


def type_names(*values):
    return [type(value).__name__ for value in values]


def process_id():
    return os.getpid()


def when_preempted():
    while shoal.get_preemption_info() is None:
        time.sleep(0.01)
    return shoal.get_preemption_info()


def variable(name):
    return os.environ.get(name)


def executable():
    return sys.executable


def nearby():
    return beside.VALUE


def greet():
    print("one")
    print("two", end="")
    print(" halves")
    sys.stderr.write("on stderr\n")


def fail(text):
    error = ValueError(text)
    error.details = {"n": 1}
    error.lock = open(os.devnull)
    raise error


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def fail_unprintable():
    raise Unprintable()


def unsendable():
    return {"inner": [1, threading.Lock()]}


def pair():
    return ("a", 2)


def numbers(count):
    for number in range(count):
        yield number


def logged_numbers(count, file):
    try:
        for number in range(count):
            with open(file, "a") as log:
                log.write("%d\n" % number)
            yield number
    finally:
        with open(file, "a") as log:
            log.write("end\n")


def failing_numbers():
    yield 1
    raise ValueError("after one")


async def async_numbers(count):
    for number in range(count):
        yield number


async def later(value):
    import asyncio

    await asyncio.sleep(0.01)
    return value


def spin(file):
    try:
        open(file, "a").write("%d\n" % os.getpid())
        while True:
            pass
    except KeyboardInterrupt:
        open(file, "a").write("interrupted\n")
        raise


def stubborn(file):
    open(file, "a").write("began\n")
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass


def die(how, file):
    """The first time; then it lives."""
    if os.path.exists(file):
        return "lived"
    open(file, "w").close()
    if how == "exit":
        os._exit(7)
    import ctypes

    ctypes.string_at(0)


def fail_once(file):
    if os.path.exists(file):
        return "then it went well"
    open(file, "w").close()
    raise LookupError("the first time")


def total(values):
    return float(sum(values))


class Counter:
    """An actor."""

    def __init__(self, start=0):
        if start < 0:
            raise ValueError("a counter starts at 0 or above")
        self.count = start

    def add(self, by=1):
        self.count += by
        return self.count

    def numbers(self, count):
        yield from range(count)

    async def later(self, value):
        return await later(value)

    def fail(self):
        raise KeyError("missing")

    def pid(self):
        return os.getpid()

    def die(self):
        os._exit(3)

    def leave(self):
        import shoal

        shoal.exit_actor()

    def _private(self):
        return "never"


class Outer:
    @staticmethod
    def inner(x):
        return x + 1


class Where:
    def pid(self):
        return os.getpid()


class Notes:
    """Writes to a file that it never closes."""

    def __init__(self, path):
        self.file = open(path, "w")

    def write(self, text):
        self.file.write(text)

    def leave(self):
        shoal.exit_actor()


def found_python():
    return [shutil.which("python3"), os.environ.get("VIRTUAL_ENV")]
