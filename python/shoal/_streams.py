"""Streams that this process reads: the items of a generator, each an object of its own, in order.

The producer is never further ahead than the limits that went with the call; what is taken is told to it in batches. When the call is tried again, items that have come are skipped
by their number. A stream that nobody reads any more stops its generator.
"""

from collections import deque

from . import _runtime
from ._codec import ObjectRef
from ._limits import BYTES_AHEAD_MAX, ITEMS_AHEAD_MAX
from ._stacks import Waiter

_BYTES_WITHOUT_END = 2**53 - 1


class ItemSink:
    """The items that have come and nobody has taken."""

    def __init__(self, worker, sequence, completion, items_ahead):
        self._worker = worker
        self._sequence = sequence
        self.completion = completion
        self._items_ahead = ITEMS_AHEAD_MAX if items_ahead is None else items_ahead
        self._bytes_ahead = BYTES_AHEAD_MAX if items_ahead is None else _BYTES_WITHOUT_END
        self._arrived = deque()
        self._received = 0
        self._consumed = 0
        self._told = 0
        self._untold_bytes = 0
        self.is_stopped = False
        self._failure_taken = False
        self.call = None
        #: Called once the stream is ready.
        self.waiters = []
        completion.when_settled(self._tell)

    def header(self):
        """What goes with the call, each time that it is sent."""
        self._told = self._consumed
        self._untold_bytes = 0
        return {"skip": self._received, "consumed": self._consumed, "itemsAhead": self._items_ahead, "bytesAhead": self._bytes_ahead}

    @property
    def is_ready(self):
        return bool(self._arrived) or self.completion.is_settled or self.is_stopped

    def arrived(self, index, payload):
        refs = self._worker.refs
        if index != self._received or self.is_stopped or self.completion.is_settled:
            refs.discard(payload)
            return
        self._received += 1
        entry = refs.own(self._worker.new_object_id(self._sequence, index + 1))
        refs.settle(entry, payload)
        size = payload.location[2] if payload.location is not None else len(payload.in_band) + sum(map(len, payload.buffers))
        self._arrived.append((entry, size))
        self._tell()

    def _tell(self):
        waiters, self.waiters = self.waiters, []
        for waiter in waiters:
            waiter()

    def take(self):
        """The next item, or the failure that ended the stream, as an entry; None at the end."""
        if not self._arrived:
            if self.is_stopped or self._failure_taken or not _has_failed(self.completion):
                return None
            self._failure_taken = True
            entry = self._worker.refs.own(self._worker.new_object_id(self._sequence, self._received + 1))
            entry.failure = self.completion.failure
            if self.completion.payload is not None:
                self._worker.refs.settle(entry, self.completion.payload)
            return entry
        entry, size = self._arrived.popleft()
        self._consumed += 1
        self._untold_bytes += size
        if self._consumed - self._told >= self._items_ahead / 2 or self._untold_bytes >= self._bytes_ahead / 2:
            self._told = self._consumed
            self._untold_bytes = 0
            if self.call is not None and self.call.link is not None:
                self.call.link.credit(self.call, self._consumed)
        return entry

    def stop(self):
        """Nobody reads on."""
        if self.is_stopped:
            return
        self.is_stopped = True
        self._arrived.clear()
        if self.call is not None:
            self._worker.cancellation.stream_stopped(self.call)
        self._tell()


class ObjectRefGenerator:
    """The items of a generator, as references in order: ``for ref in generator`` and ``async for ref in generator``.

    A failure is the last reference, and ``get`` raises it. ``close()``, and the end of the last variable that has it, stop the generator.
    """

    def __init__(self, sink):
        self._sink = sink

    def __iter__(self):
        return self

    @_runtime.in_turn
    def __next__(self):
        worker = _runtime.require_task()
        sink = self._sink
        if not sink.is_ready:
            Waiter(worker, lambda: sink.is_ready, None).run()
        entry = sink.take()
        if entry is None:
            raise StopIteration
        return ObjectRef(entry)

    def __aiter__(self):
        return self

    async def __anext__(self):
        from ._coroutines import settled

        sink = self._sink
        if not sink.is_ready:
            await settled(sink, _await_ready)
        entry = sink.take()
        if entry is None:
            raise StopAsyncIteration
        return ObjectRef(entry)

    def close(self):
        self._sink.stop()

    def __del__(self):
        worker = _runtime.current
        if worker is None or self._sink.is_stopped or self._sink.completion.is_settled:
            return
        # In whichever thread drops it last.
        worker.pump.call(self._sink.stop)

    def __repr__(self):
        return "ObjectRefGenerator(%s)" % self._sink.completion.id


@_runtime.in_turn
def _await_ready(sink, callback):
    if sink.is_ready:
        callback()
    else:
        sink.waiters.append(callback)
    _runtime.require().sends_from_coroutine()


def _has_failed(entry):
    return entry.failure is not None or (entry.payload is not None and entry.payload.error)


__all__ = ["ItemSink", "ObjectRefGenerator"]
