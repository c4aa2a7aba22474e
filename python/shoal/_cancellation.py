"""Ends calls of this process that nobody waits for any more: what ``cancel`` does, and the end of the task that made them.

The references of a cancelled call fail at once. A task that is with a worker is told, then its code is interrupted through the daemon, and at last its worker is
ended. Calls of actors are told and no more, as their process has a state that others rely on.
"""

from . import _messages as message
from ._limits import ABANDON_WITHIN_SECONDS, CANCEL_GRACE_SECONDS, INTERRUPT_EVERY_SECONDS


class _Pursuit:
    def __init__(self, call, link, force, recursive, is_stream):
        self.call = call
        self.link = link
        self.force = force
        self.recursive = recursive
        self.is_stream = is_stream
        self.began = None
        self.is_abandoned = False


class Cancellation:
    def __init__(self, worker, now):
        self._worker = worker
        self._now = now
        self._pursuits = []
        self._timer = None

    def cancel_entry(self, entry, force, recursive):
        """What ``cancel(ref)`` means. @raises TypeError for what no call makes"""
        call = entry.maker
        if call is not None:
            if force and not call.is_task:
                raise TypeError("Cannot cancel with force: %s is a call of an actor, whose process has a state: cancel without force" % call.name)
            self.cancel(call, force, recursive)
            return
        if int(entry.id[-8:], 16) >= 0x80000000:
            raise TypeError("Cannot cancel: no call computes the object, it was put: received %s" % entry.id)
        if not entry.is_settled and entry.owner is not None:
            self._worker.refs.flush()
            order = {"id": entry.id, "owner": entry.owner, "force": force, "recursive": recursive}
            self._worker.daemon.send(message.CANCEL_REF, order)

    def cancel_for_other(self, order):
        entry = self._worker.refs.lookup(order["id"])
        if entry is not None and entry.maker is not None:
            call = entry.maker
            self.cancel(call, bool(order.get("force")) and call.is_task, order.get("recursive") is not False)

    def cancel_children(self, job):
        for call in self._worker.calls.open_calls():
            if call.parent is job and not call.is_ended:
                self.cancel(call, False, True)

    def cancel(self, call, force, recursive):
        if call.is_ended:
            return
        self._worker.calls.cancelled(call)
        link = self._worker.submitter.withdraw(call) if call.is_task else call.client.withdraw(call)
        if link is None:
            return
        link.cancel(call, recursive)
        if call.is_task:
            pursuit = _Pursuit(call, link, force, recursive, False)
            self._begin(pursuit)
            if force:
                self._pursue(pursuit)

    def stream_stopped(self, call):
        """Nobody reads the items any more."""
        link = call.link
        if link is None:
            self.cancel(call, False, True)
            return
        link.stop(call)
        if call.is_task:
            self._begin(_Pursuit(call, link, False, True, True))

    def _begin(self, pursuit):
        self._pursuits.append(pursuit)
        if self._timer is None:
            self._timer = self._worker.pump.after(INTERRUPT_EVERY_SECONDS, self._tick)

    def _tick(self):
        self._timer = None
        for pursuit in list(self._pursuits):
            self._pursue(pursuit)
        if self._pursuits:
            self._timer = self._worker.pump.after(INTERRUPT_EVERY_SECONDS, self._tick)

    def _pursue(self, pursuit):
        call, link = pursuit.call, pursuit.link
        if not link.is_unanswered(call):
            if pursuit in self._pursuits:
                self._pursuits.remove(pursuit)
            return
        if not link.has_begun(call):
            return
        now = self._now()
        if pursuit.began is None:
            pursuit.began = now
        since = now - pursuit.began
        if pursuit.is_stream:
            if since >= CANCEL_GRACE_SECONDS:
                self._interrupt(pursuit, False)
            return
        if since < CANCEL_GRACE_SECONDS and not pursuit.force:
            self._interrupt(pursuit, False)
            return
        if not pursuit.is_abandoned and not pursuit.force:
            pursuit.is_abandoned = True
            link.cancel(call, pursuit.recursive, True)
        if pursuit.force or since >= CANCEL_GRACE_SECONDS + ABANDON_WITHIN_SECONDS:
            self._interrupt(pursuit, True)

    def _interrupt(self, pursuit, kill):
        order = {"worker": pursuit.link.process_id, "callId": pursuit.call.call_id, "recursive": pursuit.recursive, "kill": kill}
        self._worker.daemon.send(message.CANCEL_RUNNING, order)
