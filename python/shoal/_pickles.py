"""Instances of classes that JavaScript has no form for, between processes of Python: pickled, with large buffers beside the bytes.

Decides how their classes and functions are named, so that a process that has imported other files finds them; what in them belongs to the cluster (references, handles of actors) is listed beside the
bytes as ordinary values, and counted as such. Only bytes that a process of Python of this session has made are ever read: JavaScript passes them on and makes none.
"""

import io
import pickle
import sys
import types

from ._encode import EncodeError
from ._exact import GROUPS, items_apart
from ._forms import loaded_torch, not_found, tensor_from, tensor_parts

_CODE = (type, types.FunctionType)
_REASON_MAX = 300
#: A larger one has its plain form alone, besides its class.
_PICKLED_ERROR_MAX = 65536


class _Pickler(pickle.Pickler):
    def __init__(self, file, buffers, objects, codec):
        pickle.Pickler.__init__(self, file, 5, buffer_callback=lambda buffer: buffers.append(buffer.raw()))
        self._objects = objects
        self._codec = codec

    def persistent_id(self, value):
        if not self._codec.is_of_cluster(value):
            return None
        self._objects.append(value)
        return len(self._objects) - 1

    def reducer_override(self, value):
        if isinstance(value, _CODE):
            return self._code(value)
        torch = loaded_torch(value)
        if torch is not None and type(value) is torch.Tensor:
            dtype, shape, elements, requires_grad = tensor_parts(value, torch)
            return _tensor, (dtype, shape, pickle.PickleBuffer(elements.view("uint8")), requires_grad)
        return NotImplemented

    def _code(self, value):
        """A class or a function, which is named and not sent."""
        if value.__module__ == "__main__":
            raise pickle.PicklingError("%s is of the module __main__, which is another one in each process: define it in a module of its own" % value.__qualname__)
        if "<" in value.__qualname__:
            what = "a lambda" if "<lambda>" in value.__qualname__ else "%s is made inside a function" % value.__qualname__
            raise pickle.PicklingError("%s: other processes find code by its module and its name: define it at the top level of a module" % what)
        module = sys.modules.get(value.__module__)
        place = value.__module__ if module is None else self._codec.targets.place_of(module)
        return NotImplemented if place == value.__module__ else (_code, (place, value.__qualname__))


class _Unpickler(pickle.Unpickler):
    def __init__(self, data, buffers, objects):
        pickle.Unpickler.__init__(self, io.BytesIO(data), buffers=buffers)
        self._objects = objects

    def persistent_load(self, number):
        return self._objects[number]


def beside(value, codec):
    """What stands beside the plain form of a value: the way to make it, and the parts for that."""
    try:
        if isinstance(value, (dict, list)) and type(value) not in (dict, list):
            apart = items_apart(value)
            if apart is not None:
                return ("items", _full_name(type(value)), *pickled(apart, codec)[1:])
        return ("pickle", *pickled(value, codec))
    except EncodeError as error:
        return "lost", _full_name(type(value)), _shortened(error.reason)
    except Exception as error:  # code of the user's, which may raise anything
        return "lost", _full_name(type(value)), _shortened(str(error))


def error_parts(error, codec):
    """``(class name, bytes, buffers, objects)`` of ``(function, arguments, state)``: as much of an exception as can be pickled, of its class alone at least. Its causes travel in the plain form."""
    try:
        reduced = error.__reduce_ex__(4)
        function, arguments, state = (*reduced, None)[:3]
    except BaseException:  # an exception of the user's may do anything here
        function, arguments, state = type(error), None, None
    if isinstance(error, GROUPS):
        # The plain form has each exception with its class. Pickled together, one of them could spoil all.
        arguments = (error.message,)
    if type(state) is dict:
        state = {name: item for name, item in state.items() if type(name) is str and name not in ("stack", "cause") and _parts_of((item,), codec) is not None}
    for tried in ((function, arguments, state), (type(error), None, state), (type(error), None, None)):
        parts = _parts_of(tried, codec)
        if parts is not None:
            return (_full_name(type(error)), *parts[1:])
    return None


def _parts_of(value, codec):
    """None for what has large buffers or objects of the cluster in it: an error is plain bytes."""
    try:
        parts = pickled(value, codec)
    except BaseException:  # code of the user's, which may do anything when it is looked at
        return None
    return None if parts[2] or parts[3] or len(parts[1]) > _PICKLED_ERROR_MAX else parts


def _shortened(text):
    return text if len(text) <= _REASON_MAX else text[:_REASON_MAX] + "..."


def pickled(value, codec):
    """``(class name, bytes, buffers, objects of the cluster)``.

    :raises EncodeError: with the reason why it cannot be pickled
    """
    file = io.BytesIO()
    buffers = []
    objects = []
    try:
        _Pickler(file, buffers, objects, codec).dump(value)
    except EncodeError:
        raise
    except RecursionError:
        raise EncodeError(value, "it is nested too deeply to be pickled") from None
    except Exception as error:  # code of the user's, which may raise anything
        text = _shortened(str(error))
        raise EncodeError(value, "it cannot be pickled (%s): leave out what cannot travel with __getstate__, or send plain data" % text) from error
    return _full_name(type(value)), file.getvalue(), buffers, objects


def unpickled(data, writable):
    """:raises SerializationError: where its class is not found here"""
    name, stream, buffers, objects = data
    # Small ones have memory of their own, which their user may write to.
    views = [bytearray(buffer) if isinstance(buffer, bytes) else buffer for buffer in buffers]
    _reading.append(writable)
    try:
        return _Unpickler(bytes(stream), views, objects).load()
    except (ImportError, AttributeError, FileNotFoundError) as error:
        raise not_found(name, error) from error
    finally:
        _reading.pop()


#: How tensors of what is read now get memory that may be written to.
_reading = []


def _tensor(dtype, shape, buffer, requires_grad):
    return tensor_from(dtype, shape, buffer, requires_grad, _reading[-1])


def _code(place, qualname):
    from . import _runtime

    return _runtime.require().targets.find(place, qualname)


def _full_name(kind):
    return "%s.%s" % (kind.__module__, kind.__qualname__)
