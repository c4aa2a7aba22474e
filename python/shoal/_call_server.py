"""Receives the calls of one caller, and sends their answers: the other end of a connection to this worker.

Frames are never handled by running code of the user's: they become jobs, which the worker's loop runs. When the caller goes away, its tasks that wait do not
begin; calls of an actor go on, as they change its state, which others see.
"""

import time

from . import _messages as message
from ._calls import Job, Target, encoded_size, is_plain, payload_header
from ._connection import decode_header
from ._limits import STORE_FROM_BYTES, TELL_HELD_EVERY

#: The shape of a call without a header.
_DEFAULT_SHAPE = "CPU:10000"


class CallServer:
    def __init__(self, worker, connection, hello):
        self.worker = worker
        self.connection = connection
        self.caller_id = hello["processId"]
        self._link = hello.get("link")
        self.prefix = hello.get("taskIdPrefix", "")
        self._parent = (0, 0)
        self._answers = 0
        #: The last call with holds that was read.
        self._held_read = 0
        if self._link is not None:
            worker.read_links.opened(self.caller_id, -self._link)
        self._targets = {}
        self._open = {}
        self._tasks_read = 0
        #: The lease for which it connected.
        self.made_for = hello.get("leaseId")
        self.begun = worker.interrupts.begun_of(self.made_for)
        self._last_call = time.monotonic()
        self.is_retired = False
        connection.on_frame = self._receive
        connection.on_close = self._closed
        connection.keep_in(worker.outboxes.open(self.caller_id))

    def is_idle_for(self, seconds):
        return not self._open and time.monotonic() - self._last_call >= seconds

    @property
    def tasks_read(self):
        """The lease for which it connected, and how many tasks have been read of it."""
        return [] if self.made_for is None else [[self.made_for, self._tasks_read]]

    def retire(self):
        """Nothing of this caller begins any more: what it had sent before it knows that goes back to it."""
        self.is_retired = True
        self.connection.close()

    # ---- in

    def _receive(self, frame):
        kind, flags, call_id, number, header, body = frame
        if self.is_retired:
            # The refs in the call are given back, as the call was not read.
            return
        if kind == message.TASK_CALL or kind == message.ACTOR_CALL:
            self._call(kind, flags, call_id, number, header, body)
        elif kind == message.DEFINITION:
            facts = decode_header(header)
            self._targets[facts["number"]] = Target(facts["id"], facts["name"], False, max_calls=facts.get("maxCalls"))
            self._read(facts.get("held"))
        elif kind == message.METHOD:
            facts = decode_header(header)
            self._targets[facts[0]] = Target(facts[1], "%s.%s" % (self.worker.actor.class_name, facts[1]), True, facts[2] if len(facts) > 2 else None)
        elif kind == message.CANCEL:
            self._cancel(call_id, decode_header(header))
        elif kind == message.STREAM_CREDIT:
            self._credit(call_id, number)
        elif kind == message.STREAM_STOP:
            self._stop(call_id)
        elif kind == message.CALL_PARENT:
            self._parent_is(call_id, body)
        elif kind == message.WHY_CALL:
            self.connection.reply(call_id, self.worker.why(self._open.get(decode_header(header)["callId"])))

    def _parent_is(self, call_id, body):
        """Calls behind this message are made from that call."""
        recorder = self.worker.recorder
        self._parent = (0, 0) if recorder is None or not body else (recorder.caller_number(bytes(body).decode("latin-1")), call_id)

    def _call(self, kind, flags, call_id, number, header, body):
        is_actor_call = kind == message.ACTOR_CALL
        self._tasks_read += not is_actor_call
        facts = None
        if not flags & message.FLAG_NUMBER:
            facts = decode_header(header)
            number = facts["target"]
        job = Job(self, call_id, self._targets[number], is_actor_call)
        job.parent = self._parent
        if facts is None:
            job.shape = _DEFAULT_SHAPE
            job.body = body
            if flags & message.FLAG_GRAPH:
                job.body = None
                job.args = _graph_payload()
        else:
            job.shape = facts["shape"]
            job.read(facts, body)
            self._read(facts.get("held"))
        if not is_actor_call and self.worker.is_retiring:
            self.decline(job)
            return
        self._open[call_id] = job
        if is_actor_call:
            self.worker.actor.enqueue(job, facts)
        else:
            self.worker.executor.enqueue(job)

    def decline(self, job):
        """It has not begun here, and never will: its caller sends it elsewhere. What it refers to is given back with it."""
        self._open.pop(job.call_id, None)
        job.is_ended = True
        job.args = None
        job.deps = ()
        self.connection.send(message.TASK_DECLINED, None, job.call_id)

    def _read(self, held):
        if held is None:
            return
        self._held_read = held
        if held % TELL_HELD_EVERY == 0:
            self.worker.daemon.send(message.HELD_READ, [self.caller_id, -self._link, held])

    def _cancel(self, call_id, header):
        job = self._open.get(call_id)
        if job is None or job.is_ended:
            return
        job.is_cancelled = True
        if header.get("recursive"):
            self.worker.cancellation.cancel_children(job)
        if job.cancel_coroutine is not None:
            job.cancel_coroutine()
        if job.stream is not None and job.stream.is_waiting:
            self._goes_on(job)

    def _credit(self, call_id, consumed):
        job = self._open.get(call_id)
        if job is not None and job.stream is not None and job.stream.credit(consumed) and job.stream.is_waiting:
            self._goes_on(job)

    def _stop(self, call_id):
        job = self._open.get(call_id)
        if job is None or job.stream is None:
            return
        job.stream.is_stopped = True
        if job.stream.is_waiting:
            self._goes_on(job)

    def _goes_on(self, job):
        job.stream.is_waiting = False
        self.worker.goes_on(job)

    def _closed(self, _reason):
        self.worker.caller_gone(self)
        if self._link is not None:
            self.worker.read_links.ended(self.caller_id, -self._link, self._held_read)
        if self._link is not None and self._answers > 0:
            self.worker.refs.flush()
            self.worker.daemon.send(message.HELD_ENDED, [self.caller_id, self._link])
        for job in list(self._open.values()):
            if job.stream is not None:
                job.stream.is_stopped = True
            if not job.is_actor_call:
                job.is_cancelled = True
                self.worker.cancellation.cancel_children(job)
                if job.cancel_coroutine is not None:
                    job.cancel_coroutine()
            if job.stream is not None and job.stream.is_waiting:
                self._goes_on(job)

    # ---- out

    def ended(self, job):
        self._open.pop(job.call_id, None)
        self._last_call = time.monotonic()

    def send_result(self, call_id, encoded, began):
        duration = min(0xFFFFFFFF, int((time.perf_counter() - began) * 1000000))
        if len(encoded) == 1 and is_plain(*encoded[0]):
            self.connection.send_numbered(message.RESULT, 0, call_id, duration, encoded[0][0])
            return
        headers = []
        parts = []
        for one in encoded:
            header, pieces = self._announced(one)
            headers.append(header)
            parts.extend(pieces)
        held = self._hold(encoded)
        self.connection.send(message.RESULT, {"durationUs": duration, "returns": headers, **held}, call_id, parts=parts)

    def send_item(self, call_id, index, value):
        encoded = self.worker.codec.encode(value)
        if is_plain(*encoded):
            self.connection.send_numbered(message.STREAM_ITEM, 0, call_id, index, encoded[0])
        else:
            header, parts = self._announced(encoded)
            self.connection.send(message.STREAM_ITEM, {"index": index, "item": header, **self._hold([encoded])}, call_id, parts=parts)
        return encoded_size(encoded)

    def _announced(self, encoded):
        in_band, buffers, refs = encoded
        location = None
        if encoded_size(encoded) >= STORE_FROM_BYTES and not self.connection.is_closed:
            location = self.worker.store.write(in_band, buffers, self.caller_id)
        parts = () if location is not None else (in_band, *buffers)
        return payload_header(in_band, buffers, refs, False, location), parts

    def _hold(self, encoded):
        """Holds for what the answer refers to, registered before it leaves."""
        refs = [entry for one in encoded for entry in one[2]]
        if not refs:
            return {}
        answer = None
        if self._link is not None:
            self._answers += 1
            answer = (self._link, self._answers)
        for entry in refs:
            self.worker.refs.hold(entry.id, entry.owner, self.caller_id, answer)
        self.worker.refs.flush()
        self.worker.daemon.flush()
        return {} if answer is None else {"held": self._answers}


class _graph_payload:
    """Arguments that only JavaScript can read: refused when the call runs."""

    graph = True
