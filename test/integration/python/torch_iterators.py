"""Batches of tensors, for `test/systems/data-torch.test.ts`."""

import warnings

import torch
from iterators import place_of


def columns(part, options=None):
    """Of the first batch: type, shape and values of each tensor."""
    batch = next(iter(part.iter_torch_batches(**(options or {}))))
    return {name: [str(tensor.dtype), list(tensor.shape), tensor.reshape(-1).tolist()[:6]] for name, tensor in batch.items()}


def memory(part):
    """Writes to each tensor. Tells where the tensors lie, what Python warned of, and what the next epochs show."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        places = []
        for batch in part.iter_torch_batches(batch_size=1000):
            places.append(place_of(batch["x"].numpy()))
            batch["x"].mul_(0).sub_(1)
    again = [float(batch["x"].sum()) for batch in part.iter_torch_batches(batch_size=100_000)]
    return {"places": places, "warned": [str(one.message) for one in warned], "again": again}


def collated(part):
    def collate(batch):
        assert all(array.flags.writeable for array in batch.values())
        return {"y": torch.as_tensor(batch["id"]) * 2, "rest": [torch.zeros(1), "text"]}

    made = list(part.iter_torch_batches(batch_size=6, collate_fn=collate, drop_last=True))
    return [batch["y"].tolist() for batch in made], made[0]["rest"][1]


def mixed(part):
    return [int(value) for batch in part.iter_torch_batches(batch_size=16, local_shuffle_buffer_size=64, local_shuffle_seed=3) for value in batch["id"]]


def problems(part):
    messages = []
    for options in (
        {},
        {"dtypes": torch.float32, "collate_fn": dict},
        {"dtypes": "float32"},
        {"collate_fn": 5},
    ):
        try:
            list(part.iter_torch_batches(**options))
        except (TypeError, ValueError) as error:
            messages.append(str(error))
    return messages


def float32():
    return torch.float32


def trained(part):
    """A regression on y = 3 x + 1, epoch by epoch."""
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(30):
        for batch in part.iter_torch_batches(batch_size=50, dtypes=torch.float32):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(batch["x"].unsqueeze(1)).squeeze(1), batch["y"])
            loss.backward()
            optimizer.step()
    return [float(model.weight), float(model.bias)]


def with_dtypes(part, dtypes):
    named = {"id": torch.int32, "image": torch.float16} if dtypes == "by column" else getattr(torch, dtypes)
    return columns(part, {"dtypes": named})
