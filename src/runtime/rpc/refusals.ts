/**
 * Refusals of callers: the listener's answer, and the error for the caller's user, with a remedy.
 *
 * Before a listener has proven itself, only two refusals are believed, and its text is never repeated. They may cause an error, but no
 * action.
 */
import { AuthenticationError, type ShoalError, VersionMismatchError } from "../base/errors.ts";
import { type Frame, FRAME_FLAG } from "../wire/frame.ts";
import { MESSAGE } from "../wire/messages.ts";
import { isWireError, WireError, type WireErrorCode, wireErrorHeader, wrongVersion } from "../wire/wire-error.ts";
import type { PeerConnection } from "./peer-connection.ts";

/** Said by the caller, of the listener. */
const NOT_PROVEN = "the process there has not proven that it knows the session's token";

export function noCertificate(): WireError {
  return new WireError("noCertificate", "the caller has no certificate of this cluster");
}

export function refusedCertificate(problem: string): WireError {
  return new WireError("refusedCertificate", `the caller's certificate is refused: ${problem}`, { problem });
}

export function wrongNode(what: string): WireError {
  return new WireError("wrongNode", `the certificate is not that of the caller's node: ${what}`);
}

export function deadNode(what: string): WireError {
  return new WireError("deadNode", `the caller was declared dead: ${what}`);
}

/** @param leader the address of the head that leads, where it is known */
export function notLeader(leader: string | undefined): WireError {
  const led = leader === undefined ? "" : `, which is led from ${leader}`;
  return new WireError("notLeader", `this head does not lead the cluster${led}`, leader === undefined ? {} : { leader });
}

/** Answers the first message of a caller that is turned away; one of version 1 reads a text alone. */
export function sendRefusal(connection: Pick<PeerConnection, "send">, { type, callId }: Frame, error: Error): void {
  const isOfVersion1 = isWireError(error, "wrongVersion") && error.details["caller"] === 1;
  const header = isOfVersion1 ? error.message : wireErrorHeader(error);
  if (type === MESSAGE.LINK_HELLO) connection.send(MESSAGE.LINK_HELLO, header, { flags: FRAME_FLAG.ERROR });
  else connection.send(MESSAGE.REPLY, header, { callId, flags: FRAME_FLAG.ERROR });
}

const HINTS: Readonly<Partial<Record<WireErrorCode, string>>> = {
  wrongNode: "Join the cluster under this node's own id; a process uses the certificate of the node that it runs on.",
  deadNode: "What it had was given to others. Start the node again; it gets a new id.",
  noCertificate: "Join the cluster with its join token first.",
  refusedCertificate: "Join the cluster that the address belongs to again, and check that the clocks of the machines agree.",
  refusedJoinToken: "Ask the head for a new join token.",
};

/** The error of a refusal, or undefined for any other failure. */
export function errorOfRefusal(action: string, error: unknown): ShoalError | undefined {
  if (!(error instanceof WireError)) return undefined;
  const { code, message: reason } = error;
  const text = `Cannot ${action}: ${reason}`;
  if (code === "wrongVersion") return new VersionMismatchError(text, { reason, hint: "Install the same version of shoal on both sides." });
  const hint = HINTS[code];
  return hint === undefined ? undefined : new AuthenticationError(text, { reason, hint });
}

export function notProven(action: string): AuthenticationError {
  return new AuthenticationError(`Cannot ${action}: ${NOT_PROVEN}`, {
    reason: NOT_PROVEN,
    hint: "Does another program listen there now, one of another session perhaps? Use the token of the session that the address belongs to, and connect directly: what stands between both ends, as a tunnel does, is refused.",
  });
}

const VERSION_MAX = 999_999_999;

/** Returns the error for a refusal by a listener that has not proven itself. */
export function errorOfUnproven(action: string, error: unknown): ShoalError {
  return errorOfRefusal(action, inOwnWords(error)) ?? notProven(action);
}

/** Refusals allowed before any proof: about the version, and about the caller's certificate. */
function inOwnWords(error: unknown): WireError | undefined {
  if (!(error instanceof WireError)) return undefined;
  const { listener, caller, problem } = error.details;
  switch (error.code) {
    case "wrongVersion":
      return isVersion(listener) && isVersion(caller) ? wrongVersion({ listener, caller }) : undefined;
    case "noCertificate":
      return noCertificate();
    case "refusedCertificate":
      return isShortPlainText(problem) ? refusedCertificate(problem) : undefined;
    default:
      return undefined;
  }
}

/** May be shown to people: it draws nothing on their terminal. */
function isShortPlainText(value: unknown): value is string {
  return typeof value === "string" && /^[\w ,:.;?'-]{1,120}$/.test(value);
}

function isVersion(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= VERSION_MAX;
}
