import { createHmac } from "node:crypto";
import fc from "fast-check";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { NodeId, ProcessId } from "../base/ids.ts";
import { isNonce, isProof, newNonce, proofOf, type Transcript } from "./proof.ts";

const KNOWN: Transcript = {
  channel: "tcp 127.0.0.1 40000 127.0.0.1 6380",
  callerNonce: "1".repeat(64),
  listenerNonce: "2".repeat(64),
  callerId: "3".repeat(32) as ProcessId,
  listenerNodeId: "4".repeat(32) as NodeId,
  listenerId: "5".repeat(32) as ProcessId,
};

interface Vector {
  token: string;
  end: "caller" | "listener";
  transcript: Transcript;
  proof: string;
}

test("the proofs of test/vectors/proofs.json are those of this version, which Python makes as well", () => {
  const path = new URL("../../../test/vectors/proofs.json", import.meta.url);
  const vectors = JSON.parse(readFileSync(path, "utf8")) as Vector[];
  expect(vectors.length).toBeGreaterThan(3);
  for (const { token, end, transcript, proof } of vectors) expect(proofOf(token, end, transcript)).toBe(proof);
});

test("a proof is an HMAC-SHA-256 over everything that is known of the connection, each behind its length", () => {
  const { channel, callerNonce, listenerNonce, callerId, listenerNodeId, listenerId } = KNOWN;
  const text = `5:shoal1:26:caller${channel.length}:${channel}64:${callerNonce}64:${listenerNonce}32:${callerId}32:${listenerNodeId}32:${listenerId}`;
  expect(proofOf("token", "caller", KNOWN)).toBe(createHmac("sha256", "token").update(text).digest("hex"));
});

test("it changes with each of its parts, and no two lists of parts make the same", () => {
  const text = fc.string({ maxLength: 12 });
  const transcript = fc.record({
    channel: text,
    callerNonce: text,
    listenerNonce: text,
    callerId: text.map((id) => id as ProcessId),
    listenerNodeId: text.map((id) => id as NodeId),
    listenerId: text.map((id) => id as ProcessId),
  });
  const end = fc.constantFrom("caller" as const, "listener" as const);
  fc.assert(
    fc.property(transcript, transcript, end, end, (one, other, hereEnd, thereEnd) => {
      const names = Object.keys(one) as (keyof Transcript)[];
      const isSame = hereEnd === thereEnd && names.every((name) => one[name] === other[name]);
      expect(proofOf("token", hereEnd, one) === proofOf("token", thereEnd, other)).toBe(isSame);
    }),
  );
  expect(proofOf("another", "caller", KNOWN)).not.toBe(proofOf("token", "caller", KNOWN));
  // Moving characters from one part to the next makes a different text.
  const moved = { ...KNOWN, channel: `${KNOWN.channel}1`, callerNonce: KNOWN.callerNonce.slice(1) };
  expect(proofOf("token", "caller", moved)).not.toBe(proofOf("token", "caller", KNOWN));
});

test("nothing but the right text is a proof, and nothing but 64 hex digits a random number", () => {
  const right = proofOf("token", "caller", KNOWN);
  expect(isProof(right, right)).toBe(true);
  fc.assert(
    fc.property(fc.anything(), (received) => {
      expect(isProof(received, right)).toBe(false);
      expect(isNonce(received)).toBe(false);
    }),
  );
  expect(isProof(right.slice(1), right)).toBe(false);
  expect(isNonce(newNonce())).toBe(true);
  expect(newNonce()).not.toBe(newNonce());
  expect(() => proofOf("", "caller", KNOWN)).toThrow(RangeError);
});
