"""Actors that this process calls: where each lives now, and the calls that are with it or wait for it.

Calls go directly to the actor's process, in order, on this node or another; the daemon tells where that is. When it dies, what was with it fails, or is sent to its next life where it may
run twice; what had not been sent waits for that life, or fails with the reason where there is none.
"""

from collections import deque

from . import _messages as message
from ._call_link import CallLink
from ._codec import PayloadReader
from ._limits import DEATH_OF_NODE_TOLD_WITHIN_SECONDS, DEATH_TOLD_WITHIN_SECONDS, RECONNECT_MAX_SECONDS, RECONNECT_MIN_SECONDS
from ._outgoing import open_link
from .errors import ActorDiedError, ActorUnavailableError, TaskError


class ActorClient:
    def __init__(self, worker, id_, class_name, watch=True):
        self._worker = worker
        self.id = id_
        self.class_name = class_name
        self._queue = deque()
        self._link = None
        #: The life to which there is, or is being made, a connection.
        self._incarnation = -1
        self._state = None
        #: In flight when the connection broke; what becomes of them follows from the actor's next state.
        self._lost = []
        self._lost_incarnation = -1
        #: What the constructor raised, when that ended the actor.
        self.constructor_error = None
        if watch:
            worker.daemon.send(message.ACTOR_WATCH, id_)

    def open_calls(self):
        return [*self._queue, *self._lost, *(self._link.in_flight.values() if self._link is not None else ())]

    def submit(self, call):
        call.client = self
        state = self._state
        if state is not None and state["phase"] == "dead":
            self._fail(call, state, False)
        else:
            self._queue.append(call)
            self.pump()

    def withdraw(self, call):
        """@returns the link by which it was sent, if it was"""
        if call.link is not None:
            return call.link
        if call in self._queue:
            self._queue.remove(call)
            self.pump()
        return None

    def pump(self):
        """Sends what can be sent: a call whose arguments are pending holds back those behind it."""
        while self._link is not None and self._queue:
            call = self._queue[0]
            if not all(entry.is_settled for entry in call.deps):
                return
            self._queue.popleft()
            if not call.is_ended and not self._worker.calls.fail_with_argument(call):
                self._link.push(call)

    def state_changed(self, state, body):
        error = state.get("error")
        if state["phase"] == "dead" and error is not None:
            self.constructor_error = self._read(error, body)
        self._state = state
        if state["phase"] == "alive":
            self._again(state)
            self._connect(state, RECONNECT_MIN_SECONDS)
        elif state["phase"] == "restarting":
            self._link = None
            self._again(state)
        elif state["phase"] == "dead":
            lost, self._lost = self._lost, []
            for call in lost:
                self._fail(call, state, True)
            while self._queue:
                self._fail(self._queue.popleft(), state, False)

    def _read(self, header, body):
        try:
            error = self._worker.codec.decode(PayloadReader(body, self._worker.refs).next(header))
        except Exception:  # a message that cannot be read is none
            return None
        return error.__cause__ if isinstance(error, TaskError) and error.__cause__ is not None else error

    def _is_current(self, state):
        return self._incarnation == state["incarnation"] and self._state is not None and self._state["phase"] == "alive"

    def _connect(self, state, delay):
        incarnation = state["incarnation"]
        if self._incarnation == incarnation or state.get("address") is None:
            return
        self._incarnation = incarnation

        def opened(connection, number, _error):
            if connection is None:
                # The process has ended already, and the next state tells how to go on; or the process has not answered in time.
                if self._is_current(state):
                    self._worker.pump.after(delay, retry)
                return
            identity = {"actorId": self.id, "incarnation": incarnation}
            link = CallLink(self._worker, connection, number, state["processId"], identity, self._answered, self._link_closed)
            link.on_cut = lambda: self._cut(link)
            if not self._is_current(state):
                connection.close()
                return
            self._link = link
            self.pump()

        def retry():
            if self._is_current(state) and self._link is None:
                self._incarnation = -1
                self._connect(state, min(RECONNECT_MAX_SECONDS, delay * 2))

        open_link(self._worker, state["address"], state["processId"], None, opened)

    def _answered(self, call, payloads, _seconds):
        self._worker.calls.answered(call, payloads)

    def _cut(self, link):
        if self._link is link:
            self._link = None

    def _link_closed(self, link, unanswered):
        if self._link is link:
            self._link = None
        self._lost.extend(unanswered)
        self._lost_incarnation = link.incarnation
        state = self._state
        if state["phase"] == "dead":
            self.state_changed(state, b"")
        elif state["incarnation"] > self._lost_incarnation:
            self._again(state)
        elif self._is_current(state):
            is_elsewhere = state["address"].startswith("tcp:")
            self._worker.pump.after(
                DEATH_OF_NODE_TOLD_WITHIN_SECONDS if is_elsewhere else DEATH_TOLD_WITHIN_SECONDS, lambda: self._reconnect(state)
            )

    def _reconnect(self, state):
        """The actor lives, and the connection to it broke: what was on it may have run."""
        if not self._is_current(state) or self._link is not None:
            return
        self._lost_incarnation = -1
        self._again(state)
        self._incarnation = -1
        self._connect(state, RECONNECT_MIN_SECONDS)

    def _again(self, state):
        """The calls that were with the life that ended."""
        if state["incarnation"] <= self._lost_incarnation and state["phase"] != "restarting":
            return
        lost, self._lost = self._lost, []
        again = []
        for call in lost:
            if call.is_ended:
                continue
            if call.retries_left == 0:
                reason = "its process ended while the call was with it"
                fields = {"reason": reason, "hint": "Call again, or set maxTaskRetries for methods that may run twice."}
                self._worker.calls.fail(call, ActorUnavailableError("Call %s failed: %s" % (call.name, reason), fields))
                continue
            if call.retries_left > 0:
                call.retries_left -= 1
            again.append(call)
        self._queue.extendleft(reversed(again))
        self.pump()

    def _fail(self, call, state, was_sent):
        if self.constructor_error is not None:
            text = "Call %s failed: the actor's constructor failed: %s" % (call.name, self.constructor_error)
            self._worker.calls.fail(call, ActorDiedError(text, {"reason": "its constructor failed"}, self.constructor_error))
            return
        reason = state.get("reason") or "its process ended"
        when = "while the call was with it" if was_sent else "before the call was sent"
        self._worker.calls.fail(call, ActorDiedError("Call %s failed: the actor is dead, %s: %s" % (call.name, when, reason), {"reason": reason}))
