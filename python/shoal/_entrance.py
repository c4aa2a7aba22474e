"""Where callers of this node come in: the socket of this worker, the check of their token, and where the folders that a driver names lie here."""

import os
import socket

try:
    # What hmac shows of it; hmac itself loads OpenSSL, which takes longer than the rest of a forked worker's start.
    from _operator import _compare_digest as compare_digest
except ImportError:
    from hmac import compare_digest


def places_of(configuration):
    """Folders that the driver names and where they are on this machine."""
    places = []
    foreign = configuration.get("foreignCode")
    if foreign is not None:
        places.append((foreign["there"], foreign["here"]))
    working = (configuration.get("runtimeEnv") or {}).get("workingDir")
    if working is not None:
        places.append((working, os.getcwd()))
    return places


def listen(address):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        listener.bind(address)
    finally:
        os.umask(mask)
    listener.listen(128)
    listener.setblocking(False)
    return listener


def is_equal(one, other):
    return compare_digest(one.encode(), other.encode())
