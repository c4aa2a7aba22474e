"""Names that a training loop uses: ``report``, ``get_context``, ``get_checkpoint``, ``get_dataset_shard``, checkpoints, and a module for each framework.

A trainer of ``shoal/train`` runs the loop in its ranks. Names and meanings are Ray's; ``ray.train`` is this module where Ray is not installed. Frameworks are imported by the
modules that need them alone, and those when they are first used: ``train.torch``, ``train.lightning``, ``train.huggingface``, ``train.tensorflow``, ``train.xgboost``,
``train.lightgbm``, ``train.jax``.
"""

import importlib
import shutil
from enum import Enum
from functools import partial

from . import _current, collective
from .._checkpoint import Checkpoint
from ._context import PreemptionInfo, TrainContext
from ._driver_names import DRIVER_ERRORS, DRIVER_NAMES, driver_name
from ._errors import RankLoopError, TrainError
from ._metrics import plain

#: The name of ``get_dataset_shard()``.
TRAIN_DATASET_KEY = "train"

_MODULES = ("torch", "lightning", "huggingface", "tensorflow", "xgboost", "lightgbm", "jax", "horovod")


class CheckpointUploadMode(Enum):
    """When a checkpoint is copied into the run's storage: before ``report`` returns, afterwards, or not, as it lies there already."""

    SYNC = "SYNC"
    ASYNC = "ASYNC"
    NO_UPLOAD = "NO_UPLOAD"

    def default_delete_local_checkpoint_after_upload(self):
        return self is CheckpointUploadMode.ASYNC


#: What the controller calls them.
_UPLOAD_MODES = {CheckpointUploadMode.SYNC: "sync", CheckpointUploadMode.ASYNC: "async", CheckpointUploadMode.NO_UPLOAD: "none"}


class CheckpointConsistencyMode(Enum):
    """Ray's modes of ``get_all_reported_checkpoints``. They are the same here, as Shoal validates nothing: what was reported is waited for until it is stored."""

    COMMITTED = "COMMITTED"
    VALIDATED = "VALIDATED"


class ReportedCheckpointStatus(Enum):
    """Ray's other statuses are of validations, which Shoal does not run."""

    COMMITTED = "COMMITTED"


class ReportedCheckpoint:
    """A checkpoint of this run, and the metrics that came with it."""

    def __init__(self, checkpoint, metrics):
        self.checkpoint = checkpoint
        self.metrics = metrics
        self.status = ReportedCheckpointStatus.COMMITTED

    def __repr__(self):
        return "ReportedCheckpoint(checkpoint=%r, metrics=%r)" % (self.checkpoint, self.metrics)


def report(
    metrics,
    checkpoint=None,
    checkpoint_dir_name=None,
    checkpoint_upload_mode=CheckpointUploadMode.SYNC,
    delete_local_checkpoint_after_upload=None,
    checkpoint_upload_fn=None,
    validation=False,
):
    """Tells the run's metrics, and a checkpoint. All ranks must call it equally often: it returns when all have, and what was reported before is stored.

    :param metrics: numbers, texts, lists and dicts; those of rank 0 are the run's
    :param checkpoint: a directory of this node; those of several ranks become one
    :param checkpoint_dir_name: its name in the run's folder; by default numbered
    :param checkpoint_upload_mode: whether ``report`` waits until the checkpoint is in storage. With ``ASYNC`` its directory must stay as it is until the next report has returned
    :param delete_local_checkpoint_after_upload: by default what is uploaded asynchronously
    :param checkpoint_upload_fn: called with the checkpoint and its name, the same in all ranks; puts it into storage itself and returns the checkpoint there. With ``ASYNC`` it runs
        beside the loop, on a thread of its own, once all ranks have reported; it must not call them there. The next report and the end of the run wait for it, and its exception fails the run. Directly in the run's folder, ``get_context().get_storage().experiment_fs_path``, it is one of the run's; elsewhere no later run goes on from it
    :raises TypeError: for metrics that JSON has no form for
    :raises SystemExit: where the run is to end here, or to go on elsewhere. Where the ranks do not agree, the run ends, and this does not return
    """
    session = _current.require("shoal.train.report")
    if not isinstance(metrics, dict):
        raise TypeError("Cannot report: metrics are a dict: received %s" % type(metrics).__name__)
    if validation:
        raise ValueError("Cannot report with validation=%r: Shoal validates no checkpoints: evaluate in the loop, and report what comes of it" % (validation,))
    if checkpoint is not None and not hasattr(checkpoint, "path"):
        raise TypeError("Cannot report: checkpoint is a Checkpoint: received %s: Checkpoint.from_directory(path) makes one" % type(checkpoint).__name__)
    mode = CheckpointUploadMode.SYNC if checkpoint_upload_mode is None else CheckpointUploadMode(getattr(checkpoint_upload_mode, "value", checkpoint_upload_mode))
    deletes = mode.default_delete_local_checkpoint_after_upload() if delete_local_checkpoint_after_upload is None else bool(delete_local_checkpoint_after_upload)
    event = {"type": "report", "metrics": plain(metrics), "uploadMode": _UPLOAD_MODES[mode]}
    if checkpoint is not None:
        described = {"path": str(checkpoint.path), "deleteAfterUpload": deletes, "directoryName": checkpoint_dir_name}
        event["checkpoint"] = described
        if checkpoint_upload_fn is not None:
            place = partial(_placed_by, checkpoint_upload_fn, checkpoint, checkpoint_dir_name or session.checkpoint_dir_name(), deletes)
            if mode is CheckpointUploadMode.ASYNC:
                described["upload"] = session.add_upload(place)
            else:
                described["path"] = str(place().path)
                event["uploadMode"] = _UPLOAD_MODES[CheckpointUploadMode.NO_UPLOAD]
    session.report(event)


def _placed_by(function, local, name, deletes):
    """Has a function of the user's put a checkpoint into storage. @returns the checkpoint there"""
    placed = function(local, name)
    if not hasattr(placed, "path"):
        raise ValueError("Cannot report: checkpoint_upload_fn returns the Checkpoint in its place: received %s" % type(placed).__name__)
    if deletes and str(placed.path) != str(local.path):
        shutil.rmtree(local.path, ignore_errors=True)
    return placed


def get_context():
    """Where this rank stands: ``get_world_rank()``, ``get_world_size()`` and so on.

    :raises RuntimeError: outside of training loops
    """
    return _current.require("shoal.train.get_context").context


def get_checkpoint():
    """The last checkpoint that was reported and is stored, by this attempt or one before; None where there is none."""
    return _current.require("shoal.train.get_checkpoint").checkpoint


def get_all_reported_checkpoints(consistency_mode=CheckpointConsistencyMode.VALIDATED, timeout_s=None):
    """The checkpoints of this run, in the order in which they were reported: those that were kept of earlier attempts, and all of this one. Waits for uploads that go on.

    :param timeout_s: for how long at most; then those that are stored are returned. By default without end
    """
    session = _current.require("shoal.train.get_all_reported_checkpoints")
    session.wait_for_uploads(timeout_s)
    return [ReportedCheckpoint(checkpoint, dict(metrics)) for checkpoint, metrics in list(session.reported)]


def get_dataset_shard(dataset_name=TRAIN_DATASET_KEY):
    """This rank's part of a dataset that the trainer was given: a ``shoal.data.DataIterator``.

    :raises KeyError: for a name that the trainer has no dataset of
    """
    datasets = _current.require("shoal.train.get_dataset_shard").datasets
    if dataset_name not in datasets:
        known = ", ".join(map(repr, datasets)) or "none"
        raise KeyError("there is no dataset %r: the trainer's datasets are %s" % (dataset_name, known))
    return datasets[dataset_name]


def get_preemption_info():
    """The nodes with ranks of this run that will go away, and when: a ``PreemptionInfo``, the same in all ranks; None where none will. All ranks must call it equally often: it returns when all have.

    :raises RuntimeError: outside of training loops
    """
    session = _current.require("shoal.train.get_preemption_info")
    return collective.broadcast_from_rank_zero(session.context.get_preemption_info())


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module("%s.%s" % (__name__, name))
    if name in DRIVER_NAMES or name in DRIVER_ERRORS:
        return driver_name(name)
    raise AttributeError("module %r has no attribute %r" % (__name__, name))


__all__ = [
    "Checkpoint",
    "CheckpointConsistencyMode",
    "CheckpointUploadMode",
    "PreemptionInfo",
    "RankLoopError",
    "ReportedCheckpoint",
    "ReportedCheckpointStatus",
    "TrainContext",
    "TrainError",
    "collective",
    "get_all_reported_checkpoints",
    "get_checkpoint",
    "get_context",
    "get_dataset_shard",
    "get_preemption_info",
    "report",
]
