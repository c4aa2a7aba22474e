"""The life of a call that this process makes: its arguments, its references, its answer, its next try.

What a call needs lives as long as it does: the references among and in its arguments, large arguments as an object of their own, the handle of its actor. A call whose result lies in
the store is kept with that result, so that it can run again when the bytes are lost.
"""

import weakref

from . import _messages as message
from . import _tags as tags
from ._call_link import Call
from ._codec import ObjectRef
from ._limits import TURN_AFTER_SECONDS
from ._streams import ItemSink, ObjectRefGenerator
from .errors import ObjectLostError, TaskCancelledError, TaskError
from .values import Custom

_PUT_INDEX = 0x80000000
STREAMING = "streaming"


class OutboundCalls:
    def __init__(self, worker, now):
        self._worker = worker
        self._now = now
        self._last_turn = 0.0
        #: Calls that wait for their arguments, or for their next try.
        self.held = set()

    # ---- making

    def encode(self, args):
        """The payload of arguments, and the entries of the references among them. A reference inside another value stays one."""
        worker = self._worker
        deps = []
        marked = []
        for arg in args:
            if isinstance(arg, ObjectRef):
                marked.append(Custom(tags.KIND_DEPENDENCY, len(deps)))
                deps.append(arg._entry)
                worker.refs.watch(arg._entry)
            else:
                marked.append(arg)
        payload = worker.codec.to_payload(marked, worker.process_id)
        if payload.location is not None:
            # Large arguments are an object of their own, which lives as long as the call.
            entry = worker.refs.own(worker.new_object_id(worker.new_sequence(), _PUT_INDEX))
            worker.refs.settle(entry, payload)
            worker.refs.publish(entry)
            payload = payload.held_by(entry)
        return payload, deps

    def make(self, target, name, args, num_returns, items_ahead=None):
        """@returns the call, and what its caller gets: a reference, several, none, or a stream"""
        worker = self._worker
        payload, deps = self.encode(args)
        sequence = worker.new_sequence()
        is_stream = num_returns == STREAMING
        count = 1 if is_stream else num_returns
        results = [worker.refs.own(worker.new_object_id(sequence, index)) for index in range(max(1, count))]
        call = Call(sequence, target, name, payload, deps, results, message.STREAMING if is_stream else count)
        call.parent = worker.running_job()
        for entry in results:
            entry.maker = call
        if is_stream:
            call.stream = ItemSink(worker, sequence, results[0], items_ahead)
            call.stream.call = call
            return call, ObjectRefGenerator(call.stream)
        if count == 0:
            return call, None
        refs = [ObjectRef(entry) for entry in results]
        return call, refs[0] if count == 1 else refs

    def submit_task(self, call):
        """Once all references among its arguments have values; a failed one fails the call."""
        call.is_task = True
        self.when_settled(call)
        self.sent()

    def sent(self):
        """What is to leave leaves at once, although the code that called may go on computing."""
        worker = self._worker
        worker.sends_from_coroutine()
        now = self._now()
        if now - self._last_turn < TURN_AFTER_SECONDS:
            return
        self._last_turn = now
        marked = worker.interrupts.pause()
        try:
            worker.pump.turn(0)
        finally:
            worker.interrupts.resume(marked)

    def when_settled(self, call):
        if not call.deps:
            self._proceed(call)
            return

        def proceed():
            self.held.discard(call)
            self._proceed(call)

        self.held.add(call)
        self._worker.refs.when_all_settled(call.deps, proceed)

    def _proceed(self, call):
        if call.is_ended:
            return
        if not self.fail_with_argument(call):
            self._worker.submitter.submit(call)

    def fail_with_argument(self, call):
        """@returns whether an argument has failed, and with it the call"""
        failed = next((entry for entry in call.deps if entry.payload is None or entry.payload.error), None)
        if failed is None:
            return False
        self._settle(call, [failed.payload or self._worker.codec.error_payload(failed.failure)])
        return True

    # ---- ends

    def answered(self, call, payloads):
        refs = self._worker.refs
        if call.is_ended:
            for payload in payloads:
                refs.discard(payload)
            return
        if payloads and payloads[0].error:
            if call.retries_left != 0 and self._is_accepted(call, payloads[0]):
                if call.retries_left > 0:
                    call.retries_left -= 1
                self.again(call)
                return
            self._settle(call, payloads[:1])
            return
        if call.stream is not None or call.num_returns == 0:
            payloads = [self._worker.codec.to_payload(None, self._worker.process_id)]
        if call.retries_left != 0 and call.stream is None and any(payload.location is not None for payload in payloads):
            for entry in call.results:
                entry.origin = call
        self._settle(call, payloads)

    def _is_accepted(self, call, payload):
        if call.retry_on is False:
            return False
        if call.retry_on is True:
            return True
        try:
            error = self._worker.codec.decode(payload)
        except Exception:  # what cannot be read is no reason to run it again
            return False
        cause = error.__cause__ if isinstance(error, TaskError) and error.__cause__ is not None else error
        names = {one.__name__ for one in call.retry_on}
        return isinstance(cause, tuple(call.retry_on)) or getattr(cause, "name", type(cause).__name__) in names

    def fail(self, call, error):
        if not call.is_ended:
            self._settle(call, [self._worker.codec.error_payload(error)])

    def _settle(self, call, payloads):
        call.is_ended = True
        self.held.discard(call)
        if payloads[0].error:
            payloads = payloads[:1] * len(call.results)
        for entry, payload in zip(call.results, payloads):
            if entry.is_settled:
                # The call was run again for the sake of another result.
                self._worker.refs.discard(payload)
            else:
                self._worker.refs.settle(entry, payload)
        # No reference circles: an object without users must end at once, not with the next collection.
        call.made = [weakref.ref(entry) for entry in call.results]
        call.results = ()
        call.keeps = None
        if call.stream is not None:
            call.stream.call = None

    def again(self, call):
        """The next try, which is counted already."""
        if call.retry_delay > 0:
            self.held.add(call)
            self._worker.pump.after(call.retry_delay, lambda: self._once_more(call))
        else:
            self._once_more(call)

    def _once_more(self, call):
        self.held.discard(call)
        if call.is_ended:
            return
        if call.is_task:
            self._worker.submitter.submit(call)
        else:
            call.client.submit(call)

    # ---- lost bytes

    def lost(self, entry, location, cause):
        """The bytes of an object are not where they should be: it waits for its value again, which is made once more where that can be.

        :raises ObjectLostError: where it cannot
        """
        worker = self._worker
        refs = worker.refs
        # The loss was noticed before: the object has a new place or waits for one.
        if entry.failure is not None or (entry.payload is not None and entry.payload.location != location):
            return
        if entry.payload is None and (entry.maker is not None or entry.is_watched):
            return
        origin = entry.origin
        if origin is None and entry.id.startswith(worker.prefix):
            if entry.owner is not None:
                refs.flush()
                worker.daemon.send(message.REF_LOST, [entry.id, entry.owner, location])
                worker.daemon.send(message.REF_VALUE, [entry.id, entry.owner])
            reason = "it was put, or its task may not run again"
            raise ObjectLostError("Cannot get an object: its bytes are lost, and it cannot be made again: %s" % reason, {"reason": reason}) from cause
        if entry.owner is None:
            refs.freed_own.append(location)
        entry.payload = None
        if entry.owner is not None:
            refs.flush()
            worker.daemon.send(message.REF_LOST, [entry.id, entry.owner, location])
        if origin is None:
            entry.is_watched = True
            return
        if origin.retries_left > 0:
            origin.retries_left -= 1
        entry.maker = origin
        entry.origin = None
        if entry.owner is not None:
            refs.owe(entry)
        if not origin.is_ended:
            return
        origin.is_ended = False
        origin.results = [known() or refs.own(worker.new_object_id(origin.sequence, index)) for index, known in enumerate(origin.made)]
        self.when_settled(origin)

    def arguments_lost(self, call, lost):
        """The worker that a task was sent to found arguments of it lost: it is sent again when they have values."""
        if call.is_ended:
            return
        try:
            for id_, location in lost:
                entry = next((dep for dep in call.deps if dep.id == id_), None)
                if entry is not None:
                    self.lost(entry, location, None)
        except ObjectLostError as error:
            self.fail(call, error)
            return
        self.when_settled(call)

    def lost_elsewhere(self, id_, receiver, location):
        """The daemon has lost all that it was told of what was made here: another process found that out, or this one, which makes it again then."""
        refs = self._worker.refs
        entry = refs.lookup(id_)
        if entry is not None and (entry.origin is not None or entry.maker is not None):
            try:
                self.lost(entry, location, None)
            except ObjectLostError:
                entry = None
            if entry is not None:
                return
        refs.flush()
        self._worker.daemon.send(message.REF_VALUE, [id_, receiver])

    # ---- cancellation

    def open_calls(self):
        calls = [*self.held, *self._worker.submitter.open_calls()]
        for client in self._worker.actor_clients():
            calls.extend(client.open_calls())
        return calls

    def cancelled(self, call):
        text = "Call %s was cancelled" % call.name if not call.is_task else "Task %s was cancelled" % call.name
        self.fail(call, TaskCancelledError(text, {"reason": "it was cancelled"}))
