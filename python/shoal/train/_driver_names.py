"""Names of Ray's driver, which files with training loops import at their top: they are there, and say where the driver is when they are called."""

#: Of ``ray.train``; those of its modules are in ``TRAINERS``.
DRIVER_NAMES = frozenset(
    "BackendConfig CheckpointConfig DataConfig DataParallelTrainer FailureConfig LoggingConfig Result RunConfig RunAttempt ScalingConfig SyncConfig UserCallback ValidationConfig ValidationFn "
    "ValidationTaskConfig".split()
)
#: Errors that ``fit`` raises in Ray, for its ``except``.
DRIVER_ERRORS = frozenset("ControllerError NCCLHangError PreemptionError TrainingFailedError WorkerGroupError".split())

_MADE = {}


def driver_name(name):
    """A class that cannot be made here."""
    if name not in _MADE:
        bases = (RuntimeError,) if name in DRIVER_ERRORS else ()
        _MADE[name] = type(name, bases, {"__init__": _refuse, "__module__": "ray.train", "restore": classmethod(_refuse), "from_path": classmethod(_refuse)})
    return _MADE[name]


def _refuse(self, *_args, **_kwargs):
    name = self.__name__ if isinstance(self, type) else type(self).__name__
    raise RuntimeError(
        "Cannot use %s here: the driver of a run is TypeScript: import it from shoal/train there, and give its trainer python.task(file, name) as trainLoopPerWorker" % name
    )


def trainers(*names):
    """The ``__getattr__`` of a module that has these driver's names."""

    def attribute(name):
        if name in names:
            return driver_name(name)
        raise AttributeError("the module has no attribute %r" % name)

    return attribute
