"""Failures of training that a loop may meet, and which of them only follow from the end of another rank."""

import shlex
import sys

from ..errors import ShoalError


class TrainError(ShoalError):
    """A loop used what ``shoal.train`` offers in a way that cannot work."""

    code = "TRAIN_MISUSED"


class RanksLate(TrainError):
    """Raised when ranks did not come to a call in time."""


class RankLoopError(ShoalError):
    """The loop cannot be imported, or its framework is not installed."""

    code = "TRAIN_MISUSED"


class StopLoop(SystemExit):
    """Raised in the loop where the run ends or is moved: like ``sys.exit()``, it runs ``finally`` and passes ``except Exception``."""


# The frameworks have few classes for a connection that broke: gloo's failures are plain RuntimeErrors, which only their texts tell from those of a wrong tensor.
_TEXTS = {
    "RuntimeError": ("gloo", "NCCL", "Connection closed by peer", "Connection reset by peer", "Broken pipe"),
    "XGBoostError": ("ollective", "tracker", "socket", "Connection", "rabit"),
    "LightGBMError": ("ocket", "Linkers", "Network"),
    "XlaRuntimeError": ("UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED", "coordination"),
    "JaxRuntimeError": ("UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED", "coordination"),
    "InternalError": ("ollective",),
}
_CLASSES = {"RanksLate", "DistBackendError", "DistNetworkError", "DistStoreError", "UnavailableError", "AbortedError", "DeadlineExceededError", "HorovodInternalError"}


def is_of_communication(error):
    """Whether another rank's end explains it."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        for error_class in type(error).__mro__:
            if error_class.__name__ in _CLASSES:
                return True
        if any(text in str(error) for text in _TEXTS.get(type(error).__name__, ())):
            return True
        error = error.__cause__ or error.__context__
    return False


def install_hint(error):
    """How to install what a loop has not found; nothing for other errors."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return ""
    package = _PACKAGES.get(error.name.split(".")[0], error.name.split(".")[0])
    return " Install it where this runs: %s -m pip install %s" % (shlex.quote(sys.executable), package)


#: Packages that are not called as what is imported of them.
_PACKAGES = {"sklearn": "scikit-learn", "PIL": "pillow", "cv2": "opencv-python-headless", "yaml": "pyyaml", "megatron": "megatron-core", "google": "protobuf"}


def needed(name, by):
    """A module that a function of this package needs.

    :raises RankLoopError: where it is not installed, with the command that installs it
    """
    import importlib

    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise
        raise RankLoopError("Cannot use %s: Python at %s has no module %s.%s" % (by, sys.executable, name, install_hint(error))) from error
