/**
 * Why a caller is turned away, in words that both ends know: the one that refuses sends the text, the one that called makes of it the error that its
 * user sees, with what to do about it.
 */
import { AuthenticationError, ShoalError, VersionMismatchError } from "../base/errors.ts";
import { PROTOCOL_VERSION } from "../wire/messages.ts";

export const WRONG_TOKEN = "the token is wrong";
export const WRONG_NODE = "the certificate is not that of the caller's node";
export const NO_CERTIFICATE = "the caller has no certificate of this cluster";
export const DEAD_NODE = "the caller was declared dead";
/** A head that stands by; the leader's address follows, where it is known. */
const NOT_LEADER = "this head does not lead the cluster";
const LEADER_AT = ", which is led from ";
export const WRONG_JOIN_TOKEN = "the join token is refused";
const WRONG_VERSION = "the protocol version differs";

export function wrongVersion(callersVersion: unknown): string {
  return `${WRONG_VERSION}: the called side speaks ${PROTOCOL_VERSION}, the caller ${String(callersVersion)}`;
}

export function notLeader(leader: string | undefined): string {
  return leader === undefined ? NOT_LEADER : NOT_LEADER + LEADER_AT + leader;
}

/** What a head says that stands by; undefined for any other reason. */
export function leaderInRefusal(reason: string): { address: string | undefined } | undefined {
  const start = reason.indexOf(NOT_LEADER);
  if (start < 0) return undefined;
  const rest = reason.slice(start + NOT_LEADER.length);
  return { address: rest.startsWith(LEADER_AT) ? rest.slice(LEADER_AT.length) : undefined };
}

const HINTS: readonly [begins: string, hint: string][] = [
  [WRONG_TOKEN, "Use the token of the session that the address belongs to."],
  [WRONG_NODE, "Join the cluster under this node's own id; a process uses the certificate of the node that it runs on."],
  [DEAD_NODE, "What it had was given to others. Start the node again; it gets a new id."],
  [NO_CERTIFICATE, "Join the cluster with its join token first."],
  [
    "the caller's certificate is refused",
    "Join the cluster that the address belongs to again, and check that the clocks of the machines agree.",
  ],
  [WRONG_JOIN_TOKEN, "Ask the head for a new join token."],
];

/** The error of a refusal, or undefined for any other failure. */
export function errorOfRefusal(action: string, reason: string): ShoalError | undefined {
  if (reason.startsWith(WRONG_VERSION))
    return new VersionMismatchError(`Cannot ${action}: ${reason}`, { reason, hint: "Install the same version of shoal on both sides." });
  const hint = HINTS.find(([begins]) => reason.startsWith(begins))?.[1];
  return hint === undefined ? undefined : new AuthenticationError(`Cannot ${action}: ${reason}`, { reason, hint });
}
