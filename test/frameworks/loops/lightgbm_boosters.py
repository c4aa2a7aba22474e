"""A loop of LightGBM that checkpoints each second round and is killed once in the midst, and a model for ``predict``."""

import os
import signal

import lightgbm

from shoal import train
from shoal.train.lightgbm import RayTrainReportCallback, get_network_params, normalize_pandas_for_lightgbm


def resumed(config):
    frame = normalize_pandas_for_lightgbm(train.get_dataset_shard("train").materialize().to_pandas())
    rows = lightgbm.Dataset(frame.drop(columns=["y"]), label=frame["y"], free_raw_data=False)
    checkpoint = train.get_checkpoint()
    known = None if checkpoint is None else RayTrainReportCallback.get_model(checkpoint)
    start = 0 if known is None else known.current_iteration()

    def killed(env):
        if start == 0 and train.get_context().get_world_rank() == 1 and env.iteration == config["killed_at"]:
            os.kill(os.getpid(), signal.SIGKILL)

    # The callback that kills comes before the one that reports.
    killed.order = 0
    lightgbm.train(
        {**config["params"], "tree_learner": "data", "pre_partition": True, **get_network_params()},
        rows,
        num_boost_round=config["rounds"] - start,
        valid_sets=[rows],
        valid_names=["train"],
        init_model=known,
        callbacks=[
            killed,
            RayTrainReportCallback(metrics={"error": "train-l2"}, frequency=2, results_postprocessing_fn=lambda metrics: {**metrics, "start": start}),
        ],
    )


class Predict:
    """Applies the model of a checkpoint to a dataset's batches of features."""

    def __init__(self, path):
        self._model = RayTrainReportCallback.get_model(train.Checkpoint.from_directory(path))

    def __call__(self, batch):
        frame = normalize_pandas_for_lightgbm(batch.drop(columns=["y"]))
        return batch.assign(predicted=self._model.predict(frame))
