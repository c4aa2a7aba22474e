"""Values with what belongs to the cluster in them: references, errors, arrays; and the payloads in which values travel.

Reading a payload takes over the holds that came with it; writing one collects the references that are in it, for which whoever sends it registers holds.
"""

import sys

from . import _runtime
from . import _tags as tags
from ._decode import decode_value
from ._encode import EncodeError, encode_value
from ._exact import array_facts, revive_exact
from ._forms import (
    loaded_torch,
    reduce_array,
    reduce_named,
    reduce_text,
    revive_array,
    revive_named,
    revive_text,
    tensor_from,
    tensor_parts,
    text_is_exact,
)
from ._limits import ERROR_BYTES_MAX, STORE_FROM_BYTES, TASK_MESSAGE_LENGTH_MAX, TASK_STACK_LENGTH_MAX
from ._tracebacks import frames_text, message_of, traceback_text
from ._arrays import loaded_numpy, numpy_or_none
from ._pandas import frame_is_exact, loaded_pandas, reduce_frame, revive_frame
from ._registered import is_export, reduce_registered
from .errors import RuntimeEnvError, SerializationError, ShoalError, TaskError, from_wire, to_wire
from ._targets import EnvironmentFault
from .values import Custom


class ObjectRef:
    """A reference to a value of the cluster."""

    __slots__ = ("_entry", "__weakref__")

    def __init__(self, entry):
        self._entry = entry

    @property
    def id(self):
        return self._entry.id

    def __await__(self):
        """In coroutines: its value, without keeping others from running."""
        return _runtime.require().value_later(self).__await__()

    def __repr__(self):
        return "ObjectRef(%s)" % self._entry.id

    def __eq__(self, other):
        return isinstance(other, ObjectRef) and other._entry.id == self._entry.id

    def __hash__(self):
        return hash(self._entry.id)


class ArrowData:
    """Arrow data as a stream of its interchange format, where pyarrow is not installed."""

    def __init__(self, stream):
        self.stream = stream


class References(list):
    """The entries of the references in a value, and the exports of Shoal that JavaScript loads before it reads the value."""

    __slots__ = ("exports",)

    def __init__(self, entries=(), exports=()):
        list.__init__(self, entries)
        self.exports = exports

    def __bool__(self):
        """Whether anything has to be told beside the value."""
        return len(self) > 0 or len(self.exports) > 0


class Payload:
    """A value as it travels: its bytes, or where they lie in the store, and the references in it."""

    __slots__ = ("in_band", "buffers", "graph", "error", "refs", "entry", "location")

    def __init__(self, in_band, buffers, graph, error, refs, entry, location):
        self.in_band = in_band
        self.buffers = buffers
        self.graph = graph
        self.error = error
        self.refs = refs
        self.entry = entry
        self.location = location

    def header(self):
        """How it is announced: stored bytes by the object that they are, or as their receiver's."""
        stored = {}
        if self.location is not None:
            named = ("", "") if self.entry is None else (self.entry.id, self.entry.owner)
            stored = {"stored": {"id": named[0], "owner": named[1], "location": self.location}}
        return {
            "inBand": len(self.in_band),
            "buffers": [len(buffer) for buffer in self.buffers],
            "graph": self.graph,
            "error": self.error,
            "definitions": _definitions_of(self.refs),
            "refs": [[entry.id, entry.owner] for entry in self.refs],
            **stored,
        }

    def parts(self):
        return (self.in_band, *self.buffers)

    def held_by(self, entry):
        """The same as the value of an object, which holds it."""
        return Payload(self.in_band, self.buffers, self.graph, self.error, self.refs, entry, self.location)


class PayloadReader:
    """Cuts payloads out of one body, and takes over their holds."""

    def __init__(self, body, refs):
        self._body = memoryview(body)
        self._at = 0
        self._refs = refs

    def next(self, header, holds_stored=True):
        """``holds_stored``: a hold for the stored bytes came along, as with all but the value of a reference."""
        in_band = bytes(self._take(header["inBand"]))
        buffers = [self._take(size) for size in header["buffers"]]
        exports = [id_ for id_ in header["definitions"] if is_export(id_)]
        refs = References([self._refs.receive(id_, owner) for id_, owner in header["refs"]], exports)
        stored = header.get("stored")
        entry = location = None
        if stored is not None:
            # Without a name it was written for this process, which names it.
            if stored["id"] != "" and holds_stored:
                entry = self._refs.receive(stored["id"], stored["owner"])
            location = stored["location"]
        return Payload(in_band, buffers, header["graph"], header["error"], refs, entry, location)

    def _take(self, size):
        end = self._at + size
        if size < 0 or end > len(self._body):
            raise ValueError("Cannot read a message: a value is longer than the body: received %d" % size)
        part = self._body[self._at : end]
        self._at = end
        return part


class Codec:
    def __init__(self, refs, store, targets, where, revivers):
        #: Finds the classes of the user's modules, and names them.
        self.targets = targets
        self._refs = refs
        self._store = store
        #: Process and node, for errors.
        self._where = where
        #: By kind, what makes a handle, a function or a class of its data and of the references of the value that it is in.
        self._revivers = revivers
        self._collected = None

    # ---- reading

    def decode_plain(self, body):
        return decode_value(body, (), self._revive_plain)

    def decode(self, payload, dependencies=()):
        """@raises SerializationError for what only JavaScript can read"""
        if payload.location is None:
            in_band, buffers = payload.in_band, payload.buffers
        else:
            in_band, buffers = self._store.read(payload.location, payload.entry)

        def revive(kind, data):
            if kind == tags.KIND_REF:
                return ObjectRef(payload.refs[data])
            if kind == tags.KIND_DEPENDENCY:
                return dependencies[data]
            return self._revive_plain(kind, data, payload.refs)

        if payload.graph:
            return self._error_of_graph(in_band, buffers, revive)
        return decode_value(in_band, buffers, revive)

    @staticmethod
    def _error_of_graph(in_band, buffers, revive):
        """An error is read whatever hangs on it; anything else that has code in it is not."""
        from ._graphs import error_of_graph

        error = error_of_graph(decode_value(in_band, buffers), revive)
        if error is not None:
            return error
        raise SerializationError(
            "Cannot read a value: it holds a function, an instance of a class or something else that only JavaScript can read",
            {"reason": "closures and classes of JavaScript do not cross to Python", "hint": "Pass plain data, typed arrays or references."},
        )

    def _revive_plain(self, kind, data, refs=()):
        if kind == tags.KIND_SHOAL_ERROR:
            return from_wire(data)
        if kind == tags.KIND_ND_ARRAY:
            numpy = numpy_or_none()
            return Custom(kind, data) if numpy is None else revive_array(data, numpy)
        if kind == tags.KIND_TUPLE:
            return tuple(data)
        if kind == tags.KIND_EXACT:
            return revive_exact(data, self._unpickled)
        if kind == tags.KIND_NAMED:
            return revive_named(data, self.targets)
        if kind == tags.KIND_TEXT:
            return revive_text(data)
        if kind == tags.KIND_TENSOR:
            return tensor_from(*data, self._store.writable)
        if kind == tags.KIND_PYTHON_OBJECT:
            return self._unpickled(data)
        if kind == tags.KIND_ARROW:
            return _arrow_table(data)
        revive = self._revivers.get(kind)
        return Custom(kind, data) if revive is None else revive(data, refs)

    def _unpickled(self, data):
        from ._pickles import unpickled

        return unpickled(data, self._store.writable)

    # ---- writing

    def encode(self, value):
        """In-band bytes, buffers, and the entries of the references in it."""
        outer = self._collected
        self._collected = collected = References()
        try:
            in_band, buffers = encode_value(value, self._reduce, self)
        finally:
            self._collected = outer
        return in_band, buffers, collected

    def _reduce(self, value):
        if isinstance(value, ObjectRef):
            return tags.KIND_REF, self._collect(value._entry)
        if isinstance(value, ShoalError):
            return tags.KIND_SHOAL_ERROR, to_wire(value)
        if isinstance(value, ArrowData):
            return tags.KIND_ARROW, value.stream
        if type(value).__name__ in ("ActorHandle", "FunctionHandle", "ClassHandle", "Keywords", "RegisteredValue", "RemoteFunction") and self.is_of_cluster(value):
            return value._reduced(self._collect)
        registered = reduce_registered(value, self._collect, self._needs)
        if registered is not None:
            return registered
        if type(value).__module__.startswith("pyarrow"):
            return _reduced_arrow(value)
        return self._reduced_of_python(value)

    def whole(self, value):
        """The parts of a value that is pickled."""
        from ._pickles import pickled

        return pickled(value, self)

    def error_parts(self, error):
        """What makes an exception of its class, beside its plain form; None where nothing of it can be pickled."""
        from ._pickles import error_parts

        return error_parts(error, self)

    def beside(self, value):
        """What makes a value of its plain form."""
        from ._pickles import beside

        return beside(value, self)

    def _collect(self, entry):
        """An object is about to be named in bytes that leave. @returns its place among the references of the value"""
        self._refs.publish(entry)
        self._collected.append(entry)
        return len(self._collected) - 1

    def _needs(self, export):
        """JavaScript loads an export of Shoal before it reads the value."""
        if export not in self._collected.exports:
            self._collected.exports = (*self._collected.exports, export)

    def _reduced_of_python(self, value):
        numpy = loaded_numpy()
        if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
            if value.dtype.kind not in "mMc" or type(value) in (numpy.complex64, numpy.complex128):
                return None
            return reduce_array(value, numpy) if array_facts(value, numpy) is None or isinstance(value, numpy.generic) else None
        text = self._text_of(value)
        if text is not None:
            return text
        named = reduce_named(value, self.targets)
        if named is not None:
            return named
        torch = loaded_torch(value)
        if torch is not None:
            return self._reduced_tensor(value, torch)
        pandas = loaded_pandas(value)
        if pandas is None:
            return None
        if frame_is_exact(value, pandas):
            return _reduced_arrow(reduce_frame(value, pandas, True))
        try:
            arrow = _reduced_arrow(reduce_frame(value, pandas, False))
        except EncodeError:
            return tags.KIND_PYTHON_OBJECT, self.whole(value)
        return tags.KIND_EXACT, (Custom(*arrow), *self.beside(value))

    def _text_of(self, value):
        try:
            text = reduce_text(value)
        except EncodeError:
            return tags.KIND_PYTHON_OBJECT, self.whole(value)
        if text is None:
            return None
        if text_is_exact(value):
            return tags.KIND_TEXT, text, True
        return tags.KIND_EXACT, (Custom(tags.KIND_TEXT, text), *self.beside(value))

    def _reduced_tensor(self, value, torch):
        if type(value) is torch.Tensor:
            return tags.KIND_TENSOR, tensor_parts(value, torch)
        if type(value) is torch.nn.Parameter and not value.__dict__:
            return tags.KIND_EXACT, (Custom(tags.KIND_TENSOR, tensor_parts(value, torch)), "parameter")
        return tags.KIND_PYTHON_OBJECT, self.whole(value)

    @staticmethod
    def is_of_cluster(value):
        """What has a form of its own inside of what is pickled, as it is counted."""
        return isinstance(value, ObjectRef) or getattr(type(value), "_is_of_cluster", False) is True

    def to_payload(self, value, owner):
        """A value as it is kept or sent; a large one is written to the store, for its owner."""
        in_band, buffers, refs = self.encode(value)
        if len(in_band) + sum(map(len, buffers)) >= STORE_FROM_BYTES:
            return Payload(b"", (), False, False, refs, None, self._store.write(in_band, buffers, owner))
        # The user may change the memory behind the buffers.
        return Payload(in_band, [bytes(buffer) for buffer in buffers], False, False, refs, None, None)

    def error_payload(self, error):
        return Payload(self.error_bytes(error, ""), (), False, True, (), None, None)

    def error_bytes(self, error, task):
        """The in-band bytes with which a call fails."""
        failure = self._failure(error, task)
        try:
            in_band, buffers, refs = self.encode(failure)
            if not buffers and not refs and len(in_band) <= ERROR_BYTES_MAX:
                return in_band
        except BaseException:  # what hangs on an exception may do anything when it is looked at
            pass
        failure = self._failure(error, task)
        brief = Exception(_brief(message_of(error)))
        brief.stack = _brief(traceback_text(error))
        brief.name = type(error).__qualname__
        failure.__cause__ = brief
        return self.encode(failure)[0]

    def _failure(self, error, task):
        if isinstance(error, EncodeError):
            return SerializationError(
                "Cannot send the result of %s: %s" % (task, _brief(str(error))),
                {"reason": error.reason, "path": error.path, **self._where},
            )
        if isinstance(error, ShoalError):
            return error
        if isinstance(error, EnvironmentFault):
            text = "Cannot run %s: %s. %s" % (task, error, error.hint)
            failure = RuntimeEnvError(text, {"reason": str(error), "hint": error.hint, **self._where})
            failure.__cause__ = error.__cause__
            return failure
        return self.task_error(error, task)

    def task_error(self, error, task, place=None, details=None):
        """The failure of a task by what its code raised. ``place``: where in the data that was, with the same as ``details``."""
        text = message_of(error)
        name = type(error).__qualname__
        at = "" if place is None else " at %s" % place
        # The error of another task names that task already.
        said = text if isinstance(error, TaskError) else name + (": " + text if text else "")
        text = _brief("Task %s%s failed: %s" % (task, at, said))
        stack = traceback_text(error)
        found = {} if details is None else {"details": details}
        failure = TaskError(text, {"taskName": task, "remoteStack": stack[:TASK_STACK_LENGTH_MAX], **found, **self._where})
        failure.__cause__ = error
        failure.remote_stack = ("TaskError: %s\n%s" % (text, frames_text(error)))[:TASK_STACK_LENGTH_MAX]
        return failure


def _definitions_of(refs):
    """What JavaScript loads before it reads a value with these references in it."""
    own = [entry.definition for entry in refs if entry.definition is not None]
    return own + list(refs.exports) if isinstance(refs, References) else own


def is_plain(in_band, buffers, refs):
    return not buffers and not refs and len(in_band) < STORE_FROM_BYTES


def payload_header(in_band, buffers, refs, error, location):
    """How a value is announced that this process made. One in the store is its receiver's, who names it."""
    return {
        "inBand": 0 if location is not None else len(in_band),
        "buffers": [] if location is not None else [len(buffer) for buffer in buffers],
        "graph": False,
        "error": error,
        "definitions": _definitions_of(refs),
        "refs": [[entry.id, entry.owner] for entry in refs],
        **({} if location is None else {"stored": {"id": "", "owner": "", "location": location}}),
    }


def _brief(text):
    return text if len(text) <= TASK_MESSAGE_LENGTH_MAX else text[:TASK_MESSAGE_LENGTH_MAX] + "..."


def _arrow_table(stream):
    try:
        import pyarrow
    except ImportError:
        return ArrowData(stream)
    return revive_frame(pyarrow.ipc.open_stream(pyarrow.py_buffer(stream)).read_all())


def _reduced_arrow(value):
    import pyarrow

    if isinstance(value, pyarrow.RecordBatch):
        kind, stream = _reduced_arrow(pyarrow.Table.from_batches([value]))
        return tags.KIND_EXACT, (Custom(kind, stream), "batch")
    if not isinstance(value, pyarrow.Table):
        return None
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, value.schema) as writer:
        writer.write_table(value)
    return tags.KIND_ARROW, memoryview(sink.getvalue())
