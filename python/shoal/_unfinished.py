"""Connections to this worker whose other end has not said who it is: how many there may be, and which go when there are more.

Each takes a file descriptor, and anybody who reaches the listener can open them, so there is a cap. The oldest go first: whoever is honest says at once who it is, and gets in
while others only connect. A caller that has begun as ours do and was answered may be one that waits for a processor: it stays as long as its entrance allows. The same limits as in JavaScript (src/runtime/os/limits.ts).
"""

import time

from ._limits import UNFINISHED_AT_ONCE_MAX, UNFINISHED_FOR_SECONDS, UNFINISHED_MAX


class Unfinished:
    """One connection: ``drop`` ends it, and is replaced when the connection is wrapped in another."""

    def __init__(self, drop, entries, silent):
        self.drop = drop
        self.since = time.monotonic()
        self._entries = entries
        self._silent = silent

    def begun(self):
        """Its first word was one of ours, and was answered: the next is its own, when it gets round to it."""
        self._silent.pop(self, None)

    def finish(self):
        """It has said who it is, or has closed. May be called twice."""
        self._entries.pop(self, None)
        self._silent.pop(self, None)


class UnfinishedConnections:
    def __init__(self, after):
        """``after(seconds, action)``: the pump's."""
        self._after = after
        self._waits = False
        #: In the order in which they came.
        self._entries = {}
        #: Those that have not begun.
        self._silent = {}

    def __len__(self):
        return len(self._entries)

    def begin(self, drop):
        entry = Unfinished(drop, self._entries, self._silent)
        self._entries[entry] = True
        self._silent[entry] = True
        # Drops also a handshake that has begun, as unauthenticated callers can begin one and would keep out later callers.
        if len(self._entries) > UNFINISHED_AT_ONCE_MAX:
            self._drop_first(self._entries)
        self._trim_later()
        return entry

    def _trim_later(self):
        if len(self._silent) > UNFINISHED_MAX and not self._waits:
            self._waits = True
            # A process that was busy until now reads before it judges.
            self._after(UNFINISHED_FOR_SECONDS, lambda: self._after(0, self._trim))

    def _trim(self):
        self._waits = False
        now = time.monotonic()
        while len(self._silent) > UNFINISHED_MAX and now - next(iter(self._silent)).since >= UNFINISHED_FOR_SECONDS:
            self._drop_first(self._silent)
        self._trim_later()

    def _drop_first(self, entries):
        oldest = next(iter(entries))
        oldest.finish()
        oldest.drop()
