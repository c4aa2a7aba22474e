"""Reads a value wherever its bytes are: in the message, in this node's store, on another node, or nowhere any more.

What lies elsewhere is fetched by the daemon. What is lost is made again by whoever made it, where that can be, and read then; the task waits meanwhile as for any value.
"""

from functools import partial

from . import _messages as message
from ._codec import Payload
from ._limits import NODE_TAG_DIGITS
from ._refs import CopyHold, Entry
from ._stacks import Waiter
from ._store import ObjectLost
from ._wire_error import is_wire_error
from .errors import ObjectLostError

#: Why an object is fetched: an argument, which a task waits for.
_FETCH_FOR_WAIT = 1
#: How often an object is read that is lost each time.
_READS_MAX = 10


class ArgumentsLost(Exception):
    """Arguments of a task are lost. It has not begun, and goes back with all that it would hold: what makes them again may need that."""

    def __init__(self, lost):
        super().__init__("%d arguments are lost" % len(lost))
        #: Pairs of an id and where the bytes were looked for in vain.
        self.lost = lost


def read_arguments(worker, args, deps, wait):
    """The arguments of a call that has not begun. ``wait(recover)`` decides how it waits for a lost one; None: it does not.

    :raises ArgumentsLost: where it does not wait
    """
    values = []
    for index, dep in enumerate(deps):
        try:
            values.append(read_value(worker, dep, (), None, wait))
        except ObjectLost as problem:
            lost = [(dep, problem), *_lost_among(worker, deps[index + 1 :])]
            raise ArgumentsLost([[one.entry.id, one.location] for one, _problem in lost]) from None
    # An inline value is never recomputed, so its loss is reported at once.
    return read_value(worker, args, values, None, wait or _just_wait)


def _lost_among(worker, payloads):
    """Where one argument was lost, others may be with it: all of them are made again at once."""
    lost = []
    for payload in payloads:
        try:
            _read(worker, payload, ())
        except ObjectLost as problem:
            lost.append((payload, problem))
    return lost


def _just_wait(recover):
    recover()


def read_value(worker, payload, dependencies, of, wait=_just_wait):
    """``of``: the object that it is, if it is not the payload's own. ``wait``: as in :func:`read_arguments`.

    :raises ObjectLostError: where its bytes are lost for good
    """
    entry = payload.entry if of is None else of
    for _attempt in range(_READS_MAX):
        try:
            return _read(worker, payload, dependencies)
        except ObjectLost as problem:
            if not isinstance(entry, Entry):
                raise ObjectLostError(str(problem), {"reason": problem.why}) from None
            if wait is None:
                raise
            wait(partial(_recover, worker, entry, payload.location, problem))
        if entry.failure is not None:
            raise entry.failure
        found = entry.payload
        payload = Payload(found.in_band, found.buffers, found.graph, found.error, found.refs, entry, found.location)
        if found.error:
            raise worker.codec.decode(payload)
    raise ObjectLostError("Cannot get an object: its bytes are lost again and again", {"reason": "its bytes are lost"})


def _recover(worker, entry, location, problem):
    worker.calls.lost(entry, location, problem)
    if not entry.is_settled:
        Waiter(worker, lambda: entry.is_settled, None).run()


def fetch_ahead(worker, ref):
    """Begins to fetch an object whose bytes may lie on another node, without waiting. @returns what keeps the copy"""
    entry = ref._entry
    copies = []

    def fetch():
        location = None if entry.payload is None else entry.payload.location
        if location is not None and not _is_here(worker, location):
            _fetch(worker, entry, location, keep)

    def keep(here, _body, error):
        # Readers of the object meet the same error.
        if error is None:
            copies.append(CopyHold(worker.refs, here, entry))

    worker.refs.watch(entry)
    entry.when_settled(fetch)
    return copies


def _is_here(worker, location):
    return location[0][:NODE_TAG_DIGITS] == worker.process_id[:NODE_TAG_DIGITS]


def _fetch(worker, entry, location, on_reply):
    worker.refs.flush()
    worker.daemon.request(message.OBJECT_FETCH, [entry.id, location, _FETCH_FOR_WAIT, entry.owner or worker.process_id], on_reply=on_reply)


def _read(worker, payload, dependencies):
    location = payload.location
    if location is None or _is_here(worker, location):
        return worker.codec.decode(payload, dependencies)
    answer = []
    _fetch(worker, payload.entry, location, lambda header, _body, error: answer.append((header, error)))
    Waiter(worker, lambda: answer, None).run()
    here, error = answer[0]
    if error is not None:
        if is_wire_error(error, "objectLost"):
            raise ObjectLost(location, str(error))
        raise ObjectLostError("Cannot fetch an object from another node: %s" % error, {"reason": str(error)})
    copy = Payload(b"", (), payload.graph, payload.error, payload.refs, CopyHold(worker.refs, here, payload.entry), here)
    return worker.codec.decode(copy, dependencies)
