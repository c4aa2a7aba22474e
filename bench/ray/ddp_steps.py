"""Steps of DDP on two ranks, and the processor time that their processes have used for one: the same code in trainers and under ``torchrun``, which runs this file with a folder as argument."""

import json
import os
import sys
import time

_WARM_UP, _STEPS = 50, 600


def ddp_steps(config):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
    model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(64, 256), torch.randint(0, 10, (64,))

    def steps(count):
        for _ in range(count):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        dist.barrier()

    steps(_WARM_UP)
    # Processor time of all threads of the process.
    before, begun = time.process_time(), time.perf_counter()
    steps(_STEPS)
    used = torch.tensor([time.process_time() - before], dtype=torch.float64)
    elapsed = time.perf_counter() - begun
    dist.all_reduce(used)
    if dist.get_rank() == 0:
        facts = {"samples": [1000 * used.item() / _STEPS], "details": {"wallMs": 1000 * elapsed / _STEPS}}
        with open(os.path.join(config["folder"], "told.json"), "w") as file:
            json.dump(facts, file)
        return facts
    return None


if __name__ == "__main__":
    import torch.distributed

    torch.distributed.init_process_group("gloo")
    facts = ddp_steps({"folder": sys.argv[1]})
    if facts is not None:
        print("facts", json.dumps(facts), flush=True)
    torch.distributed.barrier()
    # Threads of gloo still drop tensors of Python. One that wants the interpreter's lock for that after the interpreter has begun to end is ended by it, in the midst of C++ that must not be
    # left, and the process aborts.
    os._exit(0)
