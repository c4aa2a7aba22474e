"""Functions for Python code while a ``Tuner`` of TypeScript runs it: ``report``, ``get_checkpoint``, ``get_context``, with Ray's names and meanings.

``new Tuner(python.task("train.py", "train"), …)`` runs ``train(config)``. Its results may be reported, returned as a dictionary, or yielded.
``new Tuner(python.actor("train.py", "Model"), …)`` runs a class, step by step; ``Trainable`` may be its base.
"""

from .._checkpoint import Checkpoint
from ._session import TuneContext, get_checkpoint, get_context, report
from ._trainable import Trainable

__all__ = ["Checkpoint", "Trainable", "TuneContext", "get_checkpoint", "get_context", "report"]
