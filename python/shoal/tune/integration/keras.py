"""Keras in a trial: ``model.fit(..., callbacks=[TuneReportCheckpointCallback()])``."""

from ...train.tensorflow.keras import ReportCheckpointCallback
from ._of_trial import OfTrial


class TuneReportCheckpointCallback(OfTrial, ReportCheckpointCallback):
    """Reports what Keras logs, with the model as ``model.keras`` in a checkpoint."""
