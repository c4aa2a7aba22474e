"""The trainable of tune-torch.ts: a network that tells two interleaved half moons apart, with a report and a checkpoint after each epoch."""

import math
import os
import tempfile

import torch
from shoal import tune


def half_moons(count, seed):
    generator = torch.Generator().manual_seed(seed)
    angles = math.pi * torch.rand(count, generator=generator)
    labels = torch.arange(count) % 2
    upper = torch.stack([torch.cos(angles), torch.sin(angles)], dim=1)
    lower = torch.stack([1 - torch.cos(angles), 0.5 - torch.sin(angles)], dim=1)
    points = torch.where(labels[:, None] == 0, upper, lower)
    return points + 0.1 * torch.randn(count, 2, generator=generator), labels


def train(config):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    points, labels = half_moons(1000, seed=1)
    unseen, truth = half_moons(500, seed=2)
    activation = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}[config["activation"]]
    model = torch.nn.Sequential(torch.nn.Linear(2, config["width"]), activation(), torch.nn.Linear(config["width"], 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    first = 1
    saved = tune.get_checkpoint()
    if saved is not None:
        with saved.as_directory() as folder:
            state = torch.load(os.path.join(folder, "state.pt"))
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["epoch"] + 1
    for epoch in range(first, config["epochs"] + 1):
        for part in torch.randperm(len(points)).split(100):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(points[part]), labels[part]).backward()
            optimizer.step()
        with torch.no_grad():
            accuracy = (model(unseen).argmax(dim=1) == truth).float().mean()
        with tempfile.TemporaryDirectory() as folder:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, os.path.join(folder, "state.pt"))
            tune.report({"accuracy": accuracy, "epoch": epoch}, checkpoint=tune.Checkpoint.from_directory(folder))
