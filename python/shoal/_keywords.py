"""Arguments by name on their way to another process.

Arguments travel by their places. Those with names come after them, with their names in a last one. So a reference among them becomes its value, as everywhere.
"""

from . import _tags as tags


class Keywords:
    """The names of the last arguments; from TypeScript with their values."""

    __slots__ = ("names", "values")

    #: Inside of what is pickled it has a form of its own.
    _is_of_cluster = True

    def __init__(self, names, values=None):
        self.names = names
        self.values = values

    def _reduced(self, _collect):
        return tags.KIND_KEYWORDS, [self.names] if self.values is None else [self.names, self.values]


def with_keywords(args, kwargs):
    """All arguments of a call in one list."""
    return (*args, *kwargs.values(), Keywords(list(kwargs))) if kwargs else args


def call_with(function, args):
    """Calls a function with arguments that came."""
    last = args[-1] if args else None
    if type(last) is not Keywords:
        return function(*args)
    values = last.values
    rest = args[:-1]
    if values is None:
        place = len(rest) - len(last.names)
        rest, values = rest[:place], rest[place:]
    return function(*rest, **dict(zip(last.names, values)))


def revive_keywords(data, _refs):
    """:raises TypeError: for data that no caller sends"""
    names, values = data if len(data) > 1 else (data[0], None)
    if not all(type(name) is str for name in names) or (values is not None and len(values) != len(names)):
        raise TypeError("Cannot read arguments by name: received %r" % (data,))
    return Keywords(names, values)
