"""DeepSpeed's ZeRO on the CPU, over gloo: what the ranks learn together is what one process learns, also after a checkpoint in which each rank has its part."""

import tempfile

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


def new_engine(stage, size):
    model = new_model()
    engine, _, _, _ = deepspeed.initialize(
        model=model,
        optimizer=torch.optim.Adam(model.parameters(), lr=0.02),
        config={
            "train_batch_size": 16,
            "train_micro_batch_size_per_gpu": 16 // size,
            "zero_optimization": {"stage": stage},
            "zero_allow_untested_optimizer": True,
        },
        dist_init_required=False,
    )
    return engine


def curve(engine, rank, size, steps):
    x, y = data()
    mine = slice(rank * 16 // size, (rank + 1) * 16 // size)
    losses = []
    for _ in range(steps):
        loss = nn.functional.mse_loss(engine(x[mine]), y[mine])
        engine.backward(loss)
        engine.step()
        total = loss.detach().float().clone()
        torch.distributed.all_reduce(total)
        losses.append(float(total) / size)
    return losses


def curve_alone(steps):
    x, y = data()
    model = new_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    return losses


def train_loop(config):
    rank, size = train.get_context().get_world_rank(), train.get_context().get_world_size()
    engine = new_engine(config["stage"], size)
    losses = curve(engine, rank, size, config["steps"])
    with tempfile.TemporaryDirectory() as folder:
        engine.save_checkpoint(folder, tag="last")
        train.report({"losses": losses}, checkpoint=train.Checkpoint.from_directory(folder))
    engine.destroy()
    engine = new_engine(config["stage"], size)
    with train.get_checkpoint().as_directory() as folder:
        engine.load_checkpoint(folder, tag="last")
    losses.extend(curve(engine, rank, size, config["steps"]))
    train.report({"losses": losses, "alone": curve_alone(2 * config["steps"]), "stage": engine.zero_optimization_stage()})
