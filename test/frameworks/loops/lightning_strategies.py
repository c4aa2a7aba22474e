"""Lightning on all ranks by Ray's strategies, and by one process without any."""

import lightning.pytorch as pl
import torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from shoal import train
from shoal.train.lightning import RayDDPStrategy, RayDeepSpeedStrategy, RayFSDPStrategy, RayLightningEnvironment, RayTrainReportCallback, prepare_trainer


STRATEGIES = {"ddp": RayDDPStrategy, "fsdp": RayFSDPStrategy, "deepspeed": RayDeepSpeedStrategy}


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
        self.losses = []

    def training_step(self, batch, index):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.layers(x), y)
        self.log("loss", loss, on_epoch=True, on_step=False, sync_dist=True)
        self.losses.append(loss.detach().clone())
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Curve(pl.callbacks.Callback):
    def __init__(self):
        self.losses = []

    def on_train_epoch_end(self, trainer, module):
        self.losses.append(float(trainer.callback_metrics["loss"]))


def new_model():
    torch.manual_seed(7)
    return Model()


def train_loop(config):
    x = torch.linspace(-1, 1, 64 * 4).reshape(64, 4)
    rows = TensorDataset(x, torch.sin(3 * x.sum(1, keepdim=True)))
    quiet = {"max_epochs": config["epochs"], "accelerator": "cpu", "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False, "logger": False, "use_distributed_sampler": False}
    curve = Curve()
    trainer = pl.Trainer(strategy=STRATEGIES[config["strategy"]](), devices="auto", plugins=[RayLightningEnvironment()], callbacks=[curve, RayTrainReportCallback()], **quiet)
    context = train.get_context()
    # Lightning's own sampler would mix the rows.
    sampler = DistributedSampler(rows, context.get_world_size(), context.get_world_rank(), shuffle=False)
    prepare_trainer(trainer).fit(new_model(), DataLoader(rows, batch_size=8, sampler=sampler))
    # The whole batches, in the order in which the ranks have their parts: every second row is the other rank's.
    alone = []
    model = new_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(config["epochs"]):
        losses = []
        for start in range(0, 64, 16):
            batch, target = rows[start : start + 16]
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model.layers(batch), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        alone.append(sum(losses) / len(losses))
    checkpoint = train.get_checkpoint()
    with checkpoint.as_directory() as folder:
        train.report({"losses": curve.losses, "alone": alone}, checkpoint=train.Checkpoint.from_directory(folder) if train.get_context().get_world_rank() == 0 else None)
