"""Connections that this process opens to others: to a worker or an actor of its own node, or of another.

On its own node a process is reached by a Unix socket, elsewhere by TCP: with TLS 1.3 and certificates of the cluster on both ends, or plain between processes of one machine where
the cluster allows it. Nothing waits here: what takes time goes on in the loop, and ``done(connection, channel, error)`` is called once.
"""

import os
import socket

from . import _messages as message
from ._connection import Connection
from ._limits import CONNECT_WITHIN_SECONDS, HELLO_SIZE_MAX, NODE_TAG_DIGITS
from ._network import client_context, node_of
from ._output import restore_output
from ._proof import TLS_CHANNEL, CallerProof, plain_channel, prove_to, unix_channel

_SCHEME = "tcp://"
_TLS_WAITS = ("SSLWantReadError", "SSLWantWriteError")


def open_link(worker, address, process_id, lease_id, done):
    """To a worker or an actor, which has answered the hello by the time of ``done(connection, number, error)``."""
    number = worker.new_link_number()

    def connected(connection, channel, error):
        if error is not None:
            done(None, number, error)
            return

        def proven(refusal):
            if refusal is None:
                say_hello()
                return
            connection.on_close = None
            connection.drop(str(refusal))
            done(None, number, refusal)

        def answered(_header, _body, refusal):
            if refusal is not None:
                connection.on_close = None
                connection.drop(str(refusal))
            done(None if refusal is not None else connection, number, refusal)

        def say_hello():
            hello = {**worker.hello, "link": number}
            if lease_id is not None:
                hello["leaseId"] = lease_id
            connection.request(message.HELLO, hello, on_reply=answered)

        prove_to(connection, CallerProof(worker.configuration["token"], worker.process_id, channel), process_id, proven)

    _connect(worker, address, process_id, connected)


def _connect(worker, address, process_id, done):
    if address.startswith(_SCHEME):
        _Opening(worker, address, process_id, done)
        return
    restore_output()
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.connect(address)
    except OSError as error:
        sock.close()
        reason = error.strerror or "it cannot be reached"
        # Never within the caller's own call.
        worker.pump.after(0, lambda: done(None, None, reason))
        return
    done(Connection(sock, worker.pump, HELLO_SIZE_MAX), unix_channel(address), None)


class _Opening:
    """One connection over the network, until it is open."""

    def __init__(self, worker, address, process_id, done):
        self._pump = worker.pump
        self._done = done
        self._process_id = process_id
        host, _, port = address[len(_SCHEME) :].rpartition(":")
        host = host.strip("[]")
        self._identity = worker.identity
        self._is_tls = self._identity is not None and (self._identity.get("alsoOnLoopback") is True or not _is_loopback(host))
        self._timer = self._pump.after(CONNECT_WITHIN_SECONDS, lambda: self._fail("no answer within %g s" % CONNECT_WITHIN_SECONDS))
        self._socket = None
        if not self._is_tls and not _is_loopback(host):
            self._pump.after(0, lambda: self._fail("it is on another machine and this process has no certificate"))
            return
        try:
            family, kind, protocol, _, place = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)[0]
            restore_output()
            self._socket = socket.socket(family, kind, protocol)
            self._socket.setblocking(False)
            self._socket.connect(place)
        except BlockingIOError:
            pass
        except OSError as error:
            reason = error.strerror or "it cannot be reached"
            self._pump.after(0, lambda: self._fail(reason))
            return
        self._pump.add_reader(self._socket, lambda: None)
        self._pump.set_writer(self._socket, self._writable)

    def _writable(self):
        if self._done is None:
            return
        error = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            self._fail(os.strerror(error))
            return
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._pump.remove(self._socket)
        if not self._is_tls:
            self._succeed()
            return
        try:
            context = client_context(self._identity)
            self._socket = context.wrap_socket(self._socket, do_handshake_on_connect=False, server_hostname=None)
        except OSError as problem:
            self._fail(str(problem))
            return
        self._pump.add_reader(self._socket, self._shake)
        self._pump.set_writer(self._socket, self._shake)

    def _shake(self):
        if self._done is None:
            return
        try:
            self._socket.do_handshake()
        except OSError as problem:
            if type(problem).__name__ not in _TLS_WAITS:
                self._fail(str(problem))
                return
            wants_to_write = type(problem).__name__ == "SSLWantWriteError"
            self._pump.set_writer(self._socket, self._shake if wants_to_write else None)
            return
        node = node_of(self._socket.getpeercert())
        if node is None or node[:NODE_TAG_DIGITS] != self._process_id[:NODE_TAG_DIGITS]:
            self._fail("its certificate is not that of its node")
            return
        self._pump.remove(self._socket)
        self._succeed()

    def _succeed(self):
        self._pump.cancel(self._timer)
        done, self._done = self._done, None
        try:
            channel = TLS_CHANNEL if self._is_tls else plain_channel(self._socket.getsockname(), self._socket.getpeername())
        except OSError:
            # The peer has left again.
            self._socket.close()
            done(None, None, "the connection broke")
            return
        done(Connection(self._socket, self._pump, HELLO_SIZE_MAX), channel, None)

    def _fail(self, reason):
        if self._done is None:
            return
        self._pump.cancel(self._timer)
        if self._socket is not None:
            self._pump.remove(self._socket)
            self._socket.close()
        done, self._done = self._done, None
        done(None, None, reason)


def _is_loopback(host):
    return host.lower() in ("localhost", "::1") or host.startswith("127.") or host.lower().startswith("::ffff:127.")
