"""Typed arrays: NumPy's where it is installed, the standard library's ``array`` where it is not.

NumPy is never imported for its own sake: importing it takes a tenth of a second, and a value can only hold an array of it once somebody else has
imported it. A typed array that arrives brings it in.
"""

import struct
import sys
from array import array

from ._limits import OUT_OF_BAND_BYTES
from ._tags import BYTES_KINDS, DTYPE_OF_KIND

_TYPECODES = {"b": "int8", "B": "uint8", "h": "int16", "H": "uint16", "f": "float32", "d": "float64"}
for _code in "iIlLqQ":
    _TYPECODES[_code] = ("int" if _code.islower() else "uint") + str(8 * array(_code).itemsize)
_CODE_OF_DTYPE = {}
for _code, _dtype in _TYPECODES.items():
    _CODE_OF_DTYPE.setdefault(_dtype, _code)

_ITEM_SIZES = {dtype: int(dtype.lstrip("uintfloa")) // 8 for dtype in DTYPE_OF_KIND.values()}
_numpy = None
_numpy_missing = False


def loaded_numpy():
    """NumPy if this process has it loaded already."""
    return sys.modules.get("numpy")


def numpy_or_none():
    """NumPy, imported now if it has not been; None where it is not installed."""
    global _numpy, _numpy_missing
    if _numpy is None and not _numpy_missing:
        try:
            import numpy
        except ImportError:
            _numpy_missing = True
        else:
            _numpy = numpy
    return _numpy


def item_size(kind):
    dtype = DTYPE_OF_KIND.get(kind)
    return 1 if dtype is None else _ITEM_SIZES[dtype]


def own_bytes(view):
    """A copy, in the type that so many bytes have wherever they travelled: bytes below the size from which they may lie beside a value, else a memoryview."""
    copy = bytes(view)
    return copy if len(copy) < OUT_OF_BAND_BYTES else memoryview(copy)


def array_of(kind, view, own):
    """What a buffer of some kind is in Python. ``own``: the bytes may go on changing behind the view, so that the array takes a copy."""
    if kind in BYTES_KINDS:
        return own_bytes(view) if own else view
    dtype = DTYPE_OF_KIND[kind]
    numpy = numpy_or_none()
    if numpy is not None:
        found = numpy.frombuffer(view, dtype=numpy.dtype(dtype).newbyteorder("<"))
        return found.copy() if own else found
    code = _CODE_OF_DTYPE.get(dtype)
    if code is None:
        # The arrays of the standard library have no half floats: single ones hold the same numbers.
        return array("f", struct.unpack("<%de" % (len(view) // 2), view))
    found = array(code)
    found.frombytes(view)
    if sys.byteorder == "big":
        found.byteswap()
    return found


def dtype_of_array(value):
    """The element type of an ``array.array``; None for text."""
    return _TYPECODES.get(value.typecode)


def dtype_of_format(format_):
    """The element type of a memoryview; None for bytes, and for what NumPy alone knows."""
    return None if format_ in ("B", "b", "c") else _TYPECODES.get(format_)
