"""The kinds of values that JavaScript has and Python lacks, as they arrive here.

docs/value-format.md has the table of what becomes what. Everything here is plain data: it compares by value, and what Python sends of it
arrives as the JavaScript value that it stands for.
"""


class _Constant:
    """One of the constants below; each exists once."""

    __slots__ = ("_name",)

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return self._name

    def __bool__(self):
        return False

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


#: JavaScript's ``undefined``; false, like ``None``.
Undefined = _Constant("Undefined")
#: A missing element of an array.
Hole = _Constant("Hole")
#: A ``Date`` that ``datetime`` cannot hold.
InvalidDate = _Constant("InvalidDate")


class _Record:
    """Compares and prints by its fields."""

    __slots__ = ()
    _fields = ()

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._fields)

    __hash__ = None

    def __repr__(self):
        return "%s(%s)" % (type(self).__name__, ", ".join(repr(getattr(self, name)) for name in self._fields))


class OrderedSet(_Record):
    """A ``Set`` of JavaScript: it keeps the order of its items, and they need not be hashable."""

    __slots__ = ("items",)
    _fields = ("items",)

    def __init__(self, items=()):
        self.items = []
        for item in items:
            self.add(item)

    def add(self, item):
        if item not in self.items:
            self.items.append(item)

    def __contains__(self, item):
        return item in self.items

    def __iter__(self):
        return iter(self.items)

    def __len__(self):
        return len(self.items)

    def __eq__(self, other):
        if isinstance(other, (set, frozenset)):
            return len(self) == len(other) and all(item in other for item in self.items)
        return _Record.__eq__(self, other)


class NullPrototype(dict):
    """An object without a prototype: a ``dict`` in every respect but where it is sent back."""


class RegExp(_Record):
    """A regular expression of JavaScript, not compiled, as the languages differ."""

    __slots__ = ("source", "flags", "last_index")
    _fields = __slots__

    def __init__(self, source, flags="", last_index=0):
        self.source = source
        self.flags = flags
        self.last_index = last_index


class SparseArray(_Record):
    """A long array with holes: its length, and a ``dict`` of what it has."""

    __slots__ = ("length", "items")
    _fields = __slots__

    def __init__(self, length, items):
        self.length = length
        self.items = items


class Match(list):
    """What ``match`` and ``exec`` of JavaScript return: a list with attributes such as ``index``."""

    def __init__(self, items=(), properties=None):
        list.__init__(self, items)
        self.properties = dict(properties or {})

    def __getattr__(self, name):
        properties = self.__dict__.get("properties", {})
        if name in properties:
            return properties[name]
        raise AttributeError(name)

    def __eq__(self, other):
        if isinstance(other, Match):
            return list.__eq__(self, other) and self.properties == other.properties
        return list.__eq__(self, other)

    __hash__ = None

    def __repr__(self):
        return "Match(%s, %r)" % (list.__repr__(self), self.properties)


class JavaScriptError(Exception):
    """An error that JavaScript code made and that has no class of its own here. ``name`` is its name there."""


class AggregateError(JavaScriptError):
    """Several errors in one: ``errors``."""


class DomException(JavaScriptError):
    """``DOMException``, with its ``name``."""

    def __init__(self, name, message):
        JavaScriptError.__init__(self, message)
        self.name = name


class Custom(_Record):
    """An application type that this side has no class for: its kind, and its data."""

    __slots__ = ("kind", "payload")
    _fields = __slots__

    def __init__(self, kind, payload):
        self.kind = kind
        self.payload = payload
