"""The loop of ``train-torch.ts``: a small network with DDP, over this rank's part of the data, with a checkpoint after each epoch."""

import os
import tempfile

import torch

from shoal import train


def train_loop(config):
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    model = train.torch.prepare_model(network)
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    start = 0
    checkpoint = train.get_checkpoint()
    if checkpoint is not None:
        # An earlier attempt, or an earlier program, has come so far.
        with checkpoint.as_directory() as folder:
            state = torch.load(os.path.join(folder, "state.pt"))
        network.load_state_dict(state["network"])
        optimizer.load_state_dict(state["optimizer"])
        start = state["epoch"] + 1
    shard = train.get_dataset_shard("train")
    for epoch in range(start, config["epochs"]):
        total, rows = 0.0, 0
        for batch in shard.iter_torch_batches(batch_size=128, dtypes=torch.float32, local_shuffle_buffer_size=512, local_shuffle_seed=epoch):
            loss = torch.nn.functional.mse_loss(model(batch["x"].unsqueeze(1)).squeeze(1), batch["y"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, rows = total + loss.item() * len(batch["x"]), rows + len(batch["x"])
        with tempfile.TemporaryDirectory() as folder:
            own = None
            if train.get_context().get_world_rank() == 0:
                torch.save({"network": network.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, os.path.join(folder, "state.pt"))
                own = train.Checkpoint.from_directory(folder)
            train.report({"epoch": epoch, "loss": total / rows, "rows": rows}, checkpoint=own)
