"""What code in a Python worker does with the cluster: ``get``, ``put``, ``wait``, actors by handle and by name."""

from . import _messages as message
from . import _runtime
from . import _tags as tags
from ._call_options import method_options
from ._codec import ObjectRef, Payload
from ._keywords import with_keywords
from ._outbound import STREAMING
from ._stacks import Waiter
from ._streams import ObjectRefGenerator
from .errors import ActorDiedError, GetTimeoutError, ObjectLostError
from .values import Custom

_PUT_INDEX = 0x80000000
#: The counted reference that stands for an actor.
_ACTOR_SUFFIX = "ffffffff"


@_runtime.in_turn
def get(refs, timeout=None):
    """The value of a reference, or the values of a list of them, in order. The first failure is raised.

    :param timeout: in seconds; None waits without end
    :raises GetTimeoutError: when the time is over
    :raises TaskError: what the task raised that makes it, as its cause
    """
    worker = _runtime.require_task()
    if isinstance(refs, ObjectRef):
        _await(worker, [refs], 1, timeout)
        return _value_of(worker, refs)
    several = list(refs)
    for index, ref in enumerate(several):
        if not isinstance(ref, ObjectRef):
            raise TypeError("Cannot get: element %d is not an ObjectRef: received %s" % (index, type(ref).__name__))
    _await(worker, several, len(several), timeout)
    return [_value_of(worker, ref) for ref in several]


@_runtime.in_turn
def put(value):
    """Stores a value and returns its reference. From 64 KB on it lies in shared memory.

    :raises TypeError: for a reference, and for what cannot be sent
    """
    worker = _runtime.require_task()
    if isinstance(value, ObjectRef):
        raise TypeError("Cannot put an ObjectRef: it is a reference already: pass it on, or put a list that holds it")
    payload = worker.codec.to_payload(value, worker.process_id)
    entry = worker.refs.own(worker.new_object_id(worker.new_sequence(), _PUT_INDEX))
    worker.refs.settle(entry, payload)
    return ObjectRef(entry)


@_runtime.in_turn
def wait(refs, num_returns=1, timeout=None):
    """Splits references into those that are ready and those that are not, once ``num_returns`` are, or after ``timeout`` seconds."""
    worker = _runtime.require_task()
    several = list(refs)
    for index, ref in enumerate(several):
        if not isinstance(ref, ObjectRef):
            raise TypeError("Cannot wait: element %d is not an ObjectRef: received %s" % (index, type(ref).__name__))
    if not 0 < num_returns <= len(several):
        raise ValueError("Cannot wait: num_returns is from 1 to the number of references, %d: received %r" % (len(several), num_returns))
    try:
        _await(worker, several, num_returns, timeout)
    except GetTimeoutError:
        pass
    ready = [ref for ref in several if ref._entry.is_settled][:num_returns]
    return ready, [ref for ref in several if ref not in ready]


@_runtime.in_turn
def get_actor(name, namespace=None):
    """The handle of a living actor, by its name.

    :raises ActorDiedError: when no living actor has that name in the namespace
    """
    worker = _runtime.require_task()
    answer = []
    asked = {"name": name, "namespace": namespace if namespace is not None else worker.configuration["namespace"]}
    worker.daemon.request(message.ACTOR_LOOKUP, asked, on_reply=lambda header, _body, error: answer.append((header, error)))
    Waiter(worker, lambda: answer, None).run()
    header, error = answer[0]
    if error is not None:
        raise ActorDiedError("Cannot get actor %r: %s" % (name, error), {"reason": "no actor has that name"})
    entry = worker.refs.receive(header["actorId"] + _ACTOR_SUFFIX, header["owner"])
    return ActorHandle(worker, header["actorId"], header["interface"], entry)


@_runtime.in_turn
def cancel(ref, force=False, recursive=True):
    """Ends the call behind a reference, or behind the items of a stream: ``get`` raises ``TaskCancelledError``. ``force`` ends its worker at once.

    :param recursive: what the task has submitted is cancelled, too
    :raises TypeError: for what no call makes, and for ``force`` with a call of an actor
    """
    worker = _runtime.require_task()
    if isinstance(ref, ObjectRefGenerator):
        worker.cancellation.cancel_entry(ref._sink.completion, force, recursive)
    elif isinstance(ref, ObjectRef):
        worker.cancellation.cancel_entry(ref._entry, force, recursive)
    else:
        raise TypeError("Cannot cancel: an ObjectRef is needed: received %s" % type(ref).__name__)
    worker.calls.sent()


@_runtime.in_turn
def kill(actor, no_restart=True):
    """Ends the process of an actor at once; with ``no_restart=False`` it may start again, as its ``max_restarts`` allows."""
    worker = _runtime.require_task()
    if not isinstance(actor, ActorHandle):
        raise TypeError("Cannot kill: the handle of an actor is needed: received %s" % type(actor).__name__)
    worker.refs.flush()
    worker.daemon.send(message.ACTOR_KILL, {"actorId": actor._id, "restart": not no_restart})
    worker.calls.sent()


class ActorHandle:
    """A handle of an actor: ``handle.method.remote(...)`` calls a method and returns a reference to its result."""

    #: Inside of what is pickled it has a form of its own, and is counted.
    _is_of_cluster = True

    def __init__(self, worker, id_, interface, entry):
        self.__dict__.update(_worker=worker, _id=id_, _interface=interface, _entry=entry)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        interface = self._interface
        if name not in interface["methods"] and not interface.get("isOpen"):
            known = ", ".join(interface["methods"])
            raise AttributeError("actor %s has no method %s: there are %s" % (interface["className"], name, known))
        return ActorMethod(self, name)

    def _reduced(self, collect):
        """As a value."""
        collect(self._entry)
        return tags.KIND_ACTOR, [self._id, self._interface]

    def __repr__(self):
        return "ActorHandle(%s, %s)" % (self._interface["className"], self._id)


class ActorMethod:
    __slots__ = ("_handle", "_name", "_options")

    def __init__(self, handle, name, options=None):
        self._handle = handle
        self._name = name
        self._options = options

    def options(self, **options):
        """The same method with other options for a call: ``num_returns``, ``max_task_retries``, ``concurrency_group`` and so on."""
        return ActorMethod(self._handle, self._name, {**(self._options or {}), **options})

    @_runtime.in_turn
    def remote(self, *args, **kwargs):
        """Submits a call; arguments are taken as they are now. A reference among them is its value; one inside a list stays a reference.

        :raises TypeError: for arguments by name of a method of TypeScript, which has none
        """
        handle = self._handle
        worker = _runtime.require_task()
        interface = handle._interface
        if kwargs and not interface.get("isOpen"):
            called = "%s.%s" % (interface["className"], self._name)
            raise TypeError("Cannot call %s with %s by name: methods of TypeScript take their arguments by their places" % (called, ", ".join(kwargs)))
        set_for_all = interface["methods"].get(self._name) or {}
        count = set_for_all.get("numReturns", 1)
        retries = set_for_all.get("maxTaskRetries", interface.get("maxTaskRetries", 0))
        group = set_for_all.get("concurrencyGroup")
        name = "%s.%s" % (interface["className"], self._name)
        ahead = set_for_all.get("highWaterMark")
        given = None
        if self._options is not None:
            given = method_options(self._options)
            count = given["num_returns"] if "num_returns" in self._options else count
            retries = retries if given["max_task_retries"] is None else given["max_task_retries"]
            group = given["concurrency_group"] or group
            ahead = given["high_water_mark"] or ahead
            name = given["name"] or name
        if group is not None and group not in interface["groups"]:
            raise TypeError("Cannot call %s: there is no concurrency group %s: there are %s" % (name, group, ", ".join(interface["groups"])))
        call, returned = worker.calls.make(self._name, name, with_keywords(args, kwargs), STREAMING if count in (STREAMING, -1) else count, ahead)
        call.group = group
        call.retries_left = retries
        call.retry_on = False if given is None else given["retry_on"]
        # The actor lives until it has answered.
        call.keeps = handle._entry
        worker.actor_client(handle._id, interface["className"]).submit(call)
        worker.calls.sent()
        return returned


def revive_handle(data, _refs):
    worker = _runtime.require()
    id_, interface = data
    return ActorHandle(worker, id_, interface, worker.refs.lookup(id_ + _ACTOR_SUFFIX))


def _await(worker, refs, count, timeout):
    for ref in refs:
        worker.refs.watch(ref._entry)
    entries = [ref._entry for ref in refs]
    missing = len(entries) - count

    def is_done():
        return sum(not entry.is_settled for entry in entries) <= missing

    if not is_done() and not Waiter(worker, is_done, timeout).run():
        waiting = sum(not entry.is_settled for entry in entries)
        raise GetTimeoutError("Cannot get: %d of %d values were not there after %s s" % (waiting, len(entries), timeout))


def _value_of(worker, ref):
    entry = ref._entry
    if entry.failure is not None:
        raise entry.failure
    payload = entry.payload
    is_error = payload.error
    if payload.location is not None:
        payload = Payload(b"", (), payload.graph, payload.error, payload.refs, entry, payload.location)
    value = worker.decode(payload, of=entry)
    if is_error and isinstance(value, BaseException):
        raise value
    return value


async def value_later(ref):
    """What ``await ref`` gives."""
    from ._coroutines import settled

    await settled(ref._entry, _watch)
    return _read(ref)


@_runtime.in_turn
def _watch(entry, callback):
    worker = _runtime.require_task()
    worker.refs.watch(entry)
    entry.when_settled(callback)
    worker.sends_from_coroutine()


@_runtime.in_turn
def _read(ref):
    return _value_of(_runtime.require_task(), ref)


def lost(entry, by_bytes):
    why = "its bytes are lost" if by_bytes else "the process that made it ended"
    entry.failure = ObjectLostError("Cannot get an object: %s" % why, {"reason": why})
    entry.tell_settled()
