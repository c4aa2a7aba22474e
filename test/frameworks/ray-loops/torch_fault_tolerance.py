"""A loop that fails once, and goes on from its last checkpoint."""

import json
import os
import sys
import tempfile

import torch

import ray
from ray import train
from ray.train import Checkpoint, FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer


def train_func(config):
    weight = torch.zeros(1, dtype=torch.float64)
    first = 0
    checkpoint = train.get_checkpoint()
    if checkpoint is not None:
        folder = checkpoint.to_directory()
        saved = json.load(open(os.path.join(folder, "state.json")))
        weight += saved["weight"]
        first = saved["step"] + 1
    for step in range(first, config["steps"]):
        grad = 2 * (weight - 5) + train.get_context().get_world_rank()
        torch.distributed.all_reduce(grad)
        weight -= config["lr"] * grad / train.get_context().get_world_size()
        if step == config["fails_at"] and first == 0:
            raise RuntimeError("a disk is full")
        with tempfile.TemporaryDirectory() as folder:
            if train.get_context().get_world_rank() == 0:
                with open(os.path.join(folder, "state.json"), "w") as file:
                    json.dump({"weight": weight.item(), "step": step}, file)
                train.report({"weight": weight.item(), "step": step, "resumed_from": first}, checkpoint=Checkpoint.from_directory(folder))
            else:
                train.report({"weight": weight.item(), "step": step, "resumed_from": first})


if __name__ == "__main__":
    trainer = TorchTrainer(
        train_func,
        train_loop_config=json.loads(sys.argv[1]),
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(storage_path=sys.argv[2], failure_config=FailureConfig(max_failures=1)),
    )
    result = trainer.fit()
    print("RESULT " + json.dumps({"metrics": result.metrics, "files": sorted(os.listdir(result.checkpoint.path))}))
