"""Writes one value: in-band bytes of the format in docs/value-format.md, and its large buffers, which are passed by reference.

Decides what of Python becomes what of JavaScript. What cannot cross is an ``EncodeError`` that names the way to it (``[0].model.lock``) and what to do. The
value is written once on the assumption that no object is in it twice; where that proves wrong it is written again, with those objects marked.
"""

import math
import sys
import struct
from array import array
from datetime import date, datetime
from io import BytesIO, StringIO

from . import _tags as tags
from ._arrays import dtype_of_array, dtype_of_format, loaded_numpy
from ._exact import PLAIN_SCALARS, array_facts, datetime_is_plain, has_text
from ._limits import DEPTH_MAX, OUT_OF_BAND_BYTES, PATH_STEPS_MAX
from ._tracebacks import message_of, traceback_text
from .values import (
    AggregateError,
    Custom,
    DomException,
    Hole,
    JavaScriptError,
    Match,
    NullPrototype,
    OrderedSet,
    RegExp,
    SparseArray,
    Undefined,
)

_f64 = struct.Struct(">d").pack
_tagged_f64 = struct.Struct(">Bd").pack


#: The first characters of names that may be numbers of JavaScript's arrays, which are below this.
_DIGITS = frozenset("0123456789")
_INDEX_MAX = 2**32 - 1


class EncodeError(TypeError):
    """A value cannot be sent. ``path``: the way to it."""

    def __init__(self, value, reason):
        TypeError.__init__(self)
        self.value = value
        self.reason = reason
        self.steps = []

    @property
    def path(self):
        steps = list(reversed(self.steps))
        if len(steps) > PATH_STEPS_MAX:
            steps = steps[: PATH_STEPS_MAX // 2] + [" ... "] + steps[-PATH_STEPS_MAX // 2 :]
        return "".join(steps)

    def __str__(self):
        where = self.path
        found = "%s.%s" % (type(self.value).__module__, type(self.value).__qualname__)
        if found.startswith("builtins."):
            found = found[9:]
        return "Cannot send a value%s: %s: received %s" % ("" if where == "" else " at " + where, self.reason, found)


def encode_value(value, reduce=None, pickling=None):
    """In-band bytes and the buffers beside them.

    ``reduce(value)`` gives an application type as ``(kind, payload)``, or None; parts of a tuple are written without steps of the way to them. A third item says that the value has no identity.
    ``pickling`` makes an object of Python that is read as what it was; without it, as in headers, the value has its plain form alone. ``pickling.whole(value)`` gives the parts of a pickled value,
    and ``pickling.beside(value)`` what stands beside the plain form of one.
    """
    writer = Writer(reduce, pickling, None)
    try:
        writer.write(value, 0)
        if writer.repeated:
            # Numbers in the order in which they were met again.
            shared = {identity: number for number, identity in enumerate(writer.repeated)}
            first, writer = writer, Writer(reduce, pickling, shared)
            if first.rare is not None:
                writer.rare = _Rare(first.rare.unsendable, first.rare.cyclic, first.rare.error_circles)
            if first.rare is not None and first.rare.cyclic and pickling is not None:
                writer.circle(value)
            else:
                writer.write(value, 0)
    except RecursionError as error:
        raise EncodeError(value, "it is nested too deeply") from error
    return bytes(writer.out), writer.buffers


class _Rare:
    """The state of a writer that has met exceptions or application types."""

    __slots__ = ("unsendable", "cyclic", "error_circles", "begun", "errors_begun", "has_error", "errors_open")

    def __init__(self, unsendable, cyclic, error_circles):
        #: Properties of exceptions that cannot be sent, and are left out: by the exception and the name.
        self.unsendable = unsendable
        #: Tuples and application types that refer to themselves, which a reader could not: they are written as plain data.
        self.cyclic = cyclic
        #: Exceptions whose causes lead back to them: they have their plain form alone.
        self.error_circles = error_circles
        #: Those that are being written.
        self.begun = set()
        self.errors_begun = set()
        self.has_error = False
        #: How many exceptions are being written: what hangs on them is not pickled.
        self.errors_open = 0


class Writer:
    __slots__ = ("out", "buffers", "reduce", "pickling", "exact", "writers", "shared", "seen", "repeated", "rare", "ordered")

    def __init__(self, reduce, pickling, shared):
        self.out = bytearray()
        self.buffers = []
        self.reduce = reduce
        #: Numbers of the objects that are in the value more than once; None at the first attempt.
        self.shared = shared
        #: Objects by identity, which keeps those alive that were made on the way.
        self.seen = {}
        self.repeated = {}
        self.pickling = pickling
        #: Whether Python's types are kept, and the writers that go with that.
        self.exact = pickling is not None
        self.writers = _EXACT_WRITERS if self.exact else _WRITERS
        #: What most values do not need; see ``_Rare``.
        self.rare = None
        #: The order of the next dictionary's keys stands beside it.
        self.ordered = False

    def write(self, value, depth):
        kind = type(value)
        out = self.out
        if kind is str:
            self._text(value)
        elif kind is int:
            self._integer(value)
        elif kind is float:
            out += _tagged_f64(0xCB, value)
        elif value is None:
            out.append(0xC0)
        elif value is True:
            out.append(0xC3)
        elif value is False:
            out.append(0xC2)
        elif kind is dict:
            if self._begin(value, depth):
                self._dict(value, depth + 1)
        elif kind is list or (kind is tuple and not self.exact):
            if self._begin(value, depth):
                self._items(value, depth + 1)
        else:
            write = self.writers.get(kind)
            if write is None:
                self._other(value, depth)
            elif write in _ATOMS or self._begin(value, depth):
                write(self, value, depth + 1)

    def fail(self, value, reason):
        raise EncodeError(value, reason)

    def _rare(self):
        if self.rare is None:
            self.rare = _Rare({}, set(), set())
        return self.rare

    # ---- identity

    def _begin(self, value, depth):
        """Whether an object is to be written now; if not, it stands as a reference."""
        if depth >= DEPTH_MAX:
            self.fail(value, "it is nested more than %d levels deep" % DEPTH_MAX)
        identity = id(value)
        shared = self.shared
        if shared is None:
            if identity in self.seen:
                self.repeated[identity] = True
                if self.rare is not None and identity in self.rare.begun:
                    self.rare.cyclic.add(identity)
                elif self.rare is not None and identity in self.rare.errors_begun:
                    self.rare.error_circles.add(identity)
                self.out.append(0xC0)
                return False
            self.seen[identity] = value
            return True
        number = shared.get(identity)
        if number is None:
            return True
        if identity in self.seen:
            self._extension(tags.REFERENCE, _number(number))
            return False
        self.seen[identity] = value
        self.out.append(0x92)
        self._extension(tags.SHARED, _number(number))
        return True

    # ---- MessagePack

    def _text(self, value):
        try:
            data = value.encode("utf-8")
        except UnicodeEncodeError:
            self._sized_extension(tags.UTF16_STRING, value.encode("utf-16-le", "surrogatepass"))
            return
        length = len(data)
        out = self.out
        if length < 32:
            out.append(0xA0 | length)
        elif length < 0x100:
            out += b"\xd9" + length.to_bytes(1, "big")
        elif length < 0x10000:
            out += b"\xda" + length.to_bytes(2, "big")
        else:
            out += b"\xdb" + length.to_bytes(4, "big")
        out += data

    def _integer(self, value):
        out = self.out
        if 0 <= value < 0x80:
            out.append(value)
        elif -32 <= value < 0:
            out.append(value + 0x100)
        elif value >= 0:
            if value < 0x100:
                out += b"\xcc" + value.to_bytes(1, "big")
            elif value < 0x10000:
                out += b"\xcd" + value.to_bytes(2, "big")
            elif value < 0x100000000:
                out += b"\xce" + value.to_bytes(4, "big")
            elif value < 2**64:
                out += b"\xcf" + value.to_bytes(8, "big")
            else:
                self._big_integer(value)
        elif value >= -0x80:
            out += b"\xd0" + value.to_bytes(1, "big", signed=True)
        elif value >= -0x8000:
            out += b"\xd1" + value.to_bytes(2, "big", signed=True)
        elif value >= -0x80000000:
            out += b"\xd2" + value.to_bytes(4, "big", signed=True)
        elif value >= -(2**63):
            out += b"\xd3" + value.to_bytes(8, "big", signed=True)
        else:
            self._big_integer(value)

    def _big_integer(self, value):
        self._extension(tags.BIGINT, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))

    def _array_header(self, count):
        if count < 16:
            self.out.append(0x90 | count)
        elif count < 0x10000:
            self.out += b"\xdc" + count.to_bytes(2, "big")
        else:
            self.out += b"\xdd" + count.to_bytes(4, "big")

    def _map_header(self, count):
        if count < 16:
            self.out.append(0x80 | count)
        elif count < 0x10000:
            self.out += b"\xde" + count.to_bytes(2, "big")
        else:
            self.out += b"\xdf" + count.to_bytes(4, "big")

    def _extension(self, kind, payload):
        length = len(payload)
        if length in (1, 2, 4, 8, 16):
            self.out.append(0xD4 + length.bit_length() - 1)
            self.out.append(kind)
            self.out += payload
        else:
            self._sized_extension(kind, payload)

    def _sized_extension(self, kind, payload):
        length = len(payload)
        out = self.out
        if length < 0x100:
            out += b"\xc7" + length.to_bytes(1, "big")
        elif length < 0x10000:
            out += b"\xc8" + length.to_bytes(2, "big")
        else:
            out += b"\xc9" + length.to_bytes(4, "big")
        out.append(kind)
        out += payload

    def _form(self, form, items):
        self._array_header(items + 1)
        self._extension(tags.FORM, bytes((form,)))

    # ---- containers

    def _items(self, items, depth):
        self._array_header(len(items))
        write = self.write
        for index, item in enumerate(items):
            try:
                write(item, depth)
            except EncodeError as error:
                error.steps.append("[%d]" % index)
                raise

    def _dict(self, value, depth):
        write = self.write
        has_number = False
        for key in value:
            if type(key) is not str:
                if self.exact and all(isinstance(name, str) for name in value):
                    self._named_pairs(value, depth)
                else:
                    self._pairs(value, depth)
                return
            has_number = has_number or key[:1] in _DIGITS
        if has_number and self.exact and not self.ordered and _is_reordered(value):
            self._with_order(value, depth)
            return
        self.ordered = False
        self._map_header(len(value))
        for key, item in value.items():
            self._text(key)
            try:
                write(item, depth)
            except EncodeError as error:
                error.steps.append("." + key if key.isidentifier() else "[%r]" % key)
                raise

    def _with_order(self, value, depth):
        """A dictionary whose keys JavaScript would have in another order: names that are numbers come first there, ascending."""
        begun = self._rare().begun
        begun.add(id(value))
        self._exact_header(3)
        self.ordered = True
        self._dict(value, depth)
        self._text("order")
        self._items(list(value), depth)
        begun.discard(id(value))

    def _pairs(self, value, depth):
        self._form(tags.FORM_MAP, len(value) * 2)
        for key, item in value.items():
            try:
                self.write(key, depth)
                self.write(item, depth)
            except EncodeError as error:
                error.steps.append("[%r]" % (key,))
                raise

    def _named_pairs(self, value, depth):
        """A dictionary whose keys are strings of other classes: an object of JavaScript."""
        names = {str.__str__(key): item for key, item in value.items()}
        if len(names) < len(value):
            self.fail(value, "two of its keys have one text")
        keys = list(value)
        self._exact_header(3)
        self._dict(names, depth)
        self._text("keys")
        self._items(keys, depth)

    def _set(self, value, depth):
        self._form(tags.FORM_SET, len(value))
        for item in value:
            try:
                self.write(item, depth)
            except EncodeError as error:
                error.steps.append("{...}")
                raise

    def _null_prototype(self, value, depth):
        if not all(type(key) is str for key in value):
            self.fail(value, "an object without a prototype has strings as keys")
        self._form(tags.FORM_NULL_PROTOTYPE, 1)
        self._dict(value, depth)

    def _match(self, value, depth):
        self._form(tags.FORM_MATCH, 2)
        self._items(value, depth)
        self._dict(value.properties, depth)

    def _sparse_array(self, value, depth):
        self._form(tags.FORM_SPARSE_ARRAY, 1 + len(value.items) * 2)
        self._integer(value.length)
        for index in sorted(value.items):
            self._integer(index)
            self.write(value.items[index], depth)

    # ---- atoms

    def _undefined(self, value, depth):
        if value is Undefined:
            self._extension(tags.UNDEFINED, b"\0")
        elif value is Hole:
            self._extension(tags.HOLE, b"\0")
        else:
            self._extension(tags.DATE, _f64(math.nan))

    def _datetime(self, value, depth):
        # A time without a zone is local time, as in Python. Whole milliseconds are cut as the time's own fields are, so no time is rounded
        # up into the next year.
        try:
            seconds = value.replace(microsecond=0).timestamp()
        except (ValueError, OverflowError, OSError):
            if value != value:
                # The missing time of pandas.
                self._extension(tags.DATE, _f64(math.nan))
                return
            self.fail(value, "a local time at the end of what datetime holds has no place in UTC: give it a time zone, tzinfo=timezone.utc")
        if seconds != seconds:
            self._extension(tags.DATE, _f64(math.nan))
            return
        self._extension(tags.DATE, _f64(round(seconds * 1000) + value.microsecond // 1000))

    def _reg_exp(self, value, depth):
        self._form(tags.FORM_REG_EXP, 3 if value.last_index else 2)
        self._text(value.source)
        self._text(value.flags)
        if value.last_index:
            self._integer(value.last_index)

    def _custom(self, value, depth):
        self.custom(value.kind, value.payload, depth)

    def custom(self, kind, payload, depth):
        self.out.append(0x92)
        self._extension(tags.CUSTOM, bytes((kind,)))
        if type(payload) is not tuple:
            self.write(payload, depth)
            return
        self._array_header(len(payload))
        exact = self.exact
        for index, part in enumerate(payload):
            # Values from the user keep their types; the parts of the form itself are written plainly.
            if not exact or kind in _OF_USER or (kind == tags.KIND_EXACT and index == 0):
                self.write(part, depth)
            else:
                self._plainly(part, depth)

    # ---- values that keep their type in Python

    def _plainly(self, value, depth):
        exact, writers = self.exact, self.writers
        self.exact, self.writers = False, _WRITERS
        try:
            self.write(value, depth)
        finally:
            self.exact, self.writers = exact, writers

    def _exact_header(self, parts):
        self.out += b"\x92\xd4" + bytes((tags.CUSTOM, tags.KIND_EXACT))
        self._array_header(parts)

    def _tuple(self, value, depth):
        begun = self._rare().begun
        begun.add(id(value))
        self.out += b"\x92\xd4" + bytes((tags.CUSTOM, tags.KIND_TUPLE))
        self._items(value, depth)
        begun.discard(id(value))

    def _with_way(self, write, how, *rest):
        """The plain form, and the way in which Python makes the value of it."""
        self._exact_header(2 + len(rest))
        write()
        self._text(how)
        for part in rest:
            self._plainly(part, 0)

    def _exact_set(self, value, depth):
        begun = self._rare().begun
        begun.add(id(value))
        self._with_way(lambda: self._set(value, depth), "frozenset" if type(value) is frozenset else "set")
        begun.discard(id(value))

    def _exact_bytes(self, value, depth):
        if len(value) < OUT_OF_BAND_BYTES:
            self._bytes(value, depth)
        else:
            self._with_way(lambda: self._bytes(value, depth), "bytes")

    def _byte_array(self, value, depth):
        self._with_way(lambda: self._bytes(value, depth), "bytearray")

    def _exact_view(self, value, depth):
        if value.format not in _VIEW_FORMATS:
            self.fail(value, "a memoryview of the format %r has no counterpart: send tobytes()" % value.format)
        self._with_way(lambda: self._memoryview(value, depth), "memoryview", value.format, list(value.shape))

    def _exact_array(self, value, depth):
        if dtype_of_array(value) is None:
            self._pickled(value, depth)
        else:
            self._with_way(lambda: self._typed_array(value, depth), "array", value.typecode)

    def _exact_datetime(self, value, depth):
        if datetime_is_plain(value):
            self._datetime(value, depth)
        elif has_text(value):
            before = self._mark()
            try:
                self._with_way(lambda: self._datetime(value, depth), "datetime", value.isoformat())
            except EncodeError:
                self._back_to(before)
                self._pickled(value, depth)
        else:
            self._beside(value, Writer._datetime, depth)

    def _beside(self, value, write, depth):
        """The plain form of an instance of another class, and beside it what Python makes the instance of."""
        rare = self._rare()
        if rare.errors_open:
            # The attributes of an exception are not pickled.
            write(self, value, depth)
            return
        how, *rest = self.pickling.beside(value)
        before = self._mark()
        rare.begun.add(id(value))
        try:
            self._with_way(lambda: write(self, value, depth), how, *rest)
        except EncodeError:
            if how != "pickle":
                raise
            self._back_to(before)
            self.custom(tags.KIND_PYTHON_OBJECT, tuple(rest), depth)
        finally:
            rare.begun.discard(id(value))

    def _pickled(self, value, depth):
        self.custom(tags.KIND_PYTHON_OBJECT, self.pickling.whole(value), depth)

    def circle(self, value):
        """A value that leads through a tuple, or through what a reader makes at its end, back to itself: Python reads it as a whole, JavaScript its plain form."""
        how, *rest = self.pickling.beside(value)
        self._exact_header(2 + len(rest))
        # The plain form knows each object from its beginning.
        plain = Writer(self.reduce, None, self.shared)
        plain.out, plain.buffers, plain.seen, plain.rare = self.out, self.buffers, self.seen, self.rare
        try:
            plain.write(value, 0)
        except EncodeError:
            if how != "pickle":
                raise
            self.out.clear()
            self.buffers.clear()
            self.custom(tags.KIND_PYTHON_OBJECT, tuple(rest), 0)
            return
        self._text(how)
        for part in rest:
            self._plainly(part, 0)

    def _mark(self):
        return len(self.out), len(self.buffers), len(self.seen), len(self.repeated)

    def _back_to(self, mark):
        """What was written since is taken back."""
        del self.out[mark[0] :]
        del self.buffers[mark[1] :]
        for known, size in ((self.seen, mark[2]), (self.repeated, mark[3])):
            while len(known) > size:
                known.popitem()

    # ---- buffers

    def _bytes(self, value, depth):
        self.buffer(tags.UINT8_ARRAY, value)

    def buffer(self, kind, data):
        """``data``: contiguous bytes, or something with the buffer protocol."""
        view = memoryview(data)
        size = view.nbytes
        if size >= OUT_OF_BAND_BYTES:
            self._extension(tags.OUT_OF_BAND_BUFFER, bytes((kind,)) + len(self.buffers).to_bytes(4, "big"))
            self.buffers.append(view if view.format == "B" and view.ndim == 1 else view.cast("B"))
        elif kind == tags.UINT8_ARRAY:
            if size < 0x100:
                self.out += b"\xc4" + size.to_bytes(1, "big")
            else:
                self.out += b"\xc5" + size.to_bytes(2, "big")
            self.out += view.cast("B") if view.format != "B" or view.ndim != 1 else view
        else:
            self._sized_extension(tags.BUFFER, bytes((kind,)) + view.tobytes())

    def _memoryview(self, value, depth):
        kind = tags.KIND_OF_DTYPE.get(dtype_of_format(value.format)) if value.ndim == 1 else None
        self.buffer(tags.UINT8_ARRAY if kind is None else kind, value if value.contiguous else value.tobytes())

    def _typed_array(self, value, depth):
        kind = tags.KIND_OF_DTYPE.get(dtype_of_array(value))
        if kind is None:
            self.fail(value, "an array of this type has no counterpart: use a str or a list")
        self.buffer(kind, value)

    # ---- errors

    def _error(self, error, depth):
        if isinstance(error, DomException):
            self._form(tags.FORM_DOM_EXCEPTION, 3)
            self._text(error.name)
            self._text(message_of(error))
            self._property_map(error, {"stack": _stack_of(error, True)}, depth)
            return
        if self.exact and not isinstance(error, JavaScriptError):
            self._exact_error(error, depth)
        else:
            self._plain_error(error, depth)

    def _exact_error(self, error, depth):
        rare = self._rare()
        identity = id(error)
        # The target of a circle of causes must be known from the start.
        parts = None if identity in rare.error_circles else self.pickling.error_parts(error)
        if parts is None:
            self._plain_error(error, depth)
            return
        rare.errors_begun.add(identity)
        self._with_way(lambda: self._plain_error(error, depth), "error", *parts)
        rare.errors_begun.discard(identity)

    def _plain_error(self, error, depth):
        name = _error_class(error)
        # The first error's stack shows those of the causes, too. A whole stack for each error would grow with the square of the chain.
        rare = self._rare()
        is_first, rare.has_error = not rare.has_error, True
        hidden = {"stack": _stack_of(error, is_first), "message": message_of(error)}
        cause = _cause_of(error)
        if cause is not None:
            hidden["cause"] = cause
        errors = getattr(error, "errors", None) if isinstance(error, AggregateError) else getattr(error, "exceptions", None)
        if name == "AggregateError":
            hidden["errors"] = list(errors or ())
        visible = _visible_properties(error)
        own_name = error.__dict__.get("name") or ("" if isinstance(error, JavaScriptError) else type(error).__qualname__)
        if own_name not in ("", name, "Exception"):
            visible = {"name": own_name, **visible}
        self._form(tags.FORM_ERROR, 3 if visible else 2)
        self._text(name)
        self._property_map(error, hidden, depth)
        if visible:
            self._property_map(error, visible, depth)

    def _property_map(self, error, properties, depth):
        """What of them can be sent: an exception must arrive, whatever hangs on it."""
        unsendable = self._rare().unsendable
        before = self._mark()
        while True:
            names = [name for name in properties if (id(error), name) not in unsendable]
            failed = self._failing_property(properties, names, depth)
            if failed is None:
                return
            unsendable[(id(error), failed)] = error
            # Written again without it: to try each one first would double the work with each cause of a cause.
            self._back_to(before)

    def _failing_property(self, properties, names, depth):
        """The first of them that cannot be sent; None when all are written."""
        rare = self._rare()
        self._map_header(len(names))
        for name in names:
            self._text(name)
            rare.errors_open += 1
            try:
                self.write(properties[name], depth)
            except BaseException:  # it may do anything when it is looked at
                return name
            finally:
                rare.errors_open -= 1
        return None

    # ---- everything else

    def _other(self, value, depth):
        """Subclasses, NumPy, dataclasses, and what the application knows."""
        reduced = self.reduce(value) if self.reduce is not None else None
        if reduced is not None:
            self._reduced(value, reduced, depth)
            return
        numpy = loaded_numpy()
        if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
            self._numpy(value, numpy, depth)
            return
        for kind, write in _SUBCLASSES:
            if isinstance(value, kind):
                if write not in _ATOMS and not self._begin(value, depth):
                    return
                if self.exact and type(value) not in _OWN and write is not Writer._error:
                    self._beside(value, write, depth + 1)
                else:
                    write(self, value, depth + 1)
                return
        if hasattr(type(value), "__dataclass_fields__"):
            if self._begin(value, depth):
                write = Writer._fields if not self.exact else lambda writer, one, at: writer._beside(one, Writer._fields, at)
                write(self, value, depth + 1)
            return
        if self.pickling is None or (self.rare is not None and self.rare.errors_open) or _is_code(value):
            self.fail(value, _reason(value))
        self._reduced(value, (tags.KIND_PYTHON_OBJECT, self.pickling.whole(value)), depth)

    def _fields(self, value, depth):
        # An instance of a dataclass proves that the module is loaded. Importing the module takes 5 ms, which most workers need not spend.
        from dataclasses import fields

        self._dict({field.name: getattr(value, field.name) for field in fields(value)}, depth)

    def _reduced(self, value, reduced, depth):
        if len(reduced) > 2:
            self.custom(reduced[0], reduced[1], depth + 1)
            return
        if not self._begin(value, depth):
            return
        identity = id(value)
        rare = self._rare()
        if identity in rare.cyclic and reduced[0] == tags.KIND_NAMED and not self.exact:
            # A value refers to it from inside: only its fields have a form for that.
            plain = reduced[1][2]
            (self._dict if type(plain) is dict else self._items)(plain, depth + 1)
            return
        rare.begun.add(identity)
        self.custom(reduced[0], reduced[1], depth + 1)
        rare.begun.discard(identity)

    def _numpy(self, value, numpy, depth):
        if self.exact:
            self._exact_numpy(value, numpy, depth)
        else:
            self._plain_numpy(value, numpy, depth)

    def _exact_numpy(self, value, numpy, depth):
        if isinstance(value, numpy.generic):
            if value.dtype.kind in PLAIN_SCALARS and type(value.item()) in _SCALARS:
                self._with_way(lambda: self._plain_numpy(value, numpy, depth), "numpy", value.dtype.str)
            else:
                self._pickled(value, depth)
            return
        facts = array_facts(value, numpy)
        if facts is None:
            self._plain_numpy(value, numpy, depth)
        elif self._begin(value, depth):
            if facts[0] == "pickle":
                self._pickled(value, depth)
            elif facts[0] == "array0":
                self._with_way(lambda: self.write(value[()], depth), *facts)
            else:
                # The array is known already.
                plain = value.view() if facts[0] == "uint8" else value.astype(value.dtype.newbyteorder("="))
                self._with_way(lambda: self._plainly(plain, depth), *facts)

    def _plain_numpy(self, value, numpy, depth):
        if isinstance(value, numpy.generic) or value.ndim == 0:
            item = value.item()
            if type(item) in _SCALARS:
                self._plainly(item, depth)
                return
            self.fail(value, "a NumPy value of type %s has no counterpart" % value.dtype)
        masked = sys.modules.get("numpy.ma")
        if masked is not None and isinstance(value, masked.MaskedArray):
            self.fail(value, "a masked array would lose its mask: send value.filled(...), or its data and its mask")
        name = value.dtype.name
        kind = tags.KIND_OF_DTYPE.get(name)
        if kind is None and name != "bool":
            remedy = "send tolist()" if value.dtype.kind in "OUST" else "convert it with astype"
            self.fail(value, "a NumPy array of type %s has no counterpart: %s" % (value.dtype, remedy))
        if not self._begin(value, depth):
            return
        # Without a copy where its bytes lie as they are sent.
        data = numpy.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        if value.ndim == 1 and kind is not None:
            self.buffer(kind, data)
            return
        self.out.append(0x92)
        self._extension(tags.CUSTOM, bytes((tags.KIND_ND_ARRAY,)))
        self._array_header(3)
        self._text(name)
        self._items(value.shape, depth + 1)
        self.buffer(tags.UINT8_ARRAY if kind is None else kind, data.reshape(-1).view("uint8") if kind is None else data.reshape(-1))


def _number(number):
    if number < 0x100:
        return number.to_bytes(1, "big")
    return number.to_bytes(2 if number < 0x10000 else 4, "big")


def _error_class(error):
    if isinstance(error, JavaScriptError):
        name = getattr(error, "name", None)
        if isinstance(error, AggregateError):
            return "AggregateError"
        return name if name in ("EvalError", "URIError") else "Error"
    if isinstance(error, TypeError):
        return "TypeError"
    if isinstance(error, SyntaxError):
        return "SyntaxError"
    if isinstance(error, NameError):
        return "ReferenceError"
    if isinstance(error, ValueError):
        return "RangeError"
    return "AggregateError" if hasattr(error, "exceptions") and isinstance(error.exceptions, (list, tuple)) else "Error"


def _cause_of(error):
    if error.__cause__ is not None:
        return error.__cause__
    if error.__context__ is not None and not error.__suppress_context__:
        return error.__context__
    return error.__dict__.get("cause")


def _stack_of(error, with_causes):
    stack = error.__dict__.get("stack")
    if isinstance(stack, str):
        return stack
    return traceback_text(error, with_causes)


def _visible_properties(error):
    hidden = ("stack", "cause", "errors", "name")
    return {key: value for key, value in error.__dict__.items() if type(key) is str and key not in hidden and not key.startswith("_")}


def _is_reordered(names):
    """Whether an object of JavaScript has these names in another order."""
    last = -1
    is_behind_text = False
    for name in names:
        if name[:1] in _DIGITS and name.isascii() and name.isdigit() and (name == "0" or name[0] != "0") and int(name) < _INDEX_MAX:
            if is_behind_text or int(name) < last:
                return True
            last = int(name)
        else:
            is_behind_text = True
    return False


def _is_code(value):
    """Functions, classes, and what is at work in its process."""
    return isinstance(value, type) or _is_at_work(value) or (callable(value) and hasattr(value, "__qualname__"))


def _is_at_work(value):
    """A generator or an iterator. A file in memory is one, too, but pickle keeps it with its position."""
    return hasattr(value, "__next__") and not isinstance(value, (BytesIO, StringIO))


def _reason(value):
    if _is_code(value) and not _is_at_work(value):
        return "functions and classes of Python cannot leave their process: send what they return, or name them with python.task or python.actor in TypeScript"
    if _is_at_work(value):
        return "a generator or iterator belongs to its process: send list(...) of it"
    if isinstance(value, date):
        return "a date has no time: send datetime.combine(...), or its isoformat()"
    if isinstance(value, complex):
        return "JavaScript has no complex numbers: send [z.real, z.imag]"
    for kind in type(value).__mro__:
        remedy = _REMEDIES.get("%s.%s" % (kind.__module__, kind.__qualname__))
        if remedy is not None:
            return "it has no counterpart: send %s" % remedy
    return "an instance of a class is no plain data: send a dict, or make the class a dataclass"


#: By class, which need not be loaded.
_REMEDIES = {
    "enum.Enum": "its value or its name",
    "decimal.Decimal": "str(...) or float(...)",
    "fractions.Fraction": "str(...) or float(...)",
    "datetime.timedelta": "total_seconds()",
    "datetime.time": "isoformat()",
    "uuid.UUID": "str(...)",
    "pathlib.PurePath": "str(...)",
    "pathlib._local.PurePath": "str(...)",
    "builtins.range": "list(...)",
    "builtins.dict_keys": "list(...)",
    "builtins.dict_values": "list(...)",
    "builtins.dict_items": "list(...)",
    "collections.deque": "list(...)",
    "collections.ChainMap": "dict(...)",
    "builtins.mappingproxy": "dict(...)",
    "types.SimpleNamespace": "vars(...)",
    "pyarrow.lib._PandasConvertible": "it as a column of a pyarrow.Table, or to_pylist()",
    "pyarrow.lib.Scalar": "as_py()",
    "pyarrow.lib.Buffer": "memoryview(...)",
}


#: Kinds whose payload is the user's.
_OF_USER = frozenset((tags.KIND_NAMED, tags.KIND_REGISTERED, tags.KIND_SHOAL_ERROR))
_VIEW_FORMATS = frozenset("bBhHiIlLqQfdc?nN")
_SCALARS = (bool, int, float, complex, str, bytes)
#: Subclasses of what JavaScript has that are Shoal's: they are what they say.
_OWN = (NullPrototype, Match)

_WRITERS = {
    bytes: Writer._bytes,
    bytearray: Writer._bytes,
    memoryview: Writer._memoryview,
    array: Writer._typed_array,
    set: Writer._set,
    frozenset: Writer._set,
    OrderedSet: Writer._set,
    NullPrototype: Writer._null_prototype,
    Match: Writer._match,
    SparseArray: Writer._sparse_array,
    RegExp: Writer._reg_exp,
    Custom: Writer._custom,
    datetime: Writer._datetime,
    type(Undefined): Writer._undefined,
}

#: A subclass is sent as what it is a kind of.
_SUBCLASSES = (
    (int, lambda writer, value, depth: writer._integer(int(value))),
    (float, lambda writer, value, depth: writer.write(float(value), depth)),
    (str, lambda writer, value, depth: writer._text(str.__str__(value))),
    (BaseException, Writer._error),
    (dict, Writer._dict),
    ((list, tuple), Writer._items),
    ((set, frozenset), Writer._set),
    (datetime, Writer._datetime),
    ((bytes, bytearray), Writer._bytes),
)
#: What has no identity in JavaScript.
_ATOMS = frozenset((Writer._undefined, _SUBCLASSES[0][1], _SUBCLASSES[1][1], _SUBCLASSES[2][1]))

_EXACT_WRITERS = {
    **_WRITERS,
    tuple: Writer._tuple,
    bytes: Writer._exact_bytes,
    bytearray: Writer._byte_array,
    memoryview: Writer._exact_view,
    array: Writer._exact_array,
    set: Writer._exact_set,
    frozenset: Writer._exact_set,
    datetime: Writer._exact_datetime,
}
