"""``shoal.remote``: functions and classes of Python that run elsewhere, called from Python.

Code is named and not sent: by its module and its name, which the other worker imports. So what is made remote stands at the top level of a module. What is submitted runs in the
environment of its caller, and in the caller's placement group where that captures its children.
"""

import inspect
import json
import sys

from . import _messages as message
from . import _runtime
from . import _tags as tags
from ._api import ActorHandle
from ._call_options import actor_options, camel_case, task_options
from ._keywords import with_keywords
from ._limits import SHARED_DEATHS_FREE_MAX
from ._targets import PREFIX
from ._stacks import Waiter
from .errors import ActorDiedError

#: The counted reference that stands for an actor.
_ACTOR_SUFFIX = "ffffffff"
_UNITS = 10000


def remote(*given, **options):
    """Makes a function or a class of this module remote: ``@shoal.remote``, or with options ``@shoal.remote(num_cpus=2)``.

    ``f.remote(...)`` submits a task and returns its reference, ``C.remote(...)`` creates an actor and returns its handle; ``.options(...)`` gives others for a call. The options are those of
    TypeScript, in snake case.

    :raises TypeError: for what other processes cannot find by its name, and for options that do not exist
    """
    if len(given) > 1 or (given and options):
        raise TypeError("Cannot make a remote function: use @shoal.remote, or @shoal.remote(num_cpus=2, ...) with options by their names")
    return _made(given[0], {}) if given else lambda target: _made(target, options)


def _made(target, options):
    if isinstance(target, (RemoteFunction, RemoteClass)):
        raise TypeError("Cannot make %s remote: it is already: use .options(...)" % target.__name__)
    if inspect.isclass(target):
        return RemoteClass(target, options)
    if not inspect.isfunction(target):
        raise TypeError("Cannot make a remote function: a function or a class is needed: received %s" % type(target).__name__)
    return RemoteFunction(target, options)


class _Remote:
    def __init__(self, target, options):
        #: What a worker calls that finds this in its module.
        self.__shoal_function__ = target
        self.__name__ = target.__name__
        self.__qualname__ = target.__qualname__
        self.__module__ = target.__module__
        self.__doc__ = target.__doc__
        self._given = options
        self._id = None
        self._signature = None

    def _place(self, worker):
        if self._id is None:
            self._id = "%s%s:%s" % (PREFIX, _found_place(self.__shoal_function__, worker), self.__qualname__)
        return self._id

    def _positional(self, args, kwargs):
        """All arguments; those that have no place follow with their names."""
        if not kwargs:
            return args
        if self._signature is None:
            self._signature = inspect.signature(self.__shoal_function__)
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return with_keywords(bound.args, bound.kwargs)


class RemoteFunction(_Remote):
    """A function as a task: ``remote`` submits it."""

    _is_of_cluster = True

    def __init__(self, target, options):
        _Remote.__init__(self, target, options)
        self._options = task_options(options)

    def __call__(self, *_args, **_kwargs):
        raise TypeError("Cannot call %s directly: it is a remote function: use %s.remote()" % (self.__name__, self.__name__))

    def options(self, **options):
        """The same function with other options.

        :raises TypeError: for ``max_calls``, which belongs to the function, as workers count the calls of it
        """
        if options.get("max_calls") is not None:
            raise TypeError(
                "Cannot set max_calls of %s for single calls: it belongs to the function: use @shoal.remote(max_calls=%r)" % (self.__name__, options["max_calls"])
            )
        return RemoteFunction(self.__shoal_function__, {**self._given, **options})

    @_runtime.in_turn
    def remote(self, *args, **kwargs):
        """Submits a task; arguments are taken as they are now. A reference among them is its value, once that is there; one inside a list stays a reference."""
        worker = _runtime.require_task()
        return submit(worker, self._place(worker), self.__name__, self._positional(args, kwargs), self._options)

    def _reduced(self, _collect):
        """As a value: TypeScript and other processes of Python call it by its place."""
        return tags.KIND_REMOTE_FUNCTION, [self._place(_runtime.require()), self.__name__, camel_case(self._given)]

    def __repr__(self):
        return "RemoteFunction(%s.%s)" % (self.__module__, self.__qualname__)


class RemoteClass(_Remote):
    """A class of actors: ``remote`` creates one."""

    def __init__(self, target, options):
        _Remote.__init__(self, target, options)
        self._options = actor_options(options)

    def __call__(self, *_args, **_kwargs):
        raise TypeError("Cannot use %s directly: it is a remote class: use %s.remote()" % (self.__name__, self.__name__))

    def options(self, **options):
        """The same class with other options."""
        return RemoteClass(self.__shoal_function__, {**self._given, **options})

    @_runtime.in_turn
    def remote(self, *args, **kwargs):
        """Creates an actor and returns its handle at once. The actor lives as long as somebody has a handle of it, or, with ``lifetime="detached"``, until it is ended."""
        worker = _runtime.require_task()
        return _create(worker, self, self._positional(args, kwargs))

    def __repr__(self):
        return "RemoteClass(%s.%s)" % (self.__module__, self.__qualname__)


def submit(worker, target, name, args, options, environment=None, definition=None):
    """Submits a task. ``environment``: the key of another than the caller's; ``definition``: the entry that keeps its code. @returns its reference, several, none, or a stream"""
    call, returned = worker.calls.make(target, options["name"] or name, args, options["num_returns"], options["high_water_mark"])
    call.definition = definition
    call.shape = shape_of(worker, {"CPU": options["num_cpus"], **_amounts(options)}, options, environment)
    call.retries_left = options["max_retries"]
    call.free_retries = SHARED_DEATHS_FREE_MAX if call.retries_left != 0 else 0
    call.retry_on = options["retry_on"]
    call.retry_delay = options["retry_delay_ms"] / 1000
    call.max_calls = _max_calls(target, options)
    worker.calls.submit_task(call)
    return returned


def _max_calls(target, options):
    """A process keeps the GPUs that CUDA has first shown to it, and memory of theirs, so a call of Python that holds some ends its worker, unless the option says otherwise."""
    if options["max_calls"] is None and options["num_gpus"] and target.startswith(PREFIX):
        return 1
    return options["max_calls"] or None


def _create(worker, remote_class, args):
    definition = remote_class._place(worker)
    payload, deps = worker.calls.encode(args)
    id_ = worker.new_object_id(worker.new_sequence(), 0)[:-8]
    options = _creation_options(worker, remote_class)
    # The actor is held before its creation, and released after that.
    entry = worker.refs.hold_new(id_ + _ACTOR_SUFFIX)
    header = {"actorId": id_, "definition": definition, "options": options}
    creation = _Creation(worker, worker.actor_client(id_, remote_class.__name__, watch=False), header, payload, deps, entry)
    worker.refs.when_all_settled(deps, creation.begin)
    worker.calls.sent()
    if options["getIfExists"]:
        Waiter(worker, lambda: creation.answer, None).run()
        found, error = creation.answer
        if error is not None:
            raise ActorDiedError("Cannot get or create actor %s: %s" % (options.get("name"), error), {"reason": str(error)})
        if found["actorId"] != id_:
            existing = worker.refs.receive(found["actorId"] + _ACTOR_SUFFIX, found["owner"])
            return ActorHandle(worker, found["actorId"], found["interface"], existing)
    return ActorHandle(worker, id_, options["interface"], entry)


def _creation_options(worker, remote_class):
    """What the head is told of an actor that is to be created."""
    options = remote_class._options
    resources = _amounts(options)
    if options["num_cpus"] is not None:
        resources = {"CPU": options["num_cpus"], **resources}
    shape = shape_of(worker, resources, options)
    sent = {
        "namespace": options["namespace"] if options["namespace"] is not None else worker.configuration["namespace"],
        "getIfExists": options["get_if_exists"],
        "resources": resources,
        "shape": shape,
        "maxRestarts": options["max_restarts"],
        "isDetached": options["lifetime"] == "detached",
        "interface": {
            "className": remote_class.__name__,
            "methods": {},
            "groups": {"default": options["max_concurrency"], **options["concurrency_groups"]},
            "maxTaskRetries": options["max_task_retries"],
            "maxPendingCalls": -1,
            "allowOutOfOrderExecution": False,
            "isOpen": True,
        },
    }
    if options["name"] is not None:
        sent["name"] = options["name"]
    bundle = _place_part(shape).get("bundle")
    if bundle is not None:
        sent["group"] = bundle[0]
    return sent


class _Creation:
    """An actor that is being created: the head is asked once the arguments are there, and what they refer to and the actor itself are kept until it has answered."""

    def __init__(self, worker, client, header, payload, deps, entry):
        self._worker = worker
        self._client = client
        self._header = header
        self._payload = payload
        self._deps = deps
        self._entry = entry
        #: The head's answer and why it refused, once it is there.
        self.answer = None

    def begin(self):
        worker, payload, deps = self._worker, self._payload, self._deps
        failed = next((dep for dep in deps if dep.payload is None or dep.payload.error), None)
        if failed is not None:
            self._client.constructor_error = failed.failure or worker.codec.decode(failed.payload)
            self._end(None, "an argument of its constructor failed")
            return
        values = [payload]
        for dep in deps:
            if dep.payload.location is not None:
                worker.refs.publish(dep)
            values.append(dep.payload if dep.payload.location is None else dep.payload.held_by(dep))
        for value in values:
            for inner in value.refs:
                worker.refs.publish(inner)
        worker.refs.flush()
        header = {**self._header, "args": payload.header(), "deps": [value.header() for value in values[1:]]}
        parts = [part for value in values for part in value.parts()]
        worker.daemon.request(message.ACTOR_CREATE, header, parts=parts, on_reply=lambda header, _body, error: self._end(header, error))

    def _end(self, header, error):
        self.answer = (header, error)
        if error is not None:
            self._client.state_changed({"actorId": self._header["actorId"], "phase": "dead", "incarnation": 0, "reason": str(error)}, b"")


# ---- places


def _found_place(target, worker):
    """How another worker finds the code. @raises TypeError for what it would not find"""
    qualname = target.__qualname__
    if "<" in qualname:
        what = "a lambda" if "<lambda>" in qualname else "%s, which is made inside a function" % target.__name__
        raise TypeError(
            "Cannot make a remote function of %s: other processes find code by its module and its name: define it with def or class at the top level "
            "of a module, and pass what it needs as arguments" % what
        )
    module = sys.modules.get(target.__module__)
    found = module
    for part in qualname.split("."):
        found = getattr(found, part, None)
    if getattr(found, "__shoal_function__", found) is not target:
        raise TypeError(
            "Cannot make a remote function of %s: %s of module %s is something else: give it the name under which it stands there"
            % (target.__name__, qualname, target.__module__)
        )
    return worker.targets.place_of(module)


def shape_of(worker, resources, options, environment=None):
    """The canonical text of what is asked for, in the environment of the caller unless the key of another is given."""
    amounts = {name: int(round(amount * _UNITS)) for name, amount in resources.items()}
    text = ",".join("%s:%d" % (name, amounts[name]) for name in sorted(amounts) if amounts[name] > 0)
    inherited = _place_part(worker.shape_of_caller())
    parts = {}
    if options["scheduling_strategy"] == "spread":
        parts["spread"] = True
    if options["label_selector"]:
        parts["labels"] = _sorted(options["label_selector"])
        fallbacks = [_sorted(item["label_selector"]) for item in options["fallback_strategy"]]
        if [] in fallbacks:
            # Every node matches an empty selector, so the selectors behind it are never used.
            fallbacks = fallbacks[: fallbacks.index([]) + 1]
        if fallbacks:
            parts["fallbacks"] = fallbacks
    bundle = inherited.get("bundle")
    if bundle is not None and bundle[2] and not options["label_selector"] and not parts.get("spread"):
        parts["bundle"] = [bundle[0], -1, True]
    if environment is None:
        environment = inherited.get("environment")
    if environment:
        parts["environment"] = environment
    return "%s,,%s" % (text, json.dumps(parts, separators=(",", ":"), ensure_ascii=False)) if parts else text


def _sorted(labels):
    return sorted([name, condition] for name, condition in labels.items())


def _place_part(shape):
    _, separator, text = shape.partition(",,")
    return json.loads(text) if separator else {}


def _amounts(options):
    amounts = dict(options["resources"])
    if options["num_gpus"]:
        amounts["GPU"] = options["num_gpus"]
    if options["memory_bytes"]:
        amounts["memory"] = options["memory_bytes"]
    return amounts


__all__ = ["RemoteClass", "RemoteFunction", "remote", "shape_of", "submit"]
