"""Trials of Tune, batches of Data and replicas of Serve on a part of a GPU."""

import os
import time

import torch


def trial(config):
    """Trains when all trials of the run are here, each on its part of the GPU."""
    from shoal import tune

    with open(os.path.join(config["folder"], "here-%g" % config["lr"]), "w"):
        pass
    until = time.time() + 60
    while len([name for name in os.listdir(config["folder"]) if name.startswith("here-")]) < config["together"]:
        if time.time() > until:
            raise TimeoutError("the other trials did not begin")
        time.sleep(0.02)
    torch.manual_seed(7)
    x = torch.randn(256, 8, device=config["device"])
    y = x @ torch.linspace(-1, 1, 8, device=config["device"]).unsqueeze(1)
    model = torch.nn.Linear(8, 1).to(config["device"])
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])
    for _ in range(20):
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    tune.report({"loss": float(loss), "device": str(loss.device), "visible": os.environ.get("CUDA_VISIBLE_DEVICES"), "process": os.getpid()})


class Predict:
    """Doubles numbers by a model on the GPU: for batches of Data and for requests of Serve."""

    def __init__(self, device):
        self.model = torch.nn.Linear(1, 1, bias=False).to(device)
        with torch.no_grad():
            self.model.weight.fill_(2)
        self.device = device

    def predict(self, numbers):
        tensor = torch.as_tensor(numbers, dtype=torch.float32, device=self.device).reshape(-1, 1)
        with torch.inference_mode():
            output = self.model(tensor)
        return output.reshape(-1).cpu().numpy(), str(output.device)


class PredictBatches(Predict):
    def __call__(self, batch):
        import numpy as np

        time.sleep(0.02)
        doubled, where = self.predict(batch["id"].astype("float32"))
        process = np.full(len(doubled), os.getpid())
        return {"id": batch["id"], "doubled": doubled, "process": process, "where": np.full(len(doubled), where), "visible": np.full(len(doubled), os.environ.get("CUDA_VISIBLE_DEVICES") or "")}


class PredictRequests(Predict):
    def __call__(self, request):
        time.sleep(0.05)
        doubled, where = self.predict([float(request.query_params["number"])])
        return {"doubled": float(doubled[0]), "where": where, "process": os.getpid(), "visible": os.environ.get("CUDA_VISIBLE_DEVICES")}
