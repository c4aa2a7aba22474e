"""The frame: how messages lie on a byte stream, as PROTOCOL.md tells.

    u32 length | u8 type | u8 flags | u32 call id | header | body        (integers little-endian; length counts what follows it)

A parser is fed what a socket gives and hands out whole frames; what cannot be a frame is a ``FrameError``, after which the connection is of no use.
"""

import struct

from ._limits import FRAME_SIZE_MAX
from ._messages import FLAG_HEADER, FLAG_NUMBER

_prefix = struct.Struct("<IBBI")
_numbered = struct.Struct("<IBBIB")
_length = struct.Struct("<I")
_number = struct.Struct(">I")
_PREFIX_SIZE = 10


class FrameError(Exception):
    pass


def numbered_frame(kind, flags, call_id, number, body):
    return b"".join((_numbered.pack(11 + len(body), kind, flags | FLAG_NUMBER, call_id, 0xCE), _number.pack(number), body))


def frame_parts(kind, flags, call_id, header, parts):
    """The pieces of a frame with an encoded header, or none (None), and any number of body parts."""
    size = 6 + sum(len(part) for part in parts)
    if header is not None:
        size += 4 + len(header)
        flags |= FLAG_HEADER
    if size > FRAME_SIZE_MAX:
        raise FrameError("Cannot send a message: its size is above the limit of %d bytes: received %d" % (FRAME_SIZE_MAX, size))
    first = _prefix.pack(size, kind, flags, call_id)
    if header is not None:
        first += _length.pack(len(header)) + header
    return [first, *parts]


class FrameParser:
    """Cuts a byte stream into frames: ``(type, flags, call id, number, header bytes or None, body bytes)``."""

    def __init__(self, size_max=FRAME_SIZE_MAX):
        self.size_max = size_max
        self._rest = b""
        #: Bytes of the frames that have been handed out.
        self.whole_bytes = 0
        #: A frame larger than what has come is gathered where it will be read.
        self._large = None
        self._large_size = 0

    @property
    def is_between_frames(self):
        """Whether nothing has come of a frame that is not complete."""
        return self._large is None and not self._rest

    def push(self, chunk):
        if self._large is not None:
            chunk = self._fill(chunk)
            if self._large is not None:
                return
            frame = self._large_done
            self._large_done = None
            yield self._frame(frame, 0, len(frame))
        if self._rest:
            chunk = self._rest + chunk
            self._rest = b""
        at = 0
        left = len(chunk)
        while left >= 4:
            length = _length.unpack_from(chunk, at)[0]
            if length < 6 or length > self.size_max:
                raise FrameError("Cannot read a frame: its length is outside 6..%d: received %d" % (self.size_max, length))
            size = 4 + length
            if left < size:
                if size > 65536:
                    self._large = bytearray(size)
                    self._large[:left] = memoryview(chunk)[at:]
                    self._large_size = left
                    return
                break
            yield self._frame(chunk, at, size)
            at += size
            left -= size
        if left:
            self._rest = chunk[at:]

    def _fill(self, chunk):
        large = self._large
        taken = min(len(large) - self._large_size, len(chunk))
        large[self._large_size : self._large_size + taken] = memoryview(chunk)[:taken]
        self._large_size += taken
        if self._large_size == len(large):
            self._large_done = bytes(large)
            self._large = None
        return chunk[taken:]

    def _frame(self, data, start, size):
        self.whole_bytes += size
        _, kind, flags, call_id = _prefix.unpack_from(data, start)
        at = start + _PREFIX_SIZE
        end = start + size
        number = 0
        header = None
        if flags & FLAG_NUMBER:
            if at + 5 > end or data[at] != 0xCE:
                raise FrameError("Cannot read a frame: its numbered header is malformed")
            number = _number.unpack_from(data, at + 1)[0]
            at += 5
        elif flags & FLAG_HEADER:
            header_size = _length.unpack_from(data, at)[0] if at + 4 <= end else end
            if at + 4 + header_size > end:
                raise FrameError("Cannot read a frame: its header is longer than the frame")
            header = data[at + 4 : at + 4 + header_size]
            at += 4 + header_size
        return kind, flags, call_id, number, header, data[at:end]
