"""The loop over sockets and timers. One thread turns it: the main one, while it runs no code of the user's, or waits within it.

``turn`` waits for something to happen and handles it. Other threads hand work over with ``call``. A task that computes leaves the loop alone, as one of
JavaScript does; nothing in the protocol waits for a worker that computes.
"""

import heapq
import os
import selectors
import time
from collections import deque

_READ = selectors.EVENT_READ
_WRITE = selectors.EVENT_WRITE


class Pump:
    def __init__(self):
        self._selector = selectors.DefaultSelector()
        self._writers = {}
        self._timers = []
        self._timer_count = 0
        self._calls = deque()
        self.connections = set()
        self.unflushed = set()
        #: Called before each wait: what is told in batches goes out then.
        self.before_wait = []
        #: Called before what has come is handled; returns when it may be.
        self.await_execution_lease = None
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._selector.register(self._wake_read, _READ, self._woken)

    def fileno(self):
        """Becomes readable when something has happened."""
        return self._selector.fileno()

    def add_reader(self, file, callback):
        self._selector.register(file, _READ, callback)

    def set_writer(self, file, callback):
        key = self._selector.get_key(file)
        if callback is None:
            self._writers.pop(key.fd, None)
            self._selector.modify(file, _READ, key.data)
        else:
            self._writers[key.fd] = callback
            self._selector.modify(file, _READ | _WRITE, key.data)

    def remove(self, file):
        try:
            key = self._selector.unregister(file)
        except (KeyError, ValueError):
            return
        self._writers.pop(key.fd, None)

    # ---- timers

    def after(self, seconds, callback):
        """Returns what ``cancel`` takes."""
        self._timer_count += 1
        timer = [time.monotonic() + seconds, self._timer_count, callback]
        heapq.heappush(self._timers, timer)
        return timer

    @staticmethod
    def cancel(timer):
        timer[2] = None

    def seconds_to_timer(self):
        timers = self._timers
        while timers and timers[0][2] is None:
            heapq.heappop(timers)
        return max(0.0, timers[0][0] - time.monotonic()) if timers else None

    def _run_timers(self):
        now = time.monotonic()
        timers = self._timers
        while timers and timers[0][0] <= now:
            callback = heapq.heappop(timers)[2]
            if callback is not None:
                callback()

    # ---- other threads

    def call(self, callback):
        """From any thread: has it called in the loop."""
        self._calls.append(callback)
        try:
            os.write(self._wake_write, b"\0")
        except BlockingIOError:
            # The pipe is full of wake-ups already.
            pass

    def _woken(self):
        try:
            os.read(self._wake_read, 4096)
        except BlockingIOError:
            pass
        calls = self._calls
        while calls:
            calls.popleft()()

    # ---- the loop

    def flush(self):
        for callback in self.before_wait:
            callback()
        unflushed = self.unflushed
        while unflushed:
            unflushed.pop().flush()

    def turn(self, seconds=None):
        """Waits until something happens, at most for so long, and handles it. 0: handles what has happened."""
        self.flush()
        if self._timers:
            to_timer = self.seconds_to_timer()
            if to_timer is not None and (seconds is None or to_timer < seconds):
                seconds = to_timer
        happened = self._selector.select(seconds)
        if self.await_execution_lease is not None:
            self.await_execution_lease()
        for key, events in happened:
            if events & _READ:
                key.data()
            if events & _WRITE:
                callback = self._writers.get(key.fd)
                if callback is not None:
                    callback()
        if self._timers:
            self._run_timers()
