/**
 * The frames between a proxy and a replica, and the layout of request and response heads.
 *
 * A frame is the core's (`runtime/wire/frame.ts`): a type, flags, the number of the stream, a second number, and bytes. A stream is one request with its answer.
 * Only the proxy opens streams. A complete body travels in the frame of its head, so most requests are one frame each way.
 *
 *     REQUEST   →   number: size of the head     head; with END all of the body behind it
 *     SOCKET    →   number: size of the head     head of a client that asks for a WebSocket
 *     GRPC      →   number: size of the head     head of a call of gRPC; with END its one message behind it
 *     RESPONSE  ←   number: size of the head     head; with END all of the body behind it
 *     BODY      ↔                                a piece of a body; costs credit
 *     END       ↔                                trailers as JSON, or nothing
 *     CREDIT    ↔   number: bytes                so many more bytes may come; a request's body waits for the first, a response's begins with a window
 *     CANCEL    ↔   number: 0                    the reason as text: nothing more of this stream is wanted, and nothing comes
 *     BUSY      ←   number: requests under way   the replica is at its limit and has not begun the request
 *     MESSAGE   ↔                                a message of a WebSocket; costs credit; TEXT: it is text
 *
 * Only the type of the opening frame decides the kind of call: heads hold clients' texts, and no client's text may choose the code that a replica calls.
 *
 * A call of gRPC with a small message and one answer is a frame each way, with the status of gRPC in the head of the RESPONSE; any other
 * goes as a WebSocket does: status 101, messages, and the status of gRPC in END.
 *
 * The replica takes a WebSocket by a RESPONSE with status 101; messages go both ways, and END carries the code and the reason of the close. Any other RESPONSE refuses it.
 *
 * After END or CANCEL of both directions the number of a stream is free. Late frames of an ended stream are dropped.
 */
import { MESSAGE_COST_BYTES } from "../limits.ts";

export const FRAME = {
  REQUEST: 200,
  RESPONSE: 201,
  BODY: 202,
  END: 203,
  CREDIT: 204,
  CANCEL: 205,
  BUSY: 206,
  MESSAGE: 207,
  SOCKET: 208,
  GRPC: 209,
} as const;

/** Type of the frame that opens a stream: an HTTP request, a WebSocket, or a gRPC call. */
export type OpeningFrame = typeof FRAME.REQUEST | typeof FRAME.SOCKET | typeof FRAME.GRPC;

/** Bits that the core's frames leave free. */
export const FLAG = { END: 0x10, TEXT: 0x20 } as const;

/** A message of a WebSocket. `byteLength` is what it costs of a stream's credit: empty messages are not free. */
export class Message {
  readonly bytes: Uint8Array;
  readonly isText: boolean;

  constructor(bytes: Uint8Array, isText: boolean) {
    this.bytes = bytes;
    this.isText = isText;
  }

  get byteLength(): number {
    return this.bytes.byteLength + MESSAGE_COST_BYTES;
  }
}

/** Head of a request, from a proxy to a replica. */
export interface RequestHead {
  /** The client's own text. Logs, request routers and user code read it; Serve decides nothing by it but repetition. */
  readonly method: string;
  /** Whole, with the scheme and host that the client asked for, and without the prefix of the application. */
  readonly url: string;
  readonly requestId: string;
  /** How long the answer may take from now on; 0 is without limit. */
  readonly timeoutMs: number;
  readonly modelId: string;
  /** The address of the client. */
  readonly client: string;
  /** Names and values in turn, as the client sent them. */
  readonly headers: readonly string[];
}

/** Head of a replica's answer. */
export interface ResponseHead {
  readonly status: number;
  readonly statusText: string;
  /** Requests that are under way at the replica, this one among them. */
  readonly ongoing: number;
  /** Names and values in turn. */
  readonly headers: readonly string[];
}

/** A head that has come over the wire: its headers are the reader's, who may add to them. */
export interface ReceivedHead extends ResponseHead {
  readonly headers: string[];
}

/** Arrays, as JSON reads and writes one in about a microsecond, and objects in two. The headers are one in it: so nobody copies them. */
export function encodeRequestHead({ method, url, requestId, timeoutMs, modelId, client, headers }: RequestHead): string {
  return JSON.stringify([method, url, requestId, timeoutMs, modelId, client, headers]);
}

/** Read by their places: taking an array apart by a pattern makes an iterator and an object for each place. */
export function decodeRequestHead(text: string): RequestHead {
  const head = JSON.parse(text) as [string, string, string, number, string, string, string[]];
  return {
    method: head[0],
    url: head[1],
    requestId: head[2],
    timeoutMs: head[3],
    modelId: head[4],
    client: head[5],
    headers: head[6],
  };
}

export function encodeResponseHead({ status, statusText, ongoing, headers }: ResponseHead): string {
  return JSON.stringify([status, statusText, ongoing, headers]);
}

export function decodeResponseHead(text: string): ReceivedHead {
  const head = JSON.parse(text) as [number, string, number, string[]];
  return { status: head[0], statusText: head[1], ongoing: head[2], headers: head[3] };
}

/** The text of the first bytes, read in place: a view of them costs more than the text. */
export function textOf(bytes: Uint8Array, size: number = bytes.byteLength): string {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer.toString("utf8", 0, size);
}
