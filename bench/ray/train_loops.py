"""The loops of the training figures, as Ray's users write them: both sides run this very file, Shoal with its own ``ray.train``.

Times are taken in the loops by the clock that all processes share, and left in the folder that the configuration names.
"""

import json
import os
import signal
import tempfile
import time

import ray.train


def _tell(config, **facts):
    with open(os.path.join(config["folder"], "told.json"), "w") as file:
        json.dump(facts, file)


def start(config):
    """How soon the loop begins."""
    if ray.train.get_context().get_world_rank() == 0:
        _tell(config, at=time.time())
    ray.train.report({"step": 1})


def torch_start(config):
    """How soon the first step of a model on two ranks is done."""
    import ray.train.torch
    import torch

    torch.set_num_threads(1)
    model = ray.train.torch.prepare_model(torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = model(torch.ones(8, 16)).pow(2).mean()
    loss.backward()
    optimizer.step()
    if ray.train.get_context().get_world_rank() == 0:
        _tell(config, at=time.time())
    ray.train.report({"loss": loss.item()})


def report(config):
    """Measures reports with a checkpoint of 1 MB."""
    is_first = ray.train.get_context().get_world_rank() == 0
    times = []
    for step in range(config["reports"] + 1):
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = None
            if is_first:
                with open(os.path.join(folder, "weights"), "wb") as file:
                    file.write(bytes(1_000_000))
                checkpoint = ray.train.Checkpoint.from_directory(folder)
            begun = time.perf_counter()
            ray.train.report({"step": step}, checkpoint=checkpoint)
            times.append(1000 * (time.perf_counter() - begun))
    if is_first:
        # The first step sets up the connections of the others.
        _tell(config, samples=times[1:])


def recovery(config):
    """From the death of a rank to the first line of the loop on new ranks."""
    is_first = ray.train.get_context().get_world_rank() == 0
    killed = os.path.join(config["folder"], "killed")
    if ray.train.get_checkpoint() is not None:
        if is_first:
            with open(killed) as file:
                _tell(config, samples=[1000 * (time.time() - float(file.read()))])
        ray.train.report({"step": 2})
        return
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "step"), "w") as file:
            file.write("1")
        ray.train.report({"step": 1}, checkpoint=ray.train.Checkpoint.from_directory(folder) if is_first else None)
    # With Ray a report returns before its controller knows the checkpoint: a rank that dies at once begins anew.
    ray.train.get_all_reported_checkpoints()
    if not is_first:
        with open(killed, "w") as file:
            file.write(str(time.time()))
        os.kill(os.getpid(), signal.SIGKILL)
    ray.train.report({"step": 2})


def ingest(config):
    """How much of its time a loop waits for batches, each of which it computes with for 10 ms."""
    import torch

    torch.set_num_threads(1)
    matrix = torch.randn(128, 128)
    waited, first, begun = 0.0, None, None
    batches = iter(ray.train.get_dataset_shard("train").iter_torch_batches(batch_size=config["batch_size"]))
    while True:
        asked = time.perf_counter()
        batch = next(batches, None)
        now = time.perf_counter()
        if batch is None:
            break
        if first is None:
            first, begun = now - asked, now
        else:
            waited += now - asked
        while time.perf_counter() - now < 0.01:
            matrix @ matrix
    _tell(config, samples=[100 * waited / (now - begun)], details={"firstBatchMs": 1000 * first})
    ray.train.report({"step": 1})
