"""Names of Ray's driver, which files with training loops import at their top: they are there, and say where the driver is when they are called."""

#: Of ``ray.train``; those of its modules are in ``TRAINERS``.
DRIVER_NAMES = frozenset(
    "BackendConfig CheckpointConfig DataConfig DataParallelTrainer FailureConfig LoggingConfig Result RunConfig RunAttempt ScalingConfig SyncConfig UserCallback ValidationConfig ValidationFn "
    "ValidationTaskConfig".split()
)
#: Errors that ``fit`` raises in Ray, for its ``except``.
DRIVER_ERRORS = frozenset("ControllerError NCCLHangError PreemptionError TrainingFailedError WorkerGroupError".split())

_MADE = {}


def driver_name(name, module="ray.train"):
    """A class that cannot be made here, as of a module of Ray."""
    if (module, name) not in _MADE:
        bases = (RuntimeError,) if name in DRIVER_ERRORS else ()
        _MADE[module, name] = type(name, bases, {"__init__": _refuse, "__module__": module, "restore": classmethod(_refuse), "from_path": classmethod(_refuse)})
    return _MADE[module, name]


def _refuse(self, *_args, **_kwargs):
    given = self if isinstance(self, type) else type(self)
    where = (
        "import it from shoal/tune there, and give new Tuner python.task(file, name)"
        if any(base.__module__ == "ray.tune" for base in given.__mro__)
        else "import it from shoal/train there, and give its trainer python.task(file, name) as trainLoopPerWorker"
    )
    raise RuntimeError("Cannot use %s here: the driver of a run is TypeScript: %s" % (given.__name__, where))


def trainers(*names):
    """The ``__getattr__`` of a module that has these driver's names."""

    def attribute(name):
        if name in names:
            return driver_name(name)
        raise AttributeError("the module has no attribute %r" % name)

    return attribute
