"""Errors of JavaScript that came as closure graphs, as their class or what hangs on them is code: what Python can read of them.

Decides what of a graph is an exception here: its message, stack and name, and those of its properties that are plain data. Functions and instances are left out, as an error must arrive whatever
hangs on it. Nothing is evaluated.
"""

from ._decode import error_class_of, set_property
from ._limits import DECODE_DEPTH_MAX

_LEFT_OUT = object()


class _Reader:
    def __init__(self, graph, revive):
        self.nodes = graph["nodes"]
        self.revive = revive
        self.known = {}

    def value(self, ref, depth):
        """What a node is in Python; ``_LEFT_OUT`` for code."""
        if ref in self.known:
            return self.known[ref]
        if type(ref) is not int or not 0 <= ref < len(self.nodes) or depth > DECODE_DEPTH_MAX:
            return _LEFT_OUT
        node = self.nodes[ref]
        kind = node["kind"]
        if kind == "data":
            return node.get("value")
        if kind == "reduced":
            # Known once it is made: what leads back to it is left out.
            self.known[ref] = _LEFT_OUT
            payload = self.value(node["payload"], depth + 1)
            found = _LEFT_OUT if payload is _LEFT_OUT else self.revive(node["reducer"], payload)
            self.known[ref] = found
            return found
        if kind != "object":
            return _LEFT_OUT
        base = node["base"]
        if base == "Error":
            return self._error(ref, node, depth)
        if "prototype" in node or base not in ("Object", "Array"):
            return _LEFT_OUT
        return self._plain(ref, node, depth)

    def _properties(self, node, depth):
        for key, flags, ref, *_ in node["properties"]:
            if type(key) is str and not flags & 8:
                found = self.value(ref, depth + 1)
                if found is not _LEFT_OUT:
                    yield key, found

    def _plain(self, ref, node, depth):
        made = self.known[ref] = [] if node["base"] == "Array" else {}
        for key, found in self._properties(node, depth):
            if type(made) is dict:
                made[key] = found
            elif key.isdigit():
                made.append(found)
        return made

    def _error(self, ref, node, depth):
        name = self._class_name(node)
        error = self.known[ref] = error_class_of(name)()
        if name is not None:
            set_property(error, "name", name)
        for key, found in self._properties(node, depth):
            if key == "message":
                error.args = (found,)
            else:
                set_property(error, key, found)
            if key == "cause" and isinstance(found, BaseException):
                error.__cause__ = found
        return error

    def _class_name(self, node):
        """The name of its class, or of the built-in one; None for ``Error`` itself."""
        prototype = node.get("prototype")
        if type(prototype) is not int or not 0 <= prototype < len(self.nodes):
            return None
        found = self.nodes[prototype]
        of = found.get("of") if found["kind"] == "prototype" else None
        if type(of) is int and 0 <= of < len(self.nodes):
            found = self.nodes[of]
        if found["kind"] == "global":
            # For example "RangeError.prototype".
            return found["path"].split(".")[0]
        name = found["code"]["name"] if "code" in found else found.get("name")
        return name if type(name) is str and name != "" else None


def error_of_graph(graph, revive):
    """The exception at the root of a graph; None where something else is there."""
    reader = _Reader(graph, revive)
    found = reader.value(graph["root"], 0)
    return found if isinstance(found, BaseException) else None
