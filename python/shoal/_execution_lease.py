"""The file by which the daemon of a cluster's node tells its workers until when they may run: nobody else runs their actors until then.

The Python side of ``src/runtime/os/processes/memory/execution-lease.ts``, which has the rules. A worker whose time is over stands still until the daemon has had an answer again, and ends after a while. It looks when the
time that it knows is over, and before it handles what has come. Standing still is of all threads, those of the user's code as well: the one that looks keeps the interpreter's lock while it waits.
"""

import ctypes
import mmap
import os
import signal
import struct
import sys
import time
from collections import deque
from itertools import repeat, takewhile

from ._limits import EXECUTION_LEASE_GIVES_UP_SECONDS, EXECUTION_LEASE_LOOK_EVERY_SECONDS, EXECUTION_LEASE_LOOK_WITHOUT_LIMIT_EVERY_SECONDS, WORKER_GRACE_SECONDS

_GRACE_MS = WORKER_GRACE_SECONDS * 1000
_WITHOUT_LIMIT = float("inf")
_time = struct.Struct("<d")
#: The clock that all processes of the machine share, as Node reads it.
_CLOCK = getattr(time, "CLOCK_MONOTONIC_RAW" if sys.platform == "darwin" else "CLOCK_MONOTONIC", None)


def _machine_ms():
    return time.clock_gettime(_CLOCK) * 1000


class ExecutionLease:
    """``end(reason)`` ends this process at once, and is not called twice."""

    def __init__(self, path, end, now_ms=_machine_ms):
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._map = mmap.mmap(file, _time.size, access=mmap.ACCESS_READ)
        finally:
            os.close(file)
        self._end = end
        self._now_ms = now_ms
        self._limit_ms = self._read()

    def watch(self, pump):
        """Looks again and again."""

        def look():
            if self._limit_ms == _WITHOUT_LIMIT:
                self._limit_ms = self._read()
            self.check()
            self.watch(pump)

        pump.after(self._next_look_seconds(), look)

    def check(self):
        """Returns when this process may run."""
        now_ms = self._now_ms()
        if now_ms < self._limit_ms:
            return
        self._limit_ms = self._read()
        if now_ms >= self._limit_ms:
            self._stand_still(now_ms)

    def _next_look_seconds(self):
        if self._limit_ms == _WITHOUT_LIMIT:
            return EXECUTION_LEASE_LOOK_WITHOUT_LIMIT_EVERY_SECONDS
        return max(0.0, self._limit_ms - self._now_ms()) / 1000

    def _read(self):
        return _time.unpack_from(self._map)[0] + _GRACE_MS

    def _stand_still(self, since_ms):
        while True:
            now_ms = self._now_ms()
            if now_ms < self._limit_ms:
                return
            left_seconds = EXECUTION_LEASE_GIVES_UP_SECONDS - (now_ms - since_ms) / 1000
            if left_seconds <= 0:
                self._end("its daemon has not answered for too long, and other nodes may have taken over its work")
                return
            _hold_until_changed(self._map, int(left_seconds / EXECUTION_LEASE_LOOK_EVERY_SECONDS) + 1)
            self._limit_ms = self._read()


def _hold_until_changed(map_, looks):
    """No other thread of this process runs Python meanwhile.

    A loop in Python would hand the lock over between two steps of it, so all of it runs within one call: ``usleep``, called as a function of Python's own, keeps the lock and returns 0, which
    is where the time stands.
    """
    sleep = ctypes.PyDLL(None).usleep
    with memoryview(map_) as raw, raw.cast("d") as times:
        known = times[0]
        naps = map(sleep, repeat(int(EXECUTION_LEASE_LOOK_EVERY_SECONDS * 1000000), looks))
        deque(takewhile(known.__eq__, map(times.__getitem__, naps)), maxlen=0)


def end_at_once(reason):
    """Nothing of the user's code runs any more, not even what it does at an exit."""
    os.write(2, ("The worker ends: %s.\n" % reason).encode())
    os.kill(os.getpid(), signal.SIGKILL)
