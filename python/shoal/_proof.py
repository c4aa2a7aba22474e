"""How a connection begins: both ends prove that they know the session's token, which itself never travels. ``src/runtime/rpc/proof.ts`` and ``handshake.ts`` are the same in JavaScript.

The caller sends a random number, the listener answers with another and its proof, and only then come the caller's proof and its hello. A proof is an HMAC-SHA-256 under the token of all
that makes this one connection, so it is of no use on another one, at the other end of the same one, or in another's name.
"""

import os

from . import _messages as message
from ._connection import decode_header, encode_header
from ._frames import FrameError, FrameParser, frame_parts
from ._limits import HELLO_SIZE_MAX, NODE_TAG_DIGITS
from ._wire_error import WireError, is_wire_error, read_wire_error, wrong_version

# hashlib and hmac load OpenSSL, which takes longer than the rest of a forked worker's start.
try:
    from _sha2 import sha256
except ImportError:
    try:
        from _sha256 import sha256
    except ImportError:
        from hashlib import sha256
try:
    # The function that hmac exports.
    from _operator import _compare_digest as compare_digest
except ImportError:
    from hmac import compare_digest


NO_HELLO = WireError("malformed", "the first message is not a hello")
NOT_PROVEN = "the process there has not proven that it knows the session's token"

_BLOCK = 64
_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))


def keyed_digest(key, content):
    """HMAC-SHA-256 in hex digits."""
    if len(key) > _BLOCK:
        key = sha256(key).digest()
    key = key.ljust(_BLOCK, b"\0")
    return sha256(key.translate(_OUTER) + sha256(key.translate(_INNER) + content).digest()).hexdigest()


def new_nonce():
    return os.urandom(32).hex()


def is_nonce(received):
    return isinstance(received, str) and len(received) == 64 and all(digit in "0123456789abcdef" for digit in received)


def proof_of(token, end, channel, caller_nonce, listener_nonce, caller_id, listener_node, listener_id):
    """``end``: ``"caller"`` or ``"listener"``."""
    if not token:
        raise ValueError("Cannot prove that this process belongs to the session: it has no token")
    fields = ("shoal", str(message.PROTOCOL_VERSION), end, channel, caller_nonce, listener_nonce, caller_id, listener_node, listener_id)
    parts = []
    for field in fields:
        data = field.encode("utf-8", "surrogatepass")
        # Each behind its length: no two lists of fields make the same text.
        parts.append(b"%d:%s" % (len(data), data))
    return keyed_digest(token.encode(), b"".join(parts))


def is_proof(received, expected):
    """In constant time."""
    return isinstance(received, str) and compare_digest(received.encode("utf-8", "surrogatepass"), expected.encode())


def unix_channel(path):
    return "unix %s" % path


#: Both ends are known by their certificates.
TLS_CHANNEL = "tls"


def plain_channel(caller, listener):
    """Of both ends' addresses as the system has them: no other connection of the machine has them as long as this one is open."""
    return "tcp %s %s" % (_end(caller), _end(listener))


def _end(address):
    host = address[0]
    return "%s %d" % (host[7:] if host.lower().startswith("::ffff:") and "." in host else host, address[1])


def _in_own_words(refusal):
    """What is said by one that has not proven anything is nobody's word, but for the version."""
    listener = refusal.details.get("listener") if is_wire_error(refusal, "wrongVersion") else None
    if type(listener) is int and 0 <= listener < 1_000_000_000:
        return wrong_version(listener, message.PROTOCOL_VERSION)
    return NOT_PROVEN


class CallerProof:
    """At the end that calls: what is sent first, and what the listener's answer has to be."""

    def __init__(self, token, process_id, channel):
        self._token = token
        self._process_id = process_id
        self._channel = channel
        self._nonce = new_nonce()

    def opening(self):
        # Version 1 has its token where this has none; its listeners look for the field before they look at the version.
        return {"version": message.PROTOCOL_VERSION, "token": "", "processId": self._process_id, "nonce": self._nonce}

    def answered(self, reply):
        """The caller's own proof; None where the listener has not proven that it is of the session."""
        if not isinstance(reply, dict):
            return None
        node, process, nonce = reply.get("nodeId"), reply.get("processId"), reply.get("nonce")
        if not isinstance(node, str) or not isinstance(process, str) or node[:NODE_TAG_DIGITS] != process[:NODE_TAG_DIGITS] or not is_nonce(nonce):
            return None
        known = (self._channel, self._nonce, nonce, self._process_id, node, process)
        if not is_proof(reply.get("proof"), proof_of(self._token, "listener", *known)):
            return None
        return proof_of(self._token, "caller", *known)


class ListenerProof:
    """At the end that is called: the answer to a caller's first word, and whether the caller's proof is right."""

    def __init__(self, token, node_id, process_id, channel):
        self._token = token
        self._node_id = node_id
        self._process_id = process_id
        self._channel = channel
        self._known = None
        self.caller_id = None

    def opened(self, kind, opening):
        """The answer, and why there is none."""
        if kind != message.OPEN or not isinstance(opening, dict) or type(opening.get("version")) not in (int, float):
            return None, NO_HELLO
        if opening["version"] != message.PROTOCOL_VERSION:
            return None, wrong_version(message.PROTOCOL_VERSION, opening["version"])
        if not is_nonce(opening.get("nonce")) or not isinstance(opening.get("processId"), str):
            return None, NO_HELLO
        self.caller_id = opening["processId"]
        nonce = new_nonce()
        self._known = (self._channel, opening["nonce"], nonce, self.caller_id, self._node_id, self._process_id)
        proof = proof_of(self._token, "listener", *self._known)
        return {"nodeId": self._node_id, "processId": self._process_id, "nonce": nonce, "proof": proof}, None

    def proves(self, kind, proof):
        return kind == message.PROOF and is_proof(proof, proof_of(self._token, "caller", *self._known))


def prove_before(sock, caller):
    """The same on a socket that still blocks, before anything else is done with it. The reason why not, or None."""
    parser = FrameParser(HELLO_SIZE_MAX)
    sock.sendall(b"".join(frame_parts(message.OPEN, 0, 1, encode_header(caller.opening()), ())))
    frames = []
    while not frames:
        chunk = sock.recv(HELLO_SIZE_MAX)
        if not chunk:
            return "it closed the connection"
        try:
            frames.extend(parser.push(chunk))
        except FrameError as error:
            return str(error)
    kind, flags, _, _, header, _ = frames[0]
    decoded = None if header is None else decode_header(header)
    if kind != message.REPLY or flags & message.FLAG_ERROR:
        return str(_in_own_words(read_wire_error(decoded)))
    proof = caller.answered(decoded)
    if proof is None:
        return NOT_PROVEN
    sock.sendall(b"".join(frame_parts(message.PROOF, 0, 0, encode_header(proof), ())))
    return None


def prove_to(connection, caller, wanted, done):
    """``done(reason)``, once, with None where the process at the other end has proven that it is ``wanted``, or any of the session. Nothing else is sent before."""

    def answered(header, _body, refusal):
        if refusal is not None and connection.is_closed:
            done(refusal)
            return
        if refusal is not None:
            done(_in_own_words(refusal))
            return
        proof = caller.answered(header)
        if proof is None:
            done(NOT_PROVEN)
        elif wanted is not None and header["processId"] != wanted:
            done("process %s has the address of %s now" % (header["processId"], wanted))
        else:
            connection.send(message.PROOF, proof)
            connection.trust()
            done(None)

    connection.request(message.OPEN, caller.opening(), on_reply=answered)
