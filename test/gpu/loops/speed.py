"""Steps of DDP with a transformer in bf16: by a trainer of Shoal, and by ``torchrun`` as a program. Both time the same steps."""

import json
import os
import resource
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

SIZES = {"cuda": {"width": 1024, "layers": 12, "length": 512, "batch": 16}, "cpu": {"width": 64, "layers": 2, "length": 16, "batch": 4}}


class Model(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, width // 64, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.embedding = nn.Embedding(8192, width)
        self.head = nn.Linear(width, 8192)

    def forward(self, tokens):
        return self.head(self.layers(self.embedding(tokens)))


def timed(device, steps, warm_up):
    """The time of each step, as the loop sees it, and what the process computed meanwhile."""
    size = SIZES[device.type]
    torch.manual_seed(7)
    model = DistributedDataParallel(Model(size["width"], size["layers"]).to(device), device_ids=[device] if device.type == "cuda" else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(8192, (size["batch"], size["length"]), device=device)
    first, begun, cpu_begun, times = None, None, None, []
    for step in range(warm_up + steps):
        if step == warm_up:
            begun, cpu_begun = time.perf_counter(), cpu_seconds()
            before = begun
        with torch.autocast(device.type, dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        last = float(loss)  # waits for the GPU
        first = first or time.time()
        if step >= warm_up:
            now = time.perf_counter()
            times.append(now - before)
            before = now
    seconds = time.perf_counter() - begun
    times.sort()
    return {
        "step_ms": 1000 * times[len(times) // 2],
        "samples_per_s": steps * size["batch"] / seconds,
        "cpu_ms_per_step": 1000 * (cpu_seconds() - cpu_begun) / steps,
        "first_step_at": first,
        "loss": last,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "peak_mib": torch.cuda.max_memory_allocated() // 2**20 if device.type == "cuda" else 0,
    }


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def train_loop(config):
    from shoal import train

    train.report(timed(train.torch.get_device(), config["steps"], config["warm_up"]))


def main():
    """With ``torchrun``."""
    if sys.argv[1] == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    else:
        device = torch.device("cpu")
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    print(json.dumps(timed(device, int(sys.argv[2]), int(sys.argv[3]))), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
