"""Calls that this process makes, and the connection on which they go to one worker or to one life of an actor.

A link numbers what is called, holds what a call refers to for its receiver, and matches answers. What was not answered when it ends goes back to its owner, in the order in which it was sent:
the submitter of tasks, or the client of the actor.
"""

from . import _messages as message
from ._codec import Payload, PayloadReader, is_plain
from ._connection import decode_header
from ._limits import EXIT_REPORT_ELSEWHERE_WITHIN_SECONDS, EXIT_REPORT_WITHIN_SECONDS, NODE_TAG_DIGITS, TELL_HELD_EVERY


class Call:
    __slots__ = (
        "sequence", "target", "is_task", "group", "name", "args", "deps", "results", "made", "num_returns", "shape", "retries_left", "free_retries", "retry_on",
        "retry_delay", "max_calls", "parent", "is_ended", "has_parked", "stream", "keeps", "definition", "client", "link",
    )  # fmt: skip

    def __init__(self, sequence, target, name, args, deps, results, num_returns):
        self.sequence = sequence
        #: The id of a definition, or the name of a method.
        self.target = target
        self.is_task = False
        #: Of a method: the concurrency group.
        self.group = None
        self.name = name
        self.args = args
        #: References among the arguments, whose values are sent.
        self.deps = deps
        self.results = results
        #: The same without keeping them, once they are settled.
        self.made = ()
        self.num_returns = num_returns
        self.shape = ""
        #: -1: without end.
        self.retries_left = 0
        #: How often it runs again after another task ended the process in which it waited.
        self.free_retries = 0
        #: Which errors of the code itself are tried again: True, False, or classes.
        self.retry_on = False
        self.retry_delay = 0.0
        #: How many calls of the function one worker takes; None for any number.
        self.max_calls = None
        #: The job of this process that made it.
        self.parent = None
        self.is_ended = False
        #: Its worker said that it began and waits.
        self.has_parked = False
        #: Takes in the items of a call whose result is a stream.
        self.stream = None
        #: What must live as long as the call: the handle of its actor.
        self.keeps = None
        #: Of a function of TypeScript: keeps its code, as long as the call may run or run again.
        self.definition = None
        #: Of a call of an actor: by whom it is sent.
        self.client = None
        #: The link by which it was sent and not answered.
        self.link = None

    @property
    def call_id(self):
        return self.sequence & 0xFFFFFFFF


class CallLink:
    """``on_answer(call, payloads, seconds)`` for each answer; ``on_closed(link, calls)`` with what has none; ``on_declined(call, lost)`` for a task that never began."""

    def __init__(self, worker, connection, number, process_id, identity, on_answer, on_closed, on_declined=None):
        self._worker = worker
        self.connection = connection
        self.number = number
        self.process_id = process_id
        #: Of an actor: fields by which the receiver knows that it is meant.
        self._identity = identity
        self.incarnation = identity["incarnation"]
        self._on_answer = on_answer
        self._on_closed = on_closed
        self._on_declined = on_declined
        #: Called when nothing more can be sent, before it is known what is unanswered.
        self.on_cut = None
        #: What a dead worker has left behind, in the order of the stream.
        self._rest = []
        self._has_exited = False
        self._is_finished = False
        self.held_read = 0
        self._numbers = {}
        self.in_flight = {}
        #: How many calls there were, answered or not.
        self.sent = 0
        #: It ended behind the last answer that its worker had written: none was lost.
        self.is_whole = False
        connection.on_frame = self._receive
        connection.on_close = self._closed
        #: The last call with holds.
        self._held = 0
        worker.links[number] = self
        worker.read_links.opened(process_id, number)

    # ---- out

    def push(self, call, accelerators=None):
        connection = self.connection
        number = self._number_of(call)
        call_id = call.call_id
        self.in_flight[call_id] = call
        self.sent += 1
        call.link = self
        payload = call.args
        kind = message.TASK_CALL if call.is_task else message.ACTOR_CALL
        plain = is_plain(payload.in_band, payload.buffers, payload.refs) and payload.location is None and call.num_returns == 1
        if plain and not call.deps and not call.is_task:
            connection.send_numbered(kind, 0, call_id, number, payload.in_band)
            return
        refs = self._worker.refs
        deps = [self._value_of(entry) for entry in call.deps]
        held = [entry for sent in (payload, *deps) for entry in sent.refs]
        for entry in held:
            refs.publish(entry)
        held.extend(sent.entry for sent in (payload, *deps) if sent.entry is not None)
        if held:
            self._held += 1
        for entry in held:
            refs.hold(entry.id, entry.owner, self.process_id, (-self.number, self._held))
        header = {
            "target": number,
            "shape": call.shape,
            "sequenceHigh": call.sequence >> 32,
            "args": payload.header(),
            "deps": [dep.header() for dep in deps],
            "numReturns": call.num_returns,
            **self._identity,
        }
        if call.is_task:
            header["name"] = call.name
            if accelerators is not None:
                header["accelerators"] = accelerators
        if call.stream is not None:
            header["stream"] = call.stream.header()
        if held:
            header["held"] = self._held
        # Holds are sent before the messages that rely on them.
        refs.flush()
        self._worker.daemon.flush()
        parts = [part for sent in (payload, *deps) for part in sent.parts()]
        connection.send(kind, header, call_id, parts=parts)

    def _number_of(self, call):
        key = (call.target, call.group, call.max_calls)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._numbers)
            if call.is_task:
                definition = {"number": number, "id": call.target, "contentId": call.target, "name": call.name, "inBand": -1}
                if call.max_calls is not None:
                    definition["maxCalls"] = call.max_calls
                self.connection.send(message.DEFINITION, {**definition, "buffers": [], "dependencies": [], "refs": []})
            else:
                self.connection.send(message.METHOD, [number, call.target] if call.group is None else [number, call.target, call.group])
        return number

    def _value_of(self, entry):
        """Stored bytes are held by the object that they are."""
        if entry.payload.location is None:
            return entry.payload
        self._worker.refs.publish(entry)
        return entry.payload.held_by(entry)

    def cancel(self, call, recursive, abandon=False):
        self.connection.send(message.CANCEL, {"recursive": recursive, "abandon": abandon}, call.call_id)

    def credit(self, call, consumed):
        self.connection.send_numbered(message.STREAM_CREDIT, 0, call.call_id, consumed, b"")
        self._worker.sends_from_coroutine()

    def stop(self, call):
        self.connection.send(message.STREAM_STOP, None, call.call_id)

    def has_begun(self, call):
        """Tasks run in the order of their sending: those that parked have begun, and so has the first that has not."""
        if call.has_parked:
            return True
        return next((sent for sent in self.in_flight.values() if not sent.has_parked), None) is call

    def is_unanswered(self, call):
        return self.in_flight.get(call.call_id) is call

    # ---- in

    def _receive(self, frame):
        kind, flags, call_id, number, header, body = frame
        call = self.in_flight.get(call_id)
        if call is None:
            return
        if kind == message.TASK_PARKED:
            call.has_parked = True
        elif kind == message.STREAM_ITEM:
            self._item(call, flags, number, header, body)
        elif kind == message.RESULT:
            del self.in_flight[call_id]
            call.link = None
            self._result(call, flags, number, header, body)
        elif kind == message.TASK_DECLINED:
            del self.in_flight[call_id]
            call.link = None
            self._on_declined(call, decode_header(header)["lost"] if header else ())

    def _item(self, call, flags, number, header, body):
        if flags & message.FLAG_NUMBER:
            payload = Payload(bytes(body), (), bool(flags & message.FLAG_GRAPH), False, (), None, None)
            call.stream.arrived(number, payload)
            return
        facts = decode_header(header)
        call.stream.arrived(facts["index"], PayloadReader(body, self._worker.refs).next(facts["item"]))
        self._read(facts.get("held"))

    def _result(self, call, flags, number, header, body):
        if flags & message.FLAG_NUMBER:
            payload = Payload(bytes(body), (), bool(flags & message.FLAG_GRAPH), bool(flags & message.FLAG_ERROR), (), None, None)
            self._on_answer(call, [payload], number / 1000000)
            return
        facts = decode_header(header)
        reader = PayloadReader(body, self._worker.refs)
        payloads = [reader.next(part) for part in facts["returns"]]
        self._on_answer(call, payloads, facts["durationUs"] / 1000000)
        self._read(facts.get("held"))

    def _read(self, held):
        if held is None:
            return
        self.held_read = held
        if held % TELL_HELD_EVERY == 0:
            self._worker.daemon.send(message.HELD_READ, [self.process_id, self.number, held])

    def add_rest(self, outbox, start, data):
        self._rest.append((outbox, start, data))

    def worker_exited(self):
        """All that the worker has left behind has come."""
        self._has_exited = True
        if self.connection.is_closed:
            self._finish()

    def _is_here(self):
        return self.process_id[:NODE_TAG_DIGITS] == self._worker.process_id[:NODE_TAG_DIGITS]

    def _closed(self, _reason):
        if self.on_cut is not None:
            self.on_cut()
        if not self.in_flight or self.connection.outbox is None or self._has_exited:
            self._finish()
            return
        # Answers may lie where the worker has left them, once its end is known.
        limit = EXIT_REPORT_WITHIN_SECONDS if self._is_here() else EXIT_REPORT_ELSEWHERE_WITHIN_SECONDS
        self._worker.pump.after(limit, self._finish)

    def _finish(self):
        if self._is_finished:
            return
        self._is_finished = True
        is_rest_read = False
        for outbox, start, data in self._rest:
            # A second connection to the same worker has its own rest.
            if outbox == self.connection.outbox:
                is_rest_read = self.connection.read_rest(start, data)
                if not is_rest_read:
                    break
        self._rest = []
        # A process on this node: everything written has been read, whether or not the process closed the connection.
        self.is_whole = (self._is_here() or self.connection.is_whole or is_rest_read) and self.connection.is_between_messages
        unanswered = list(self.in_flight.values())
        self.in_flight.clear()
        for call in unanswered:
            call.link = None
        self._worker.links.pop(self.number, None)
        self._worker.read_links.ended(self.process_id, self.number, self.held_read)
        if self._held:
            self._worker.refs.flush()
            self._worker.daemon.send(message.HELD_ENDED, [self.process_id, -self.number])
        self._on_closed(self, unanswered)
        self._worker.link_ended(self)
