"""Hugging Face in a training loop."""

import importlib

_MODULES = ("transformers",)


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module("%s.%s" % (__name__, name))
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
