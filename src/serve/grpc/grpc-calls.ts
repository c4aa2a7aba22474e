/**
 * A call of gRPC between a proxy and a replica: over the wire of requests, opened by a frame of its own kind.
 *
 * The URL names the kind of the call and the method. Messages are objects in V8's own form, as both ends are of this session; a text before them is the initial metadata of a stream. The end
 * has the status in its trailers, or, where a call is one frame each way, in the headers of its answer. Pure.
 */
import { deserialize, serialize } from "node:v8";
import { Message } from "../wire/frames.ts";

/** Unary, or with a stream in one direction or both. */
export type GrpcKind = "unary" | "serverStream" | "clientStream" | "bidi";

/** gRPC's status codes that Serve gives by itself. */
export const GRPC_STATUS = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const;

/** Status of a RESPONSE that has the end of a call, and its one message. */
export const ANSWERED = 200;

/** The end of a call. */
export interface GrpcEnd {
  readonly code: number;
  readonly details: string;
  /** Initial metadata that no message came behind. Names and values in turn, here and below. */
  readonly headers: readonly string[];
  readonly metadata: readonly string[];
}

/** The method names that an ingress may use: gRPC's own, and the same beginning in lower case. */
export interface GrpcTarget {
  readonly kind: GrpcKind;
  readonly names: readonly string[];
}

export function targetUrl({ kind, names }: GrpcTarget): string {
  return `${kind}:${names.join(",")}`;
}

export function readTarget(url: string): GrpcTarget {
  const [kind, names] = url.split(":") as [GrpcKind, string];
  return { kind, names: names.split(",") };
}

export function encodeMessage(value: unknown): Message {
  return new Message(serialize(value), false);
}

/** The value may be made of views of the bytes. */
export function decodeMessage({ bytes }: Pick<Message, "bytes">): unknown {
  return deserialize(bytes);
}

export function encodeHeaders(headers: readonly string[]): Message {
  return new Message(Buffer.from(JSON.stringify(headers)), true);
}

/** The initial metadata of a stream; undefined for its messages. */
export function readHeaders({ bytes, isText }: Message): readonly string[] | undefined {
  return isText ? (JSON.parse(Buffer.from(bytes).toString()) as string[]) : undefined;
}

export function endTrailers({ code, details, headers, metadata }: GrpcEnd): readonly string[] {
  return [String(code), details, String(headers.length), ...headers, ...metadata];
}

export function readEnd([code = String(GRPC_STATUS.UNKNOWN), details = "", count = "0", ...rest]: readonly string[]): GrpcEnd {
  return { code: Number(code), details, headers: rest.slice(0, Number(count)), metadata: rest.slice(Number(count)) };
}
