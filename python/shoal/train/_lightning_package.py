"""Lightning's package, which has two names, with classes of their own."""

import importlib
import importlib.util

from ._errors import needed


def lightning_package(by):
    """:param by: the module that needs it
    :raises RankLoopError: where neither is installed
    """
    try:
        return importlib.import_module("lightning.pytorch")
    except ModuleNotFoundError:
        return importlib.import_module("pytorch_lightning") if importlib.util.find_spec("pytorch_lightning") else needed("lightning", by)
