"""Hugging Face Accelerate finds the ranks by itself."""

import json
import os
import sys
import tempfile

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

import ray.train
from ray.train import Checkpoint, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer


def train_func(config):
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(config["seed"])
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
    x = torch.linspace(-1, 1, 96).reshape(32, 3)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(config["epochs"]):
        seen = 0
        for batch, target in loader:
            with accelerator.accumulate(model):
                loss = torch.nn.functional.mse_loss(model(batch), target)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            seen += len(batch)
        losses = accelerator.gather(loss.detach().reshape(1))
        with tempfile.TemporaryDirectory() as folder:
            accelerator.wait_for_everyone()
            checkpoint = None
            if accelerator.is_main_process:
                accelerator.save(accelerator.unwrap_model(model).state_dict(), folder + "/model.pt")
                checkpoint = Checkpoint.from_directory(folder)
            ray.train.report(
                {"losses": losses.tolist(), "seen": seen, "processes": accelerator.num_processes, "kind": str(accelerator.distributed_type)}, checkpoint=checkpoint
            )


if __name__ == "__main__":
    trainer = TorchTrainer(
        train_func,
        train_loop_config=json.loads(sys.argv[1]),
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(storage_path=sys.argv[2]),
    )
    result = trainer.fit()
    print("RESULT " + json.dumps({"metrics": result.metrics, "files": sorted(os.listdir(result.checkpoint.path))}))
