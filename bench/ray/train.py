"""The twin of ../programs/train.ts: train.py LOOP FOLDER RUNS."""

import json
import os
import sys
import time

# Read when ray.train is imported.
os.environ["RAY_TRAIN_V2_ENABLED"] = "1"

import ray  # noqa: E402
import ray.data  # noqa: E402
import ray.train  # noqa: E402
import ddp_steps  # noqa: E402
import train_loops  # noqa: E402

loop, folder, runs = sys.argv[1:4]


def trainer(number):
    from ray.train.torch import TorchConfig, TorchTrainer
    from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

    place = os.path.join(folder, str(number))
    os.makedirs(place)
    is_ingest = loop == "ingest"
    options = dict(
        train_loop_per_worker=getattr(ddp_steps if loop == "ddp-steps" else train_loops, loop.replace("-", "_")),
        train_loop_config={"folder": place, "reports": 5, "batch_size": 256},
        scaling_config=ray.train.ScalingConfig(num_workers=1 if is_ingest else 2),
        run_config=ray.train.RunConfig(
            name=f"run-{number}", storage_path=os.path.join(folder, "storage"), failure_config=ray.train.FailureConfig(max_failures=1)
        ),
        datasets={"train": ray.data.range_tensor(300 * 256, shape=(64,))} if is_ingest else None,
    )
    if loop in ("torch-start", "ddp-steps"):
        return place, TorchTrainer(torch_config=TorchConfig(backend="gloo"), **options)
    return place, DataParallelTrainer(**options)


ray.init(_temp_dir=os.environ.get("SHOAL_BENCH_RAY_TEMP"), num_cpus=4, log_to_driver=False)
facts = []
for number in range(int(runs)):
    place, one = trainer(number)
    begun = time.time()
    one.fit()
    with open(os.path.join(place, "told.json")) as file:
        told = json.load(file)
    facts.append({"samples": told["samples"] if "samples" in told else [1000 * (told["at"] - begun)], "details": told.get("details", {})})
print("facts", json.dumps(facts), flush=True)
ray.shutdown()
