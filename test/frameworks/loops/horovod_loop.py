"""Horovod over gloo: what the ranks learn together is what one process learns."""

import horovod.torch as hvd
import torch
from torch import nn

from shoal import train


def new_model():
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))


def data():
    x = torch.linspace(-1, 1, 64).reshape(16, 4)
    return x, torch.sin(3 * x.sum(1, keepdim=True))


def curve(model, optimizer, x, y, steps):
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def train_loop(config):
    hvd.init()
    rank, size = hvd.rank(), hvd.size()
    x, y = data()
    model = new_model()
    if rank > 0:
        # Rank 0 gives the others its own.
        nn.init.zeros_(model[0].weight)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), named_parameters=model.named_parameters())
    mine = slice(rank * 16 // size, (rank + 1) * 16 // size)
    losses = [float(hvd.allreduce(loss)) for loss in curve(model, optimizer, x[mine], y[mine], config["steps"])]
    model = new_model()
    alone = [float(loss) for loss in curve(model, torch.optim.SGD(model.parameters(), lr=0.1), x, y, config["steps"])]
    train.report(
        {
            "losses": losses,
            "alone": alone,
            "places": hvd.allgather_object((rank, size, hvd.local_rank(), hvd.local_size(), hvd.cross_rank(), hvd.cross_size())),
            "gloo": hvd.gloo_enabled(),
        }
    )
    hvd.shutdown()
