"""XGBoost in a trial: ``xgboost.train(..., callbacks=[TuneReportCheckpointCallback()])``."""

from ...train.xgboost import RayTrainReportCallback
from ._of_trial import OfTrial


class TuneReportCheckpointCallback(OfTrial, RayTrainReportCallback):
    """Reports the metrics of each round, such as ``train-logloss``, and checkpoints with the model."""
