"""The twin of ../programs/train.ts: train.py KIND FOLDER."""

import json
import os
import sys
import time

# Read when ray.train is imported.
os.environ["RAY_TRAIN_V2_ENABLED"] = "1"

import ray  # noqa: E402
import ray.train  # noqa: E402
import train_loops  # noqa: E402

kind, folder = sys.argv[1:3]


def trainer(number):
    from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer
    from ray.train.torch import TorchConfig, TorchTrainer

    place = os.path.join(folder, str(number))
    os.makedirs(place)
    options = dict(
        train_loop_per_worker=getattr(train_loops, kind.replace("-", "_")),
        train_loop_config={"folder": place, "reports": 20},
        scaling_config=ray.train.ScalingConfig(num_workers=2),
        run_config=ray.train.RunConfig(
            name=f"run-{number}", storage_path=os.path.join(folder, "storage"), failure_config=ray.train.FailureConfig(max_failures=1)
        ),
    )
    if kind == "torch-start":
        return place, TorchTrainer(torch_config=TorchConfig(backend="gloo"), **options)
    return place, DataParallelTrainer(**options)


ray.init(_temp_dir=os.environ.get("SHOAL_BENCH_RAY_TEMP"), num_cpus=4, log_to_driver=False)
samples = []
for number in range(2):
    place, one = trainer(number)
    begun = time.time()
    one.fit()
    with open(os.path.join(place, "told.json")) as file:
        told = json.load(file)
    if "samples" in told:
        samples.append(told["samples"])
    else:
        samples.append([told["ms"] if "ms" in told else 1000 * (told["at"] - begun)])
print("facts", json.dumps({"first": samples[0], "later": samples[1]}), flush=True)
ray.shutdown()
