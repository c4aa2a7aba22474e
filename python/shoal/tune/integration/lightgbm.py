"""LightGBM in a trial: ``lightgbm.train(..., callbacks=[TuneReportCheckpointCallback()])``."""

from ...train.lightgbm import RayTrainReportCallback
from ._of_trial import OfTrial


class TuneReportCheckpointCallback(OfTrial, RayTrainReportCallback):
    """Reports the metrics of each round, such as ``valid_0-binary_logloss``, and checkpoints with the model."""
