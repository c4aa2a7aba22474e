"""Shoal for Python: what code that runs in a Python worker imports.

Tasks and actors are ordinary functions and classes; nothing has to be imported to be called from TypeScript.
"""

from ._api import ActorHandle, cancel, get, get_actor, kill, put, wait
from ._cluster import RuntimeContext, available_resources, cluster_resources, get_runtime_context, nodes
from ._codec import ArrowData, ObjectRef
from ._functions import FunctionHandle
from ._interrupts import TaskInterrupted
from ._remote import RemoteClass, RemoteFunction, remote
from ._streams import ObjectRefGenerator
from .errors import (
    ActorDiedError,
    ActorUnavailableError,
    GetTimeoutError,
    ObjectLostError,
    OutOfMemoryError,
    RuntimeEnvError,
    SerializationError,
    ShoalError,
    TaskCancelledError,
    TaskError,
    WorkerCrashedError,
)
from .values import (
    AggregateError,
    DomException,
    Hole,
    InvalidDate,
    JavaScriptError,
    Match,
    NullPrototype,
    OrderedSet,
    RegExp,
    SparseArray,
    Undefined,
)


def object_store_statistics():
    """Bytes that this worker has mapped (read without a copy) and written (copied once, into shared memory) since its start."""
    from . import _runtime

    store = _runtime.require().store
    return {"mapped_bytes": store.mapped_bytes, "written_bytes": store.written_bytes}


def get_preemption_info():
    """That the node of this worker is to be drained: ``{"deadline_ms": ..., "reason": "preemption"}``, or None while nobody has said so.

    ``deadline_ms`` is when the node leaves whatever runs on it then, in milliseconds since 1970; None where it waits for what runs. ``reason`` is ``preemption`` where the node is taken away, and
    ``idle`` where nobody needed it. A loop that computes asks now and then, and writes a checkpoint: asking looks for news.
    """
    from . import _runtime

    worker = _runtime.require()
    worker.hear()
    return None if worker.preemption is None else dict(worker.preemption)


def exit_actor():
    """Ends the actor that this code runs in, and does not return. It is not restarted.

    :raises RuntimeError: outside of actors
    """
    from . import _runtime
    from ._worker import ActorExit

    worker = _runtime.current
    if worker is None or worker.actor.id is None:
        raise RuntimeError("Cannot exit the actor: exit_actor() is for methods of actors, and this code runs in none: return, or raise, instead")
    raise ActorExit


__all__ = [
    "ActorDiedError",
    "ActorHandle",
    "ActorUnavailableError",
    "AggregateError",
    "ArrowData",
    "DomException",
    "FunctionHandle",
    "GetTimeoutError",
    "Hole",
    "InvalidDate",
    "JavaScriptError",
    "Match",
    "NullPrototype",
    "ObjectLostError",
    "ObjectRef",
    "ObjectRefGenerator",
    "OrderedSet",
    "OutOfMemoryError",
    "RegExp",
    "RemoteClass",
    "RemoteFunction",
    "RuntimeContext",
    "RuntimeEnvError",
    "SerializationError",
    "ShoalError",
    "SparseArray",
    "TaskCancelledError",
    "TaskError",
    "TaskInterrupted",
    "Undefined",
    "WorkerCrashedError",
    "available_resources",
    "cancel",
    "cluster_resources",
    "exit_actor",
    "get",
    "get_actor",
    "get_preemption_info",
    "get_runtime_context",
    "kill",
    "nodes",
    "object_store_statistics",
    "put",
    "remote",
    "wait",
]
