"""Distributed XGBoost on shards of datasets."""

import json
import os
import sys

import xgboost

import ray
import ray.data
import ray.train
from ray.train import RunConfig, ScalingConfig
from ray.train.xgboost import RayTrainReportCallback, XGBoostTrainer


def train_fn_per_worker(config: dict):
    train_ds = ray.train.get_dataset_shard("train").materialize()
    eval_ds = ray.train.get_dataset_shard("validation").materialize()
    train_df, eval_df = train_ds.to_pandas(), eval_ds.to_pandas()
    dtrain = xgboost.DMatrix(train_df.drop("y", axis=1), label=train_df["y"])
    deval = xgboost.DMatrix(eval_df.drop("y", axis=1), label=eval_df["y"])

    starting_model = None
    remaining = config["num_boost_round"]
    checkpoint = ray.train.get_checkpoint()
    if checkpoint:
        starting_model = RayTrainReportCallback.get_model(checkpoint)
        remaining -= starting_model.num_boosted_rounds()

    xgboost.train(
        {"tree_method": "hist", "objective": "reg:squarederror", "eta": config["eta"], "max_depth": 3, "nthread": 1},
        dtrain=dtrain,
        evals=[(dtrain, "train"), (deval, "validation")],
        num_boost_round=remaining,
        xgb_model=starting_model,
        verbose_eval=False,
        callbacks=[RayTrainReportCallback(metrics={"rmse": "validation-rmse", "train-rmse": "train-rmse"}, frequency=2)],
    )


def rows(start, stop):
    return [{"x": i % 50, "z": (i * 7) % 11, "y": float((i % 50) * 2 + (i * 7) % 11)} for i in range(start, stop)]


if __name__ == "__main__":
    # Datasets need processors besides those of the workers.
    ray.init(num_cpus=4)
    trainer = XGBoostTrainer(
        train_fn_per_worker,
        train_loop_config=json.loads(sys.argv[1]),
        datasets={"train": ray.data.from_items(rows(0, 1000)), "validation": ray.data.from_items(rows(1000, 1200))},
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(storage_path=sys.argv[2]),
    )
    result = trainer.fit()
    print("RESULT " + json.dumps({"metrics": result.metrics, "files": sorted(os.listdir(result.checkpoint.path))}))
