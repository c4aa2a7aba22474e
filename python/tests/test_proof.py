"""Proofs as JavaScript makes them, and a listener and a caller that are told all kinds of things.

Run by ``test/integration/python-values.test.ts``, or by hand: ``python3 -m unittest discover -s python/tests -t python``.
"""

import hashlib
import hmac
import json
import os
import random
import unittest

from shoal import _messages as message
from shoal._proof import CallerProof, ListenerProof, is_nonce, is_proof, keyed_digest, new_nonce, plain_channel, proof_of

_VECTORS = os.path.join(os.path.dirname(__file__), "..", "..", "test", "vectors", "proofs.json")
_NODE = "a" * 32
_LISTENER = "a" * 16 + "1" * 16
_CALLER = "b" * 32


def _ends(token="token", listeners_token="token", channel="tls", listeners_channel="tls"):
    return CallerProof(token, _CALLER, channel), ListenerProof(listeners_token, _NODE, _LISTENER, listeners_channel)


class ProofTest(unittest.TestCase):
    def test_vectors(self):
        with open(_VECTORS, encoding="utf-8") as file:
            vectors = json.load(file)
        for vector in vectors:
            known = vector["transcript"]
            fields = [known[name] for name in ("channel", "callerNonce", "listenerNonce", "callerId", "listenerNodeId", "listenerId")]
            self.assertEqual(proof_of(vector["token"], vector["end"], *fields), vector["proof"])

    def test_digest_is_that_of_hmac(self):
        for length in (1, 63, 64, 65, 200):
            key, content = os.urandom(length), os.urandom(length * 3)
            self.assertEqual(keyed_digest(key, content), hmac.new(key, content, hashlib.sha256).hexdigest())

    def test_ends_get_to_know_each_other(self):
        caller, listener = _ends()
        answer, refusal = listener.opened(message.OPEN, caller.opening())
        self.assertIsNone(refusal)
        proof = caller.answered(answer)
        self.assertTrue(listener.proves(message.PROOF, proof))
        self.assertFalse(listener.proves(message.HELLO, proof))
        self.assertNotIn("token", json.dumps([answer, proof]))

    def test_others_do_not(self):
        for difference in ({"listeners_token": "other"}, {"listeners_channel": "tcp 127.0.0.1 1 127.0.0.1 2"}):
            caller, listener = _ends(**difference)
            answer, _ = listener.opened(message.OPEN, caller.opening())
            self.assertIsNone(caller.answered(answer))
        caller, listener = _ends()
        answer, _ = listener.opened(message.OPEN, caller.opening())
        self.assertFalse(listener.proves(message.PROOF, answer["proof"]))
        later, _ = _ends()
        self.assertIsNone(later.answered(answer))

    def test_malformed(self):
        source = random.Random(7)
        values = [None, 0, 1.5, "", "text", "0" * 64, "\udcff", [], {}, b"bytes", True, {"nonce": "0" * 64}]
        caller, listener = _ends()
        opening = caller.opening()
        for _ in range(300):
            name, value = source.choice(["version", "processId", "nonce"]), source.choice([None, 0, 1.5, "0" * 63, [], {}, b"bytes"])
            if name == "processId" and isinstance(value, str):
                continue
            changed = {**opening, name: value}
            answer, refusal = ListenerProof("token", _NODE, _LISTENER, "tls").opened(message.OPEN, changed)
            self.assertTrue(answer is None and refusal)
        for value in values:
            self.assertEqual(listener.opened(message.OPEN, value)[0], None)
            self.assertFalse(is_proof(value, "1" * 64))
        self.assertEqual(listener.opened(message.HELLO, opening)[0], None)
        answer, _ = listener.opened(message.OPEN, opening)
        for name in answer:
            for value in values:
                self.assertIsNone(caller.answered({**answer, name: value}))
        for value in values:
            self.assertIsNone(caller.answered(value))
            self.assertFalse(listener.proves(message.PROOF, value))

    def test_versions(self):
        _, listener = _ends()
        old = {"version": 1, "token": "secret", "processId": _CALLER}
        answer, refusal = listener.opened(message.OPEN, old)
        self.assertIsNone(answer)
        self.assertEqual((refusal.code, refusal.details), ("wrongVersion", {"listener": message.PROTOCOL_VERSION, "caller": 1}))

    def test_without_a_token_nothing_is_proven(self):
        with self.assertRaises(ValueError):
            proof_of("", "caller", "tls", "", "", "", "", "")

    def test_numbers_and_channels(self):
        self.assertTrue(is_nonce(new_nonce()))
        self.assertNotEqual(new_nonce(), new_nonce())
        self.assertEqual(plain_channel(("127.0.0.1", 1), ("127.0.0.1", 2)), plain_channel(("::ffff:127.0.0.1", 1, 0, 0), ("127.0.0.1", 2)))


if __name__ == "__main__":
    unittest.main()
