"""DeepSpeed's ZeRO on the CPU, over gloo: what the ranks learn together is what one process learns."""

import os

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed
import torch
from torch import nn

from shoal import train


def new_model():
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))


def data():
    x = torch.linspace(-1, 1, 64).reshape(16, 4)
    return x, torch.sin(3 * x.sum(1, keepdim=True))


def train_loop(config):
    rank, size = train.get_context().get_world_rank(), train.get_context().get_world_size()
    x, y = data()
    mine = slice(rank * 16 // size, (rank + 1) * 16 // size)
    model = new_model()
    engine, _, _, _ = deepspeed.initialize(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        config={
            "train_batch_size": 16,
            "train_micro_batch_size_per_gpu": 16 // size,
            "zero_optimization": {"stage": config["stage"]},
            "zero_allow_untested_optimizer": True,
            "fp32": {"enabled": True},
        },
        dist_init_required=False,
    )
    losses = []
    for _ in range(config["steps"]):
        loss = nn.functional.mse_loss(engine(x[mine]), y[mine])
        engine.backward(loss)
        engine.step()
        total = loss.detach().float().clone()
        torch.distributed.all_reduce(total)
        losses.append(float(total) / size)
    alone, model = [], new_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(config["steps"]):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        alone.append(float(loss))
    train.report({"losses": losses, "alone": alone, "stage": engine.zero_optimization_stage()})
