"""Remote functions that came from elsewhere, as values: those of TypeScript, which Python calls here, and those of Python that TypeScript has named.

A function of TypeScript runs in a worker of JavaScript, in the environment of its caller without the language of that. Its code is known by its id alone: the worker fetches it from the
daemon. The options that it was made with count here as far as Python's submitter knows them; what it does not know is refused where the function is called.
"""

import json

from . import _messages as message
from . import _runtime
from . import _tags as tags
from ._call_options import SNAKE, camel_case, task_options
from ._keywords import with_keywords
from ._remote import submit
from ._targets import PREFIX
from .values import Custom

#: Folders are found from where they were named, which Python does not know.
_FOLDERS = ("workingDir", "nodeModules", "excludes")
_KEY_LENGTH = 24
#: The place of the reference in the data of a remote class.
_CLASS_REFERENCE = 5


class FunctionHandle:
    """A remote function that was made elsewhere, such as one of TypeScript that came as an argument: ``fn.remote(...)`` submits it as a task."""

    #: Inside of what is pickled it has a form of its own.
    _is_of_cluster = True

    def __init__(self, id_, name, given, entry=None, own=None):
        self.__name__ = name
        self._id = id_
        #: Its definition lives as long as this; None of what needs none.
        self._entry = entry
        #: As TypeScript gave them, and as Python code has changed them.
        self._given = given
        self._own = own or {}
        self._options = None
        if own:
            # Wrong options raise at once.
            task_options(own)

    def __call__(self, *_args, **_kwargs):
        raise TypeError("Cannot call %s directly: it is a remote function: use %s.remote()" % (self.__name__, self.__name__))

    def options(self, **options):
        """The same function with other options for a call.

        :raises TypeError: for options that do not exist, and for ``max_calls``, which belongs to the function
        """
        if options.get("max_calls") is not None:
            raise TypeError("Cannot set max_calls of %s for single calls: it belongs to the function: set it where that is made remote" % self.__name__)
        return FunctionHandle(self._id, self.__name__, self._given, self._entry, {**self._own, **options})

    @_runtime.in_turn
    def remote(self, *args, **kwargs):
        """Submits a task; a reference among the arguments is its value, once that is there. Items of a generator of TypeScript are a stream.

        :raises TypeError: for arguments by name, which functions of TypeScript do not have
        """
        is_of_python = self._id.startswith(PREFIX)
        if kwargs and not is_of_python:
            names = ", ".join(kwargs)
            raise TypeError("Cannot call %s with %s by name: functions of TypeScript take their arguments by their places" % (self.__name__, names))
        worker = _runtime.require_task()
        options = self._resolved()
        own = self._given.get("runtimeEnv") or {}
        environment = environment_of(worker, own, "python" if is_of_python else None)
        return submit(worker, self._id, self.__name__, with_keywords(args, kwargs), options, environment, self._entry)

    def _resolved(self):
        if self._options is None:
            known = {}
            for name, value in self._given.items():
                if name == "runtimeEnv" or value is None:
                    continue
                if name not in SNAKE or (name == "schedulingStrategy" and type(value) is not str):
                    raise TypeError(
                        "Cannot call %s from Python: its option %s is known to callers in TypeScript alone: make it remote without that, or let an actor call it" % (self.__name__, name)
                    )
                known[SNAKE[name]] = [{"label_selector": item["labelSelector"]} for item in value] if name == "fallbackStrategy" else value
            self._options = task_options({**known, **self._own})
        return self._options

    def _reduced(self, collect):
        """As a value, which holds the definition for whoever has it."""
        held = [] if self._entry is None else [collect(self._entry)]
        return tags.KIND_REMOTE_FUNCTION, [self._id, self.__name__, {**self._given, **camel_case(self._own)}, *held]

    def __repr__(self):
        return "FunctionHandle(%s)" % self.__name__


class ClassHandle(Custom):
    """A remote class that was made elsewhere: Python creates no actors of it, and passes it on with its definition."""

    _is_of_cluster = True

    __slots__ = ("_entry",)

    def __init__(self, payload, entry):
        Custom.__init__(self, tags.KIND_ACTOR_CLASS, payload)
        self._entry = entry

    def _reduced(self, collect):
        return self.kind, [*self.payload, collect(self._entry)]


def revive_function(data, refs):
    """``refs``: the entries of the references of the value that it is in."""
    id_, name, given, *held = data
    return FunctionHandle(id_, name, given, refs[held[0]] if held else None)


def revive_class(data, refs):
    """A class without a definition, such as one of Python, is nothing but its data."""
    if len(data) <= _CLASS_REFERENCE:
        return Custom(tags.KIND_ACTOR_CLASS, data)
    return ClassHandle(data[:_CLASS_REFERENCE], refs[data[_CLASS_REFERENCE]])


# ---- environments


def environment_of(worker, own, language):
    """The key of the environment of the caller, with what a function has of its own merged into it, for workers of a language.

    :raises TypeError: for folders, which are named from where the function was made
    """
    folder = next((name for name in _FOLDERS if own.get(name) is not None), None)
    if folder is not None:
        raise TypeError("Cannot call a function from Python whose runtimeEnv has %s: call it from TypeScript, or give that to init()" % folder)
    outer = worker.configuration.get("runtimeEnv") or {}
    spec = {**outer, **{name: value for name, value in own.items() if value is not None}}
    variables = {**(outer.get("envVars") or {}), **(own.get("envVars") or {})}
    if variables:
        spec["envVars"] = variables
    spec.pop("language", None)
    if language is not None:
        spec["language"] = language
    key = environment_key(spec)
    if key != "" and key not in worker.described_environments:
        worker.described_environments.add(key)
        worker.daemon.send(message.ENVIRONMENT, {"key": key, "description": spec})
    return key


def environment_key(spec):
    """The same text as ``environmentKey`` of ``src/runtime/environment/runtime-env.ts``."""
    # Loaded with the first environment that is named, as it takes milliseconds.
    import hashlib

    parts = [spec.get(name) for name in ("workingDir", "nodeModules", "python", "pythonPreload", "execPath", "execArgv", "language")]
    job = spec.get("job")
    if all(part is None for part in (spec.get("envVars"), job, *parts)):
        return ""
    variables = sorted(([name, value] for name, value in (spec.get("envVars") or {}).items()), key=lambda pair: pair[0].encode("utf-16-be", "surrogatepass"))
    places = [(spec.get(name) or {}).get("node") for name in ("workingDirAt", "nodeModulesAt")]
    of_job = [None, None] if job is None else [job["jobId"], job["namespace"]]
    parts = [variables, spec.get("excludes"), *parts, *of_job, *places]
    text = json.dumps(parts, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_KEY_LENGTH]
