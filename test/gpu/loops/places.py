"""Tasks and actors of Python that tell which GPUs they see."""

import os
import time

import torch


def view():
    """The devices that CUDA shows to this process."""
    is_there = torch.cuda.is_available()
    return {
        "pid": os.getpid(),
        "visible": os.environ.get("CUDA_VISIBLE_DEVICES"),
        "available": is_there,
        "count": torch.cuda.device_count(),
        "name": torch.cuda.get_device_name(0) if is_there else None,
    }


def multiply(size):
    """A product on the GPU, checked on the CPU."""
    a = torch.arange(size * size, dtype=torch.float64).reshape(size, size) / size**2
    return float((a.cuda() @ a.cuda()).cpu().sub(a @ a).abs().max())


def tensor_on(device):
    return torch.ones(3, device=device)


class Holder:
    """Holds memory of the GPU for as long as it lives."""

    def __init__(self, device, mib):
        self.held = torch.ones(mib * 2**18, device=device)

    def view(self):
        return {**view(), "sum": float(self.held[:100].sum())}

    def busy(self, seconds):
        """When it began and ended."""
        begun = time.time()
        until = begun + seconds
        while time.time() < until:
            (self.held[: 2**18].reshape(512, 512) @ self.held[: 2**18].reshape(512, 512)).sum().item()
        return [begun, time.time()]
