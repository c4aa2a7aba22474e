/**
 * Proofs that two processes know the session's token, which is never sent.
 *
 * Each proof is an HMAC under the token of all that makes this one connection: the protocol's version, which end proves, the channel, both ends' random numbers and both ends' ids.
 * So a proof is of no use on another connection, later, at the other end of the same connection, or in another's name. Pure but for the random numbers; `python/shoal/_proof.py` is the same in Python.
 */
import type { NodeId, ProcessId } from "../base/ids.ts";
import { keyedSha256Hex } from "../os/digest.ts";
import { randomHex, tokensEqual } from "../os/random.ts";
import { PROTOCOL_VERSION } from "../wire/messages.ts";

/** Facts about the connection that both ends know once each has sent its first message. */
export interface Transcript {
  /** `Transport.channel`, as each end sees it, not as the other reports it. */
  readonly channel: string;
  readonly callerNonce: string;
  readonly listenerNonce: string;
  readonly callerId: ProcessId;
  readonly listenerNodeId: NodeId;
  readonly listenerId: ProcessId;
}

/** 256 bits, so that no number repeats. */
const NONCE_BYTES = 32;

export function newNonce(): string {
  return randomHex(NONCE_BYTES);
}

export function isNonce(received: unknown): received is string {
  return typeof received === "string" && /^[0-9a-f]{64}$/.test(received);
}

/** @throws RangeError without a token: everybody could make such a proof */
export function proofOf(token: string, end: "caller" | "listener", transcript: Transcript): string {
  if (token === "") throw new RangeError("Cannot prove that this process belongs to the session: it has no token");
  const { channel, callerNonce, listenerNonce, callerId, listenerNodeId, listenerId } = transcript;
  const fields = ["shoal", String(PROTOCOL_VERSION), end, channel, callerNonce, listenerNonce, callerId, listenerNodeId, listenerId];
  // Each behind its length: no two lists of fields make the same text.
  return keyedSha256Hex(token, fields.map((field) => `${Buffer.byteLength(field)}:${field}`).join(""));
}

/** In constant time. */
export function isProof(received: unknown, expected: string): boolean {
  return typeof received === "string" && tokensEqual(received, expected);
}
