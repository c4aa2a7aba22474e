"""Instances of classes of TypeScript with a form of their own (``registerSerializer``), as values: ``[definition, data, place of its reference, class]``.

Where TypeScript names a class of Python with it, the value is an instance of that: ``__from_shoal__(data)`` makes it, and ``__to_shoal__()`` gives the data for the way back. Any other
is passed on as it came. The definition is what reads the data in JavaScript: this process holds it as long as it lives, as it may send such a value at any time. What Shoal's own
exports read needs no definition: JavaScript finds those by their names, so Python may make instances of these classes itself (``register_export``).
"""

import sys

from . import _runtime
from . import _tags as tags
from .errors import SerializationError
from .values import Custom

#: By their ids, the definitions that have come.
_definitions = {}
#: By class, the definition that reads its data, and what TypeScript calls the class.
_classes = {}


class RegisteredValue(Custom):
    """An instance of a class that Python has no counterpart of."""

    #: Inside of what is pickled it has a form of its own.
    _is_of_cluster = True

    __slots__ = ()

    def __init__(self, id_, data):
        Custom.__init__(self, tags.KIND_REGISTERED, [id_, data])

    def _reduced(self, collect):
        return _form(*self.payload, None, collect)


def is_export(id_):
    """Whether an id names an export of Shoal, such as ``shoal/runs:receivedCheckpoint``, and no definition."""
    return id_.startswith("shoal/")


def register_export(kind, id_, name):
    """Instances of a class of Shoal's own go to JavaScript as data that an export of Shoal reads.

    :param name: what TypeScript calls the class: ``module:Class``
    """
    _classes[kind] = (id_, name)


def revive_registered(payload, refs):
    """:raises SerializationError: where its class is not found here"""
    id_, data, reference, name = payload
    if reference is not None:
        entry = refs[reference]
        entry.definition = id_
        _definitions[id_] = entry
    if name is None:
        return RegisteredValue(id_, data)
    kind = _class_of(name)
    _classes[kind] = (id_, name)
    return kind.__from_shoal__(data)


def reduce_registered(value, collect, needs):
    """The form of an instance whose class has come with a value, or is Shoal's own; None for anything else."""
    known = _classes.get(type(value)) if _classes else None
    if known is None:
        return None
    if is_export(known[0]):
        needs(known[0])
    return _form(known[0], value.__to_shoal__(), known[1], collect)


def _form(id_, data, name, collect):
    entry = _definitions.get(id_)
    return tags.KIND_REGISTERED, [id_, data, None if entry is None else collect(entry), name]


def _class_of(name):
    place, _, qualname = name.rpartition(":")
    try:
        found = _runtime.require().targets.find(place, qualname)
        found.__from_shoal__
    except (ImportError, AttributeError, FileNotFoundError) as error:
        raise SerializationError(
            "Cannot read an instance of %s: %s" % (name, error),
            {
                "reason": "Python at %s does not find the class %s, or it has no class method __from_shoal__(cls, data)" % (sys.executable, name),
                "hint": "Make the module of the class importable there, or name its file: registerSerializer(Class, { ..., python: '/path/to/file.py:Class' }).",
            },
        ) from error
    return found
