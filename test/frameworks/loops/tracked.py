"""A loop as Ray's users write it, that begins runs of Weights & Biases and of MLflow by itself."""

import ray.air.integrations.mlflow
import ray.air.integrations.wandb
from ray import train
from ray.air.config import RunConfig, ScalingConfig  # noqa: F401 -- of the driver
from ray.train import TrainingFailedError
from ray.train.data_parallel_trainer import DataParallelTrainer  # noqa: F401 -- of the driver


def train_loop(config):
    settings = {"lr": 0.1, "model": {"act": "relu"}, "layers": [8, 8]}
    run = ray.air.integrations.wandb.setup_wandb(settings, project="mine", mode="offline", dir=config["folder"])
    mlflow = ray.air.integrations.mlflow.setup_mlflow(settings, tracking_uri=config["folder"] + "/mlruns", tags={"team": "red"})
    for step in (1, 2):
        run.log({"loss": 1 / step}, step=step)
        mlflow.log_metric("loss", 1 / step, step=step)
    train.report({"active": bool(mlflow.active_run()), "is_error": issubclass(TrainingFailedError, Exception)})
    if config["fails"]:
        raise ValueError("no more")


def without_experiment(config):
    ray.air.integrations.mlflow.setup_mlflow(experiment_name="absent", tracking_uri=config["folder"] + "/mlruns")
