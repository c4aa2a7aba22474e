/**
 * Violations of the protocol: a message that is malformed, or that the other end of a link may not send.
 *
 * Thrown where the violation is found. The link then ends the connection, logs the reason, and continues on the next one. No correct node
 * sends such a message, so no more effort is made: the message counts as handled, or the next connection would deliver it again.
 */
import { headerOf } from "../wire/header.ts";
import type { Frame } from "../wire/frame.ts";
import { faultOf, type MessageOf, nameOfMessage, type Shapes } from "../wire/tables/message-table.ts";

export class ProtocolViolationError extends Error {
  override readonly name = "ProtocolViolationError";
}

/** @throws ProtocolViolationError unless it holds */
export function assertProtocol(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new ProtocolViolationError(otherwise);
}

/** A frame of a link, which is of this table and well formed. @throws ProtocolViolationError, DecodeError */
export function readMessage<Headers>(shapes: Shapes<Headers>, frame: Pick<Frame, "type" | "header">): MessageOf<Headers> {
  return checkedMessage(shapes, frame.type, headerOf(frame));
}

/** The same of a header that has been decoded. @throws ProtocolViolationError */
export function checkedMessage<Headers>(shapes: Shapes<Headers>, type: number, header: unknown): MessageOf<Headers> {
  assertProtocol(Object.hasOwn(shapes, type), `it sends ${nameOfMessage(type)}, which is not a node's to send`);
  const fault = faultOf(shapes, type, header);
  assertProtocol(fault === undefined, fault ?? "");
  return { type, header } as MessageOf<Headers>;
}
