"""Loops of XGBoost with a checkpoint by round, which ends once in the midst, and a model for ``predict``."""

import os
import signal

import xgboost

from shoal import train
from shoal.train.xgboost import RayTrainReportCallback


class Killed(xgboost.callback.TrainingCallback):
    """Ends the process before the round is reported."""

    def __init__(self, at_round):
        self._at_round = at_round

    def after_iteration(self, model, epoch, evals_log):
        if model.num_boosted_rounds() == self._at_round:
            os.kill(os.getpid(), signal.SIGKILL)
        return False


def resumed(config):
    frame = train.get_dataset_shard("train").materialize().to_pandas()
    matrix = xgboost.DMatrix(frame.drop(columns=["y"]), label=frame["y"])
    checkpoint = train.get_checkpoint()
    known = None if checkpoint is None else RayTrainReportCallback.get_model(checkpoint)
    start = 0 if known is None else known.num_boosted_rounds()
    killed = [Killed(config["killed_at"])] if start == 0 and train.get_context().get_world_rank() == 1 else []
    xgboost.train(
        config["params"],
        matrix,
        num_boost_round=config["rounds"] - start,
        evals=[(matrix, "train")],
        verbose_eval=False,
        xgb_model=known,
        callbacks=[
            *killed,
            RayTrainReportCallback(metrics={"error": "train-rmse"}, frequency=1, results_postprocessing_fn=lambda metrics: {**metrics, "start": start}),
        ],
    )


class Predict:
    """Applies the model of a checkpoint to a dataset's batches of features."""

    def __init__(self, path):
        self._model = RayTrainReportCallback.get_model(train.Checkpoint.from_directory(path))

    def __call__(self, batch):
        frame = batch.drop(columns=["y"])
        return batch.assign(predicted=self._model.predict(xgboost.DMatrix(frame)))
