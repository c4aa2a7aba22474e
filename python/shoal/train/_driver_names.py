"""Names of Ray's driver, which files with training loops import at their top: they are there, and say where the driver is when they are called."""

#: Of ``ray.train``; those of its modules are in ``TRAINERS``.
DRIVER_NAMES = frozenset(
    "BackendConfig CheckpointConfig DataConfig DataParallelTrainer FailureConfig LoggingConfig Result RunConfig RunAttempt ScalingConfig SyncConfig UserCallback ValidationConfig ValidationFn "
    "ValidationTaskConfig".split()
)
#: Errors that ``fit`` raises in Ray, for its ``except``.
DRIVER_ERRORS = frozenset("ControllerError NCCLHangError PreemptionError TrainingFailedError WorkerGroupError".split())

_MADE = {}


_NO_VALIDATION = "Shoal validates no checkpoints: evaluate in the loop, and report what comes of it"
_NO_CHECKPOINT_CLASS = "Shoal has one class of checkpoints: write the files of the model, and report Checkpoint.from_directory(path)"
_NO_CONFIG = "its trainer in shoal/train needs none"

#: Names that ``shoal/train`` does not have, with what is to be done in their place.
_NOT_THERE = {
    "BackendConfig": "pass backend: { onStart, onTrainingStart, onShutdown } to DataParallelTrainer of shoal/train",
    "DataConfig": "it is dataConfig of the trainers of shoal/train",
    "RunAttempt": "callbacks of shoal/train are given reports and failures alone",
    "SyncConfig": "Shoal needs none: a checkpoint is stored when report returns",
    "UserCallback": "callbacks of runConfig are objects with afterReport and afterException",
    "ValidationConfig": _NO_VALIDATION,
    "ValidationFn": _NO_VALIDATION,
    "ValidationTaskConfig": _NO_VALIDATION,
    "TorchXLAConfig": "Shoal has no backend for XLA",
    **{"%sCheckpoint" % framework: _NO_CHECKPOINT_CLASS for framework in ("Torch", "Tensorflow", "XGBoost", "LightGBM")},
    **{"%sConfig" % framework: _NO_CONFIG for framework in ("Tensorflow", "Jax", "Horovod", "XGBoost", "LightGBM")},
}


def driver_name(name, module="ray.train"):
    """A class that cannot be made here, as of a module of Ray."""
    if (module, name) not in _MADE:
        bases = (RuntimeError,) if name in DRIVER_ERRORS else ()
        _MADE[module, name] = type(name, bases, {"__init__": _refuse, "__module__": module, "restore": classmethod(_refuse), "from_path": classmethod(_refuse)})
    return _MADE[module, name]


def _refuse(self, *_args, **_kwargs):
    given = self if isinstance(self, type) else type(self)
    names = [base.__name__ for base in given.__mro__ if base.__name__ in _NOT_THERE]
    if names:
        raise RuntimeError("Cannot use %s here: %s" % (given.__name__, _NOT_THERE[names[0]]))
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
