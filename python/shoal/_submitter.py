"""Takes the tasks of this process to workers: leases, how many tasks are with each, retries. The Python side of what drivers and JavaScript workers do.

Tasks of one shape wait in one group, with the leases that the daemon granted for it. A lease is used as long as there are tasks, and given back when it has been idle for a moment, or
when it is revoked. About 5 ms of work is sent ahead to a worker, one task where its time is unknown. When a worker dies, tasks that had not begun go elsewhere; those
that had use up a retry.
"""

from collections import deque

from . import _messages as message
from ._call_link import CallLink
from ._limits import (
    BACKLOG_MAX,
    BEGUN_MAX,
    CALL_OVERHEAD_SECONDS,
    EXIT_REPORT_ELSEWHERE_WITHIN_SECONDS,
    EXIT_REPORT_WITHIN_SECONDS,
    IN_FLIGHT_MAX,
    LEASE_IDLE_SECONDS,
    NODE_TAG_DIGITS,
    WINDOW_SECONDS,
)
from ._outgoing import open_link
from .errors import OutOfMemoryError, RuntimeEnvError, ShoalError, WorkerCrashedError

_UNKNOWN = float("inf")


class _Group:
    def __init__(self, shape):
        self.shape = shape
        #: Its tasks hold more than CPUs: a lease has one of them at a time.
        resources = shape.split(",,", 1)[0]
        self.is_exclusive = not (resources == "" or (resources.startswith("CPU:") and "," not in resources))
        self.queue = deque()
        self.leases = []
        self.sent_backlog = 0


class _Lease:
    def __init__(self, number, group, link, accelerators, now):
        self.number = number
        self.group = group
        self.link = link
        self.accelerators = accelerators
        self.calls = set()
        self.queued_seconds = 0.0
        self.is_revoked = False
        self.is_once = False
        self.idle_since = now


class _ClosedLink:
    """What was sent over a link that has closed, until it is known why."""

    def __init__(self, submitter, link, made_for, unanswered):
        self._submitter = submitter
        self._link = link
        self._unanswered = unanswered
        self.made_for = made_for
        within = EXIT_REPORT_ELSEWHERE_WITHIN_SECONDS if submitter.is_elsewhere(link.process_id) else EXIT_REPORT_WITHIN_SECONDS
        self._timer = submitter._worker.pump.after(within, lambda: self.known(None))

    def is_of(self, process_id):
        return self._link.process_id == process_id

    def known(self, end):
        self._submitter._worker.pump.cancel(self._timer)
        self._submitter._waiting.remove(self)
        self._submitter._recover(self._link, self.made_for, self._unanswered, end)


class TaskSubmitter:
    def __init__(self, worker, now):
        self._worker = worker
        self._now = now
        self._groups = {}
        #: By worker: the link, or the grants that wait for it.
        self._links = {}
        #: The lease for which each was made: there may be another link to the same worker by the time that something is heard of it.
        self._linked_for = {}
        self._lease_of = {}
        self._means = {}
        #: Why workers ended, or how many calls they had read when they gave up a lease, as far as their links are still open; and the closed links that wait to hear it.
        self._ends = {}
        self._waiting = []
        self._demand_is_due = False
        self._idle_timer = None
        #: Sent back by workers that take no task any more, and not queued again yet.
        self._came_back = []

    @property
    def has_open_calls(self):
        return bool(self._lease_of) or bool(self._came_back) or any(group.queue for group in self._groups.values()) or bool(self._waiting)

    @property
    def has_queued(self):
        """Whether calls wait for a lease."""
        return any(group.queue for group in self._groups.values())

    def open_calls(self):
        calls = [*self._lease_of, *self._came_back]
        for group in self._groups.values():
            calls.extend(group.queue)
        return calls

    def submit(self, call):
        group = self._groups.get(call.shape)
        if group is None:
            group = self._groups[call.shape] = _Group(call.shape)
        group.queue.append(call)
        self._pump(group)

    # ---- the daemon's messages

    def receive(self, kind, header):
        """Whether the message was about leases."""
        if kind == message.LEASE_GRANT:
            self._granted(header)
        elif kind == message.LEASE_REVOKE:
            self._revoked(*header)
        elif kind == message.LEASE_REFUSED:
            self._refused(header)
        elif kind == message.LEASE_TAKEN:
            self._taken(*header)
        elif kind == message.WORKER_EXITED:
            self._ended(header["workerId"], header)
        else:
            return False
        return True

    def node_gone(self, tag, reason):
        """The workers of a dead node say nothing more."""
        for process_id, link in list(self._links.items()):
            if process_id.startswith(tag):
                self._ended(process_id, {"pid": 0, "reason": "its node died: %s" % reason})
                if isinstance(link, CallLink):
                    link.connection.drop("its node died")

    def _granted(self, grant):
        group = self._groups.get(grant["shape"])
        process_id = grant["workerId"]
        if group is None:
            self._return(process_id, grant["leaseId"])
            return
        group.sent_backlog = max(0, group.sent_backlog - 1)
        known = self._links.get(process_id)
        if isinstance(known, CallLink):
            self._begin(group, known, grant)
        elif known is not None:
            known.append(grant)
        else:
            self._links[process_id] = [grant]
            self._linked_for[process_id] = grant["leaseId"]
            open_link(
                self._worker,
                grant["address"],
                process_id,
                grant["leaseId"],
                lambda connection, number, _error: self._linked(process_id, connection, number),
            )

    def _linked(self, process_id, connection, number):
        grants = self._links.pop(process_id, [])
        if connection is None:
            # The worker died before it was reached: the daemon notices that and takes the lease back.
            self._linked_for.pop(process_id, None)
            self._ends.pop(process_id, None)
            for grant in grants:
                self._return(process_id, grant["leaseId"])
            self._ask()
            return
        link = CallLink(self._worker, connection, number, process_id, {"incarnation": 0}, self._answered, self._link_closed, self._declined)
        self._links[process_id] = link
        for grant in grants:
            self._begin(self._groups[grant["shape"]], link, grant)

    def _begin(self, group, link, grant):
        group.leases.append(_Lease(grant["leaseId"], group, link, grant.get("accelerators"), self._now()))
        self._pump(group)
        self._watch_idle()

    def _revoked(self, process_id, number):
        for group in self._groups.values():
            for lease in group.leases:
                if lease.number == number and lease.link.process_id == process_id:
                    lease.is_revoked = True
                    if not lease.calls:
                        self._give_back(lease)
                    return

    def _refused(self, refusal):
        group = self._groups.get(refusal["shape"])
        if group is None:
            return
        group.sent_backlog = 0
        calls, group.queue = group.queue, deque()
        for call in calls:
            if not call.is_ended:
                self._worker.calls.fail(call, _refusal_error(call, refusal))

    def _taken(self, process_id, number, read):
        for group in self._groups.values():
            for lease in [lease for lease in group.leases if lease.link.process_id == process_id and lease.number <= number]:
                group.leases.remove(lease)
            group.sent_backlog = 0
        for made_for, count in read:
            if process_id in self._links and self._linked_for.get(process_id) == made_for:
                self._ends[process_id] = count
            for waiting in [waiting for waiting in self._waiting if waiting.is_of(process_id) and waiting.made_for == made_for]:
                waiting.known(count)
        self._ask()

    def _ended(self, process_id, facts):
        if process_id in self._links:
            self._ends.setdefault(process_id, facts)
        for waiting in [waiting for waiting in self._waiting if waiting.is_of(process_id)]:
            waiting.known(facts)

    # ---- calls

    def withdraw(self, call):
        """The call has ended before its answer. @returns the link by which it was sent, if it was"""
        if call.link is not None:
            return call.link
        group = self._groups.get(call.shape)
        if group is not None and call in group.queue:
            group.queue.remove(call)
            self._ask()
        return None

    def _pump(self, group):
        while group.queue:
            if not all(entry.is_settled for entry in group.queue[0].deps):
                # An argument was lost since and is recomputed. The recomputation goes first and may need the lease that this call would
                # hold.
                self._worker.calls.when_settled(group.queue.popleft())
                continue
            lease = self._lease_for(group, group.queue[0])
            if lease is None:
                break
            self._push(lease, group.queue.popleft())
        self._ask()

    def _lease_for(self, group, call):
        best = None
        # A call to this worker itself starts once the running code waits or ends. A coroutine does neither, and other code may not.
        is_busy = self._worker.current is not None
        own = self._worker.process_id
        for lease in list(group.leases):
            if is_busy and lease.link.process_id == own:
                if not lease.calls:
                    self._give_back(lease)
                continue
            if not lease.is_revoked and (best is None or len(lease.calls) < len(best.calls)):
                best = lease
        if best is None or not best.calls:
            return best
        # A call behind a worker's last one is returned.
        if group.is_exclusive or call.max_calls == 1 or len(best.calls) >= IN_FLIGHT_MAX:
            return None
        expected = self._means.get(call.target, _UNKNOWN) + CALL_OVERHEAD_SECONDS
        return best if best.queued_seconds + expected <= WINDOW_SECONDS else None

    def _push(self, lease, call):
        lease.calls.add(call)
        lease.queued_seconds += self._means.get(call.target, _UNKNOWN) + CALL_OVERHEAD_SECONDS
        self._lease_of[call] = lease
        call.has_parked = False
        if call.retries_left == 0 and not lease.is_once:
            lease.is_once = True
            self._worker.daemon.send(message.LEASE_ONCE, [lease.link.process_id, lease.number])
        lease.link.push(call, lease.accelerators)

    def _answered(self, call, payloads, seconds):
        lease = self._lease_of.pop(call, None)
        if lease is not None:
            lease.calls.discard(call)
            # A cancelled call tells nothing of how long the function takes.
            if not call.is_ended:
                mean = self._means.get(call.target)
                self._means[call.target] = seconds if mean is None else mean * 0.8 + seconds * 0.2
            lease.queued_seconds = len(lease.calls) * (self._means.get(call.target, 0.0) + CALL_OVERHEAD_SECONDS)
            lease.idle_since = self._now()
        self._worker.calls.answered(call, payloads)
        if lease is not None:
            self._pump(lease.group)
            if lease.is_revoked and not lease.calls:
                self._give_back(lease)

    def _declined(self, call, lost):
        """It has not begun: its worker takes no task any more, or found these arguments lost."""
        lease = self._lease_of.pop(call, None)
        if lease is None:
            return
        lease.calls.discard(call)
        lease.is_revoked = True
        if lost:
            self._worker.calls.arguments_lost(call, lost)
        else:
            self._came_back.append(call)
        if not lease.calls:
            self._give_back(lease)
        self._ask()

    def _queue_again(self, calls):
        """Those that have not begun, in the order in which they were sent, come before those that wait."""
        for call in reversed(calls):
            if not call.is_ended:
                self._groups[call.shape].queue.appendleft(call)
        for group in list(self._groups.values()):
            self._pump(group)

    # ---- ends of links

    def _link_closed(self, link, unanswered):
        process_id = link.process_id
        self._links.pop(process_id, None)
        made_for = self._linked_for.pop(process_id, None)
        for group in self._groups.values():
            for lease in [lease for lease in group.leases if lease.link is link]:
                group.leases.remove(lease)
                # Where the worker lives on, the daemon does not know that it is of no use any more.
                self._return(process_id, lease.number)
        for call in unanswered:
            self._lease_of.pop(call, None)
        end = self._ends.pop(process_id, None)
        if not unanswered:
            return
        if end is not None:
            self._recover(link, made_for, unanswered, end)
            return
        self._waiting.append(_ClosedLink(self, link, made_for, unanswered))

    def is_elsewhere(self, process_id):
        return process_id[:NODE_TAG_DIGITS] != self._worker.process_id[:NODE_TAG_DIGITS]

    def _recover(self, link, made_for, unanswered, end):
        """What certainly has not begun is sent again. Where answers may have been lost with the connection any of them may have run, unless the worker says how many it had read."""
        begun, not_begun = parted(unanswered, end, link.sent, link.is_whole, self._worker.process_id, made_for)
        for call in begun:
            self._lost(call, end if isinstance(end, dict) else None)
        self._queue_again(not_begun)

    def _lost(self, call, end):
        if call.is_ended:
            return
        facts = end or {}
        if call.stream is not None and call.stream.is_stopped:
            self._worker.calls.fail(call, _lost_error(call, facts))
            return
        if self._is_free(call, facts):
            self._worker.calls.again(call)
            return
        full = facts.get("outOfMemory")
        if call.retries_left != 0 and (full is None or full.get("because") != "machine"):
            # The worker was ended for a cancelled neighbour, so this call is not charged.
            if call.retries_left > 0 and not facts.get("isForCancellation"):
                call.retries_left -= 1
            self._worker.calls.again(call)
            return
        self._worker.calls.fail(call, _lost_error(call, facts))

    def _is_free(self, call, facts):
        """Whether the call only waited in a process that another task ended: that is no attempt, so it runs again, if it may."""
        sharing = facts.get("sharing")
        if call.free_retries == 0 or sharing is None or (sharing["caller"] == self._worker.process_id and sharing["callId"] == call.call_id):
            return False
        call.free_retries -= 1
        return True

    # ---- leases

    def _return(self, process_id, number):
        self._worker.daemon.send(message.LEASE_RETURN, [process_id, number])

    def _give_back(self, lease):
        if lease in lease.group.leases:
            lease.group.leases.remove(lease)
            self._return(lease.link.process_id, lease.number)
            if lease.group.queue:
                self._ask()

    def _ask(self):
        """Tells the daemon how much waits, once all that happens now has happened."""
        self._demand_is_due = True

    def flush(self):
        """Before the loop waits."""
        if not self._demand_is_due:
            return
        if self._came_back:
            calls, self._came_back = self._came_back, []
            self._queue_again(calls)
        self._demand_is_due = False
        for group in self._groups.values():
            backlog = min(len(group.queue), BACKLOG_MAX)
            # A backlog that only shrinks needs no message until it is gone: the daemon counts down as it grants.
            if backlog == group.sent_backlog or 0 < backlog < group.sent_backlog:
                continue
            group.sent_backlog = backlog
            self._worker.daemon.send(message.LEASE_DEMAND, {"shape": group.shape, "backlog": backlog})

    def _watch_idle(self):
        if self._idle_timer is None:
            self._idle_timer = self._worker.pump.after(LEASE_IDLE_SECONDS, self._look_for_idle)

    def _look_for_idle(self):
        self._idle_timer = None
        now = self._now()
        held = False
        for group in self._groups.values():
            for lease in list(group.leases):
                if not lease.calls and not group.queue and now - lease.idle_since >= LEASE_IDLE_SECONDS:
                    self._give_back(lease)
                else:
                    held = True
        if held:
            self._watch_idle()


def parted(unanswered, end, sent, is_whole, caller, made_for):
    """Calls that may have begun, and those that certainly have not.

    Tasks begin in the order of their sending: those that parked had begun, and so had all up to the one that the worker had marked, as the last of the link that began or
    as the running one; without it, the first that had not parked was running. ``end``: the exit of the worker, how many calls it had read, or None.
    """
    if end is None:
        return unanswered, []
    if isinstance(end, int):
        # Unread calls were sent last, and no unread call was answered.
        at = max(0, len(unanswered) - max(0, sent - end))
        return unanswered[:at], unanswered[at:]
    marks = end.get("begun") or ()
    if made_for is not None and 0 < len(marks) < BEGUN_MAX and all(lease != made_for % 2**32 for lease, _ in marks):
        # Those of all connections on which calls had begun: the worker ended by a call of another.
        return [], unanswered
    ran = end.get("running")
    marked = next((call_id for lease, call_id in end.get("begun", ()) if made_for is not None and lease == made_for % 2**32), None)
    all_ids = [call.call_id for call in unanswered]
    open_ids = [None if call.has_parked else call.call_id for call in unanswered]
    if marked in all_ids:
        last = all_ids.index(marked)
    elif marked is not None and is_whole:
        # The last that began was answered: none behind it had begun.
        last = max((index for index, call_id in enumerate(open_ids) if call_id is None), default=-1)
    elif marked is None and ran is not None and ran[0] == caller and ran[1] in open_ids:
        last = open_ids.index(ran[1])
    elif not is_whole:
        return unanswered, []
    else:
        last = next((index for index, call_id in enumerate(open_ids) if call_id is not None), -1)
    begun = [call for index, call in enumerate(unanswered) if call.has_parked or index <= last]
    return begun, [call for call in unanswered if call not in begun]


def _how(facts):
    if facts.get("reason"):
        return facts["reason"]
    if facts.get("signal"):
        return "it was ended by %s" % facts["signal"]
    if "exitCode" in facts:
        return "it exited with code %s" % facts["exitCode"]
    return "its connection broke"


def _lost_error(call, facts):
    sharing = facts.get("sharing") or {"callId": call.call_id}
    shared = "" if sharing["callId"] == call.call_id else ", as task %s ran in the process that both shared" % sharing["name"]
    reason = _how(facts) + shared
    last = "".join("\n    " + line for line in facts.get("lastOutput", [])[-5:])
    text = "Task %s failed: its worker (pid %s) died: %s%s" % (call.name, facts.get("pid", "unknown"), reason, "; the last it printed:" + last if last else "")
    fields = {"reason": reason, **{name: facts[name] for name in ("exitCode", "signal", "lastOutput", "pid") if facts.get(name) is not None}}
    return (OutOfMemoryError if facts.get("outOfMemory") else WorkerCrashedError)(text, fields)


def _refusal_error(call, refusal):
    text = "Task %s cannot run: %s" % (call.name, refusal["reason"])
    fields = {"reason": refusal["reason"], "hint": refusal.get("hint")}
    if refusal["code"] == "environmentFailed":
        return RuntimeEnvError(text, fields)
    error = ShoalError(text, fields)
    error.code = "PLACEMENT_GROUP_REMOVED" if refusal["code"] == "groupRemoved" else "TASK_UNSCHEDULABLE"
    return error
