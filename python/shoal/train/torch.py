"""PyTorch in a training loop: ``prepare_model`` and ``prepare_data_loader`` make the same code run on one rank or many, on the CPU or on GPUs."""

import os
import random
import sys
from collections.abc import Mapping

from . import _current
from ._driver_names import trainers
from ._errors import needed

torch = needed("torch", "shoal.train.torch")

__getattr__ = trainers("TorchTrainer", "TorchConfig", "TorchCheckpoint", "TorchXLAConfig")


def get_devices():
    """The devices of this rank: its GPUs, as they are numbered here, or the CPU."""
    indices = _current.require("shoal.train.torch.get_devices").context.device_indices
    if not indices or not torch.cuda.is_available():
        return [torch.device("cpu")]
    return [torch.device("cuda", index) for index in indices]


def get_device():
    """The first device of this rank."""
    return get_devices()[0]


def prepare_model(model, move_to_device=True, parallel_strategy="ddp", parallel_strategy_kwargs=None):
    """Moves a model to this rank's device and, with several ranks, wraps it.

    :param move_to_device: whether, or where to
    :param parallel_strategy: ``"ddp"`` (``DistributedDataParallel``), ``"fsdp"`` (``FullyShardedDataParallel``), or None
    :param parallel_strategy_kwargs: for the class that wraps it
    """
    if parallel_strategy not in ("ddp", "fsdp", None):
        raise ValueError('Cannot prepare the model: parallel_strategy is "ddp", "fsdp" or None: received %r' % (parallel_strategy,))
    session = _current.require("shoal.train.torch.prepare_model")
    device = move_to_device if isinstance(move_to_device, torch.device) else get_device()
    if device.type == "cuda":
        torch.cuda.set_device(device)
    if move_to_device is not False:
        model = model.to(device)
    if parallel_strategy is None or session.context.get_world_size() == 1:
        return model
    options = dict(parallel_strategy_kwargs or {})
    if parallel_strategy == "ddp":
        from torch.nn.parallel import DistributedDataParallel

        if device.type == "cuda":
            options = {"device_ids": [device], "output_device": device, **options}
        return DistributedDataParallel(model, **options)
    from torch.distributed.fsdp import FullyShardedDataParallel

    # Without it, FSDP takes the current accelerator, which a rank on the CPU does not have.
    return FullyShardedDataParallel(model, **{"device_id": device, **options})


def prepare_data_loader(data_loader, add_dist_sampler=True, move_to_device=True, auto_transfer=True):
    """With several ranks: a loader of this rank's part of the dataset, shuffled where the loader shuffles. Call ``loader.sampler.set_epoch(epoch)`` before each epoch.

    :param move_to_device: whether batches are moved to this rank's device
    :param auto_transfer: whether the next batch is copied to a GPU while this one is used
    """
    from torch.utils.data import DataLoader, DistributedSampler, IterableDataset

    size = _current.require("shoal.train.torch.prepare_data_loader").context.get_world_size()
    is_whole = not isinstance(data_loader.sampler, DistributedSampler) and not isinstance(data_loader.dataset, IterableDataset)
    if size > 1 and add_dist_sampler and is_whole:
        data_loader = DataLoader(**_parted(data_loader, DistributedSampler))
    if not move_to_device:
        return data_loader
    return _OnDevice(data_loader, get_device(), auto_transfer)


def _parted(loader, sampler_class):
    from torch.utils.data import RandomSampler, SequentialSampler

    if loader.batch_size is None:
        raise ValueError("Cannot prepare the data loader: it has a batch_sampler of its own: give it a DistributedSampler, or pass add_dist_sampler=False")
    rank = _current.session.context.get_world_rank()
    if not isinstance(loader.sampler, (SequentialSampler, RandomSampler)) and rank == 0:
        name = type(loader.sampler).__name__
        sys.stderr.write("prepare_data_loader puts a DistributedSampler in the place of the %s: add_dist_sampler=False keeps it\n" % name)
    options = {
        name: getattr(loader, name)
        for name in ("dataset", "batch_size", "num_workers", "collate_fn", "pin_memory", "drop_last", "timeout", "worker_init_fn", "generator")
    }
    if loader.num_workers > 0:
        options.update(
            prefetch_factor=loader.prefetch_factor, persistent_workers=loader.persistent_workers, multiprocessing_context=loader.multiprocessing_context
        )
    options["sampler"] = sampler_class(
        loader.dataset,
        num_replicas=_current.session.context.get_world_size(),
        rank=rank,
        shuffle=not isinstance(loader.sampler, SequentialSampler),
    )
    return options


class _OnDevice(torch.utils.data.DataLoader):
    """A loader whose batches are on a device. It is one for ``isinstance``, and has all that the loader behind it has."""

    def __init__(self, loader, device, auto_transfer):
        # The state is the other loader's: DataLoader's own constructor would make another one.
        self.__dict__.update(vars(loader))
        self._loader = loader
        self._device = device
        self._ahead = auto_transfer and device.type == "cuda"

    def __len__(self):
        return len(self._loader)

    def __iter__(self):
        batches = iter(self._loader)
        if not self._ahead:
            for batch in batches:
                yield moved(batch, self._device)
            return
        yield from self._copied_ahead(batches)

    def _copied_ahead(self, batches):
        stream = torch.cuda.Stream(self._device)

        def copied():
            batch = next(batches, _END)
            if batch is _END:
                return _END
            with torch.cuda.stream(stream):
                return moved(batch, self._device)

        following = copied()
        while following is not _END:
            current = torch.cuda.current_stream(self._device)
            current.wait_stream(stream)
            batch = following
            _record(batch, current)
            following = copied()
            yield batch


_END = object()


def moved(batch, device):
    """The batch with its tensors on the device, within lists, tuples and dicts, too."""
    if hasattr(batch, "to") and callable(batch.to):
        return batch.to(device, non_blocking=True) if isinstance(batch, torch.Tensor) else batch.to(device)
    if isinstance(batch, Mapping):
        made = {key: moved(item, device) for key, item in batch.items()}
        return made if type(batch) is dict else type(batch)(made)
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(moved(item, device) for item in batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(moved(item, device) for item in batch)
    return batch


def _record(batch, stream):
    """The memory of the tensors is not given to others before the stream has used them."""
    if isinstance(batch, torch.Tensor):
        batch.record_stream(stream)
    elif isinstance(batch, Mapping):
        for item in batch.values():
            _record(item, stream)
    elif isinstance(batch, (list, tuple)):
        for item in batch:
            _record(item, stream)


def enable_reproducibility(seed=0):
    """Seeds Python, NumPy and torch, and has torch choose algorithms that give the same results each time."""
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    # CUDA's matrix products need this setting to give the same results each time.
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"


def accelerate(amp=False):
    raise DeprecationWarning("accelerate has gone from Ray, too: use torch.autocast")


def prepare_optimizer(optimizer):
    raise DeprecationWarning("prepare_optimizer has gone from Ray, too: use torch.amp.GradScaler")


def backward(tensor):
    raise DeprecationWarning("backward has gone from Ray, too: call tensor.backward()")
