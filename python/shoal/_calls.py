"""One call that came here: its arguments read, its function run, its answer sent.

A job is run by the worker's loop, in the main thread; every call is answered exactly once, with its values or its error. A call whose items are a stream is
run piece by piece: it yields the loop when its reader is behind, and goes on when there is room again.
"""

import time
from collections import deque
from functools import partial
from types import AsyncGeneratorType, CoroutineType, GeneratorType

from . import _messages as message
from ._codec import PayloadReader, is_plain, payload_header
from ._interrupts import TaskInterrupted
from ._keywords import call_with
from ._limits import SINGLE_ITEMS_MAX, TURN_AFTER_SECONDS
from ._reading import ArgumentsLost
from ._recorder import CANCELLED, FAILED, FINISHED
from .values import Undefined

#: The end of an actor, as a call that comes after all others.
TERMINATE_METHOD = "\0terminate"
# The end of an actor that called exit_actor(), as its node is told.
EXITED = {"ending": "exited", "reason": "it called exit_actor()"}


class Job:
    __slots__ = (
        "server", "worker", "call_id", "target", "shape", "args", "deps", "body", "num_returns", "name", "accelerators",
        "is_actor_call", "is_remade", "is_cancelled", "is_ended", "stream", "began", "was_told", "group", "cancel_coroutine", "is_asynchronous", "parent", "attempt", "record",
    )  # fmt: skip

    def __init__(self, server, call_id, target, is_actor_call):
        self.server = server
        self.worker = server.worker
        self.call_id = call_id
        self.target = target
        self.shape = ""
        self.args = None
        self.deps = ()
        self.body = None
        self.num_returns = 1
        self.name = target.name
        self.accelerators = None
        self.is_actor_call = is_actor_call
        #: Of a call of an actor: it makes a lost object again.
        self.is_remade = False
        self.is_cancelled = False
        self.is_ended = False
        self.stream = None
        self.began = 0.0
        #: It has heard of its cancellation: what it waits for after that is its cleaning up.
        self.was_told = False
        #: Of a call of an actor: the concurrency group that it runs in.
        self.group = None
        self.cancel_coroutine = None
        #: It goes on by itself, as a coroutine.
        self.is_asynchronous = False
        #: Of the call that made it: number of its caller in the record, 0 for none, and its call id.
        self.parent = (0, 0)
        #: How often it was tried before.
        self.attempt = 0
        #: Its place in the record while it runs.
        self.record = None

    @property
    def wants_thread(self):
        return self.is_actor_call and self.worker.actor.is_threaded and self.target.id != TERMINATE_METHOD

    def tell_parked(self):
        self.server.connection.send(message.TASK_PARKED, None, self.call_id)

    def read(self, header, body):
        reader = PayloadReader(body, self.worker.refs)
        self.args = reader.next(header["args"])
        self.deps = [reader.next(dep) for dep in header["deps"]]
        self.num_returns = header["numReturns"]
        self.accelerators = header.get("accelerators")
        self.is_remade = header.get("isRemade", False)
        self.attempt = header.get("attempt", 0)
        if header.get("name") is not None:
            self.name = header["name"]
        if header.get("stream") is not None:
            self.stream = Stream(self, header["stream"])

    def run(self):
        """@returns whether the call has ended"""
        if self.is_cancelled or (self.stream is not None and self.stream.is_stopped):
            return self.answer_cancelled()
        if self.stream is not None and self.stream.iterator is not None:
            return self._drive()
        if self.server.begun is not None:
            self.server.begun.begins(self.call_id)
        if self.target.max_calls is not None:
            self.worker.begins(self.target)
        self.began = time.perf_counter()
        self._record()
        try:
            function = self.target.load(self.worker)
            args = self._arguments()
        except ArgumentsLost as problem:
            return self.answer_cancelled() if self.is_cancelled else self._decline(problem.lost)
        except BaseException as error:
            return self.answer_error(error)
        try:
            value = self.guarded(lambda: self._call(function, args))
        except BaseException as error:
            self.worker.end_copy(error)
            return self._failed(error)
        finally:
            self.target.measure(time.perf_counter() - self.began)
        if self.is_actor_call and (isinstance(value, CoroutineType) or (self.stream is not None and hasattr(value, "__aiter__"))):
            return self._go_on(value)
        self.worker.end_copy(None)
        if self.stream is not None:
            try:
                self.stream.begin(value)
            except BaseException as error:
                return self.answer_error(error)
            return self._drive()
        return self.answer(value)

    def _record(self):
        recorder = self.worker.recorder
        if recorder is None or self.target.id == TERMINATE_METHOD:
            return
        function = recorder.function_number(self.name, self.worker.actor.id if self.is_actor_call else None)
        caller = recorder.caller_number(self.server.prefix)
        self.record = recorder.begins(function, caller, self.call_id, self.began, self.parent, self.attempt)

    def _record_end(self, outcome, error=None):
        """``outcome``: None where it has not begun."""
        recorder, record = self.worker.recorder, self.record
        if record is None or not recorder.is_own:
            return
        self.record = None
        if outcome is None:
            recorder.forget(record)
            return
        recorder.ends(record, outcome)
        failure = None if error is None else recorder.failure_of(self.server.prefix, self.call_id, error)
        if failure is not None:
            self.worker.daemon.send(message.CALL_FAILED, failure)

    def _decline(self, lost):
        """It has not begun, and goes back to its caller with all that it would hold here."""
        self._record_end(None)
        self.server.connection.send(message.TASK_DECLINED, {"lost": lost}, self.call_id)
        return self._end()

    def _call(self, function, args):
        value = call_with(function, args)
        return self.worker.run_coroutine(value) if isinstance(value, CoroutineType) and not self.is_actor_call else value

    # ---- methods that are coroutines

    def _go_on(self, value):
        self.is_asynchronous = True
        task = self.worker.start_coroutine(self._whole(value), self, self._coroutine_ended)
        self.cancel_coroutine = task.cancel
        return False

    async def _whole(self, value):
        if isinstance(value, CoroutineType):
            value = await value
        if self.stream is None:
            return value
        self.stream.begin(value)
        await self.stream.drive_async()
        self.num_returns = 0
        return Undefined

    def _coroutine_ended(self, task):
        self.cancel_coroutine = None
        if task.cancelled():
            self.answer_error(RuntimeError("the coroutine was cancelled from within the actor"))
        else:
            # Loaded by the coroutine that has ended.
            from ._coroutines import failure_of

            error = failure_of(task)
            if error is None:
                self.answer(task.result())
            else:
                self._failed(error)
        self.worker.call_ended(self)

    def guarded(self, body):
        """Runs code of the user's so that it can be stopped; calls of actors never are, as others rely on their state."""
        if self.is_actor_call:
            return self.worker.side_stack.outside(body) if self.wants_thread else body()
        shared_name = self.name if self.worker.executor.has_parked else None
        interrupts = self.worker.interrupts
        try:
            return interrupts.run(self.server.caller_id, self.call_id, body, shared_name)
        finally:
            # The caller hears this before the answer, and no later call finds modules half loaded.
            if interrupts.has_stopped_any:
                self.worker.retire()

    def _arguments(self):
        codec = self.worker.codec
        if self.body is not None:
            return codec.decode_plain(self.body)
        wait = partial(self.worker.actor.await_arguments, self) if self.is_actor_call else None
        args = self.worker.decode_arguments(self.args, self.deps, wait)
        # The decoded values hold their own references.
        self.args = None
        self.deps = ()
        return args

    def _failed(self, error):
        if isinstance(error, KeyboardInterrupt) and not self.is_actor_call and (self.is_cancelled or self.worker.interrupts.has_come):
            self.is_cancelled = True
            if self.worker.interrupts.was_recursive:
                self.worker.cancellation.cancel_children(self)
            return self.answer_cancelled()
        if isinstance(error, self.worker.exit_class):
            self.worker.end_actor(EXITED)
            return True
        return self.answer_error(error)

    # ---- streams

    def _drive(self):
        try:
            is_done = self.stream.drive()
        except BaseException as error:
            if self.stream.is_stopped and not isinstance(error, TaskInterrupted):
                return self.answer_cancelled()
            return self._failed(error)
        if is_done:
            self.num_returns = 0
            return self.answer(Undefined)
        return False

    # ---- answers

    def answer(self, value):
        if self.is_cancelled:
            return self.answer_cancelled()
        try:
            if self.num_returns == 1:
                if isinstance(value, (GeneratorType, AsyncGeneratorType)):
                    raise TypeError(
                        'Cannot send the result of %s: it is a generator: set numReturns: "streaming": received %s'
                        % (self.name, type(value).__name__)
                    )
                values = (value,)
            elif self.num_returns == 0:
                values = ()
            else:
                values = self._split(value)
            encoded = [self.worker.codec.encode(item) for item in values]
            self.server.send_result(self.call_id, encoded, self.began)
        except BaseException as error:  # a value may do anything when it is looked at
            return self.answer_error(error)
        self._record_end(FINISHED)
        return self._end()

    def _split(self, value):
        if not isinstance(value, (list, tuple)) or len(value) != self.num_returns:
            found = "%s of %d" % (type(value).__name__, len(value)) if isinstance(value, (list, tuple)) else type(value).__name__
            raise TypeError(
                "Cannot split the result: numReturns is %d, so a list or tuple of that length must be returned: received %s"
                % (self.num_returns, found)
            )
        return value

    def answer_error(self, error):
        if self.is_cancelled:
            return self.answer_cancelled()
        self._record_end(FAILED, error)
        self.server.connection.send_numbered(
            message.RESULT, message.FLAG_ERROR, self.call_id, 0, self.worker.codec.error_bytes(error, self.name)
        )
        return self._end()

    def answer_cancelled(self):
        """The caller has settled it already, and only learns that the call has ended."""
        if self.stream is not None:
            self.stream.close()
        self._record_end(CANCELLED)
        self.server.connection.send_numbered(message.RESULT, 0, self.call_id, 0, b"\xc0")
        return self._end()

    def _end(self):
        self.args = None
        self.deps = ()
        self.is_ended = True
        self.server.ended(self)
        return True


class Stream:
    """The items of a generator on their way to the caller, while it has room for them."""

    def __init__(self, job, header):
        self._job = job
        self._skip = header["skip"]
        self._consumed = header["consumed"]
        self._items_ahead = header["itemsAhead"]
        self._bytes_ahead = header["bytesAhead"]
        self._ahead = deque([0] * max(0, self._skip - self._consumed))
        self._ahead_bytes = 0
        self._index = 0
        self.iterator = None
        self._is_async = False
        self.is_stopped = False
        self.is_waiting = False
        #: What its coroutine awaits while it waits.
        self.room = None

    def begin(self, value):
        if hasattr(value, "__aiter__"):
            self._is_async = True
            self.iterator = value.__aiter__()
        elif hasattr(value, "__iter__"):
            self.iterator = iter(value)
        else:
            raise TypeError(
                'Cannot stream the items of %s: with numReturns: "streaming" something that can be iterated must be returned: received %s'
                % (self._job.name, type(value).__name__)
            )

    def credit(self, consumed):
        while self._consumed < consumed:
            self._consumed += 1
            if self._ahead:
                self._ahead_bytes -= self._ahead.popleft()
        return self._has_room()

    def _has_room(self):
        return not self._ahead or (len(self._ahead) < self._items_ahead and self._ahead_bytes < self._bytes_ahead)

    def _next(self):
        if self._is_async:
            return self._job.worker.run_coroutine(self.iterator.__anext__())
        return next(self.iterator)

    def _send(self, item):
        """False for an item that had arrived before the call began anew."""
        index = self._index
        self._index = index + 1
        if index < self._skip:
            return False
        size = self._job.server.send_item(self._job.call_id, index, item)
        self._ahead.append(size)
        self._ahead_bytes += size
        return True

    def drive(self):
        """Sends items until the end (True) or until there is no room (False)."""
        job = self._job
        pump = job.worker.pump
        last_turn = time.monotonic()
        while not self.is_stopped and not job.is_cancelled:
            try:
                item = job.guarded(self._next)
            except (StopIteration, StopAsyncIteration):
                self.iterator = ()
                return True
            index = self._index
            if not self._send(item):
                continue
            now = time.monotonic()
            if index < SINGLE_ITEMS_MAX or now - last_turn > TURN_AFTER_SECONDS:
                pump.turn(0)
                last_turn = time.monotonic()
            if not self._has_room() and not self.is_stopped and not job.is_cancelled:
                pump.turn(0)
                if not self._has_room():
                    self.is_waiting = True
                    return False
        self.close()
        return True

    async def drive_async(self):
        """The same in a coroutine, which lets others run while it waits."""
        try:
            await self._send_items()
        finally:
            iterator, self.iterator = self.iterator, ()
            if hasattr(iterator, "aclose"):
                await iterator.aclose()
            elif hasattr(iterator, "close"):
                iterator.close()

    async def _send_items(self):
        job = self._job
        while not self.is_stopped and not job.is_cancelled:
            try:
                item = await self.iterator.__anext__() if self._is_async else next(self.iterator)
            except (StopIteration, StopAsyncIteration):
                return
            if not self._send(item):
                continue
            job.worker.sends_from_coroutine()
            if not self._has_room() and not self.is_stopped and not job.is_cancelled:
                self.room = job.worker.new_future()
                self.is_waiting = True
                await self.room
                self.room = None

    def close(self):
        """Ends the generator where it stands, so that its ``finally`` runs."""
        iterator, self.iterator = self.iterator, ()
        try:
            if self._is_async and hasattr(iterator, "aclose"):
                self._job.worker.run_coroutine(iterator.aclose())
            elif hasattr(iterator, "close"):
                iterator.close()
        except Exception:  # what a generator raises when it is stopped concerns nobody
            pass


class Target:
    """What a number stands for that a caller gave to a function or method."""

    __slots__ = ("id", "name", "is_method", "group", "max_calls", "mean", "_function")

    def __init__(self, id_, name, is_method, group=None, max_calls=None):
        #: How many calls of it this process takes; None for any number.
        self.max_calls = max_calls
        #: Of a method: the concurrency group of its calls.
        self.group = group
        self.id = id_
        self.name = name
        self.is_method = is_method
        #: Seconds that it takes; without end until it has run.
        self.mean = float("inf")
        self._function = None

    def load(self, worker):
        if self._function is None:
            self._function = worker.actor.method(self.id) if self.is_method else worker.targets.load(self.id)
        elif not self.is_method:
            worker.targets.enter(self.id)
        return self._function

    def measure(self, seconds):
        self.mean = seconds if self.mean == float("inf") else self.mean * 0.8 + seconds * 0.2


def encoded_size(encoded):
    in_band, buffers, _ = encoded
    return len(in_band) + sum(len(buffer) for buffer in buffers)


__all__ = ["Job", "Stream", "Target", "encoded_size", "is_plain", "payload_header"]
