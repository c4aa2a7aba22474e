"""Train a small regressor with data parallelism, and keep a checkpoint of each epoch."""

import json
import os
import sys
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

import ray.train
import ray.train.torch
from ray.train import Checkpoint, CheckpointConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer


class Regressor(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.layers(x)


def make_dataset(rows=256):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(rows, 8, generator=generator)
    y = x[:, :3].sum(dim=1, keepdim=True) + 0.1 * torch.randn(rows, 1, generator=generator)
    return TensorDataset(x, y)


def train_loop_per_worker(config):
    torch.manual_seed(config["seed"])
    model = ray.train.torch.prepare_model(Regressor(config["width"]))
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"], momentum=0.9)
    criterion = nn.MSELoss()

    start_epoch = 0
    checkpoint = ray.train.get_checkpoint()
    if checkpoint:
        with checkpoint.as_directory() as checkpoint_dir:
            state = torch.load(os.path.join(checkpoint_dir, "model.pt"), weights_only=True)
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
            start_epoch = state["epoch"] + 1

    loader = DataLoader(make_dataset(), batch_size=config["batch_size"], shuffle=True)
    loader = ray.train.torch.prepare_data_loader(loader)

    for epoch in range(start_epoch, config["epochs"]):
        if ray.train.get_context().get_world_size() > 1:
            loader.sampler.set_epoch(epoch)
        model.train()
        total, batches = 0.0, 0
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            batches += 1

        metrics = {"loss": total / batches, "epoch": epoch, "batches": batches}
        with tempfile.TemporaryDirectory() as temp_dir:
            checkpoint = None
            if ray.train.get_context().get_world_rank() == 0:
                torch.save(
                    {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch},
                    os.path.join(temp_dir, "model.pt"),
                )
                checkpoint = Checkpoint.from_directory(temp_dir)
            ray.train.report(metrics, checkpoint=checkpoint)
        if ray.train.get_context().get_world_rank() == 0:
            print(metrics)


if __name__ == "__main__":
    trainer = TorchTrainer(
        train_loop_per_worker,
        train_loop_config=json.loads(sys.argv[1]),
        scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
        run_config=RunConfig(
            storage_path=sys.argv[2],
            checkpoint_config=CheckpointConfig(num_to_keep=2, checkpoint_score_attribute="loss", checkpoint_score_order="min"),
        ),
    )
    result = trainer.fit()
    print("RESULT " + json.dumps({"metrics": result.metrics, "files": sorted(os.listdir(result.checkpoint.path))}))
