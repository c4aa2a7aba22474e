"""The failures that Shoal reports: one class for each code, as in TypeScript.

An error that came from elsewhere in the cluster keeps its code, so that it is sent on as what it was.
"""


class ShoalError(Exception):
    """The root of every failure of the cluster. ``code`` is stable; ``reason`` and ``hint`` say why and what to do."""

    code = "SHOAL_ERROR"

    def __init__(self, message="", fields=None, cause=None):
        Exception.__init__(self, message)
        self.fields = dict(fields or {})
        if isinstance(cause, BaseException):
            self.__cause__ = cause
        #: What led to it, which need be no exception.
        self.cause_value = cause

    @property
    def reason(self):
        return self.fields.get("reason")

    @property
    def hint(self):
        return self.fields.get("hint")


class TaskError(ShoalError):
    """A task or a method of an actor raised; ``__cause__`` is what it raised."""

    code = "TASK_FAILED"


class TaskCancelledError(ShoalError):
    code = "TASK_CANCELLED"


class GetTimeoutError(ShoalError, TimeoutError):
    """Also Python's own ``TimeoutError``, as in Ray."""

    code = "GET_TIMEOUT"


class WorkerCrashedError(ShoalError):
    code = "WORKER_CRASHED"


class ActorDiedError(ShoalError):
    code = "ACTOR_DIED"


class ActorUnavailableError(ShoalError):
    code = "ACTOR_UNAVAILABLE"


class ObjectLostError(ShoalError):
    code = "OBJECT_LOST"


class OutOfMemoryError(ShoalError):
    code = "OUT_OF_MEMORY"


class RuntimeEnvError(ShoalError):
    code = "RUNTIME_ENV_FAILED"


class SerializationError(ShoalError):
    code = "SERIALIZATION_FAILED"


class DataError(ShoalError):
    """Data that cannot be read or do not fit; the message names the column, the row and the file as far as they are known."""

    code = "DATA_INVALID"


class RunError(ShoalError):
    """A run, its folder or a checkpoint cannot be used; the message names it and what to do."""

    code = "RUN_FAILED"


_CLASSES = {
    error_class.code: error_class
    for error_class in (
        ShoalError,
        TaskError,
        TaskCancelledError,
        GetTimeoutError,
        WorkerCrashedError,
        ActorDiedError,
        ActorUnavailableError,
        ObjectLostError,
        OutOfMemoryError,
        RuntimeEnvError,
        SerializationError,
        DataError,
        RunError,
    )
}


def from_wire(data):
    """The error of its plain form, of the class of its code."""
    code = data["code"]
    error = _CLASSES.get(code, ShoalError)(data["message"], data.get("fields"), data.get("cause"))
    error.code = code
    error.remote_stack = data.get("stack", "")
    return error


def to_wire(error):
    data = {
        "code": error.code,
        "message": str(error),
        "stack": getattr(error, "remote_stack", "") or "%s: %s" % (type(error).__name__, error),
        "fields": error.fields,
    }
    cause = error.__cause__ if error.__cause__ is not None else error.cause_value
    if cause is not None:
        data["cause"] = cause
    return data
