"""What ``pythonPreload`` imports for ranks of torch: torch itself, and what it imports only at its first use, which would cost each rank seconds."""

import torch
import torch._dynamo  # noqa: F401
import torch.distributed  # noqa: F401
import torch.utils.data  # noqa: F401
from torch.nn.parallel import DistributedDataParallel  # noqa: F401

from . import _session  # noqa: F401
from . import torch as _torch  # noqa: F401

# Nothing that computes: threads of the mathematics do not survive a fork. The first optimizer imports the rest.
torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
