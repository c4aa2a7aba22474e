"""Errors that one process answers another with: a code for programs, a message for people, details as data. ``src/runtime/wire/wire-error.ts`` has the codes.

Decisions are taken from codes and details alone; no program reads a message.
"""

from . import _messages as message


class WireError:
    """What a peer has answered; ``str`` is for people."""

    __slots__ = ("code", "message", "details")

    def __init__(self, code, text, details=None):
        self.code = code
        self.message = text
        self.details = details or {}

    def __str__(self):
        return self.message

    def header(self):
        return {"code": self.code, "message": self.message, **({"details": self.details} if self.details else {})}


def is_wire_error(error, code):
    return isinstance(error, WireError) and error.code == code


def wrong_version(listener, caller):
    text = "the protocol version differs: the called side speaks %s, the caller %s" % (listener, caller)
    return WireError("wrongVersion", text, {"listener": listener, "caller": caller})


def read_wire_error(received):
    """Version 1 sent a text alone."""
    if isinstance(received, str):
        return wrong_version(1, message.PROTOCOL_VERSION)
    if not isinstance(received, dict) or not isinstance(received.get("code"), str) or not isinstance(received.get("message"), str):
        return WireError("malformed", "the peer answered with an error that cannot be read")
    details = received.get("details")
    return WireError(received["code"], received["message"], details if isinstance(details, dict) else None)
