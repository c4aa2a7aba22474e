"""The loop of a ``LightGBMTrainer`` that was given ``params`` in place of one."""

import lightgbm

from . import get_checkpoint
from ._booster_data import features_and_label
from .lightgbm import RayTrainReportCallback, get_network_params, normalize_pandas_for_lightgbm


def train_loop(config):
    sets = {}
    for name in config["datasets"]:
        features, label = features_and_label(name, config["labelColumn"])
        options = {"free_raw_data": False} if name == "train" else {"reference": sets["train"], "free_raw_data": False}
        sets[name] = lightgbm.Dataset(normalize_pandas_for_lightgbm(features), label=label, **options)
    checkpoint = get_checkpoint()
    known = None if checkpoint is None else RayTrainReportCallback.get_model(checkpoint)
    rounds = config["numBoostRound"] - (0 if known is None else known.current_iteration())
    if rounds <= 0:
        return
    # Each rank has its own rows: LightGBM is not to part them again.
    params = {"verbosity": -1, "tree_learner": "data", "pre_partition": True, **config["params"], **get_network_params()}
    lightgbm.train(
        params,
        sets["train"],
        num_boost_round=rounds,
        valid_sets=list(sets.values()),
        valid_names=list(sets),
        init_model=known,
        callbacks=[RayTrainReportCallback(frequency=config.get("checkpointFrequency") or 0)],
    )
