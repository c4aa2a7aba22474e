"""How values that Python alone has travel: exact decimals and times, enums and dataclasses with their classes, tensors.

Decides the application type of each (``reduce``) and makes it again (``revive``); docs/value-format.md has the table. A class is named by the place of its module, as remote functions are, so
that another process of Python finds it; JavaScript reads the plain value beside the name. Libraries are looked up among those that are loaded: a value of theirs
can only be there when somebody has imported them.
"""

import enum
import re
import sys
from datetime import date, datetime, time, timedelta

from . import _tags as tags
from ._arrays import numpy_or_none
from ._encode import EncodeError
from ._exact import has_text
from .errors import SerializationError

_TIMES = re.compile(r"(datetime64|timedelta64)\[[0-9a-zA-Zμ]+\]\Z")
_SECONDS = re.compile(r"(-?)(\d+)(?:\.(\d{1,6}))?\Z")
_MICROSECONDS = 1000000
#: Types of elements that are no typed array of JavaScript, by what their bytes lie in there.
_LIES_IN = {"bool": "uint8", "bfloat16": "uint16", "complex64": "float32", "complex128": "float64"}


def text_is_exact(value):
    """Whether the text that ``reduce_text`` gives says all of the value: not that of a subclass, nor that of a time in a zone with a name."""
    kind = type(value)
    if kind is time:
        return has_text(value)
    return kind in (timedelta, date, complex) or "%s.%s" % (kind.__module__, kind.__qualname__) in ("decimal.Decimal", "uuid.UUID")


def reduce_text(value):
    """Numbers, ids and times whose text is exact: ``(type, text)``, or None."""
    if isinstance(value, timedelta):
        whole = (value.days * 86400 + value.seconds) * _MICROSECONDS + value.microseconds
        seconds, rest = divmod(abs(whole), _MICROSECONDS)
        return "timedelta", "%s%d%s" % ("-" if whole < 0 else "", seconds, (".%06d" % rest).rstrip("0") if rest else "")
    if isinstance(value, time):
        if value.tzinfo is not None and value.utcoffset() is None:
            raise EncodeError(value, "the offset of its time zone depends on the date: send a datetime, or its isoformat()")
        return "time", value.isoformat()
    if isinstance(value, date) and not isinstance(value, datetime):
        return "date", value.isoformat()
    if isinstance(value, complex):
        return "complex", str(complex(value)).strip("()")
    decimal = sys.modules.get("decimal")
    if decimal is not None and isinstance(value, decimal.Decimal):
        return "decimal", str(value)
    uuid = sys.modules.get("uuid")
    if uuid is not None and isinstance(value, uuid.UUID):
        return "uuid", str(value)
    return None


def revive_text(data):
    kind, text = data
    if kind == "decimal":
        from decimal import Decimal

        return Decimal(text)
    if kind == "uuid":
        from uuid import UUID

        return UUID(text)
    if kind == "date":
        return date.fromisoformat(text)
    if kind == "time":
        return time.fromisoformat(text)
    if kind == "complex":
        return complex(text)
    found = _SECONDS.match(text) if kind == "timedelta" else None
    if found is None:
        raise ValueError("Cannot read a value: there is no %s of the text %r" % (kind, text))
    sign, seconds, fraction = found.groups()
    microseconds = int((fraction or "0").ljust(6, "0"))
    length = timedelta(seconds=int(seconds), microseconds=microseconds)
    return -length if sign else length


# ---- classes of the user's with a plain form


def reduce_named(value, targets):
    """An enum's member, an instance of a dataclass, a named tuple: the name of its class, and what JavaScript reads in its place."""
    kind = type(value)
    if isinstance(value, enum.Enum):
        named = _name_of(kind, targets)
        return None if named is None else (tags.KIND_NAMED, (*named, value.value, value.name), True)
    if hasattr(kind, "__dataclass_fields__"):
        named = _name_of(kind, targets)
        if named is None or isinstance(value, (dict, list, BaseException)) or _has_own_pickle(kind):
            return None
        fields = {name: getattr(value, name) for name in kind.__dataclass_fields__ if hasattr(value, name) and not _is_pseudo(kind, name)}
        state = getattr(value, "__dict__", None)
        others = {} if state is None else {name: item for name, item in state.items() if name not in fields}
        return tags.KIND_NAMED, (*named, fields, others) if others else (*named, fields)
    if isinstance(value, tuple) and kind is not tuple and hasattr(kind, "_fields") and hasattr(kind, "_make"):
        named = None if getattr(value, "__dict__", None) or _has_own_pickle(kind) else _name_of(kind, targets)
        return None if named is None else (tags.KIND_NAMED, (*named, list(value)))
    return None


def _has_own_pickle(kind):
    """Whether a class says itself how its instances are kept; a dataclass with slots has methods of the standard library for it."""
    if kind.__reduce__ is not object.__reduce__ or kind.__reduce_ex__ is not object.__reduce_ex__:
        return True
    for name in ("__getstate__", "__setstate__"):
        method = getattr(kind, name, None)
        if method is not getattr(object, name, None) and getattr(method, "__module__", None) != "dataclasses":
            return True
    return False


def _is_pseudo(kind, name):
    """A field that is none of the instance's: ``ClassVar`` and ``InitVar``."""
    return kind.__dataclass_fields__[name]._field_type.name != "_FIELD"


def _name_of(kind, targets):
    """Place and name by which another process finds a class; None for one that it would not find."""
    module = sys.modules.get(kind.__module__)
    if targets is None or module is None or kind.__module__ == "__main__" or "<" in kind.__qualname__:
        return None
    found = module
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    found = getattr(found, "__shoal_function__", found)
    return (targets.place_of(module), kind.__qualname__) if found is kind else None


def revive_named(data, targets):
    """The instance, of the class that this process finds by the name."""
    place, qualname, plain = data[:3]
    try:
        kind = targets.find(place, qualname)
    except Exception as error:  # code of the user's, which may not be here, or fail
        raise not_found("%s.%s" % (place, qualname), error) from error
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        # The value may be of a type that has another form on the wire.
        member = kind.__members__.get(data[3])
        return kind(plain) if member is None else member
    if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_make"):
        return kind._make(plain)
    if not hasattr(kind, "__dataclass_fields__"):
        raise not_found("%s.%s" % (place, qualname), "here the name is one of another kind")
    made = object.__new__(kind)
    for name, value in (*plain.items(), *(data[3] if len(data) > 3 else {}).items()):
        # Also where the class is frozen.
        object.__setattr__(made, name, value)
    return made


def not_found(name, error):
    return SerializationError(
        "Cannot read an instance of %s: %s" % (name, error),
        {
            "reason": "Python at %s does not find its class" % sys.executable,
            "hint": "Make the module of the class importable there: it is found by the file that the task or actor was named with, or by its name.",
        },
    )


# ---- arrays


def reduce_array(value, numpy):
    """Elements that JavaScript has no typed array for: times and complex numbers."""
    if value.dtype.kind in "mM":
        name, lies_in = value.dtype.name, "int64"
    else:
        name = value.dtype.name
        lies_in = _LIES_IN.get(name)
    if lies_in is None or (value.dtype.kind in "mM" and not _TIMES.match(name)):
        return None
    data = numpy.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
    return tags.KIND_ND_ARRAY, (name, list(value.shape), data.reshape(-1).view(lies_in))


def revive_array(data, numpy):
    dtype, shape, array = data
    if not isinstance(array, numpy.ndarray):
        found = numpy.frombuffer(array, dtype="uint8")
        # Small ones have memory of their own, which their user may write to.
        array = found.copy() if isinstance(array, bytes) else found
    if not (dtype in _LIES_IN or dtype in tags.KIND_OF_DTYPE or _TIMES.match(dtype)) or dtype == "bfloat16":
        raise ValueError("Cannot read a value: there is no type %r of elements" % dtype)
    found = array.view(dtype).reshape(shape)
    return found[()] if shape == [] else found


# ---- tensors


def loaded_torch(value):
    """torch, if the value may be one of its tensors."""
    torch = sys.modules.get("torch")
    tensor = None if torch is None else getattr(torch, "Tensor", None)
    return torch if tensor is not None and isinstance(value, tensor) else None


def tensor_parts(value, torch):
    """``(dtype, shape, elements, requires_grad)``; the elements are shown and not copied where they lie one behind the other.

    :raises EncodeError: for what has no bytes here
    """
    if value.layout is not torch.strided:
        raise EncodeError(value, "a sparse tensor has no elements in a row: send value.to_dense()")
    if value.device.type != "cpu":
        raise EncodeError(value, "its elements are on the device %s, which other processes do not reach: send value.cpu()" % value.device)
    name = str(value.dtype)[6:]
    if name not in tags.KIND_OF_DTYPE and name not in _LIES_IN:
        raise EncodeError(value, "a tensor of type %s has no counterpart: convert it, for example with value.to(torch.float32)" % name)
    if numpy_or_none() is None:
        raise EncodeError(value, "tensors travel as NumPy arrays, and NumPy is not installed: pip install numpy")
    plain = value.detach().resolve_conj().resolve_neg().contiguous()
    if name == "bfloat16":
        elements = plain.view(torch.int16).numpy().view("uint16")
    else:
        elements = plain.numpy()
        if name in _LIES_IN:
            elements = elements.reshape(-1).view(_LIES_IN[name])
    return name, list(value.shape), elements.reshape(-1), bool(value.requires_grad)


def tensor_from(dtype, shape, elements, requires_grad, writable):
    """``writable(elements)``: the same bytes where writing to them is seen by nobody else, as torch knows no tensor that is read-only."""
    try:
        import torch
    except ImportError:
        from .errors import SerializationError

        raise SerializationError(
            "Cannot read a tensor: Python at %s has no torch" % sys.executable,
            {"reason": "torch is not installed here", "hint": "Install torch in this environment, or send value.numpy() instead."},
        ) from None
    if dtype not in tags.KIND_OF_DTYPE and dtype not in _LIES_IN:
        raise ValueError("Cannot read a value: there is no type %r of tensors" % dtype)
    kind = getattr(torch, dtype)
    view = memoryview(elements)
    if view.nbytes == 0:
        found = torch.empty(shape, dtype=kind)
    else:
        found = torch.frombuffer(writable(view), dtype=kind).reshape(shape)
    return found.requires_grad_() if requires_grad else found
