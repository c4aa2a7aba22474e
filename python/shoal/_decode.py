"""Reads one value: bytes of the format in docs/value-format.md, and its buffers.

Trusts nothing: what is truncated, unknown, out of order or too deep is refused as a whole with a ``DecodeError``, before memory is given to it. Nothing is
evaluated, and no class is looked up by a name that came along.
"""

import struct
from datetime import datetime, timedelta, timezone

from . import _tags as tags
from ._arrays import array_of, item_size, own_bytes
from ._limits import CUSTOM_KINDS_MAX, DECODE_DEPTH_MAX
from .errors import SerializationError
from .values import (
    AggregateError,
    Custom,
    DomException,
    Hole,
    InvalidDate,
    JavaScriptError,
    Match,
    NullPrototype,
    OrderedSet,
    RegExp,
    SparseArray,
    Undefined,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_u16 = struct.Struct(">H").unpack_from
_u32 = struct.Struct(">I").unpack_from
_u64 = struct.Struct(">Q").unpack_from
_i8 = struct.Struct(">b").unpack_from
_i64 = struct.Struct(">q").unpack_from
_f64 = struct.Struct(">d").unpack_from
#: By their tags, numbers of a fixed size: how many bytes, and how they are read.
_NUMBERS = {
    0xCA: (4, struct.Struct(">f").unpack_from),
    0xCC: (1, struct.Struct(">B").unpack_from),
    0xCD: (2, _u16),
    0xCE: (4, _u32),
    0xCF: (8, _u64),
    0xD0: (1, _i8),
    0xD1: (2, struct.Struct(">h").unpack_from),
    0xD2: (4, struct.Struct(">i").unpack_from),
    0xD3: (8, _i64),
}

_ERROR_CLASSES = {
    "Error": JavaScriptError,
    "TypeError": TypeError,
    "RangeError": ValueError,
    "SyntaxError": SyntaxError,
    "ReferenceError": NameError,
    "EvalError": JavaScriptError,
    "URIError": JavaScriptError,
    "AggregateError": AggregateError,
}


def error_class_of(name):
    """The exception that stands for a class of errors of JavaScript; ``None``: of ``Error`` itself."""
    return _ERROR_CLASSES.get(name, JavaScriptError)


class DecodeError(ValueError):
    """The bytes are no value."""


class _Marker:
    __slots__ = ("type", "data")

    def __init__(self, type_, data):
        self.type = type_
        self.data = data


def decode_value(data, buffers=(), revive=None):
    """The value of in-band bytes and its out-of-band buffers. ``revive(kind, payload)`` makes what an application type stands for."""
    reader = Reader(data, buffers, revive)
    try:
        value = reader.value(0)
    except (IndexError, struct.error, OverflowError) as error:
        raise DecodeError("Cannot read a value: it is cut short or damaged") from error
    except RecursionError as error:
        raise DecodeError("Cannot read a value: it is nested too deeply") from error
    if type(value) is _Marker:
        raise DecodeError("Cannot read a value: a marker stands alone")
    if value is Hole:
        raise DecodeError("Cannot read a value: a hole stands outside of an array")
    if reader.at != len(data):
        raise DecodeError("Cannot read a value: bytes follow it")
    if reader.buffers_read != len(buffers):
        raise DecodeError("Cannot read a value: a buffer is not named")
    return value


class Reader:
    """One reading of one value. Objects are registered under their id before what they hold is read, so that they may refer to themselves."""

    __slots__ = ("data", "at", "buffers", "buffers_read", "revive", "objects", "shapes")

    def __init__(self, data, buffers, revive):
        self.data = data
        self.at = 0
        self.buffers = buffers
        self.buffers_read = 0
        self.revive = revive
        self.objects = None
        self.shapes = None

    def value(self, depth, shared=None):
        """``shared``: the id under which the object that comes is known from its beginning."""
        data = self.data
        at = self.at
        tag = data[at]
        self.at = at + 1
        if tag < 0x80:
            return tag
        if tag >= 0xE0:
            return tag - 0x100
        if tag >= 0xA0 and tag < 0xC0:
            return self._text(tag & 31)
        if tag < 0x90:
            return self._map(tag & 15, depth, shared)
        if tag < 0xA0:
            return self._array(tag & 15, depth, shared)
        if tag == 0xC0:
            return None
        if tag == 0xC2:
            return False
        if tag == 0xC3:
            return True
        if tag == 0xCB:
            self.at = at + 9
            return _f64(data, at + 1)[0]
        return self._long(tag, at + 1, depth, shared)

    def _long(self, tag, at, depth, shared):
        number = _NUMBERS.get(tag)
        if number is not None:
            self.at = at + number[0]
            return number[1](self.data, at)[0]
        if tag in (0xD9, 0xDA, 0xDB):
            return self._text(self._length(tag - 0xD9))
        if tag in (0xC4, 0xC5, 0xC6):
            return self._shareable(own_bytes(self._bytes(self._length(tag - 0xC4))), shared)
        if tag in (0xDC, 0xDD):
            return self._array(self._length(tag - 0xDC + 1), depth, shared)
        if tag in (0xDE, 0xDF):
            return self._map(self._length(tag - 0xDE + 1), depth, shared)
        if 0xD4 <= tag <= 0xD8:
            return self._extension(1 << (tag - 0xD4), shared)
        if tag in (0xC7, 0xC8, 0xC9):
            return self._extension(self._length(tag - 0xC7), shared)
        raise DecodeError("Cannot read a value: no value begins with the byte 0x%02x" % tag)

    def _length(self, width):
        at = self.at
        if width == 0:
            self.at = at + 1
            return self.data[at]
        if width == 1:
            self.at = at + 2
            return _u16(self.data, at)[0]
        self.at = at + 4
        return _u32(self.data, at)[0]

    def _bytes(self, length):
        end = self.at + length
        if end > len(self.data):
            raise DecodeError("Cannot read a value: it is cut short")
        found = self.data[self.at : end]
        self.at = end
        return found

    def _text(self, length):
        found = self._bytes(length)
        return str(found, "utf-8", "replace")

    def _shareable(self, value, shared):
        if shared is not None:
            self._know(shared, value)
        return value

    def _know(self, number, value):
        if self.objects is None:
            self.objects = {}
        if number in self.objects:
            raise DecodeError("Cannot read a value: two objects have the id %d" % number)
        self.objects[number] = value

    # ---- containers

    def _check(self, count, depth):
        if count > len(self.data) - self.at:
            raise DecodeError("Cannot read a value: it is cut short")
        if depth >= DECODE_DEPTH_MAX:
            raise DecodeError("Cannot read a value: it is nested more than %d levels deep" % DECODE_DEPTH_MAX)

    def _map(self, count, depth, shared):
        self._check(count * 2, depth)
        found = {}
        if shared is not None:
            self._know(shared, found)
        value = self.value
        for _ in range(count):
            key = value(depth + 1)
            if type(key) is not str:
                raise DecodeError("Cannot read a value: the key of a map is no string")
            found[key] = self._item(value(depth + 1))
        return found

    def _item(self, value):
        if type(value) is _Marker or value is Hole:
            raise DecodeError("Cannot read a value: a marker stands where none may")
        return value

    def _array(self, count, depth, shared):
        self._check(count, depth)
        if count == 0:
            return self._shareable([], shared)
        value = self.value
        data = self.data
        first_tag = data[self.at]
        found = []
        # Only an extension can be a marker.
        if first_tag < 0xC7 or first_tag > 0xD8 or 0xC9 < first_tag < 0xD4:
            if shared is not None:
                self._know(shared, found)
            append = found.append
            for _ in range(count):
                item = value(depth + 1)
                if type(item) is _Marker:
                    raise DecodeError("Cannot read a value: a marker stands where none may")
                append(item)
            return found
        # An extension's type follows its length, so a marker is recognized before its content is read.
        type_at = self.at + (1 if first_tag >= 0xD4 else (2, 3, 5)[first_tag - 0xC7])
        if 16 <= data[type_at] < 0x80:
            return self._marked(value(depth + 1), count - 1, depth, shared)
        if shared is not None:
            self._know(shared, found)
        append = found.append
        for _ in range(count):
            item = value(depth + 1)
            if type(item) is _Marker:
                raise DecodeError("Cannot read a value: a marker stands where none may")
            append(item)
        return found

    def _next(self, depth):
        return self._item(self.value(depth + 1))

    def _marked(self, marker, count, depth, shared):
        kind = marker.type
        if kind == tags.FORM:
            return self._form(marker.data, count, depth, shared)
        if kind == tags.SHAPE:
            shapes = self.shapes
            if shapes is None or marker.data >= len(shapes):
                raise DecodeError("Cannot read a value: it has an unknown shape")
            return self._shaped(shapes[marker.data], count, depth, shared)
        if kind == tags.SHAPE_DEFINITION:
            if self.shapes is None:
                self.shapes = []
            self.shapes.append(marker.data)
            return self._shaped(marker.data, count, depth, shared)
        if kind == tags.SHARED:
            if count != 1 or shared is not None:
                raise DecodeError("Cannot read a value: a shared object is malformed")
            value = self._item(self.value(depth + 1, marker.data))
            if self.objects is None or marker.data not in self.objects:
                raise DecodeError("Cannot read a value: what is shared is no object")
            return value
        return self._custom(marker.data, count, depth, shared)

    def _shaped(self, names, count, depth, shared):
        if count != len(names):
            raise DecodeError("Cannot read a value: it does not fit its shape")
        found = {}
        if shared is not None:
            self._know(shared, found)
        for name in names:
            found[name] = self._next(depth)
        return found

    def _custom(self, kind, count, depth, shared):
        if count != 1:
            raise DecodeError("Cannot read a value: an application type has one payload")
        payload = self._next(depth)
        value = Custom(kind, payload) if self.revive is None else self.revive(kind, payload)
        return self._shareable(value, shared)

    # ---- forms

    def _form(self, form, count, depth, shared):
        read = _FORMS.get(form)
        if read is None:
            raise DecodeError("Cannot read a value: there is no form %d" % form)
        return read(self, count, depth, shared)

    def _read_map(self, count, depth, shared):
        if count % 2:
            raise DecodeError("Cannot read a value: a key of a Map has no value")
        found = {}
        pairs = []
        if shared is not None:
            self._know(shared, found)
        is_hashable = True
        for _ in range(count // 2):
            key = self._next(depth)
            item = self._next(depth)
            pairs.append((key, item))
            if is_hashable:
                try:
                    found[key] = item
                except TypeError:
                    is_hashable = False
        if is_hashable and len(found) < len(pairs):
            raise _collision(pairs)
        if is_hashable:
            return found
        if shared is not None:
            self.objects[shared] = pairs
        return pairs

    def _read_set(self, count, depth, shared):
        found = OrderedSet()
        if shared is not None:
            self._know(shared, found)
        for _ in range(count):
            found.items.append(self._next(depth))
        return found

    def _read_reg_exp(self, count, depth, shared):
        parts = [self._next(depth) for _ in range(count)]
        if count not in (2, 3) or type(parts[0]) is not str or type(parts[1]) is not str:
            raise DecodeError("Cannot read a value: a RegExp is malformed")
        return self._shareable(RegExp(*parts), shared)

    def _read_error(self, count, depth, shared):
        name = self._next(depth) if count in (2, 3) else None
        error_class = _ERROR_CLASSES.get(name) if type(name) is str else None
        if error_class is None:
            raise DecodeError("Cannot read a value: an error is malformed")
        error = error_class()
        if shared is not None:
            self._know(shared, error)
        error.name = name
        self._error_properties(error, count - 1, depth)
        return error

    def _read_dom_exception(self, count, depth, shared):
        if count not in (3, 4):
            raise DecodeError("Cannot read a value: a DOMException is malformed")
        error = DomException(self._next(depth), "")
        if shared is not None:
            self._know(shared, error)
        error.args = (self._next(depth),)
        self._error_properties(error, count - 2, depth)
        return error

    def _error_properties(self, error, maps, depth):
        for _ in range(maps):
            properties = self._next(depth)
            if type(properties) is not dict:
                raise DecodeError("Cannot read a value: an error is malformed")
            for name, value in properties.items():
                if name == "message":
                    error.args = (value,)
                else:
                    set_property(error, name, value)
                if name == "cause" and isinstance(value, BaseException):
                    error.__cause__ = value

    def _read_null_prototype(self, count, depth, shared):
        found = self._next(depth) if count == 1 else None
        if type(found) is not dict:
            raise DecodeError("Cannot read a value: an object without a prototype is malformed")
        return self._shareable(NullPrototype(found), shared)

    def _read_boxed(self, count, depth, shared):
        found = self._next(depth) if count == 1 else None
        if type(found) not in (bool, int, float, str):
            raise DecodeError("Cannot read a value: a boxed value is malformed")
        return self._shareable(found, shared)

    def _read_match(self, count, depth, shared):
        found = Match()
        if shared is not None:
            self._know(shared, found)
        items = self.value(depth + 1) if count == 2 else None
        properties = self._next(depth) if count == 2 else None
        if type(items) is not list or type(properties) is not dict:
            raise DecodeError("Cannot read a value: a match is malformed")
        found.extend(items)
        found.properties.update(properties)
        return found

    def _read_sparse_array(self, count, depth, shared):
        length = self._next(depth) if count % 2 else None
        if type(length) is not int or not 0 <= length < 2**32:
            raise DecodeError("Cannot read a value: a sparse array is malformed")
        found = SparseArray(length, {})
        if shared is not None:
            self._know(shared, found)
        last = -1
        for _ in range(count // 2):
            index = self._next(depth)
            if type(index) is not int or not last < index < length:
                raise DecodeError("Cannot read a value: a sparse array is malformed")
            last = index
            found.items[index] = self._next(depth)
        return found

    # ---- extensions

    def _extension(self, length, shared):
        kind = _i8(self.data, self.at)[0]
        self.at += 1
        payload = self._bytes(length)
        if kind == tags.UNDEFINED:
            return Undefined
        if kind == tags.HOLE:
            return Hole
        if kind == tags.BIGINT and length > 0:
            return int.from_bytes(payload, "big", signed=True)
        if kind == tags.DATE and length == 8:
            return self._shareable(_date(_f64(payload)[0]), shared)
        if kind == tags.UTF16_STRING and length % 2 == 0:
            return bytes(payload).decode("utf-16-le", "surrogatepass")
        if kind == tags.BUFFER and length > 0:
            return self._shareable(self._buffer(payload[0], payload[1:], True), shared)
        if kind == tags.OUT_OF_BAND_BUFFER and length == 5:
            return self._shareable(self._out_of_band(payload[0], _u32(payload, 1)[0]), shared)
        if kind == tags.TIMESTAMP:
            return self._shareable(_timestamp(payload, length), shared)
        if kind == tags.REFERENCE and length in (1, 2, 4):
            number = int.from_bytes(payload, "big")
            if self.objects is None or number not in self.objects:
                raise DecodeError("Cannot read a value: it refers to an unknown object")
            return self.objects[number]
        return self._marker(kind, length, payload)

    def _marker(self, kind, length, payload):
        if kind == tags.FORM and length == 1:
            return _Marker(kind, payload[0])
        if kind == tags.CUSTOM and length == 1 and payload[0] < CUSTOM_KINDS_MAX:
            return _Marker(kind, payload[0])
        if kind in (tags.SHARED, tags.SHAPE) and length in (1, 2, 4):
            return _Marker(kind, int.from_bytes(payload, "big"))
        if kind == tags.SHAPE_DEFINITION:
            names = decode_value(payload)
            if type(names) is not list or not all(type(name) is str for name in names):
                raise DecodeError("Cannot read a value: a shape is malformed")
            return _Marker(kind, names)
        raise DecodeError("Cannot read a value: the extension %d of %d bytes is unknown" % (kind, length))

    def _buffer(self, kind, view, own):
        if kind > 14:
            raise DecodeError("Cannot read a value: there is no kind %d of buffers" % kind)
        if len(view) % item_size(kind):
            raise DecodeError("Cannot read a value: the size of a buffer does not fit its elements")
        return array_of(kind, view, own)

    def _out_of_band(self, kind, number):
        if number != self.buffers_read or number >= len(self.buffers):
            raise DecodeError("Cannot read a value: a buffer is not there, or out of order")
        self.buffers_read += 1
        return self._buffer(kind, self.buffers[number], False)


_FORMS = {
    tags.FORM_MAP: Reader._read_map,
    tags.FORM_SET: Reader._read_set,
    tags.FORM_REG_EXP: Reader._read_reg_exp,
    tags.FORM_ERROR: Reader._read_error,
    tags.FORM_DOM_EXCEPTION: Reader._read_dom_exception,
    tags.FORM_NULL_PROTOTYPE: Reader._read_null_prototype,
    tags.FORM_BOXED: Reader._read_boxed,
    tags.FORM_MATCH: Reader._read_match,
    tags.FORM_SPARSE_ARRAY: Reader._read_sparse_array,
}


def _collision(pairs):
    """Keys 1 and true of a Map are one key of a dict: to drop one of them would be a wrong value."""
    known = {}
    for key, _ in pairs:
        if key in known:
            break
        known[key] = key
    reason = "two of its keys are one in Python: %r and %r" % (known[key], key)
    return SerializationError("Cannot read a Map of JavaScript: %s" % reason, {"reason": reason, "hint": "Send [...map], an array of pairs, instead."})


def set_property(error, name, value):
    """A property of a JavaScript error; those that Python gives a meaning of their own keep it."""
    if name.startswith("__") or name == "args":
        return
    try:
        setattr(error, name, value)
    except (AttributeError, TypeError):
        # `SyntaxError` and the like have attributes of fixed types.
        pass


def _date(milliseconds):
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except (OverflowError, ValueError):
        return InvalidDate


def _timestamp(payload, length):
    if length == 4:
        seconds, nanoseconds = _u32(payload)[0], 0
    elif length == 8:
        packed = _u64(payload)[0]
        seconds, nanoseconds = packed & (2**34 - 1), packed >> 34
    elif length == 12:
        seconds, nanoseconds = _i64(payload, 4)[0], _u32(payload)[0]
    else:
        raise DecodeError("Cannot read a value: a timestamp is malformed")
    try:
        return _EPOCH + timedelta(seconds=seconds, milliseconds=nanoseconds // 1000000)
    except (OverflowError, ValueError):
        return InvalidDate
