"""Where callers come in: the socket of this worker, how they become known, and where the folders that a driver names lie here."""

import os
import socket

from . import _messages as message
from ._connection import Connection, decode_header
from ._limits import HELLO_SIZE_MAX, HELLO_WITHIN_SECONDS, NODE_TAG_DIGITS, OPEN_WITHIN_SECONDS
from ._proof import NO_HELLO, ListenerProof
from ._wire_error import WireError


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
    # As many as Node lets wait.
    listener.listen(511)
    listener.setblocking(False)
    return listener


class Entrance:
    """One caller, from its connection to its hello: both ends prove that they are of the session before, the listener first."""

    def __init__(self, sock, pump, proof, node, greeted, unfinished):
        """``node``: that of the certificate which the caller has shown; None for one of this machine. ``greeted(connection, hello)`` is called with who is let in.
        ``unfinished``: this connection among those that have not said who they are."""
        self._pump = pump
        self._proof = proof
        self._node = node
        self._greeted = greeted
        self._unfinished = unfinished
        self._connection = connection = Connection(sock, pump, HELLO_SIZE_MAX)
        self._wait(OPEN_WITHIN_SECONDS)
        unfinished.drop = lambda: connection.drop("too many others came that did not say who they are")
        connection.on_close = self._ended
        connection.on_frame = self._opened

    def _ended(self, _reason):
        self._pump.cancel(self._timer)
        self._unfinished.finish()

    def _wait(self, seconds):
        self._timer = self._pump.after(seconds, lambda: self._connection.drop("no hello came"))

    def _opened(self, frame):
        kind, _, call_id, _, header, _ = frame
        answer, refusal = self._proof.opened(kind, None if header is None else decode_header(header))
        if refusal is not None:
            self._refuse(call_id, refusal)
            return
        self._pump.cancel(self._timer)
        self._unfinished.begun()
        self._wait(HELLO_WITHIN_SECONDS)
        self._connection.on_frame = self._proven
        self._connection.reply(call_id, answer)

    def _proven(self, frame):
        kind, _, _, _, header, _ = frame
        if self._proof.proves(kind, None if header is None else decode_header(header)):
            self._connection.on_frame = self._said_hello
        else:
            # No honest caller comes so far without the token.
            self._connection.drop("the caller has not proven that it knows the token")

    def _said_hello(self, frame):
        kind, _, call_id, _, header, _ = frame
        hello = decode_header(header) if kind == message.HELLO and header is not None else None
        refusal = self._refusal_of(hello)
        if refusal is not None:
            self._refuse(call_id, refusal)
            return
        self._pump.cancel(self._timer)
        self._unfinished.finish()
        self._connection.trust()
        self._connection.reply(call_id, None)
        self._greeted(self._connection, hello)

    def _refuse(self, call_id, refusal):
        self._connection.reply_error(call_id, refusal)
        self._connection.close()

    def _refusal_of(self, hello):
        caller = self._proof.caller_id
        if not isinstance(hello, dict) or hello.get("processId") != caller:
            return NO_HELLO
        if self._node is not None and caller[:NODE_TAG_DIGITS] != self._node[:NODE_TAG_DIGITS]:
            text = "the certificate is not that of the caller's node: process %s came with the certificate of node %s"
            return WireError("wrongNode", text % (caller, self._node))
        return None


def new_proof(configuration, channel):
    """For a caller of this worker."""
    return ListenerProof(configuration["token"], configuration["nodeId"], configuration["processId"], channel)
