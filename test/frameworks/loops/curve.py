"""A model that learns from fixed data: by a trainer of Shoal with ``train_loop``, by ``torchrun`` as a program, and by one process. All see the same batches."""

import json
import os
import signal
import sys
import tempfile

import torch
from torch import nn

ROWS, BATCH = 64, 16


def data():
    x = torch.linspace(-1, 1, ROWS * 4).reshape(ROWS, 4)
    return x, torch.sin(3 * x.sum(1, keepdim=True))


def new_model():
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))


def steps(model, optimizer, rank, size):
    """Trains an epoch. Yields the loss of each batch, of all ranks together."""
    import torch.distributed as dist

    x, y = data()
    for start in range(0, ROWS, BATCH):
        mine = slice(start + rank * BATCH // size, start + (rank + 1) * BATCH // size)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[mine]), y[mine])
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        if size > 1:
            dist.all_reduce(total)
        yield float(total) / size


def gradients(config):
    """Reports the largest difference between the gradients of the ranks and those that each rank computes alone from the whole batch."""
    from shoal import train

    context = train.get_context()
    rank, size = context.get_world_rank(), context.get_world_size()
    model = train.torch.prepare_model(new_model())
    x, y = data()
    nn.functional.mse_loss(model(x[rank * ROWS // size : (rank + 1) * ROWS // size]), y[rank * ROWS // size : (rank + 1) * ROWS // size]).backward()
    alone = new_model()
    nn.functional.mse_loss(alone(x), y).backward()
    difference = max(float((a.grad - b.grad).abs().max()) for a, b in zip(model.parameters(), alone.parameters()))
    train.report({"difference": difference, "wrapper": type(model).__name__, "backend": torch.distributed.get_backend(), "threads": torch.get_num_threads()})


def train_loop(config):
    from shoal import train

    context = train.get_context()
    rank, size = context.get_world_rank(), context.get_world_size()
    model = train.torch.prepare_model(new_model())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    start, losses = 0, []
    checkpoint = train.get_checkpoint()
    if checkpoint is not None:
        with checkpoint.as_directory() as folder:
            state = torch.load(os.path.join(folder, "state.pt"))
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        start, losses = state["epoch"] + 1, state["losses"]
    helpers = loader_processes(config.get("loader_workers", 0))
    for epoch in range(start, config["epochs"]):
        losses.extend(steps(model, optimizer, rank, size))
        if epoch == config.get("kill_at") and rank == 1 and start == 0:
            with open(config["pids"], "w") as file:
                json.dump([os.getpid(), *helpers], file)
            os.kill(os.getpid(), signal.SIGKILL)
        with tempfile.TemporaryDirectory() as folder:
            if rank == 0:
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch, "losses": losses}, os.path.join(folder, "state.pt"))
            train.report({"losses": losses, "epoch": epoch, "start": start, "helpers": helpers}, checkpoint=train.Checkpoint.from_directory(folder) if rank == 0 else None)


_kept = []


def loader_processes(count):
    """The ids of a DataLoader's workers, which are in the midst of an epoch."""
    if count == 0:
        return []
    batches = iter(torch.utils.data.DataLoader(torch.arange(1000), batch_size=2, num_workers=count, persistent_workers=True))
    next(batches)
    _kept.append(batches)
    return [worker.pid for worker in batches._workers]


def shards(config):
    """The ids of this rank's rows, by epoch."""
    from shoal import train

    part = train.get_dataset_shard("train")
    for epoch in range(2):
        rows = []
        for batch in part.iter_torch_batches(batch_size=32, dtypes=torch.int64):
            rows.extend(batch["id"].tolist())
        gathered = [None] * train.get_context().get_world_size()
        torch.distributed.all_gather_object(gathered, rows)
        train.report({"epoch": epoch, "rows": gathered})


def loader(config):
    """Reports the rows that ``prepare_data_loader`` gives each rank, by epoch."""
    from shoal import train

    source = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(40)), batch_size=4, shuffle=True)
    prepared = train.torch.prepare_data_loader(source)
    epochs = []
    for epoch in range(2):
        prepared.sampler.set_epoch(epoch)
        mine = [int(number) for (batch,) in prepared for number in batch]
        gathered = [None] * train.get_context().get_world_size()
        torch.distributed.all_gather_object(gathered, mine)
        epochs.append(gathered)
    train.report({"epochs": epochs, "batches": len(prepared), "is_loader": isinstance(prepared, torch.utils.data.DataLoader)})


def small_talk(config):
    from shoal import train

    rank = train.get_context().get_world_rank()
    train.collective.barrier()
    said = train.collective.broadcast_from_rank_zero({"of": (rank, "x")} if rank == 0 else None)
    train.report({"said": repr(said), "rank": torch.tensor(rank), "list": [torch.tensor([1.5, 2.5])], "nan": float("nan")})


def main():
    """With torchrun."""
    import torch.distributed as dist

    dist.init_process_group("gloo")
    model = nn.parallel.DistributedDataParallel(new_model())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(int(sys.argv[1])):
        losses.extend(steps(model, optimizer, dist.get_rank(), dist.get_world_size()))
    if dist.get_rank() == 0:
        print(json.dumps(losses), flush=True)
    dist.barrier()
    # A thread of gloo that still drops a tensor when the interpreter ends aborts the process.
    os._exit(0)


if __name__ == "__main__":
    main()
