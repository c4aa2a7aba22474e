"""Distributed LightGBM on shards of a dataset, evaluated by each worker on all rows of another: LightGBM's metrics are of a worker's own rows."""

import json
import os
import sys

import lightgbm

import ray
import ray.data
import ray.train
from ray.train import DataConfig, RunConfig, ScalingConfig
from ray.train.lightgbm import LightGBMTrainer, RayTrainReportCallback, get_network_params, normalize_pandas_for_lightgbm


def train_fn_per_worker(config: dict):
    train_df = normalize_pandas_for_lightgbm(ray.train.get_dataset_shard("train").materialize().to_pandas())
    eval_df = normalize_pandas_for_lightgbm(ray.train.get_dataset_shard("validation").materialize().to_pandas())
    train_set = lightgbm.Dataset(train_df.drop(columns=["y"]), label=train_df["y"])
    eval_set = train_set.create_valid(eval_df.drop(columns=["y"]), label=eval_df["y"])
    params = {"objective": "regression", "metric": "l2", "verbosity": -1, "num_threads": 1, "learning_rate": config["learning_rate"], "tree_learner": "data", "pre_partition": True}
    params.update(get_network_params())
    lightgbm.train(
        params,
        train_set,
        num_boost_round=config["num_boost_round"],
        valid_sets=[eval_set],
        valid_names=["validation"],
        callbacks=[RayTrainReportCallback(metrics={"loss": "validation-l2"}, frequency=5)],
    )


def rows(start, stop):
    return [{"x": i % 50, "z": (i * 7) % 11, "y": float((i % 50) * 2 + (i * 7) % 11)} for i in range(start, stop)]


if __name__ == "__main__":
    # Datasets need processors besides those of the workers.
    ray.init(num_cpus=4)
    trainer = LightGBMTrainer(
        train_fn_per_worker,
        train_loop_config=json.loads(sys.argv[1]),
        datasets={"train": ray.data.from_items(rows(0, 2000)), "validation": ray.data.from_items(rows(2000, 2200))},
        dataset_config=DataConfig(datasets_to_split=["train"]),
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(storage_path=sys.argv[2]),
    )
    result = trainer.fit()
    print("RESULT " + json.dumps({"metrics": result.metrics, "files": sorted(os.listdir(result.checkpoint.path))}))
