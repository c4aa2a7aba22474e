/**
 * Errors that one process answers another with: a code for programs, a message for people, details as data.
 *
 * A process refuses a request by throwing a `WireError` or replying with one, and the other end gets one with the same code. Decisions
 * depend on codes and details alone; no program reads a message. An error without a code travels as `failed`.
 */
import * as shape from "./header-shape.ts";
import { PROTOCOL_VERSION } from "./messages.ts";

/** Each code and its meaning; PROTOCOL.md lists them. */
const WIRE_ERROR_CODES = {
  failed: "anything that no program has to tell from other failures",
  malformed: "the message is not one that the receiver takes, or not of its shape",
  wrongVersion: "the listener speaks another version; `details`: `listener` and `caller`, both versions",
  noCertificate: "the caller has shown no certificate of the cluster",
  refusedCertificate: "the caller's certificate is not good; `details.problem` says why, for people",
  wrongNode: "the caller speaks for a node that its certificate or its proof is not of",
  deadNode: "the caller's node was declared dead; it may come back under a new id",
  notLeader: "this head does not lead; `details.leader` is the leader's address, where it is known",
  refusedJoinToken: "the join token is unknown, revoked or too old",
  nameTaken: "an actor of that name exists",
  notFound: "nothing has that name or id",
  objectLost: "the bytes of an object are on no node",
  objectStoreFull: "a copy of an object has no room in this node's store",
  outOfDisk: "a copy of an object has no room on this node's disk",
  keyValuesFull: "the values of `kvPut` have no room at the head",
  extension: "an extension refuses what it was asked; `details`: `name`, of its error, and what else its error has there",
} as const;

export type WireErrorCode = keyof typeof WIRE_ERROR_CODES;

/** The header of a REPLY or LINK_HELLO with flag ERROR. */
export interface WireErrorHeader {
  code: WireErrorCode;
  message: string;
  details?: Readonly<Record<string, unknown>> | undefined;
}

export class WireError extends Error {
  override readonly name = "WireError";
  readonly code: WireErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: WireErrorCode, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

export function isWireError(error: unknown, code: WireErrorCode): error is WireError {
  return error instanceof WireError && error.code === code;
}

export function wireErrorHeader(error: Error): WireErrorHeader {
  if (!(error instanceof WireError)) return { code: "failed", message: error.message };
  const { code, message, details } = error;
  return Object.keys(details).length === 0 ? { code, message } : { code, message, details };
}

const header = shape.fields({ code: shape.text, message: shape.text, details: shape.optional(shape.record(shape.unchecked<unknown>())) });

export function wrongVersion({ caller, listener = PROTOCOL_VERSION }: { caller: unknown; listener?: unknown }): WireError {
  const message = `the protocol version differs: the called side speaks ${String(listener)}, the caller ${String(caller)}`;
  return new WireError("wrongVersion", message, { listener, caller });
}

/** A code of a later version reads as `failed`. Version 1 sent a text alone. */
export function readWireError(received: unknown): WireError {
  if (typeof received === "string") return wrongVersion({ listener: 1, caller: PROTOCOL_VERSION });
  if (!header(received)) return new WireError("malformed", "the peer answered with an error that cannot be read");
  const { code, message, details } = received as WireErrorHeader;
  return new WireError(Object.hasOwn(WIRE_ERROR_CODES, code) ? code : "failed", message, details);
}
