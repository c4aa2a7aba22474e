"""The object store as this process sees it: reads any object of the node as a view of shared memory, and writes its own.

An object that is read is mapped, and stays held until nothing refers to the mapping. One that is written gets a file of its own in the session's memory directory; when
the daemon says that nobody needs it, the file's pages take the next object of about its size, as fresh pages cost five times as much. Beyond the
node's quota, or where memory has no room, objects go to the spill directory.
"""

import errno
import json
import mmap
import os
import re
import struct
import time

from . import _messages as message
from ._limits import BUFFER_ALIGNMENT_BYTES, BUFFERS_MAX, DEDICATED_FIT, EMPTY_ARENA_KEPT_SECONDS, PAGE_BYTES

_header = struct.Struct("<IHHIIQ")
_length = struct.Struct("<Q")
_MAGIC = 0x314C4853
_VERSION = 1
_ARENA_NAME = re.compile(r"[\w-]{1,128}\Z", re.ASCII)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM)


class ObjectLost(Exception):
    """The bytes of an object are not where they should be."""

    def __init__(self, location, why):
        Exception.__init__(self, "Cannot read an object from the store: %s: received %r" % (why, location))
        self.location = location
        self.why = why


class _Mapping(mmap.mmap):
    """A mapped object. Views of it keep it, and it keeps the hold."""

    entry = None
    store = None
    arena = None
    #: Where its bytes come from: the path, and the first of them.
    source = None

    def __del__(self):
        if self.store is not None:
            self.store.unmapped(self.arena)


def layout_of(in_band_size, buffer_sizes):
    """Size of the object, and where its in-band bytes and its buffers begin."""
    at = _header.size + 8 * len(buffer_sizes)
    offsets = [at]
    end = at + in_band_size
    for size in buffer_sizes:
        start = -(-end // BUFFER_ALIGNMENT_BYTES) * BUFFER_ALIGNMENT_BYTES
        offsets.append(start)
        end = start + size
    return end, offsets


class Store:
    def __init__(self, options, daemon, refs):
        self._memory = options["memoryDirectory"]
        self._spill = options["spillDirectory"]
        self._quota = options["storeQuotaBytes"]
        self._tag = options["processId"][:28]
        self._daemon = daemon
        self._refs = refs
        self._next_number = 1
        #: Sizes of the files that hold an object, and the empty ones with the time since when.
        self._full = {}
        self._empty = {}
        self._used_bytes = 0
        self._written_bytes = 0
        self._seen_bytes = 0
        self._mapped_in = {}
        self._untold = set()
        self._is_quiet = False
        self.mapped_bytes = 0
        self.written_bytes = 0

    # ---- reading

    def read(self, location, entry):
        """In-band bytes and buffers; the buffers are read-only views."""
        arena, offset, size, kind = location
        if not _ARENA_NAME.match(arena) or offset < 0 or size <= 0:
            raise ObjectLost(location, "that is no place in the store")
        folder = self._memory if kind == "memory" else self._spill
        mapped = self._map(folder + "/" + arena, offset, size, location)
        if mapped is None:
            mapped = self._map_spilled(location)
            arena = None
        mapping, start = mapped
        mapping.entry = entry
        if kind == "memory" and arena is not None:
            self._count(arena, 1)
            mapping.arena = arena
            mapping.store = self
        self.mapped_bytes += size
        return self._parts(memoryview(mapping)[start : start + size], location)

    def _map(self, path, offset, size, location):
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            start = offset % mmap.ALLOCATIONGRANULARITY
            if os.fstat(file).st_size < offset + size:
                raise ObjectLost(location, "its file is shorter than that")
            mapping = _Mapping(file, size + start, access=mmap.ACCESS_READ, offset=offset - start)
            mapping.source = (path, offset - start)
            return mapping, start
        finally:
            os.close(file)

    def writable(self, view):
        """The bytes of a view, where writing to them is seen by nobody else: pages of the store that are copied once somebody writes to them, or a copy."""
        base = _mapping_of(view)
        if base is None or base.source is None:
            return bytearray(view)
        path, offset = base.source
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            # The file is gone: the pages live on in the mapping alone.
            return bytearray(view)
        try:
            private = _Mapping(file, len(base), flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE, offset=offset)
        finally:
            os.close(file)
        private.entry = base.entry
        if base.arena is not None:
            self._count(base.arena, 1)
            private.arena = base.arena
            private.store = self
        start = _address_of(view) - _address_of(memoryview(base))
        return memoryview(private)[start : start + view.nbytes]

    def _map_spilled(self, location):
        """An arena that is gone was moved to disk: the index that stands in its place tells where."""
        arena, offset, size, _ = location
        for _attempt in range(2):
            try:
                with open("%s/%s.moved" % (self._spill, arena), encoding="utf-8") as file:
                    index = json.load(file)
            except (FileNotFoundError, ValueError):
                break
            for at, name, place in index:
                if at == offset and _ARENA_NAME.match(name):
                    mapped = self._map(self._spill + "/" + name, place, size, location)
                    if mapped is not None:
                        return mapped
        raise ObjectLost(location, "its file is gone")

    def _parts(self, view, location):
        if len(view) < _header.size:
            raise ObjectLost(location, "its header is damaged")
        magic, version, _, count, _, in_band = _header.unpack_from(view)
        if magic != _MAGIC or version != _VERSION or count > BUFFERS_MAX or _header.size + 8 * count > len(view):
            raise ObjectLost(location, "its header is damaged")
        sizes = [_length.unpack_from(view, _header.size + 8 * index)[0] for index in range(count)]
        size, offsets = layout_of(in_band, sizes)
        if size != len(view):
            raise ObjectLost(location, "its header is damaged")
        buffers = [view[start : start + length] for start, length in zip(offsets[1:], sizes)]
        return bytes(view[offsets[0] : offsets[0] + in_band]), buffers

    def _count(self, arena, change):
        before = self._mapped_in.get(arena, 0)
        count = before + change
        if count == 0:
            self._mapped_in.pop(arena, None)
        else:
            self._mapped_in[arena] = count
        # Whether there is one is what decides about spilling.
        if before == 0 or count == 0:
            self._untold.add(arena)

    def unmapped(self, arena):
        self._count(arena, -1)

    def tell_use(self):
        if not self._untold:
            return
        untold, self._untold = self._untold, set()
        self._daemon.send(message.STORE_USE, {"mapped": [[arena, self._mapped_in.get(arena, 0)] for arena in untold], "restored": [0, 0]})

    # ---- writing

    def write(self, in_band, buffers, owner):
        """Stores an object for its owner; returns its location. @raises OSError where there is room nowhere"""
        sizes = [len(buffer) for buffer in buffers]
        size, offsets = layout_of(len(in_band), sizes)
        pieces = [_header.pack(_MAGIC, _VERSION, 0, len(buffers), 0, len(in_band)) + b"".join(map(_length.pack, sizes)), in_band]
        end = offsets[0] + len(in_band)
        for start, buffer in zip(offsets[1:], buffers):
            if start > end:
                pieces.append(bytes(start - end))
            pieces.append(buffer)
            end = start + len(buffer)
        location = self._write_memory(pieces, size) or self._write_disk(pieces, size)
        self.written_bytes += size
        # Freed pages may be sealed again now, so the daemon must hear of the release first.
        if self._refs.freed:
            self._refs.flush()
        self._refs.sealed.append([location, owner])
        return location

    def _write_memory(self, pieces, size):
        stored = self._used_bytes + self._written_bytes - self._seen_bytes
        if stored + size > self._quota:
            return None
        name = self._fitting(size)
        try:
            if name is None:
                name = self._new_name()
                capacity = -(-size // PAGE_BYTES) * PAGE_BYTES
                file = os.open(self._memory + "/" + name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                self._daemon.send(message.STORE_ARENA, [name, "memory", capacity])
            else:
                capacity = self._empty.pop(name)[0]
                file = os.open(self._memory + "/" + name, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            # The arena's file was removed from outside.
            self._daemon.send(message.ARENA_LOST, [name, 0, 0, "memory"])
            return self._write_memory(pieces, size)
        try:
            _write_all(file, pieces)
        except OSError as error:
            self._remove(name, "memory")
            if error.errno in _NO_ROOM:
                return None
            raise
        finally:
            os.close(file)
        self._full[name] = capacity
        self._written_bytes += size
        return [name, 0, size, "memory"]

    def _write_disk(self, pieces, size):
        name = self._new_name()
        path = self._spill + "/" + name
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            _write_all(file, pieces)
        except OSError:
            os.unlink(path)
            raise
        finally:
            os.close(file)
        self._daemon.send(message.STORE_ARENA, [name, "disk", size])
        return [name, 0, size, "disk"]

    def _fitting(self, size):
        best = None
        for name, (capacity, _) in self._empty.items():
            if size <= capacity <= max(size * DEDICATED_FIT, PAGE_BYTES) and (best is None or capacity < self._empty[best][0]):
                best = name
        return best

    def _new_name(self):
        name = "%s-%d" % (self._tag, self._next_number)
        self._next_number += 1
        return name

    def _remove(self, name, kind):
        try:
            os.unlink((self._memory if kind == "memory" else self._spill) + "/" + name)
        except FileNotFoundError:
            pass
        self._daemon.send(message.STORE_ARENA, [name, kind, 0])

    def free(self, location):
        """Nobody can reach the object any more; returns whether its pages are had back."""
        name, _, _, kind = location
        if kind == "disk":
            if name.startswith(self._tag):
                self._remove(name, "disk")
            return name.startswith(self._tag)
        capacity = self._full.pop(name, None)
        if capacity is not None:
            self._empty[name] = (capacity, time.monotonic())
        return capacity is not None

    def free_own(self, location):
        """The same for an object of this process; returns whether its pages are had back."""
        is_had = self.free(location)
        # A loop that puts and drops must not seem to fill the store.
        if is_had and location[3] == "memory":
            self._written_bytes -= location[2]
        return is_had

    def trim(self, older_than=EMPTY_ARENA_KEPT_SECONDS):
        """Deletes files that have been empty for a while; returns whether some are left."""
        before = time.monotonic() - older_than
        for name in [name for name, (_, since) in self._empty.items() if since <= before]:
            del self._empty[name]
            self._remove(name, "memory")
        return bool(self._empty)

    # ---- the daemon's messages

    def receive(self, kind, header, collect):
        """Whether the message was about the store."""
        if kind == message.STORE_REUSE:
            for location in header:
                self.free(location)
        elif kind == message.STORE_STATUS:
            self._used_bytes = header["usedBytes"]
            self._seen_bytes = header["seenBytes"]
        elif kind == message.STORE_COLLECT:
            collect()
            self._refs.flush()
            self._daemon.send(message.STORE_COLLECT)
        elif kind == message.STORE_RETIRE:
            for name in header:
                self._full.pop(name, None)
                self._empty.pop(name, None)
            self._refs.flush()
            self._daemon.send(message.STORE_RETIRE, header)
        elif kind != message.STORE_SPILLED:
            return False
        return True


def _mapping_of(view):
    """The mapping that a view shows, through arrays and views of arrays; None where it shows none."""
    shown = view
    while shown is not None and not isinstance(shown, _Mapping):
        shown = shown.obj if isinstance(shown, memoryview) else getattr(shown, "base", None)
    return shown


def _address_of(view):
    import numpy

    return numpy.frombuffer(view, dtype="uint8").ctypes.data


def _write_all(file, pieces):
    """Writes all of it from the beginning, however often the system stops early."""
    at = 0
    left = [memoryview(piece) for piece in pieces if len(piece)]
    while left:
        written = os.pwritev(file, left[:512], at) if hasattr(os, "pwritev") else os.pwrite(file, left[0], at)
        at += written
        while left and written >= len(left[0]):
            written -= len(left[0])
            left.pop(0)
        if written:
            left[0] = left[0][written:]
