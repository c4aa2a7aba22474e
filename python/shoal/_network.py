"""Where processes of other nodes reach this worker: TCP, and TLS 1.3 with a certificate of the cluster on both ends wherever that may be another machine.

One port takes both, told apart by the first bytes; plain connections are taken from this machine alone, and only where the cluster allows it. Whoever shows no certificate of a
node is dropped, and so is one whose hello names a process of another node than its certificate.
"""

import os
import socket

from ._limits import HANDSHAKE_WITHIN_SECONDS
from ._output import restore_output

_TLS_HANDSHAKE = 0x16
_NODE_SUFFIX = ".node.shoal"
_SCHEME = "tcp://"


class NetworkListener:
    """``accepted(sock, node, unfinished)`` gets each connection; ``node`` is that of its certificate, None for a plain one."""

    def __init__(self, address, identity, pump, accepted, unfinished):
        host, _, port = address[len(_SCHEME) :].rpartition(":")
        host = host.strip("[]")
        self._identity = identity
        self._context = None if identity is None else _context_of(identity)
        self._pump = pump
        self._accepted = accepted
        self._unfinished = unfinished
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        self._listener.bind((host, int(port)))
        self._listener.listen(511)
        self._listener.setblocking(False)
        #: As others connect to it: the host is as given.
        self.address = "%s:%d" % (address.rpartition(":")[0], self._listener.getsockname()[1])
        pump.add_reader(self._listener, self._accept)

    def identify(self, identity):
        """A later certificate of the same node."""
        self._identity = identity
        self._context = _context_of(identity)

    def _accept(self):
        try:
            restore_output()
            sock, _ = self._listener.accept()
        except OSError:
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        entry = self._unfinished.begin(lambda: self._drop(sock, timer, entry))
        timer = self._pump.after(HANDSHAKE_WITHIN_SECONDS, lambda: self._drop(sock, timer, entry))
        self._pump.add_reader(sock, lambda: self._first(sock, timer, entry))

    def _drop(self, sock, timer, entry):
        entry.finish()
        self._pump.cancel(timer)
        self._pump.remove(sock)
        sock.close()

    def _first(self, sock, timer, entry):
        try:
            first = sock.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            first = b""
        if first and first[0] == _TLS_HANDSHAKE and self._context is not None:
            self._pump.remove(sock)
            secure = self._context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
            self._pump.cancel(timer)
            later = self._pump.after(HANDSHAKE_WITHIN_SECONDS, lambda: self._drop(secure, later, entry))
            entry.drop = lambda: self._drop(secure, later, entry)
            self._pump.add_reader(secure, lambda: self._shake(secure, later, entry))
            self._shake(secure, later, entry)
            return
        is_near = sock.getpeername()[0] in ("127.0.0.1", "::1") or sock.getpeername()[0].startswith("127.") if first else False
        if not is_near or (self._identity or {}).get("alsoOnLoopback") is True:
            self._drop(sock, timer, entry)
            return
        self._pump.cancel(timer)
        self._pump.remove(sock)
        self._accepted(sock, None, entry)

    def _shake(self, secure, timer, entry):
        import ssl

        try:
            secure.do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        except OSError:
            self._drop(secure, timer, entry)
            return
        node = node_of(secure.getpeercert())
        if node is None:
            self._drop(secure, timer, entry)
            return
        self._pump.cancel(timer)
        self._pump.remove(secure)
        self._accepted(secure, node, entry)


def node_of(certificate):
    names = [name for kind, name in (certificate or {}).get("subjectAltName", ()) if kind == "DNS" and name.endswith(_NODE_SUFFIX)]
    return names[0][: -len(_NODE_SUFFIX)] if len(names) == 1 else None


def _context_of(identity):
    import ssl

    return _with_identity(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), identity)


def client_context(identity):
    """For connections to others. Whom the certificate names is for the caller to look at: it knows the node."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    return _with_identity(context, identity)


def _with_identity(context, identity):
    import ssl

    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=identity["ca"])
    # Loaded from memory: a key does not go to disk.
    file = os.memfd_create("identity")
    try:
        os.write(file, (identity["cert"] + "\n" + identity["key"]).encode())
        context.load_cert_chain("/proc/self/fd/%d" % file)
    finally:
        os.close(file)
    return context
