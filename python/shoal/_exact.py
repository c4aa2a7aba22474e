"""What keeps a value of Python the value that it was, where its plain form, which JavaScript reads, loses something.

Decides for each type what stands beside the plain form (``[plain, how, ...]``, kind EXACT of docs/value-format.md) and how a reader in Python makes the value from both. Owns the names of these
ways. An instance whose class no other process finds has its plain form for JavaScript, and is refused by name in Python.
"""

import builtins
import sys
from array import array
from datetime import datetime, timezone

from . import _tags as tags
from ._arrays import numpy_or_none
from .errors import SerializationError

#: Groups of exceptions, which Python has from 3.11 on; for ``isinstance``.
GROUPS = (builtins.BaseExceptionGroup,) if hasattr(builtins, "BaseExceptionGroup") else ()
#: Scalars of NumPy that JavaScript has a number or a text for; the others are pickled.
PLAIN_SCALARS = "biufcSU"
_NUMBERS = "biufc"


def datetime_is_plain(value):
    """Whether a moment is the ``Date`` of JavaScript and nothing more."""
    return value.tzinfo is timezone.utc and value.microsecond % 1000 == 0 and not value.fold


def has_text(value):
    """Whether the text of a time or a moment says all of it: without the name of a zone and without a second reading of the hour."""
    zone = value.tzinfo
    return not value.fold and (zone is None or (type(zone) is timezone and len(zone.__getinitargs__()) == 1))


def array_facts(value, numpy):
    """How an array of NumPy differs from what its elements arrive as: the way and its details, or None. ``("pickle",)``: it has no plain form."""
    dtype = value.dtype
    if type(value) is not numpy.ndarray or dtype.hasobject or dtype.kind not in "biufcmM":
        return ("pickle",)
    if dtype.kind in _NUMBERS and dtype.name not in tags.KIND_OF_DTYPE and dtype.name not in ("bool", "complex64", "complex128"):
        return ("pickle",)
    if dtype.kind in "mM" and numpy.datetime_data(dtype)[0] == "generic":
        return ("pickle",)
    if value.ndim == 0:
        return "array0", dtype.str
    if not dtype.isnative:
        return "dtype", dtype.str
    return ("uint8",) if dtype.name == "uint8" and value.ndim == 1 else None


def items_apart(value):
    """What ``pickle`` keeps of a list or a dictionary of another class, without its items: ``(function, arguments, state)``; None where it has a way of its own."""
    kind = type(value)
    reduced = value.__reduce_ex__(4)
    if type(reduced) is not tuple or not 2 <= len(reduced) <= 5:
        return None
    function, arguments, state, in_list, in_dict = (*reduced, None, None, None)[:5]
    counts = sys.modules.get("collections").Counter
    if isinstance(value, counts) and kind.__reduce__ is counts.__reduce__:
        # A Counter passes all items as an argument.
        return function, (), None
    if (in_dict if isinstance(value, dict) else in_list) is None or (in_list is not None and in_dict is not None):
        return None
    return function, arguments, state


def revive_exact(data, unpickle):
    """The value of a plain form and what stands beside it. ``unpickle``: reads what was pickled."""
    plain, how = data[0], data[1]
    revive = _WAYS.get(how) if type(how) is str else None
    if revive is None:
        raise ValueError("Cannot read a value: there is no way %r to make it" % (how,))
    return revive(plain, data[2:], unpickle)


def _pickled(plain, rest, unpickle):
    return unpickle(rest)


def _with_items(plain, rest, unpickle):
    function, arguments, state = unpickle(rest)
    made = function(*arguments)
    if isinstance(made, dict):
        for key, item in plain.items() if isinstance(plain, dict) else plain:
            made[key] = item
    else:
        made.extend(plain)
    if state is not None:
        _set_state(made, state)
    return made


def _set_state(made, state):
    """As ``pickle`` does it."""
    set_state = getattr(made, "__setstate__", None)
    if set_state is not None:
        set_state(state)
        return
    in_slots = None
    if type(state) is tuple and len(state) == 2:
        state, in_slots = state
    if state:
        made.__dict__.update(state)
    for name, value in (in_slots or {}).items():
        setattr(made, name, value)


def _lost(plain, rest, unpickle):
    name, reason = rest
    raise SerializationError(
        "Cannot read an instance of %s: %s" % (name, reason),
        {"reason": reason, "hint": "Define the class at the top level of a module that the reader can import, or send plain data."},
    )


def _error(plain, rest, unpickle):
    """The exception, with the causes and the traceback of the plain one, which it is where its class is not here."""
    try:
        function, arguments, state = unpickle(rest)
        if isinstance(function, type) and issubclass(function, GROUPS):
            arguments = ((arguments or plain.args)[0], plain.errors)
        made = _made_error(function, plain.args if arguments is None else arguments)
        if state is not None:
            _set_state(made, state)
    except Exception:  # code of the user's, which may not be here, or fail
        return plain
    for name in ("stack", "remote_stack"):
        if name in plain.__dict__:
            made.__dict__[name] = plain.__dict__[name]
    made.__cause__ = plain.__cause__
    return made


def _made_error(function, arguments):
    try:
        made = function(*arguments)
    except Exception:
        # The constructor takes other arguments than `args` holds.
        made = function.__new__(function, *arguments)
    if not isinstance(made, BaseException):
        raise TypeError("no exception")
    return made


def _set(plain, rest, unpickle):
    return set(plain)


def _frozen_set(plain, rest, unpickle):
    return frozenset(plain)


def _bytes(plain, rest, unpickle):
    return bytes(plain)


def _byte_array(plain, rest, unpickle):
    return bytearray(plain)


def _memory_view(plain, rest, unpickle):
    format_, shape = rest
    view = memoryview(plain).cast("B")
    if not all(shape):
        return view.cast(format_)
    return view.cast(format_, shape) if format_ != "B" or len(shape) != 1 else view


def _array(plain, rest, unpickle):
    found = array(rest[0])
    found.frombytes(memoryview(plain).cast("B"))
    return found


def _moment(plain, rest, unpickle):
    return datetime.fromisoformat(rest[0])


def _keys(plain, rest, unpickle):
    return dict(zip(rest[0], plain.values()))


def _order(plain, rest, unpickle):
    """With the keys as they were; JavaScript may have changed the values."""
    return {key: plain[key] for key in rest[0]}


def _numpy(what):
    numpy = numpy_or_none()
    if numpy is None:
        text = "%s is a value of NumPy, and Python at %s has no NumPy" % (what, sys.executable)
        raise SerializationError("Cannot read a value: %s" % text, {"reason": text, "hint": "Install numpy in this environment."})
    return numpy


def _scalar(plain, rest, unpickle):
    return _numpy("a number").dtype(rest[0]).type(plain)


def _array_of_no_dimensions(plain, rest, unpickle):
    return _numpy("an array").asarray(plain, dtype=rest[0])


def _array_of_bytes(plain, rest, unpickle):
    numpy = numpy_or_none()
    if numpy is None:
        return plain
    found = numpy.frombuffer(plain, dtype="uint8")
    return found.copy() if isinstance(plain, bytes) else found


def _array_of_type(plain, rest, unpickle):
    return plain.astype(rest[0])


def _batch(plain, rest, unpickle):
    import pyarrow

    batches = plain.combine_chunks().to_batches()
    return batches[0] if batches else pyarrow.RecordBatch.from_arrays([pyarrow.array([], field.type) for field in plain.schema], schema=plain.schema)


def _parameter(plain, rest, unpickle):
    import torch

    return torch.nn.Parameter(plain.detach(), requires_grad=plain.requires_grad)


_WAYS = {
    "array": _array,
    "array0": _array_of_no_dimensions,
    "batch": _batch,
    "bytearray": _byte_array,
    "bytes": _bytes,
    "datetime": _moment,
    "dtype": _array_of_type,
    "error": _error,
    "frozenset": _frozen_set,
    "items": _with_items,
    "keys": _keys,
    "lost": _lost,
    "memoryview": _memory_view,
    "numpy": _scalar,
    "order": _order,
    "parameter": _parameter,
    "pickle": _pickled,
    "set": _set,
    "uint8": _array_of_bytes,
}
