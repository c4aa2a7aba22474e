"""Hugging Face Transformers in a training loop: a callback that reports, and a ``Trainer`` that takes parts of datasets.

Transformers and Accelerate find the other ranks by the environment, which a trainer of ``shoal/train`` has set.
"""

import os
import shutil
import tempfile

from .. import Checkpoint, get_context, report
from .._errors import needed

_transformers = needed("transformers", "shoal.train.huggingface.transformers")


class RayTrainReportCallback(_transformers.TrainerCallback):
    """Reports what was logged last, and the checkpoint, whenever the trainer has saved one. Transformers' own files are in ``checkpoint/`` of it."""

    CHECKPOINT_NAME = "checkpoint"

    def on_save(self, args, state, control, **kwargs):
        metrics = {}
        for logged in state.log_history:
            metrics.update(logged)
        is_reporter = _is_first_with(args.output_dir)
        saved = _transformers.trainer_utils.get_last_checkpoint(args.output_dir)
        if saved is None or not is_reporter:
            report(metrics)
            return
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(saved, os.path.join(folder, self.CHECKPOINT_NAME))
            report(metrics, checkpoint=Checkpoint.from_directory(folder))


def _is_first_with(folder):
    """Whether this rank is the first of those that save into the folder. Returns when all ranks have saved: rank 0 writes for longer than the others."""
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized():
        return True
    place = (get_context().get_node_rank(), os.path.realpath(folder))
    places = [None] * dist.get_world_size()
    dist.all_gather_object(places, place)
    return places.index(place) == dist.get_rank()


def prepare_trainer(trainer):
    """Lets a ``Trainer`` take as ``train_dataset`` and ``eval_dataset`` what ``iter_batches`` and ``iter_torch_batches`` of a dataset's part give. Returns it."""
    base = type(trainer)

    class RayTransformersTrainer(base):
        def get_train_dataloader(self):
            loader = _loader(self.train_dataset)
            return super().get_train_dataloader() if loader is None else loader

        def get_eval_dataloader(self, eval_dataset=None):
            dataset = self.eval_dataset if eval_dataset is None else eval_dataset
            if isinstance(dataset, str) and isinstance(self.eval_dataset, dict):
                dataset = self.eval_dataset[dataset]
            loader = _loader(dataset)
            return super().get_eval_dataloader(eval_dataset) if loader is None else loader

    trainer.__class__ = RayTransformersTrainer
    return trainer


def _loader(batches):
    """Returns a ``DataLoader`` of ready-made batches; None for any other dataset."""
    from torch.utils.data import DataLoader, IterableDataset

    from ..._data_iterator import is_batches

    if not is_batches(batches):
        return None

    class Batches(IterableDataset):
        def __iter__(self):
            return iter(batches)

    return DataLoader(Batches(), batch_size=1, collate_fn=lambda ones: ones[0])
