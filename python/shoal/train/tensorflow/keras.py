"""A callback for ``model.fit`` that reports."""

import os
import tempfile

from .. import Checkpoint, get_context, report
from .._errors import needed

_keras = needed("tensorflow", "shoal.train.tensorflow.keras").keras

_EVENTS = tuple(
    "%s_%s" % (what, when)
    for what in ("epoch", "train_batch", "test_batch", "predict_batch", "train", "test", "predict")
    for when in ("begin", "end")
)


class ReportCheckpointCallback(_keras.callbacks.Callback):
    """Reports what Keras logs, with the model as ``model.keras`` in a checkpoint.

    :param checkpoint_on: events, such as ``"epoch_end"``, after which both are reported
    :param report_metrics_on: events after which the metrics are
    :param metrics: names of Keras, or a dict of names to report and names of Keras; None: all
    """

    def __init__(self, checkpoint_on="epoch_end", report_metrics_on="epoch_end", metrics=None):
        super().__init__()
        self._checkpoint_on = _events("checkpoint_on", checkpoint_on)
        self._report_metrics_on = _events("report_metrics_on", report_metrics_on)
        names = [metrics] if isinstance(metrics, str) else metrics
        self._metrics = names if names is None or isinstance(names, dict) else {name: name for name in names}
        for event in {*self._checkpoint_on, *self._report_metrics_on}:
            setattr(self, "on_%s" % event, lambda *args, event=event, logs=None: self._report(event, args[-1] if logs is None and args else logs))

    def _report(self, event, logs):
        logs = logs if isinstance(logs, dict) else {}
        metrics = logs if self._metrics is None else {name: logs[of_keras] for name, of_keras in self._metrics.items()}
        if event not in self._checkpoint_on:
            self._tell(metrics, None)
            return
        with tempfile.TemporaryDirectory() as folder:
            # Saved on all ranks, as a strategy may have to gather the weights; files of the same name from several ranks must not differ, so the first one's counts.
            self.model.save(os.path.join(folder, "model.keras"))
            checkpoint = Checkpoint.from_directory(folder) if self._saves() else None
            if checkpoint is not None:
                checkpoint.set_metadata({"_model_filename": "model.keras"})
            self._tell(metrics, checkpoint)

    def _tell(self, metrics, checkpoint):
        report(metrics, checkpoint=checkpoint)

    def _saves(self):
        return get_context().get_world_rank() == 0


def _events(option, given):
    events = [given] if isinstance(given, str) else list(given)
    for event in events:
        if event not in _EVENTS:
            raise ValueError("ReportCheckpointCallback takes as %s one of %s, or a list of them: received %r" % (option, ", ".join(_EVENTS), event))
    return events
