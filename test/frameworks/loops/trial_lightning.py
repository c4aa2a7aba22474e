"""Trials of Lightning that report by Tune's callback, under Ray's name, and go on from its file in their checkpoint."""

import os

import lightning.pytorch as pl
import torch
from ray import tune
from ray.tune.integration.pytorch_lightning import TuneReportCallback, TuneReportCheckpointCallback
from torch.utils.data import DataLoader, TensorDataset

QUIET = {"accelerator": "cpu", "devices": 1, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False, "logger": False}


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, index):
        return torch.nn.functional.mse_loss(self.layer(batch[0]), batch[1])

    def validation_step(self, batch, index):
        self.log("val_loss", torch.nn.functional.mse_loss(self.layer(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def message_of(function):
    try:
        function()
    except ValueError as error:
        return str(error)
    return "nothing"


def train(config):
    checkpoint = tune.get_checkpoint()
    torch.manual_seed(7)
    x = torch.linspace(-1, 1, 256).reshape(64, 4)
    rows = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
    names = {"error": "val_loss", "absent": "val_accuracy"}
    callback = TuneReportCheckpointCallback(names, filename="trainer.ckpt") if config["saves"] else TuneReportCallback("val_loss", on=["validation_end"])
    trainer = pl.Trainer(max_epochs=2 if checkpoint is None else 4, callbacks=[callback], **QUIET)
    known = None
    if checkpoint is not None:
        with checkpoint.as_directory() as folder:
            known = os.path.join(folder, "trainer.ckpt")
            trainer.fit(Model(), rows, rows, ckpt_path=known)
    else:
        trainer.fit(Model(), rows, rows)
    if checkpoint is None and config["fails"]:
        raise RuntimeError("once")


def wrong(config):
    return {"said": message_of(lambda: TuneReportCheckpointCallback(on="epoch_over"))}
