"""Tensors of torch that travel to TypeScript, to other processes of Python, and back."""

import shoal
import torch


def tensors():
    base = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    grad = torch.tensor([1.0, 2.0], requires_grad=True)
    return {
        "matrix": base,
        "turned": base.t(),
        "strided": torch.arange(10)[::3],
        "expanded": torch.tensor([1.5]).expand(2, 2),
        "scalar": torch.tensor(7),
        "empty": torch.zeros((0, 3)),
        "flags": torch.tensor([True, False]),
        "half": torch.tensor([0.5], dtype=torch.float16),
        "brain": torch.tensor([0.5, -2.0], dtype=torch.bfloat16),
        "complex": torch.tensor([1 + 2j]),
        "conjugate": torch.tensor([1 + 2j]).conj(),
        "bytes": torch.tensor([1, 255], dtype=torch.uint8),
        "grad": grad,
        "computed": grad * 2,
    }


def same(found):
    given = tensors()
    return [
        name
        for name, tensor in given.items()
        if not (type(found[name]) is torch.Tensor and found[name].dtype == tensor.dtype and torch.equal(found[name], tensor) and found[name].requires_grad == tensor.requires_grad)
    ]


def ones(count):
    return torch.ones(count)


def write(tensor):
    """The sum before and after writing, and how many bytes were copied into this process on the way."""
    before = float(tensor.sum())
    tensor[0] = 5.0
    return [before, float(tensor.sum()), shoal.object_store_statistics()["mapped_bytes"] >= tensor.nbytes]


def refused(name):
    return {
        "sparse": lambda: torch.eye(2).to_sparse(),
        "meta": lambda: torch.empty(2, device="meta"),
        "small": lambda: torch.tensor([1.0]).to(torch.float8_e4m3fn),
    }[name]()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(200, 200)


def net():
    torch.manual_seed(1)
    return Net()


def run(model):
    with torch.no_grad():
        return [type(model).__name__, bool(torch.equal(model.layer.weight, net().layer.weight)), model.layer.weight.requires_grad, list(model.layer(torch.ones(200)).shape)]


def train(model):
    """Parameters may be written to."""
    model.layer(torch.ones(200)).sum().backward()
    with torch.no_grad():
        model.layer.weight -= 0.1 * model.layer.weight.grad
    return float(model.layer.weight.grad.sum())
