"""Shared parts of the callbacks of XGBoost and LightGBM: the metrics to report, and the reports that carry a checkpoint."""

import os
import tempfile
from contextlib import contextmanager

from .._checkpoint import Checkpoint
from . import _current, report


class BoosterReports:
    """:param metrics: names as the library gives them (``"train-logloss"``), or a dict of names to report and those; None: all
    :param filename: of the model in a checkpoint
    :param frequency: a checkpoint after each so many rounds; 0: none before the end
    :param checkpoint_at_end: whether the last round is reported with one
    :param results_postprocessing_fn: makes of the dict of metrics the one that is reported
    """

    def __init__(self, metrics, filename, frequency, checkpoint_at_end, results_postprocessing_fn):
        names = [metrics] if isinstance(metrics, str) else metrics
        self._metrics = names if not names or isinstance(names, dict) else {name: name for name in names}
        self._filename = filename
        self._frequency = frequency
        self._checkpoint_at_end = checkpoint_at_end
        self._change = results_postprocessing_fn

    def _chosen(self, metrics):
        if self._metrics:
            metrics = {name: metrics[of_library] for name, of_library in self._metrics.items()}
        return metrics if self._change is None else self._change(metrics)

    def _is_due(self, rounds):
        return self._frequency > 0 and rounds % self._frequency == 0

    def _report(self, metrics, model):
        """``model``: None where there is to be no checkpoint."""
        with self._checkpoint(model) as checkpoint:
            self._tell(metrics, checkpoint)

    def _tell(self, metrics, checkpoint):
        report(metrics, checkpoint=checkpoint)

    def _saves(self):
        # All ranks have the same model.
        return _current.require("RayTrainReportCallback").context.get_world_rank() == 0

    @contextmanager
    def _checkpoint(self, model):
        if model is None or not self._saves():
            yield None
            return
        with tempfile.TemporaryDirectory() as folder:
            model.save_model(os.path.join(folder, self._filename))
            yield Checkpoint.from_directory(folder)
