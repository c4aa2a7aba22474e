"""XGBoost in a training loop: ``xgboost.train`` runs on all ranks together, each with its part of the data; the callback reports."""

import os

from ._booster_reports import BoosterReports
from ._driver_names import trainers
from ._errors import needed

_xgboost = needed("xgboost", "shoal.train.xgboost")

__getattr__ = trainers("XGBoostTrainer", "XGBoostConfig", "XGBoostCheckpoint")


class RayTrainReportCallback(BoosterReports, _xgboost.callback.TrainingCallback):
    """Reports the metrics of each round, such as ``train-logloss``, and checkpoints with the model."""

    CHECKPOINT_NAME = "model.ubj"

    def __init__(self, metrics=None, filename=CHECKPOINT_NAME, frequency=0, checkpoint_at_end=True, results_postprocessing_fn=None):
        BoosterReports.__init__(self, metrics, filename, frequency, checkpoint_at_end, results_postprocessing_fn)
        self._last = {}
        self._kept_rounds = None

    @classmethod
    def get_model(cls, checkpoint, filename=CHECKPOINT_NAME):
        """The model of a checkpoint that this callback has reported."""
        with checkpoint.as_directory() as folder:
            booster = _xgboost.Booster()
            booster.load_model(os.path.join(folder, filename))
            return booster

    def after_iteration(self, model, epoch, evals_log):
        metrics = {"%s-%s" % (data, name): values[-1] for data, of_data in evals_log.items() for name, values in of_data.items()}
        self._last = self._chosen(metrics)
        is_due = self._is_due(epoch + 1)
        if is_due:
            self._kept_rounds = model.num_boosted_rounds()
        self._report(self._last, model if is_due else None)
        return False

    def after_training(self, model):
        if self._checkpoint_at_end and self._kept_rounds != model.num_boosted_rounds():
            self._report(self._last, model)
        return model
