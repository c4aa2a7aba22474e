"""One connection: frames out, frames in, requests with their replies.

Frames are gathered and written together by ``flush``, which whoever runs the loop calls before it waits. Sockets never block: what the system does not take
at once is written when it has room. A peer that breaks the protocol loses its connection, never more.
"""

import socket

from . import _messages as message
from ._decode import DecodeError, decode_value
from ._encode import encode_value
from ._frames import FrameError, FrameParser, frame_parts, numbered_frame
from ._limits import FRAME_SIZE_MAX, JOINED_BYTES_MAX
from ._wire_error import read_wire_error
from .values import Undefined

_READ_BYTES = 256 * 1024
#: What TLS says where a socket would say that it must wait. Named, as most workers never load it.
_TLS_WAITS = ("SSLWantReadError", "SSLWantWriteError")


class ConnectionClosed(Exception):
    pass


def encode_header(header):
    data, buffers = encode_value(header)
    if buffers:
        raise ValueError("Cannot send a header: it holds a buffer of 4 KB or more, which belongs into the body")
    return data


def decode_header(data):
    """Plain data; what is absent in JavaScript is absent here."""
    return without_undefined(decode_value(data))


def without_undefined(value):
    """Headers come from JavaScript, where a field may be there without a value."""
    if type(value) is dict:
        return {key: without_undefined(item) for key, item in value.items() if item is not Undefined}
    if type(value) is list:
        return [None if item is Undefined else without_undefined(item) for item in value]
    return None if value is Undefined else value


class Connection:
    def __init__(self, sock, pump, size_max=FRAME_SIZE_MAX):
        sock.setblocking(False)
        self._socket = sock
        self._pending = getattr(sock, "pending", None)
        self._pump = pump
        self._parser = FrameParser(size_max)
        self._out = []
        self._requests = {}
        self._next_request = 1
        self._is_writing = False
        #: Where what is sent outlives this process.
        self._kept = None
        #: In which outbox the other end keeps what it sends, and where in what has come it began; None where it keeps nothing, and once it has ended in order.
        self._outbox = None
        self._pushed = 0
        #: Nothing more can be written; what the other end had written before is read to its end.
        self._is_cut = False
        self.close_reason = None
        #: The other end has closed it behind the last byte that it had written: nothing was lost.
        self.is_whole = False
        self.on_frame = None
        self.on_close = None
        pump.add_reader(sock, self._readable)
        pump.connections.add(self)

    @property
    def is_closed(self):
        return self.close_reason is not None

    @property
    def has_unsent(self):
        return bool(self._out)

    @property
    def is_between_messages(self):
        """Whether nothing has come of a message that is not complete."""
        return self._parser.is_between_frames

    def trust(self):
        """The peer has said who it is: frames of any kind and size are read from now on."""
        self._parser.size_max = FRAME_SIZE_MAX

    # ---- out

    def keep_in(self, outbox):
        """From now on what is sent can be read by others when this process has died, until the system has taken it."""
        self.send_numbered(message.OUTBOX, 0, outbox.id, 0, b"")
        self._kept = outbox

    def send_numbered(self, kind, flags, call_id, number, body):
        frame = numbered_frame(kind, flags, call_id, number, body)
        if self._kept is not None:
            self._kept.add((frame,))
        self._out.append(frame)
        self._pump.unflushed.add(self)

    def send(self, kind, header=None, call_id=0, flags=0, parts=()):
        encoded = None if header is None else encode_header(header)
        pieces = frame_parts(kind, flags, call_id, encoded, parts)
        if self._kept is not None:
            self._kept.add(pieces)
        self._out.extend(pieces)
        self._pump.unflushed.add(self)

    def reply(self, call_id, header, parts=()):
        self.send(message.REPLY, header, call_id, parts=parts)

    def reply_error(self, call_id, error):
        self.send(message.REPLY, error.header(), call_id, message.FLAG_ERROR)

    def request(self, kind, header, parts=(), on_reply=None):
        """``on_reply(header, body, error)`` is called once; ``error`` is a WireError where the peer refused, and text where it is gone."""
        number = self._next_request
        self._next_request = number % 0xFFFFFFFF + 1
        if self.is_closed:
            on_reply(None, b"", self.close_reason)
            return
        self._requests[number] = on_reply
        self.send(kind, header, number, parts=parts)

    def flush(self):
        if self._is_writing or not self._out or self.is_closed:
            return
        if self._is_cut:
            self._out = []
            return
        out = self._out
        if len(out) > 1:
            out = self._joined(out)
        try:
            while out:
                data = out[0]
                sent = self._socket.send(data)
                if sent == len(data):
                    out.pop(0)
                else:
                    out[0] = memoryview(data)[sent:]
        except (BlockingIOError, InterruptedError):
            self._out = out
            self._is_writing = True
            self._pump.set_writer(self._socket, self._writable)
            return
        except OSError as error:
            if type(error).__name__ in _TLS_WAITS:
                self._out = out
                self._is_writing = True
                self._pump.set_writer(self._socket, self._writable)
                return
            # Answers may lie unread: the loop finds the end of the connection behind them.
            self._is_cut = True
        self._out = []
        if self._kept is not None:
            self._kept.taken()

    def _joined(self, out):
        """Small pieces are one write; large ones are not copied."""
        joined = []
        small = []
        for piece in out:
            if len(piece) < JOINED_BYTES_MAX:
                small.append(piece)
                continue
            if small:
                joined.append(b"".join(small))
                small = []
            joined.append(piece)
        if small:
            joined.append(b"".join(small))
        return joined

    def _writable(self):
        self._is_writing = False
        self._pump.set_writer(self._socket, None)
        self.flush()

    # ---- in

    def _readable(self):
        self._read()
        # TLS may have more than the socket shows.
        while not self.is_closed and self._pending is not None and self._pending() > 0:
            self._read()

    def _read(self):
        try:
            chunk = self._socket.recv(_READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            if type(error).__name__ not in _TLS_WAITS:
                self.drop(error.strerror or "the connection broke")
            return
        if not chunk:
            self.is_whole = True
            self.drop("the other end closed it")
            return
        self._pushed += len(chunk)
        try:
            for frame in self._parser.push(chunk):
                if frame[0] == message.REPLY:
                    self._replied(frame)
                elif frame[0] == message.OUTBOX:
                    self._outbox = (frame[2], self._parser.whole_bytes) if frame[2] else None
                else:
                    self.on_frame(frame)
                if self.is_closed:
                    return
        except (FrameError, DecodeError) as error:
            self.drop("the peer broke the protocol: %s" % error)

    @property
    def outbox(self):
        return None if self._outbox is None else self._outbox[0]

    def read_rest(self, start, data):
        """After the end of the connection: reads on where it ended, each byte once. ``start``: where in the stream of the outbox the bytes belong. Returns whether nothing is missing."""
        if self._outbox is None:
            return False
        read_to = self._pushed - self._outbox[1]
        if start > read_to:
            return False
        rest = data[read_to - start :]
        self._pushed += len(rest)
        try:
            for frame in self._parser.push(rest):
                if frame[0] not in (message.REPLY, message.OUTBOX):
                    self.on_frame(frame)
        except (FrameError, DecodeError):
            return False
        return True

    def _replied(self, frame):
        _, flags, call_id, _, header, body = frame
        on_reply = self._requests.pop(call_id, None)
        if on_reply is None:
            return
        decoded = None if header is None else decode_header(header)
        if flags & message.FLAG_ERROR:
            on_reply(None, b"", read_wire_error(decoded))
        else:
            on_reply(decoded, body, None)

    # ---- end

    def close(self):
        """Sends what is pending, then closes."""
        if self.is_closed:
            return
        if self._kept is not None:
            # The other end has all when it has read this, and looks for no rest.
            self.send_numbered(message.OUTBOX, 0, 0, 0, b"")
        self.flush()
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        self.drop("it was closed")

    def drop(self, reason):
        if self.is_closed:
            return
        self.close_reason = reason
        self._pump.remove(self._socket)
        self._pump.connections.discard(self)
        self._pump.unflushed.discard(self)
        self._socket.close()
        if self._kept is not None:
            self._kept.close()
        requests = self._requests
        self._requests = {}
        for on_reply in requests.values():
            on_reply(None, b"", reason)
        if self.on_close is not None:
            self.on_close(reason)
