"""Actors that this process calls: where each lives now, and the calls that are with it or wait for it.

Calls go directly to the actor's process, in order; the daemon tells where that is. When it dies, what was with it fails; what had not been sent waits for its next life, or
fails with the reason where there is none.
"""

import socket
from collections import deque

from . import _messages as message
from ._codec import Payload, PayloadReader, is_plain
from ._connection import Connection, decode_header
from .errors import ActorDiedError, ActorUnavailableError

#: How often the daemon is told how far answers with holds were read.
_TELL_EVERY = 256


class Call:
    __slots__ = ("sequence", "method", "name", "args", "deps", "results", "num_returns")

    def __init__(self, sequence, method, name, args, deps, results, num_returns):
        self.sequence = sequence
        self.method = method
        self.name = name
        self.args = args
        #: References among the arguments, whose values are sent.
        self.deps = deps
        self.results = results
        self.num_returns = num_returns


class Link:
    """The connection to one life of an actor."""

    def __init__(self, client, worker, connection, number, process_id, incarnation):
        self._client = client
        self._worker = worker
        self.connection = connection
        self.number = number
        self.process_id = process_id
        self._incarnation = incarnation
        self.held_read = 0
        self._methods = {}
        self.in_flight = {}
        connection.on_frame = self._receive
        connection.on_close = self._closed

    def push(self, call):
        connection = self.connection
        number = self._methods.get(call.method)
        if number is None:
            number = self._methods[call.method] = len(self._methods)
            connection.send(message.METHOD, [number, call.method])
        call_id = call.sequence & 0xFFFFFFFF
        self.in_flight[call_id] = call
        payload = call.args
        if is_plain(payload.in_band, payload.buffers, payload.refs) and payload.location is None and call.num_returns == 1 and not call.deps:
            connection.send_numbered(message.ACTOR_CALL, 0, call_id, number, payload.in_band)
            return
        refs = self._worker.refs
        deps = [self._value_of(entry) for entry in call.deps]
        for sent in (payload, *deps):
            for entry in sent.refs:
                refs.hold(entry.id, entry.owner, self.process_id)
            if sent.entry is not None:
                refs.hold(sent.entry.id, sent.entry.owner, self.process_id)
        header = {
            "target": number,
            "shape": "",
            "sequenceHigh": call.sequence >> 32,
            "args": payload.header(),
            "deps": [dep.header() for dep in deps],
            "numReturns": call.num_returns,
            "actorId": self._client.id,
            "incarnation": self._incarnation,
        }
        # Holds are known before what they are for.
        refs.flush()
        self._worker.daemon.flush()
        parts = [part for sent in (payload, *deps) for part in sent.parts()]
        connection.send(message.ACTOR_CALL, header, call_id, parts=parts)

    def _value_of(self, entry):
        """Stored bytes are held by the object that they are."""
        if entry.payload.location is None:
            return entry.payload
        self._worker.refs.publish(entry)
        return entry.payload.held_by(entry)

    def _receive(self, frame):
        kind, flags, call_id, number, header, body = frame
        if kind != message.RESULT:
            return
        call = self.in_flight.pop(call_id, None)
        if call is None:
            return
        refs = self._worker.refs
        if flags & message.FLAG_NUMBER:
            error = bool(flags & message.FLAG_ERROR)
            payload = Payload(body, (), bool(flags & message.FLAG_GRAPH), error, (), None, None)
            for entry in call.results:
                refs.settle(entry, payload)
            return
        facts = decode_header(header)
        reader = PayloadReader(body, refs)
        payloads = [reader.next(part) for part in facts["returns"]]
        if payloads and payloads[0].error:
            payloads = payloads[:1] * len(call.results)
        for entry, payload in zip(call.results, payloads):
            refs.settle(entry, payload)
        held = facts.get("held")
        if held is not None:
            self.held_read = held
            if held % _TELL_EVERY == 0:
                self._worker.daemon.send(message.ANSWERS_READ, [self.process_id, self.number, held, False])

    def _closed(self, _reason):
        self._client.link_closed(self)


class ActorClient:
    def __init__(self, worker, id_, class_name):
        self._worker = worker
        self.id = id_
        self.class_name = class_name
        self._queue = deque()
        self._link = None
        self._connecting = None
        self._state = None
        worker.daemon.send(message.ACTOR_WATCH, id_)

    def submit(self, call):
        state = self._state
        if state is not None and state["phase"] == "dead":
            self._fail(call, state)
        else:
            self._queue.append(call)
            self.pump()

    def pump(self):
        """Sends what can be sent: a call whose arguments are pending holds back those behind it."""
        while self._link is not None and self._queue:
            call = self._queue[0]
            if not all(entry.is_settled for entry in call.deps):
                return
            self._queue.popleft()
            failed = next((entry for entry in call.deps if entry.payload is None or entry.payload.error), None)
            if failed is None:
                self._link.push(call)
                continue
            payload = failed.payload or self._worker.codec.error_payload(failed.failure)
            for entry in call.results:
                self._worker.refs.settle(entry, payload)

    def state_changed(self, state, body):
        if state["phase"] == "dead" and state.get("hasError"):
            state["constructor"] = body
        self._state = state
        if state["phase"] == "alive":
            self._connect(state)
        elif state["phase"] == "dead":
            while self._queue:
                self._fail(self._queue.popleft(), state)

    def _connect(self, state):
        incarnation = state["incarnation"]
        if self._connecting == incarnation:
            return
        self._connecting = incarnation
        address = state["address"]
        if address.startswith("tcp:"):
            self._state = {**state, "phase": "dead", "reason": "it lives on another node, and Python calls actors of its own node only"}
            self.state_changed(self._state, b"")
            return
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.connect(address)
        except OSError:
            # Its end is on the way.
            sock.close()
            self._connecting = None
            return
        worker = self._worker
        connection = Connection(sock, worker.pump)
        number = worker.new_link_number()
        link = Link(self, worker, connection, number, state["processId"], incarnation)
        worker.links[number] = link

        def answered(_header, _body, error):
            if error is not None:
                connection.drop(error)
                return
            self._link = link
            self.pump()

        connection.request(message.HELLO, {**worker.hello, "link": number}, on_reply=answered)

    def link_closed(self, link):
        if self._link is link:
            self._link = None
        self._connecting = None
        lost = list(link.in_flight.values())
        link.in_flight.clear()
        state = self._state
        for call in lost:
            if state["phase"] == "dead":
                self._fail(call, state)
            else:
                reason = "its process ended while the call was with it"
                self._settle(call, ActorUnavailableError("Call %s failed: %s" % (call.name, reason), {"reason": reason}))
        if not link.held_read:
            self._worker.links.pop(link.number, None)
        self._worker.link_ended(link)

    def _fail(self, call, state):
        reason = state.get("reason") or "its process ended"
        self._settle(call, ActorDiedError("Call %s failed: the actor is dead: %s" % (call.name, reason), {"reason": reason}))

    def _settle(self, call, error):
        payload = self._worker.codec.error_payload(error)
        for entry in call.results:
            self._worker.refs.settle(entry, payload)
