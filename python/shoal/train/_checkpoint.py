"""``Checkpoint``: a directory, here or in the storage of a run."""

import contextlib
import json
import os
import shutil
import tempfile

_METADATA = ".metadata.json"


class Checkpoint:
    """A directory with what a loop has saved. ``path`` is a local folder, or a place in storage (``s3://...``) that is read by way of a local copy."""

    #: Fetches a place in storage, and returns the local folder; set where storage is not local.
    _download = None

    def __init__(self, path, filesystem=None):
        if filesystem is not None and type(filesystem).__name__ != "LocalFileSystem":
            raise ValueError(
                "Cannot make a checkpoint with a filesystem of pyarrow: report a local directory, and storagePath of the run says where it goes: received %r"
                % (filesystem,)
            )
        self.path = os.fspath(path)

    @classmethod
    def from_directory(cls, path):
        """A checkpoint of what lies in a local directory."""
        return cls(path)

    def to_directory(self, path=None):
        """Copies the files into a directory, a fresh temporary one by default. @returns its path"""
        target = tempfile.mkdtemp(prefix="checkpoint_") if path is None else os.fspath(path)
        shutil.copytree(self._local(), target, dirs_exist_ok=True)
        return target

    @contextlib.contextmanager
    def as_directory(self):
        """A local directory with the files, to be read within a ``with`` block: the checkpoint itself where it is local."""
        yield self._local()

    def get_metadata(self):
        """What was set with ``set_metadata``; empty where nothing was."""
        file = os.path.join(self._local(), _METADATA)
        if not os.path.exists(file):
            return {}
        with open(file, encoding="utf-8") as stream:
            return json.load(stream)

    def set_metadata(self, metadata):
        """Keeps a dict that JSON has a form for beside the files. Before the checkpoint is reported; one in remote storage is what it was."""
        if self._is_remote():
            raise ValueError("Cannot set the metadata of %s: set it before the checkpoint is reported" % self.path)
        text = json.dumps(metadata)
        file = os.path.join(self.path, _METADATA)
        with open(file + ".new", "w", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(file + ".new", file)

    def update_metadata(self, metadata):
        """Sets some keys."""
        self.set_metadata({**self.get_metadata(), **metadata})

    def _is_remote(self):
        return "://" in self.path

    def _local(self):
        if not self._is_remote():
            if not os.path.isdir(self.path):
                raise FileNotFoundError("there is no directory %s, which the checkpoint names" % self.path)
            return self.path
        if Checkpoint._download is None:
            raise ValueError("Cannot read %s: checkpoints in remote storage are read in training loops" % self.path)
        return Checkpoint._download(self.path)

    @classmethod
    def __from_shoal__(cls, data):
        return cls(data["path"])

    def __to_shoal__(self):
        return {"path": self.path}

    def __repr__(self):
        return "Checkpoint(path=%r)" % self.path

    def __eq__(self, other):
        return isinstance(other, Checkpoint) and other.path == self.path

    def __hash__(self):
        return hash(self.path)
