"""Imports of ``pythonPreload`` for ranks of torch: torch itself, and the modules that torch imports only at its first use, which would cost each rank seconds."""

from . import _session  # noqa: F401

try:
    import torch
    import torch._dynamo
    import torch.distributed
    import torch.utils.data
    from torch.nn.parallel import DistributedDataParallel  # noqa: F401

    from . import torch as _torch  # noqa: F401
except ImportError:
    # The rank says so, with the command that installs it.
    torch = None

if torch is not None:
    # Nothing that computes: threads of the mathematics do not survive a fork. The first optimizer imports the rest.
    torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
