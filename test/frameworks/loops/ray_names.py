"""Ray's names that files written for Ray import at their tops, and may call by mistake."""

import importlib

import ray
import ray.train
import ray.train.torch
from ray import train, tune
from ray.air import session
from ray.train import FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer


def message_of(function):
    try:
        function()
    except RuntimeError as error:
        return str(error)
    return "nothing"


def train_loop(config):
    try:
        importlib.import_module("ray.serve")

        absent = None
    except ModuleNotFoundError as error:
        absent = error.name
    session.report(
        {
            "modules": "%s %s" % (train.__name__, ray.train.torch.__name__),
            "tune": tune.report is train.report,
            "version": ray.__version__,
            "absent": absent,
            "said": [
                message_of(lambda: ScalingConfig(num_workers=2)),
                message_of(lambda: RunConfig(failure_config=None)),
                message_of(lambda: FailureConfig(max_failures=1)),
                message_of(lambda: TorchTrainer(train_loop, scaling_config=None)),
                message_of(lambda: ray.init()),
                message_of(lambda: tune.Tuner(train_loop)),
            ],
        }
    )
