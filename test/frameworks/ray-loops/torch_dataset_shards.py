"""Stream shards of a dataset into a linear model. Gradients are accumulated over the whole epoch, so the order of rows does not matter."""

import json
import os
import sys
import tempfile

import torch
import torch.distributed as dist

import ray
import ray.data
import ray.train
from ray.train import Checkpoint, DataConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer, get_device, prepare_model


def train_func(config):
    device = get_device()
    model = torch.nn.Linear(1, 1).double()
    with torch.no_grad():
        model.weight.fill_(0.0)
        model.bias.fill_(0.0)
    model = prepare_model(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])

    shard = ray.train.get_dataset_shard("train")
    for epoch in range(config["num_epochs"]):
        optimizer.zero_grad()
        rows, ids, loss = 0, 0, 0.0
        for batch in shard.iter_torch_batches(batch_size=32, dtypes=torch.float64, device=device):
            x = batch["id"].unsqueeze(1) / 100
            error = (model(x) - (3 * x + 1)).pow(2).sum() / config["rows"] * dist.get_world_size()
            with model.no_sync():
                error.backward()
            loss += error.item() / dist.get_world_size()
            rows += len(x)
            ids += int(batch["id"].sum())
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
        optimizer.step()
        total = torch.tensor([rows, ids, loss], dtype=torch.float64)
        dist.all_reduce(total)
        whole = sum(len(batch["id"]) for batch in ray.train.get_dataset_shard("validation").iter_batches(batch_size=7, batch_format="numpy"))
        metrics = {"epoch": epoch, "rows": int(total[0]), "ids": int(total[1]), "loss": round(float(total[2]), 9), "validation_rows": whole}
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = None
            if ray.train.get_context().get_world_rank() == 0:
                torch.save(model.state_dict(), os.path.join(folder, "model.pt"))
                checkpoint = Checkpoint.from_directory(folder)
            ray.train.report(metrics, checkpoint=checkpoint)


if __name__ == "__main__":
    # Datasets need processors besides those of the workers.
    ray.init(num_cpus=4)
    trainer = TorchTrainer(
        train_func,
        train_loop_config=json.loads(sys.argv[1]),
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(storage_path=sys.argv[2]),
        datasets={"train": ray.data.range(200), "validation": ray.data.range(50)},
        dataset_config=DataConfig(datasets_to_split=["train"]),
    )
    result = trainer.fit()
    print("RESULT " + json.dumps({"metrics": result.metrics, "files": sorted(os.listdir(result.checkpoint.path))}))
