"""``Checkpoint``: a folder with what a run goes on from, as in TypeScript (``src/runs/checkpoints/checkpoint.ts``), with Ray's names and the same files.

Folders of this machine are read and written here. What lies in S3 is copied by a task of TypeScript on this node, which has the code and the credentials for it, so Python needs no package.
"""

import contextlib
import json
import os
import shutil
import tempfile

from . import _runtime
from ._registered import register_export
from .errors import RunError

_METADATA = ".metadata.json"
#: What makes a stored checkpoint complete. It belongs to the storage: copies do not have it.
_RECORD = ".checkpoint.json"
#: Lies in what is left of a checkpoint whose files are removed one by one.
_REMOVAL_MARK = ".checkpoint.removed"
#: The label that every node has.
_NODE_LABEL = "shoal.io/node-id"


class Checkpoint:
    """A folder with what a run goes on from: of this machine, or of S3. It is the folder's path and nothing else.

    :param path: the folder; relative ones are of the working directory
    """

    def __init__(self, path):
        try:
            path = os.fspath(path)
        except TypeError:
            raise TypeError("Cannot make a checkpoint: the path of a folder is needed: received %r" % (path,)) from None
        if not isinstance(path, str) or path == "":
            raise TypeError("Cannot make a checkpoint: the path of a folder is needed: received %r" % (path,))
        if path.startswith("file://"):
            path = path[len("file://") :]
        #: An absolute path, or a URL such as ``s3://bucket/run/checkpoint_000003``.
        self.path = path.rstrip("/") if _is_remote(path) else os.path.abspath(path)

    @classmethod
    def from_directory(cls, path):
        """The checkpoint that a folder holds. Nothing is copied and nothing is read."""
        return cls(path)

    @classmethod
    def __from_shoal__(cls, data):
        return cls(data)

    def __to_shoal__(self):
        return self.path

    def __repr__(self):
        return "Checkpoint(%s)" % self.path

    def __eq__(self, other):
        return isinstance(other, Checkpoint) and other.path == self.path

    def __hash__(self):
        return hash(self.path)

    def to_directory(self, path=None):
        """Copies the checkpoint into a folder of this machine, and returns that.

        :param path: None: a new temporary folder, which is the caller's to remove
        :raises RunError: where the checkpoint is not there, or is removed before all of it is copied
        """
        target = tempfile.mkdtemp(prefix="shoal-checkpoint-") if path is None else os.path.abspath(os.fspath(path))
        os.makedirs(target, exist_ok=True)
        if _is_remote(self.path):
            _copy_remote(self.path, target)
        else:
            try:
                with self._open() as opened:
                    shutil.copytree(self.path, target, dirs_exist_ok=True, ignore=lambda folder, _: [_RECORD, _REMOVAL_MARK] if folder == self.path else [])
                    # Files that were removed before they were listed are missing without an error.
                    os.stat(opened)
            except BaseException:
                if path is None:
                    shutil.rmtree(target, ignore_errors=True)
                raise
        return target

    @contextlib.contextmanager
    def as_directory(self):
        """``with checkpoint.as_directory() as folder``: a folder of this machine that holds the checkpoint. A copy of what lies elsewhere is removed afterwards; processes of a machine that
        open the same checkpoint at the same time share it, so it is there to be read."""
        if not _is_remote(self.path):
            with self._open():
                yield self.path
            return
        copy = _call("openCheckpoint", self.path, os.getpid())
        try:
            yield copy["path"]
        finally:
            # Where the cluster has ended meanwhile, the next process that opens a copy removes this one.
            with contextlib.suppress(Exception):
                _call("closeCheckpoint", copy)

    def get_metadata(self):
        """The metadata: values of JSON that lie beside the files. Empty where none were set."""
        if _is_remote(self.path):
            return _call("checkpointMetadata", self.path)
        try:
            with open(os.path.join(self.path, _METADATA), encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return {}

    def set_metadata(self, metadata):
        """Sets the metadata, in place of what was there."""
        text = _metadata_text(metadata)
        if _is_remote(self.path):
            _call("setCheckpointMetadata", self.path, text)
            return
        os.makedirs(self.path, exist_ok=True)
        handle, staged = tempfile.mkstemp(prefix=_METADATA + ".", dir=self.path)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(staged, os.path.join(self.path, _METADATA))
        except BaseException:
            os.unlink(staged)
            raise

    def update_metadata(self, metadata):
        """Adds to the metadata; what is there under other names stays."""
        _metadata_text(metadata)
        self.set_metadata({**self.get_metadata(), **metadata})

    @contextlib.contextmanager
    def _open(self):
        """Gives the path that is there until the checkpoint is removed: of a stored one that begins with its record. Errors of missing files name the removal where there was one."""
        if not os.path.isdir(self.path):
            raise RunError(
                "Cannot open the checkpoint %s: there is no such folder" % self.path,
                {
                    "hint": "A checkpoint that other nodes read lies in a storage that all of them see (storagePath: a shared folder or s3://...), and numToKeep of its run removes older ones"
                },
            )
        record = os.path.join(self.path, _RECORD)
        there = record if os.path.exists(record) else self.path
        if there == self.path and os.path.exists(os.path.join(self.path, _REMOVAL_MARK)):
            raise self._removed(record)
        try:
            yield there
        except (FileNotFoundError, shutil.Error) as error:
            if _is_gone(there):
                raise self._removed(there) from error
            raise

    def _removed(self, opened):
        """A stored checkpoint is its run's to remove; another folder is not."""
        if opened == self.path:
            return RunError("Cannot read the checkpoint %s: it was removed meanwhile" % self.path, {"hint": "Keep its folder until it has been read"})
        return RunError(
            "Cannot read the checkpoint %s: it was removed meanwhile, as numToKeep of its run keeps others" % self.path,
            {"hint": "Set numToKeep of checkpointConfig higher, or read a checkpoint before the next ones are reported"},
        )


def _is_gone(path):
    """Whether a path is certainly not there. A disk that fails has removed nothing."""
    try:
        os.stat(path)
    except OSError as error:
        return isinstance(error, FileNotFoundError)
    return False


def _is_remote(path):
    return "://" in path


def _metadata_text(metadata):
    if not isinstance(metadata, dict) or not all(isinstance(name, str) for name in metadata):
        raise TypeError("Cannot set the metadata of a checkpoint: a dict with texts as keys is needed: received %r" % (metadata,))
    return json.dumps(metadata)


def _copy_remote(path, target):
    _call("fetchCheckpoint", path, target)


@_runtime.in_turn
def _call(export, *args):
    """Calls an export of ``shoal/runs`` in a worker of JavaScript on this node, whose files are this process's."""
    from ._api import get
    from ._functions import FunctionHandle

    worker = _runtime.require_task()
    options = {"num_cpus": 0, "label_selector": {_NODE_LABEL: worker.node_id}}
    return get(FunctionHandle("shoal/runs:%s" % export, export, {}, None, options).remote(*args))


register_export(Checkpoint, "shoal/runs:receivedCheckpoint", "shoal._checkpoint:Checkpoint")
