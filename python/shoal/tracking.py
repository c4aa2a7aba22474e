"""Weights & Biases and MLflow within a training loop or a trial: ``setup_wandb`` and ``setup_mlflow`` begin a run of theirs there, and it ends with the loop.

Names and options are Ray's, and ``ray.air.integrations`` finds them where Ray is not installed. Of several ranks the first one has the run, and the others have one that does nothing. The
trackers of TypeScript, ``WandbLoggerCallback`` and ``MLflowLoggerCallback``, need no call in a loop.
"""

import os
import re

from . import _loop_ends
from ._trackers import allow_folder, experiment_id_of, library, mlflow_params
from .train import _current
from .tune import _session

__all__ = ["setup_mlflow", "setup_wandb"]


def setup_wandb(config=None, api_key=None, api_key_file=None, rank_zero_only=True, **kwargs):
    """Begins a run of Weights & Biases, under the name of the trial or of the training run.

    :param config: what the run was configured with
    :param api_key: its key, otherwise that of ``WANDB_API_KEY`` or of ``wandb login``
    :param api_key_file: a file with the key
    :param rank_zero_only: whether only the first rank has the run
    :param kwargs: for ``wandb.init``, such as ``project`` and ``mode``; they come before what is set here
    :return: the run; on other ranks a disabled one
    """
    wandb = library("wandb", "setup_wandb")
    place = _Place()
    if rank_zero_only and place.rank != 0:
        return wandb.init(mode="disabled")
    if api_key_file is not None:
        if api_key is not None:
            raise ValueError("Cannot set up Weights & Biases: api_key and api_key_file are given: one of them is needed")
        with open(os.path.expanduser(api_key_file)) as file:
            api_key = file.readline().strip()
    if api_key is not None:
        os.environ["WANDB_API_KEY"] = api_key
    of_trial = {} if place.trial_id is None else {"id": re.sub(r"[^\w\-]", "_", place.trial_id, flags=re.ASCII), "resume": "allow"}
    options = {
        **of_trial,
        "name": place.name,
        "group": os.environ.get("WANDB_GROUP_NAME", place.experiment),
        "project": os.environ.get("WANDB_PROJECT_NAME"),
        "config": _plain(config or {}),
        # Processes run one trial after another.
        "reinit": "finish_previous",
        **kwargs,
    }
    run = wandb.init(**options)
    place.at_end(lambda succeeded: run.finish(exit_code=0 if succeeded else 1))
    return run


def setup_mlflow(
    config=None,
    tracking_uri=None,
    registry_uri=None,
    experiment_id=None,
    experiment_name=None,
    tracking_token=None,
    artifact_location=None,
    run_name=None,
    create_experiment_if_not_exists=False,
    tags=None,
    rank_zero_only=True,
):
    """Begins a run of MLflow and makes it the active one, so that ``mlflow.log_metric`` and ``mlflow.autolog`` write into it.

    :param config: becomes the run's parameters
    :param tracking_uri: a folder, or the address of a server; otherwise what ``MLFLOW_TRACKING_URI`` says
    :param registry_uri: of the registry of models
    :param experiment_id: an experiment that is there
    :param experiment_name: another way to name it. By default the experiment of the Shoal run, which is made where it is not there
    :param tracking_token: becomes ``MLFLOW_TRACKING_TOKEN``
    :param artifact_location: of an experiment that is made
    :param run_name: by default the name of the trial or of the training run
    :param create_experiment_if_not_exists: whether an experiment that you have named may be made
    :param tags: of the run
    :param rank_zero_only: whether only the first rank has the run
    :return: the module ``mlflow``; on other ranks an object that takes any call and does nothing
    :raises ValueError: where the experiment is not there
    """
    mlflow = library("mlflow", "setup_mlflow")
    place = _Place()
    if rank_zero_only and place.rank != 0:
        return _Nothing()
    if tracking_token is not None:
        os.environ["MLFLOW_TRACKING_TOKEN"] = tracking_token
    allow_folder(tracking_uri)
    if tracking_uri is not None:
        mlflow.set_tracking_uri(tracking_uri)
    if registry_uri is not None:
        mlflow.set_registry_uri(registry_uri)
    if experiment_id is None:
        experiment_id = os.environ.get("MLFLOW_EXPERIMENT_ID")
    if experiment_id is None:
        named = experiment_name or os.environ.get("MLFLOW_EXPERIMENT_NAME")
        makes = named is None or create_experiment_if_not_exists
        experiment_id = _experiment(mlflow.MlflowClient(), named or place.experiment, makes, artifact_location)
    run = mlflow.active_run()
    if run is None:
        run = mlflow.start_run(run_name=run_name or place.name, experiment_id=experiment_id, tags=tags)
        place.at_end(lambda succeeded: _end_mlflow(mlflow, run, succeeded))
    mlflow.log_params(mlflow_params(_flat(_plain(config or {}))))
    return mlflow


def _experiment(client, name, makes, artifact_location):
    """The id of an experiment; None for MLflow's own default."""
    if name is None:
        return None
    if makes:
        return experiment_id_of(client, name, artifact_location)
    found = client.get_experiment_by_name(name)
    if found is None:
        raise ValueError("Cannot set up MLflow: there is no experiment %r: create_experiment_if_not_exists=True makes it" % (name,))
    return found.experiment_id


def _end_mlflow(mlflow, run, succeeded):
    active = mlflow.active_run()
    # The loop may have ended it by itself.
    if active is not None and active.info.run_id == run.info.run_id:
        mlflow.end_run("FINISHED" if succeeded else "FAILED")


class _Place:
    """The training loop, or the trial, that this code runs in; one without names elsewhere."""

    def __init__(self):
        training, trial = _current.session, _session.current
        context = training.context if training is not None else trial.context if trial is not None else None
        self._is_loop = context is not None
        self.rank = training.context.get_world_rank() if training is not None else 0
        self.trial_id = context.get_trial_id() if context is not None else None
        self.name = context.get_trial_name() if context is not None else None
        self.experiment = context.get_experiment_name() if context is not None else None

    def at_end(self, function):
        if self._is_loop:
            _loop_ends.at_end(function)


class _Nothing:
    """Takes any call, also as ``with mlflow.start_run():``, and does nothing."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_args, **_kwargs):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        return None

    def __bool__(self):
        return False


def _plain(value):
    """A configuration with what Weights & Biases and MLflow can keep; other values become their texts."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def _flat(config, above=""):
    """The configuration with the names of nested values in one, such as ``model/act``."""
    flat = {}
    for name, value in config.items():
        flat.update(_flat(value, "%s%s/" % (above, name)) if isinstance(value, dict) else {above + name: value})
    return flat
