"""One pipeline of Ray Data: data_pipelines.py PIPELINE INPUT OUTPUT. The twin of ../programs/data-pipelines.ts."""

import json
import os
import sys

import ray
from ray.data.aggregate import Count, Mean, Sum


def add(batch):
    batch["z"] = batch["x"] + batch["y"]
    return batch


def double(batch):
    batch["z"] = batch["x"] * 2
    return batch


def totals(groups):
    found = groups.aggregate(Count(alias_name="groups"), Sum("n", alias_name="n"), Sum("x", alias_name="x"), Sum("y", alias_name="y"))
    return {name: float(value) for name, value in found.items()}


def sums(ds, *columns):
    return {"rows": ds.count(), **{column: float(ds.sum(column)) for column in columns}}


def run(pipeline, folder, output):
    """Runs it, and gives what tells of the result."""

    def table():
        return ray.data.read_parquet(os.path.join(folder, "parquet"))

    def grouped(key):
        return table().groupby(key).aggregate(Count(alias_name="n"), Sum("x", alias_name="x"), Mean("y", alias_name="y"))

    if pipeline == "csv-to-parquet":
        ray.data.read_csv(os.path.join(folder, "csv")).map_batches(add, batch_size=None).write_parquet(output)
        return lambda: sums(ray.data.read_parquet(output), "id", "z")
    if pipeline == "groups-1k":
        rows = grouped("small").take_all()
        return lambda: totals(ray.data.from_items(rows))
    if pipeline == "groups-1m":
        groups = grouped("large").materialize()
        return lambda: totals(groups)
    if pipeline == "sort":
        ordered = table().sort("x").materialize()

        def tell():
            first, second = ordered.take(2)
            return {"rows": ordered.count(), "first": first["x"], "second": second["x"], "y": float(ordered.sum("y"))}

        return tell
    if pipeline == "shuffle":
        shuffled = table().random_shuffle(seed=1).materialize()
        return lambda: sums(shuffled, "id", "y")
    if pipeline == "join":
        keys = ray.data.read_parquet(os.path.join(folder, "keys"))
        joined = table().join(keys, join_type="inner", num_partitions=8, on=("large",)).materialize()
        return lambda: sums(joined, "id", "weight")
    if pipeline == "batches":
        rows = sum(len(batch["z"]) for batch in table().map_batches(double, batch_size=None).iter_batches(batch_size=4096))
        return lambda: {"rows": rows}
    if pipeline == "images":
        resized = ray.data.read_images(folder, size=(224, 224), mode="RGB")
        rows = elements = 0
        for batch in resized.iter_batches(batch_size=64):
            rows += len(batch["image"])
            elements += batch["image"].size
        return lambda: {"rows": rows, "elements": elements}
    if pipeline == "small":
        kept = ray.data.range(1000).map(lambda row: {"id": 2 * row["id"]}).filter(lambda row: row["id"] % 3 == 0).take_all()
        return lambda: {"rows": len(kept), "id": sum(row["id"] for row in kept)}
    raise ValueError(f"Cannot run a pipeline: received {pipeline}")


def say(*lines):
    print(*lines, sep="\n", flush=True)


def main():
    pipeline, folder, output = sys.argv[1:4]
    ray.init(_temp_dir=os.environ["SHOAL_BENCH_RAY_TEMP"], log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    # Workers are there and have the code of Data.
    ray.data.range(1000).map(lambda row: row).take_all()
    say("ready", "begun")
    tell = run(pipeline, folder, output)
    say("finished")
    # The harness measures the remaining memory now.
    sys.stdin.read()
    facts = json.dumps(tell())
    say(f"facts {facts}")
    ray.shutdown()


main()
