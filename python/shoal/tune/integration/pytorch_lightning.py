"""PyTorch Lightning in a trial: ``Trainer(callbacks=[TuneReportCheckpointCallback({"loss": "val_loss"})])``."""

import logging
import os
import tempfile

from ...train._lightning_package import lightning_package
from .. import Checkpoint, report

_Callback = lightning_package("shoal.tune.integration.pytorch_lightning").callbacks.Callback


class TuneReportCheckpointCallback(_Callback):
    """Reports Lightning's metrics, and checkpoints that Lightning can load.

    :param metrics: names of Lightning, or a dict of names to report and names of Lightning; None: all
    :param filename: of Lightning's own file in a checkpoint
    :param save_checkpoints: whether there are checkpoints
    :param on: hooks of Lightning without ``on_``, such as ``"train_epoch_end"``, after which it reports
    """

    def __init__(self, metrics=None, filename="checkpoint", save_checkpoints=True, on="validation_end"):
        super().__init__()
        names = [metrics] if isinstance(metrics, str) else metrics
        self._metrics = names if not names or isinstance(names, dict) else {name: name for name in names}
        self._filename = filename
        self._save_checkpoints = save_checkpoints
        for event in [on] if isinstance(on, str) else on:
            if not callable(getattr(_Callback, "on_%s" % event, None)):
                known = ", ".join(sorted(name[3:] for name in dir(_Callback) if name.startswith("on_")))
                raise ValueError("TuneReportCheckpointCallback takes as on one of %s, or a list of them: received %r" % (known, event))
            setattr(self, "on_%s" % event, self._report)

    def _report(self, trainer, *_args, **_kwargs):
        # Lightning tries a few batches of validation before it trains.
        if trainer.sanity_checking:
            return
        metrics = self._chosen({name: value.item() for name, value in trainer.callback_metrics.items()})
        if not metrics:
            return
        if not self._save_checkpoints:
            report(metrics)
            return
        with tempfile.TemporaryDirectory() as folder:
            trainer.save_checkpoint(os.path.join(folder, self._filename))
            report(metrics, checkpoint=Checkpoint.from_directory(folder))

    def _chosen(self, logged):
        if not self._metrics:
            return logged
        for name in self._metrics.values():
            if name not in logged:
                logging.getLogger(__name__).warning("Lightning has not logged the metric %r: it has %s", name, ", ".join(map(repr, logged)) or "none")
        return {name: logged[of_lightning] for name, of_lightning in self._metrics.items() if of_lightning in logged}


class TuneReportCallback(TuneReportCheckpointCallback):
    """Reports Lightning's metrics alone."""

    def __init__(self, metrics=None, on="validation_end"):
        super().__init__(metrics, save_checkpoints=False, on=on)
