"""Code that treats its process as if nobody else lived there."""

import multiprocessing
import os
import signal
import sys
import time
import warnings

import shoal

warnings.simplefilter("ignore", DeprecationWarning)


def process_id():
    return os.getpid()


def closes_its_output():
    try:
        os.close(1)
    except OSError:
        # A task before has removed it.
        pass
    print("into nothing")
    sys.stdout.close()
    return True


def prints():
    print("still there")
    sys.stdout.flush()
    return True


def prints_a_huge_line():
    print("x" * 5_000_000)
    return True


def exits(code):
    sys.exit(code)


def interrupts_itself():
    raise KeyboardInterrupt("mine")


class Coroutines:
    async def waits(self):
        import asyncio

        self.gate = asyncio.Event()
        await self.gate.wait()
        return "waited"

    async def exits(self, code):
        sys.exit(code)

    async def interrupts_itself(self):
        raise KeyboardInterrupt("mine")

    async def opens(self):
        self.gate.set()


def takes_the_signal():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return True


def computes(file):
    with open(file, "w") as began:
        began.write("%d\n" % os.getpid())
    try:
        while True:
            time.sleep(0.01)
    except KeyboardInterrupt:
        with open(file, "a") as ended:
            ended.write("interrupted\n")
        raise


def _forked(body):
    pid = os.fork()
    if pid != 0:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    body()
    return "the child"


def forks():
    """The child exits by itself, by raising, or not at all."""

    def uses_the_cluster():
        try:
            shoal.put(1)
        except RuntimeError:
            os._exit(7)

    return [_forked(lambda: os._exit(5)), _forked(lambda: sys.exit(6)), _forked(lambda: None), _forked(uses_the_cluster), _forked(lambda: 1 / 0)]


class Prints:
    def prints(self):
        return prints()


class Forks:
    def forks(self):
        return forks()


def square(x):
    return x * x


def pools():
    found = []
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            found.append(pool.map(square, [1, 2, 3]))
    return found


class Evil(Exception):
    def __str__(self):
        raise SystemExit(3)


def raises_evil():
    raise Evil


class Hostile:
    def __getattr__(self, name):
        raise SystemExit(4)


def returns_hostile():
    return [Hostile()]


def raises_with_hostile():
    error = ValueError("with company")
    error.company = Hostile()
    raise error


def raises_in_a_circle():
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    raise one


def raises_at_length():
    raise OSError("x" * 3_000_000)


def raises_after_many(tries):
    """Each failure has the last one as its context."""
    last = None
    for number in range(tries):
        try:
            if last is not None:
                raise last
            raise ValueError("try 0")
        except ValueError:
            try:
                raise ValueError("try %d" % (number + 1))
            except ValueError as error:
                last = error
    last.hostile = Hostile()
    raise last
