"""PyTorch Lightning in a training loop: strategies and an environment that take their place from this rank, and a callback that reports.

The names are Ray's, so that loops written for it run unchanged.
"""

import importlib
import os
import shutil
import tempfile

from . import Checkpoint, CheckpointUploadMode, _current, report
from ._lightning_package import lightning_package
from .torch import get_device, torch

_lightning = lightning_package("shoal.train.lightning")
_environments = importlib.import_module("%s.plugins.environments" % _lightning.__name__)


class _OfRank:
    """A strategy whose device and part of the data are this rank's."""

    @property
    def root_device(self):
        return get_device()

    @property
    def distributed_sampler_kwargs(self):
        return {"num_replicas": self.world_size, "rank": self.global_rank}


class RayDDPStrategy(_OfRank, _lightning.strategies.DDPStrategy):
    """``DDPStrategy`` on the ranks of a run. Their process group is there already: ``torchConfig`` of the trainer has its backend and timeout."""


class RayFSDPStrategy(_OfRank, _lightning.strategies.FSDPStrategy):
    """``FSDPStrategy`` on the ranks of a run, also on the CPU."""

    def _setup_model(self, model):
        if self.root_device.type == "cpu":
            from torch.distributed.fsdp import FullyShardedDataParallel

            if not any(isinstance(module, FullyShardedDataParallel) for module in model.modules()):
                # Lightning gives torch the number of a GPU alone, and torch looks for a GPU where it gets none.
                model = FullyShardedDataParallel(
                    model,
                    cpu_offload=self.cpu_offload,
                    mixed_precision=self.mixed_precision_config,
                    sharding_strategy=self.sharding_strategy,
                    device_id=self.root_device,
                    **self.kwargs,
                )
                self.kwargs.pop("auto_wrap_policy", None)
        return super()._setup_model(model)


class RayDeepSpeedStrategy(_OfRank, _lightning.strategies.DeepSpeedStrategy):
    """``DeepSpeedStrategy`` on the ranks of a run, also on the CPU."""

    @property
    def root_device(self):
        device = get_device()
        # DeepSpeed wants a number, which the CPU has none of.
        return torch.device("cpu", 0) if device.type == "cpu" else device

    def setup_environment(self):
        if self.root_device.type != "cpu":
            super().setup_environment()
            return
        # Lightning lets DeepSpeed run on GPUs alone: this skips the check and calls the base class.
        self.parallel_devices = [self.root_device]
        super(_lightning.strategies.DeepSpeedStrategy, self).setup_environment()


class RayLightningEnvironment(_environments.LightningEnvironment):
    """Tells Lightning where this rank stands, and that its processes are started already."""

    @property
    def creates_processes_externally(self):
        return True

    def world_size(self):
        return _context().get_world_size()

    def global_rank(self):
        return _context().get_world_rank()

    def local_rank(self):
        return _context().get_local_rank()

    def node_rank(self):
        return _context().get_node_rank()

    def set_world_size(self, size):
        """The run says how many there are."""

    def set_global_rank(self, rank):
        """The run says which one this is."""

    def teardown(self):
        """The run ends its ranks."""


def _context():
    return _current.require("shoal.train.lightning").context


def prepare_trainer(trainer):
    """Checks that a ``Trainer`` uses one of the strategies and the environment of this module, and returns it.

    :raises RuntimeError: where it does not
    """
    strategies = (RayDDPStrategy, RayFSDPStrategy, RayDeepSpeedStrategy)
    if not isinstance(trainer.strategy, strategies):
        names = ", ".join(strategy.__name__ for strategy in strategies)
        raise RuntimeError("Cannot prepare the trainer: its strategy is to be one of %s: received %s" % (names, type(trainer.strategy).__name__))
    environment = getattr(trainer.strategy, "cluster_environment", None)
    if environment is not None and not isinstance(environment, RayLightningEnvironment):
        raise RuntimeError("Cannot prepare the trainer: plugins=[RayLightningEnvironment()] is needed: received %s" % type(environment).__name__)
    return trainer


class RayTrainReportCallback(_lightning.callbacks.Callback):
    """Reports the metrics of each epoch and a checkpoint, in which Lightning's own file is ``checkpoint.ckpt``."""

    CHECKPOINT_NAME = "checkpoint.ckpt"

    def __init__(self, checkpoint_upload_mode=None, validation=False):
        super().__init__()
        self.checkpoint_upload_mode = checkpoint_upload_mode or CheckpointUploadMode.SYNC
        self.validation = validation

    def on_train_epoch_end(self, trainer, pl_module):
        metrics = {name: value.item() for name, value in trainer.callback_metrics.items()}
        metrics.update(epoch=trainer.current_epoch, step=trainer.global_step)
        # Where each rank saves a part, Lightning puts all parts below the path of rank 0, on every node.
        folder = trainer.strategy.broadcast(tempfile.mkdtemp(prefix="lightning-checkpoint-") if trainer.is_global_zero else None)
        path = os.path.join(folder, self.CHECKPOINT_NAME)
        trainer.save_checkpoint(path, weights_only=False)
        is_first_of_node = trainer.local_rank == 0
        checkpoint = Checkpoint.from_directory(folder) if is_first_of_node and os.path.exists(path) else None
        report(metrics, checkpoint=checkpoint, checkpoint_upload_mode=self.checkpoint_upload_mode, validation=self.validation)
        if is_first_of_node and not self.checkpoint_upload_mode.default_delete_local_checkpoint_after_upload():
            shutil.rmtree(folder, ignore_errors=True)
