"""The loop of an ``XGBoostTrainer`` that was given ``params`` in place of one."""

import xgboost

from . import get_checkpoint
from ._booster_data import features_and_label
from .xgboost import RayTrainReportCallback


def train_loop(config):
    matrices = {}
    for name in config["datasets"]:
        features, label = features_and_label(name, config["labelColumn"])
        matrices[name] = xgboost.DMatrix(features, label=label)
    checkpoint = get_checkpoint()
    known = None if checkpoint is None else RayTrainReportCallback.get_model(checkpoint)
    rounds = config["numBoostRound"] - (0 if known is None else known.num_boosted_rounds())
    if rounds <= 0:
        return
    xgboost.train(
        dict(config["params"]),
        matrices["train"],
        num_boost_round=rounds,
        evals=[(matrix, name) for name, matrix in matrices.items()],
        verbose_eval=False,
        xgb_model=known,
        callbacks=[RayTrainReportCallback(frequency=config.get("checkpointFrequency") or 0)],
    )
