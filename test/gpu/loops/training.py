"""PyTorch on a GPU: DDP, FSDP, mixed precision, a rank that is killed; and the first of them as a program for ``torchrun``."""

import json
import os
import signal
import sys
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

ROWS, BATCH, STEPS = 256, 64, 8


def data():
    x = torch.randn(ROWS, 8, generator=torch.Generator().manual_seed(3))
    return x, x @ torch.linspace(-1, 1, 8).unsqueeze(1)


def new_model(width=128):
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(8, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))


def wrapped(model, device):
    """``prepare_model`` leaves a model of one rank alone, as Ray's does."""
    return DistributedDataParallel(model, device_ids=[device] if device.type == "cuda" else None)


def epochs(model, loader, count):
    """Trains. Returns the loss of each epoch on this rank's rows, and the devices on which batches were."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses, devices = [], set()
    for _ in range(count):
        total = torch.zeros((), device=next(model.parameters()).device)
        for x, y in loader:
            devices.add(str(x.device))
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        losses.append(float(total) / len(loader) / dist.get_world_size())
    return losses, sorted(devices)


def ddp(config):
    from shoal import train

    device = train.torch.get_device()
    size = train.get_context().get_world_size()
    model = train.torch.prepare_model(new_model())
    prepared = type(model).__name__
    model = model if size > 1 else wrapped(model, device)
    loader = train.torch.prepare_data_loader(DataLoader(TensorDataset(*data()), batch_size=BATCH // size, shuffle=False))
    losses, devices = epochs(model, loader, STEPS)
    weights = torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])
    others = [torch.zeros_like(weights) for _ in range(size)]
    dist.all_gather(others, weights)
    train.report(
        {
            "losses": losses,
            "device": str(device),
            "devices": devices,
            "weights": str(weights.device),
            "apart": max(float((weights - other).abs().max()) for other in others),
            "prepared": prepared,
            "wrapper": type(model).__name__,
            "backend": dist.get_backend(),
            "visible": os.environ.get("CUDA_VISIBLE_DEVICES"),
            "nccl": ".".join(map(str, torch.cuda.nccl.version())) if device.type == "cuda" else None,
        }
    )


def fsdp_halves(config):
    """FSDP over two ranks that share the GPU."""
    from shoal import train

    model = train.torch.prepare_model(new_model(), parallel_strategy="fsdp", parallel_strategy_kwargs={"use_orig_params": True})
    loader = train.torch.prepare_data_loader(DataLoader(TensorDataset(*data()), batch_size=BATCH // 2, shuffle=False))
    losses, devices = epochs(model, loader, 3)
    train.report({"losses": losses, "devices": devices, "held": sum(parameter.numel() for parameter in model.parameters()), "kind": type(model).__name__})


def precision(config):
    """Trains in the way that is asked for. Reports the losses, and of which type the numbers were."""
    from shoal import train

    device, way = train.torch.get_device(), config["way"]
    model = train.torch.prepare_model(new_model())
    autocast, scaler = None, None
    if way == "bf16 autocast":
        model, autocast = wrapped(model, device), torch.bfloat16
    elif way == "fp16 autocast, GradScaler":
        model, autocast, scaler = wrapped(model, device), torch.float16, torch.amp.GradScaler(device.type)
    elif way == "FSDP, MixedPrecision bf16":
        from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision

        low = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16, buffer_dtype=torch.bfloat16)
        model = FullyShardedDataParallel(model, mixed_precision=low, device_id=device, use_orig_params=True)
    else:
        model = sharded(model, device, torch.bfloat16)
    x, y = (tensor.to(device) for tensor in data())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)
    losses, types = [], set()
    for _ in range(20):
        optimizer.zero_grad()
        with torch.autocast(device.type, dtype=autocast or torch.bfloat16, enabled=autocast is not None):
            output = model(x)
            types.add(str(output.dtype))
            loss = nn.functional.mse_loss(output.float(), y)
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        losses.append(loss.detach().clone())
    parameters = {str(parameter.dtype) for parameter in model.parameters()}
    losses = [float(loss) for loss in losses]
    scale = None if scaler is None else scaler.get_scale()
    train.report({"first": losses[0], "last": losses[-1], "types": sorted(types), "parameters": sorted(parameters), "scale": scale, "kind": type(model).__name__})


def sharded(model, device, dtype=None):
    """torch's ``fully_shard`` over all ranks."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    policy = {} if dtype is None else {"mp_policy": MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)}
    return fully_shard(model, mesh=init_device_mesh(device.type, (dist.get_world_size(),)), **policy)


def resumed(config):
    """Is killed once, with memory of the GPU in hand, and goes on from its last checkpoint."""
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

    from shoal import train

    device = train.torch.get_device()
    free = torch.cuda.mem_get_info()[0] // 2**20 if device.type == "cuda" else 0
    model = sharded(new_model().to(device), device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    x, y = (tensor.to(device) for tensor in data())
    ballast = torch.ones(config["ballast_mib"] * 2**18, device=device)
    start, losses = 0, []
    checkpoint = train.get_checkpoint()
    if checkpoint is not None:
        with checkpoint.as_directory() as folder:
            weights, moments = get_state_dict(model, optimizer)
            state = {"model": weights, "optimizer": moments}
            dcp.load(state, checkpoint_id=os.path.join(folder, "dcp"))
            set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
            with open(os.path.join(folder, "losses.json")) as file:
                losses = json.load(file)
        start = len(losses)
    for step in range(start, config["steps"]):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
        if step == config.get("kill_at") and start == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        with tempfile.TemporaryDirectory() as folder:
            weights, moments = get_state_dict(model, optimizer)
            dcp.save({"model": weights, "optimizer": moments}, checkpoint_id=os.path.join(folder, "dcp"))
            with open(os.path.join(folder, "losses.json"), "w") as file:
                json.dump(losses, file)
            train.report({"losses": losses, "start": start, "free": free, "ballast": float(ballast[0])}, checkpoint=train.Checkpoint.from_directory(folder))


def main():
    """With ``torchrun``."""
    if torch.cuda.is_available() and sys.argv[1] == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    else:
        device = torch.device("cpu")
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    rows = TensorDataset(*(tensor.to(device) for tensor in data()))
    losses, _ = epochs(wrapped(new_model().to(device), device), DataLoader(rows, batch_size=BATCH), STEPS)
    print(json.dumps(losses), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
