"""A classifier that evaluates after each epoch, and uses what there is of context, collectives, devices and reproducibility."""

import json
import os
import sys
import tempfile

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

from ray import train
from ray.train import Checkpoint, RunConfig, ScalingConfig, get_context
from ray.train.collective import barrier, broadcast_from_rank_zero
from ray.train.torch import TorchConfig, TorchTrainer, enable_reproducibility, get_devices, prepare_data_loader, prepare_model


def blobs():
    generator = torch.Generator().manual_seed(3)
    labels = torch.arange(300) % 3
    centers = torch.tensor([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    return TensorDataset(centers[labels] + torch.randn(300, 2, generator=generator), labels)


def train_func_per_worker(config):
    enable_reproducibility(seed=config["seed"])
    context = get_context()
    settings = broadcast_from_rank_zero({"batch_size": config["batch_size"], "lr": config["lr"]})
    train_set, test_set = random_split(blobs(), [240, 60], generator=torch.Generator().manual_seed(1))
    train_loader = prepare_data_loader(DataLoader(train_set, batch_size=settings["batch_size"], shuffle=True))
    test_loader = prepare_data_loader(DataLoader(test_set, batch_size=60), add_dist_sampler=False)
    model = prepare_model(torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)), parallel_strategy_kwargs={"bucket_cap_mb": 1})
    optimizer = torch.optim.Adam(model.parameters(), lr=settings["lr"])

    for epoch in range(config["epochs"]):
        train_loader.sampler.set_epoch(epoch)
        for x, y in train_loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        model.eval()
        correct = total = 0
        loss = 0.0
        with torch.no_grad():
            for x, y in test_loader:
                logits = model(x)
                loss += F.cross_entropy(logits, y).item()
                correct += (logits.argmax(1) == y).sum().item()
                total += len(y)
        model.train()
        barrier()
        metrics = {
            "accuracy": correct / total,
            "val_loss": loss,
            "world": [context.get_world_size(), context.get_world_rank(), context.get_local_rank(), context.get_local_world_size(), context.get_node_rank()],
            "devices": [str(device) for device in get_devices()],
            "environment": [os.environ[name] for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK")],
        }
        with tempfile.TemporaryDirectory() as folder:
            # Each rank saves another part.
            torch.save(epoch, os.path.join(folder, f"rank_{context.get_world_rank()}.pt"))
            checkpoint = Checkpoint.from_directory(folder)
            if context.get_world_rank() == 0:
                checkpoint.set_metadata({"epoch": epoch})
            train.report(metrics, checkpoint=checkpoint)


if __name__ == "__main__":
    trainer = TorchTrainer(
        train_func_per_worker,
        train_loop_config=json.loads(sys.argv[1]),
        torch_config=TorchConfig(backend="gloo", timeout_s=120),
        scaling_config=ScalingConfig(num_workers=2, resources_per_worker={"CPU": 1}),
        run_config=RunConfig(storage_path=sys.argv[2]),
    )
    result = trainer.fit()
    files = sorted(name for name in os.listdir(result.checkpoint.path))
    print("RESULT " + json.dumps({"metrics": result.metrics, "files": files}))
