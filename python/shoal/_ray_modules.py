"""``ray`` in a worker that has no Ray: files with training loops and trainables that were written for Ray import it, and get what Shoal has of the same names.

``install`` puts a finder first on the path of imports; it makes ``ray`` and a few of its modules of ours, and leaves all else to others. A real Ray is left alone unless asked otherwise.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys

#: Modules that are one of ours under another name.
_SAME = {
    "ray.train": "shoal.train",
    "ray.train.torch": "shoal.train.torch",
    "ray.train.lightning": "shoal.train.lightning",
    "ray.train.huggingface": "shoal.train.huggingface",
    "ray.train.huggingface.transformers": "shoal.train.huggingface.transformers",
    "ray.train.tensorflow": "shoal.train.tensorflow",
    "ray.train.tensorflow.keras": "shoal.train.tensorflow.keras",
    "ray.train.xgboost": "shoal.train.xgboost",
    "ray.train.lightgbm": "shoal.train.lightgbm",
    "ray.train.horovod": "shoal.train.horovod",
    "ray.train.v2.jax": "shoal.train.jax",
    "ray.train.collective": "shoal.train.collective",
    "ray.data": "shoal.data",
    "ray.tune.integration": "shoal.tune.integration",
    "ray.tune.integration.xgboost": "shoal.tune.integration.xgboost",
    "ray.tune.integration.lightgbm": "shoal.tune.integration.lightgbm",
    "ray.tune.integration.keras": "shoal.tune.integration.keras",
    "ray.tune.integration.pytorch_lightning": "shoal.tune.integration.pytorch_lightning",
    "ray.tune.integration.ray_train": "shoal.tune.integration.ray_train",
}
#: Modules of searches, which the driver runs: whatever their names, they are there and say so.
_SEARCHES = ("ray.tune.schedulers", "ray.tune.search", "ray.tune.stopper", "ray.tune.logger", "ray.tune.tuner", "ray.tune.tune_config", "ray.tune.callback")
_DRIVER_FUNCTIONS = ("init", "shutdown", "is_initialized", "cluster_resources", "available_resources", "nodes")


#: The module that has ``report`` of this process: of a rank, or of a trial.
_reports = "shoal.train"


def install(even_if_installed=False, reports="shoal.train"):
    """From now on ``import ray`` finds Shoal.

    :param even_if_installed: also where the real package is
    :param reports: the module whose ``report`` and ``get_context`` are meant: "shoal.train" in ranks, "shoal.tune" in trials
    """
    global _reports
    _reports = reports
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    if not even_if_installed and importlib.util.find_spec("ray") is not None:
        return
    # A module that the worker has preloaded may have imported the real one.
    for name in [name for name in sys.modules if name == "ray" or name.startswith("ray.")]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "ray" and not name.startswith("ray."):
            return None
        if name in _SAME or name in _MADE or _is_of_searches(name):
            return importlib.machinery.ModuleSpec(name, _Loader(), is_package=True)
        raise ModuleNotFoundError(
            "No module named %r: this worker has Shoal's part of Ray, %s; what else there is of Ray needs the real package in the environment" % (name, ", ".join(sorted((*_SAME, *_MADE)))),
            name=name,
        )


def _is_of_searches(name):
    return any(name == module or name.startswith(module + ".") for module in _SEARCHES)


class _Loader(importlib.abc.Loader):
    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__name__
        if name in _SAME:
            # The import system takes the module from `sys.modules`.
            sys.modules[name] = importlib.import_module(_SAME[name])
        else:
            _MADE.get(name, _make_search)(module)


def _make_ray(module):
    import shoal

    module.__path__ = []
    module.__version__ = "2.60.0"
    for name in ("get", "put", "wait", "remote", "cancel", "kill", "get_actor", "ObjectRef"):
        setattr(module, name, getattr(shoal, name))
    module.get_runtime_context = _RuntimeContext
    module.get_gpu_ids = lambda: list(_worker().gpus)
    for name in _DRIVER_FUNCTIONS:
        setattr(module, name, _refusal("ray.%s" % name))
    module.is_initialized = lambda: True

    def attribute(name):
        if name in ("train", "tune", "data", "air"):
            return importlib.import_module("ray.%s" % name)
        raise AttributeError("module 'ray' has no attribute %r here: this worker has Shoal's part of Ray" % name)

    module.__getattr__ = attribute


def _make_tune(module):
    """Fills ``ray.tune`` with the names that loops and trainables call; the driver runs the searches."""
    functions = importlib.import_module(_reports)
    module.__path__ = []
    for name in ("report", "get_checkpoint", "get_context", "Checkpoint"):
        setattr(module, name, getattr(functions, name))
    _make_trainable(module)
    module.__getattr__ = _search_name


def _make_trainable(module):
    module.__path__ = []
    module.Trainable = importlib.import_module("shoal.tune").Trainable


def _make_search(module):
    module.__path__ = []
    module.__getattr__ = _search_name


def _search_name(name):
    if name.startswith("__"):
        raise AttributeError(name)
    from .train._driver_names import driver_name

    return driver_name(name, "ray.tune")


def _make_air(module):
    module.__path__ = []
    module.session = importlib.import_module("ray.air.session")
    _give_driver_names(module, *_CONFIGS)


def _make_session(module):
    """The older names of the same functions."""
    functions = importlib.import_module(_reports)
    for name in ("report", "get_checkpoint"):
        setattr(module, name, getattr(functions, name))
    module.get_dataset_shard = importlib.import_module("shoal.train").get_dataset_shard
    for name in ("world_size", "world_rank", "local_rank", "local_world_size", "node_rank", "experiment_name", "trial_name", "trial_id"):
        setattr(module, "get_%s" % name, lambda method="get_%s" % name: getattr(functions.get_context(), method)())


def _make_keras(module):
    module.ReportCheckpointCallback = importlib.import_module("shoal.train.tensorflow.keras").ReportCheckpointCallback


def _make_empty(module):
    module.__path__ = []


def _make_tracking(setup, callback):
    """Makes the module of a tracker: its function for loops, and its callback of the driver."""

    def make(module):
        setattr(module, setup, getattr(importlib.import_module("shoal.tracking"), setup))
        _give_driver_names(module, callback)

    return make


def _make_driver_names(*names):
    return lambda module: _give_driver_names(module, *names)


def _give_driver_names(module, *names):
    from .train._driver_names import driver_name

    for name in names:
        setattr(module, name, driver_name(name))


_CONFIGS = ("CheckpointConfig", "FailureConfig", "Result", "RunConfig", "ScalingConfig")

_MADE = {
    "ray": _make_ray,
    "ray.tune": _make_tune,
    "ray.tune.trainable": _make_trainable,
    "ray.tune.trainable.trainable": _make_trainable,
    "ray.air": _make_air,
    "ray.air.config": _make_driver_names(*_CONFIGS),
    "ray.air.session": _make_session,
    "ray.air.integrations": _make_empty,
    "ray.air.integrations.comet": _make_driver_names("CometLoggerCallback"),
    "ray.air.integrations.keras": _make_keras,
    "ray.air.integrations.mlflow": _make_tracking("setup_mlflow", "MLflowLoggerCallback"),
    "ray.air.integrations.wandb": _make_tracking("setup_wandb", "WandbLoggerCallback"),
    "ray.train.backend": _make_driver_names("Backend", "BackendConfig"),
    "ray.train.data_parallel_trainer": _make_driver_names("DataParallelTrainer"),
    "ray.train.v2": _make_empty,
    "ray.train.v2.api": _make_empty,
    "ray.train.v2.api.data_parallel_trainer": _make_driver_names("DataParallelTrainer"),
}


class _RuntimeContext:
    """The part of ``ray.get_runtime_context()`` that loops ask for."""

    def get_job_id(self):
        return str(_worker().configuration["jobId"])

    def get_node_id(self):
        return _worker().configuration["nodeId"]

    def get_actor_id(self):
        return _worker().actor.id

    def get_accelerator_ids(self):
        return {"GPU": [str(gpu) for gpu in _worker().gpus]}


def _worker():
    from . import _runtime

    return _runtime.require()


def _refusal(name):
    def refuse(*_args, **_kwargs):
        raise RuntimeError("Cannot call %s here: the cluster is there already, and its driver is TypeScript" % name)

    return refuse
