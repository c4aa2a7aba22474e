"""Fully sharded data parallelism on the CPU: by ``prepare_model``, and by torch's ``fully_shard``. Both learn as one process does."""

import tempfile

import torch
import torch.distributed as dist
from torch import nn

from shoal import train


def new_model():
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))


def data():
    x = torch.linspace(-1, 1, 64).reshape(16, 4)
    return x, torch.sin(3 * x.sum(1, keepdim=True))


def curve(model, rank, size, steps):
    x, y = data()
    mine = slice(rank * 16 // size, (rank + 1) * 16 // size)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[mine]), y[mine])
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        if size > 1:
            dist.all_reduce(total)
        losses.append(float(total) / size)
    return losses


def train_loop(config):
    rank, size = train.get_context().get_world_rank(), train.get_context().get_world_size()
    if config["way"] == "prepare_model":
        model = train.torch.prepare_model(new_model(), parallel_strategy="fsdp", parallel_strategy_kwargs={"use_orig_params": True})
        held = sum(parameter.numel() for parameter in model.parameters())
    else:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (size,))
        model = fully_shard(new_model(), mesh=mesh)
        held = sum(parameter.to_local().numel() for parameter in model.parameters())
    losses = curve(model, rank, size, config["steps"])
    alone = curve(new_model(), 0, 1, config["steps"])
    # Every rank saves its own part; they become one checkpoint.
    with tempfile.TemporaryDirectory() as folder:
        import torch.distributed.checkpoint as dcp

        dcp.save({"model": model.state_dict()}, checkpoint_id=folder + "/dcp", no_dist=False) if config["way"] == "fully_shard" else None
        checkpoint = train.Checkpoint.from_directory(folder) if config["way"] == "fully_shard" else None
        train.report({"losses": losses, "alone": alone, "held": held, "kind": type(model).__name__}, checkpoint=checkpoint)
