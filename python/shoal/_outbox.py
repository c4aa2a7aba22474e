"""What this worker has sent and the system has not taken, in a file that outlives the worker: its daemon reads the file once the worker has ended.

The same slots as those of workers of JavaScript (`src/runtime/os/processes/memory/outbox.ts`): a head says at every moment how many bytes of the slot are whole frames and where in the stream they
belong. A connection writes what it sends here besides, and forgets it when the system has all.
"""

import mmap
import os
import struct

from ._limits import NODE_TAG_DIGITS, OUTBOX_BYTES_MAX, OUTBOX_KEPT_ELSEWHERE, OUTBOX_SLOT_BYTES, OUTBOX_SLOT_ELSEWHERE_BYTES, OUTBOX_UNIT_BYTES

_HEAD_BYTES = 64
_UNITS_AT = 0
_ID_AT = 4
_COMMITTED_AT = 8
_OFFSET_AT = 12
_READER_AT = 32
_word = struct.Struct("<I")
_offset = struct.Struct("<Q")


class _Slot:
    __slots__ = ("memory", "room")

    def __init__(self, memory):
        self.memory = memory
        self.room = len(memory) - _HEAD_BYTES

    def restart(self, offset):
        # First nothing is in it: no bytes stand at an offset that is not theirs.
        _word.pack_into(self.memory, _COMMITTED_AT, 0)
        _offset.pack_into(self.memory, _OFFSET_AT, offset)


class Outboxes:
    """The slots of this worker: cut from the end of the file when they are needed, and used again."""

    def __init__(self, path, process_id):
        self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._tag = process_id[:NODE_TAG_DIGITS]
        self._size = 0
        self._free = {}
        self._last_id = 0

    def open(self, reader):
        """For a connection that leads to this process."""
        self._last_id += 1
        return Outbox(self, self._last_id, reader, reader[:NODE_TAG_DIGITS] != self._tag)

    def take(self, size):
        """None where there is no room."""
        room = OUTBOX_UNIT_BYTES
        while room < size:
            room *= 2
        free = self._free.get(room)
        if free:
            return free.pop()
        if self._size + room > OUTBOX_BYTES_MAX:
            return None
        try:
            # A page that shared memory has no room for ends the process that touches it.
            if os.pwrite(self._file, bytes(room), self._size) != room:
                return None
            memory = mmap.mmap(self._file, room, offset=self._size)
        except OSError:
            return None
        self._size += room
        _word.pack_into(memory, _UNITS_AT, room // OUTBOX_UNIT_BYTES)
        return _Slot(memory)

    def release(self, slot):
        _word.pack_into(slot.memory, _COMMITTED_AT, 0)
        _word.pack_into(slot.memory, _ID_AT, 0)
        self._free.setdefault(len(slot.memory), []).append(slot)


class Outbox:
    """What one connection has sent, from its beginning on."""

    def __init__(self, outboxes, number, reader, is_elsewhere):
        self.id = number
        self._outboxes = outboxes
        self._reader = reader.encode("ascii")
        # A reader on this machine gets everything that the system has taken. On the way to another machine the system loses a part where
        # this process dies with unread bytes.
        self._kept = OUTBOX_KEPT_ELSEWHERE if is_elsewhere else 0
        self._slot_bytes = OUTBOX_SLOT_ELSEWHERE_BYTES if is_elsewhere else OUTBOX_SLOT_BYTES
        #: Where in the stream the slot begins, and how much is in it.
        self._start = 0
        self._length = 0
        self._full = []
        self._has_unsent = False
        self._slot = None
        self._next(0)

    def add(self, pieces):
        """A whole frame. It is committed behind its last byte, so half of one is never believed."""
        size = sum(map(len, pieces))
        if self._slot is None or self._length + size > self._slot.room:
            self._next(max(size + _HEAD_BYTES, self._slot_bytes))
        at = self._length
        self._length = at + size
        self._has_unsent = True
        slot = self._slot
        if slot is None:
            return
        memory = slot.memory
        at += _HEAD_BYTES
        for piece in pieces:
            end = at + len(piece)
            memory[at:end] = piece
            at = end
        _word.pack_into(memory, _COMMITTED_AT, self._length)

    def taken(self):
        """The system has all that was sent."""
        self._has_unsent = False
        if self._kept:
            return
        for slot in self._full:
            self._outboxes.release(slot)
        self._full = []
        self._start += self._length
        self._length = 0
        if self._slot is not None:
            self._slot.restart(self._start)

    def close(self):
        for slot in (*self._full, self._slot):
            if slot is not None:
                self._outboxes.release(slot)
        self._full = []
        self._slot = None
        self._slot_bytes = OUTBOX_BYTES_MAX + 1

    def _next(self, size):
        if self._slot is not None:
            self._full.append(self._slot)
            while not self._has_unsent and len(self._full) > self._kept:
                self._outboxes.release(self._full.pop(0))
        self._start += self._length
        self._length = 0
        slot = self._slot = self._outboxes.take(size)
        if slot is None:
            return
        slot.restart(self._start)
        slot.memory[_READER_AT : _READER_AT + len(self._reader)] = self._reader
        _word.pack_into(slot.memory, _ID_AT, self.id)
