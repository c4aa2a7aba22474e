"""Trials of XGBoost and LightGBM that report by Tune's callbacks, under Ray's names, and go on from the model of their checkpoint."""

import lightgbm
import numpy as np
import xgboost
from ray import tune
from ray.tune.integration.lightgbm import TuneReportCheckpointCallback as ReportLightGBM
from ray.tune.integration.xgboost import TuneReportCheckpointCallback as ReportXGBoost

ROUNDS = 6
#: After so many the first attempt of a trial that fails does.
FAILS_AFTER = 4
ROWS = np.column_stack([np.arange(1000) % 50, (np.arange(1000) * 7) % 11]).astype(float)
LABELS = ROWS[:, 0] * 2 + ROWS[:, 1]


def train(config):
    checkpoint = tune.get_checkpoint()
    is_failing = config["fails"] and checkpoint is None
    rounds = FAILS_AFTER if is_failing else ROUNDS
    (train_xgboost if config["library"] == "xgboost" else train_lightgbm)(checkpoint, rounds)
    if is_failing:
        raise RuntimeError("once")


def train_xgboost(checkpoint, rounds):
    rows = xgboost.DMatrix(ROWS, label=LABELS)
    known = None if checkpoint is None else ReportXGBoost.get_model(checkpoint)
    start = 0 if known is None else known.num_boosted_rounds()
    callbacks = [ReportXGBoost({"error": "train-rmse"}, frequency=2, results_postprocessing_fn=lambda metrics: {**metrics, "start": start})]
    params = {"objective": "reg:squarederror", "max_depth": 3, "nthread": 1}
    xgboost.train(params, rows, rounds - start, evals=[(rows, "train")], verbose_eval=False, xgb_model=known, callbacks=callbacks)


def train_lightgbm(checkpoint, rounds):
    rows = lightgbm.Dataset(ROWS, label=LABELS, free_raw_data=False)
    known = None if checkpoint is None else ReportLightGBM.get_model(checkpoint)
    start = 0 if known is None else known.current_iteration()
    callbacks = [ReportLightGBM({"error": "train-l2"}, frequency=2, results_postprocessing_fn=lambda metrics: {**metrics, "start": start})]
    params = {"objective": "regression", "max_depth": 3, "num_threads": 1, "verbosity": -1}
    lightgbm.train(params, rows, rounds - start, valid_sets=[rows], valid_names=["train"], init_model=known, callbacks=callbacks)
