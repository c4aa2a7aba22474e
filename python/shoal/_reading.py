"""Reads a value wherever its bytes are: in the message, in this node's store, on another node, or nowhere any more.

What lies elsewhere is fetched by the daemon. What is lost is made again by whoever made it, where that can be, and read then; the task waits meanwhile as for any value.
"""

from . import _messages as message
from ._codec import Payload
from ._refs import CopyHold, Entry
from ._stacks import Waiter
from ._store import ObjectLost
from .errors import ObjectLostError

#: Why an object is fetched: an argument, which a task waits for.
_FETCH_FOR_WAIT = 1
#: How often an object is read that is lost each time.
_READS_MAX = 10
#: What the ids of a node and of its store's files begin with.
_NODE_TAG = 16


def read_value(worker, payload, dependencies, of):
    """``of``: the object that it is, if it is not the payload's own.

    :raises ObjectLostError: where its bytes are lost for good
    """
    entry = payload.entry if of is None else of
    for _attempt in range(_READS_MAX):
        try:
            return _read(worker, payload, dependencies)
        except ObjectLost as problem:
            if not isinstance(entry, Entry):
                raise ObjectLostError(str(problem), {"reason": problem.why}) from None
            worker.calls.lost(entry, payload.location, problem)
        if not entry.is_settled:
            Waiter(worker, lambda: entry.is_settled, None).run()
        if entry.failure is not None:
            raise entry.failure
        found = entry.payload
        payload = Payload(found.in_band, found.buffers, found.graph, found.error, found.refs, entry, found.location)
        if found.error:
            raise worker.codec.decode(payload)
    raise ObjectLostError("Cannot get an object: its bytes are lost again and again", {"reason": "its bytes are lost"})


def _read(worker, payload, dependencies):
    location = payload.location
    if location is None or location[0][:_NODE_TAG] == worker.process_id[:_NODE_TAG]:
        return worker.codec.decode(payload, dependencies)
    answer = []
    worker.refs.flush()
    asked = [payload.entry.id, location, _FETCH_FOR_WAIT, payload.entry.owner or worker.process_id]
    worker.daemon.request(message.OBJECT_FETCH, asked, on_reply=lambda header, _body, error: answer.append((header, error)))
    Waiter(worker, lambda: answer, None).run()
    here, error = answer[0]
    if error is not None:
        if error.startswith("ObjectLostError"):
            raise ObjectLost(location, error)
        raise ObjectLostError("Cannot fetch an object from another node: %s" % error, {"reason": error})
    copy = Payload(b"", (), payload.graph, payload.error, payload.refs, CopyHold(worker.refs, here, payload.entry), here)
    return worker.codec.decode(copy, dependencies)
