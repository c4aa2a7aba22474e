/**
 * Why a caller is turned away, in words that both ends know: the one that refuses sends the text, the one that called makes of it the error that its
 * user sees, with what to do about it.
 *
 * What a listener says that has not proven that it is of the session is nobody's word: an error may come of it, and nothing is done for it.
 */
import { AuthenticationError, ShoalError, VersionMismatchError } from "../base/errors.ts";
import { PROTOCOL_VERSION } from "../wire/messages.ts";

/** Said by the caller, of the listener. */
export const NOT_PROVEN = "the process there has not proven that it knows the session's token";
export const WRONG_NODE = "the certificate is not that of the caller's node";
export const NO_CERTIFICATE = "the caller has no certificate of this cluster";
export const DEAD_NODE = "the caller was declared dead";
/** A head that stands by; the leader's address follows, where it is known. */
const NOT_LEADER = "this head does not lead the cluster";
const LEADER_AT = ", which is led from ";
export const WRONG_JOIN_TOKEN = "the join token is refused";
const REFUSED_CERTIFICATE = "the caller's certificate is refused";
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
  [
    NOT_PROVEN,
    "Does another program listen there now, one of another session perhaps? Use the token of the session that the address belongs to, and connect directly: what stands between both ends, as a tunnel does, is refused.",
  ],
  [WRONG_NODE, "Join the cluster under this node's own id; a process uses the certificate of the node that it runs on."],
  [DEAD_NODE, "What it had was given to others. Start the node again; it gets a new id."],
  [NO_CERTIFICATE, "Join the cluster with its join token first."],
  [REFUSED_CERTIFICATE, "Join the cluster that the address belongs to again, and check that the clocks of the machines agree."],
  [WRONG_JOIN_TOKEN, "Ask the head for a new join token."],
];

/** What may be said before anything is proven: about the version, and about the caller's certificate. The whole text has to be one of ours, not only its beginning. */
const OF_STRANGERS: readonly RegExp[] = [
  new RegExp(`^${WRONG_VERSION}: the called side speaks \\d{1,9}, the caller \\d{1,9}$`),
  new RegExp(`^${NO_CERTIFICATE}$`),
  new RegExp(`^${REFUSED_CERTIFICATE}(: [\\w ,:.;?'-]{1,120})?$`),
];

/** The error of a refusal by a listener that has not proven who it is. Its text is not repeated unless it is one that is known: whoever reads a message of ours must not take a stranger's word out of it. */
export function errorOfStranger(action: string, reason: string): ShoalError {
  const isKnown = OF_STRANGERS.some((text) => text.test(reason)) && leaderInRefusal(reason) === undefined;
  const known = isKnown ? errorOfRefusal(action, reason) : undefined;
  return known ?? (errorOfRefusal(action, NOT_PROVEN) as ShoalError);
}

/** The error of a refusal, or undefined for any other failure. */
export function errorOfRefusal(action: string, reason: string): ShoalError | undefined {
  if (reason.startsWith(WRONG_VERSION))
    return new VersionMismatchError(`Cannot ${action}: ${reason}`, { reason, hint: "Install the same version of shoal on both sides." });
  const hint = HINTS.find(([begins]) => reason.startsWith(begins))?.[1];
  return hint === undefined ? undefined : new AuthenticationError(`Cannot ${action}: ${reason}`, { reason, hint });
}
