"""Megatron-core's groups and parallel layers over gloo: two layers that lie on two ranks give what whole layers give."""

import torch

from megatron.core import parallel_state, tensor_parallel
from megatron.core.model_parallel_config import ModelParallelConfig

from shoal import train


def train_loop(config):
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=2, pipeline_model_parallel_size=1)
    rank = parallel_state.get_tensor_model_parallel_rank()
    first, second = torch.linspace(-1, 1, 24).reshape(6, 4), torch.linspace(1, -1, 24).reshape(4, 6)
    settings = ModelParallelConfig(tensor_model_parallel_size=2, use_cpu_initialization=True, perform_initialization=False, params_dtype=torch.float32)
    options = {"config": settings, "init_method": torch.nn.init.zeros_, "bias": False}
    # The columns of one layer and the rows of the next lie on two ranks; nothing is gathered in between.
    columns = tensor_parallel.ColumnParallelLinear(4, 6, gather_output=False, **options)
    rows = tensor_parallel.RowParallelLinear(6, 4, input_is_parallel=True, skip_bias_add=False, **options)
    with torch.no_grad():
        columns.weight.copy_(first.chunk(2)[rank])
        rows.weight.copy_(second.chunk(2, dim=1)[rank])
    x = torch.linspace(0, 1, 8).reshape(2, 4).requires_grad_()
    output, _ = rows(columns(x)[0])
    output.sum().backward()
    train.report(
        {
            "difference": float((output.detach() - x.detach() @ first.T @ second.T).abs().max()),
            "gradient": float((x.grad - (second @ first).sum(0)).abs().max()),
            "world": parallel_state.get_tensor_model_parallel_world_size(),
            "held": columns.weight.numel() + rows.weight.numel(),
        }
    )
