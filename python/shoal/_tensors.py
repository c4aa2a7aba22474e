"""Batches of tensors of torch.

A tensor cannot be read-only, and pages of the object store cannot be written to. So a block is mapped a second time for tensors, with pages that are copied when somebody writes to them:
tensors share memory with the store, and nobody sees what is written to them.
"""

import sys

from . import _runtime
from ._blocks import library, numpy_of


def tensor_maker(dtypes, device, collate_fn, pin_memory):
    """What makes a batch of a table. :raises TypeError, ValueError: for options that do not fit"""
    torch = library("torch", "iter_torch_batches")
    if collate_fn is not None and not callable(collate_fn):
        raise TypeError("Cannot call iter_torch_batches: it takes as collate_fn a function of a dict of NumPy arrays: received %s" % type(collate_fn).__name__)
    if collate_fn is not None and dtypes is not None:
        raise ValueError("Cannot call iter_torch_batches: it takes dtypes without collate_fn alone: convert the tensors in collate_fn")
    for dtype in dtypes.values() if isinstance(dtypes, dict) else (dtypes,):
        if dtype is not None and not isinstance(dtype, torch.dtype):
            raise TypeError("Cannot call iter_torch_batches: it takes as dtypes a dtype of torch, or a dict of such by column: received %r" % (dtype,))
    place = _place(torch, device, collate_fn)

    def make(table):
        if collate_fn is None:
            batch = {name: _tensor(torch, name, column, dtypes) for name, column in zip(table.column_names, table.columns)}
        else:
            batch = collate_fn({name: _writable_numpy(column) for name, column in zip(table.column_names, table.columns)})
        return _each_tensor(torch, batch, lambda tensor: _moved(tensor, place, pin_memory))

    return make


def _place(torch, device, collate_fn):
    if device != "auto":
        return torch.device("cpu" if device is None else device)
    current = sys.modules.get("shoal.train._current")
    if collate_fn is not None or current is None or current.session is None:
        return torch.device("cpu")
    from .train.torch import get_device

    return get_device()


@_runtime.in_turn
def writable_block(block):
    """The same block over memory that may be written to, as far as its columns are numbers."""
    return {**block, "vectors": [_writable_vector(vector) for vector in block["vectors"]]}


def _writable_vector(vector):
    if vector["nullCount"] or vector["type"]["kind"] in ("bool", "string", "binary", "list", "struct", "null", "dictionary"):
        return vector
    view = memoryview(vector["values"])
    if view.nbytes == 0:
        return vector
    return {**vector, "values": _runtime.require_task().store.writable(view)}


def _tensor(torch, name, column, dtypes):
    dtype = dtypes.get(name) if isinstance(dtypes, dict) else dtypes
    array = _writable_numpy(column)
    try:
        return torch.as_tensor(array, dtype=dtype)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(
            "iter_torch_batches: column %r is no tensor: torch has none of the type %s%s: leave the column out with dropColumns, or make tensors of it with collate_fn (%s)"
            % (name, column.type, " with nulls" if column.null_count else "", error)
        ) from error


def _writable_numpy(column):
    """The values of a column as an array that may be written to, without a copy where its memory may be."""
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    found = _numbers(array)
    if found is None:
        found = numpy_of(column)
    return found if found.flags.writeable else found.copy()


def _numbers(array):
    """Numbers without nulls, and arrays of them, over the memory in which they lie; None for anything else."""
    if array.null_count > 0:
        return None
    shape = getattr(array.type, "shape", None)
    if shape is not None:
        elements = _numbers(array.storage.flatten())
        return None if elements is None else elements.reshape(len(array), *shape)
    import pyarrow

    numpy = library("numpy", "a batch of tensors")
    if not (pyarrow.types.is_integer(array.type) or pyarrow.types.is_floating(array.type)):
        return None
    dtype = numpy.dtype(array.type.to_pandas_dtype())
    values = array.buffers()[1]
    if values is None or len(array) == 0:
        return numpy.zeros(0, dtype)
    return numpy.frombuffer(values, dtype, len(array), array.offset * dtype.itemsize)


def _each_tensor(torch, value, change):
    """The value with each tensor in it changed, as far as dicts, lists and tuples reach."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: _each_tensor(torch, item, change) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_each_tensor(torch, item, change) for item in value)
    return value


def _moved(tensor, place, pin_memory):
    if pin_memory and tensor.device.type == "cpu":
        tensor = tensor.pin_memory()
    return tensor.to(place, non_blocking=pin_memory)
