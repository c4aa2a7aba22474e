/**
 * A call of gRPC between a proxy and a replica: over the wire of requests, opened by a frame of its own kind.
 *
 * The URL names the kind of the call and the method. Messages are objects in V8's own form, as both ends are of this session. The end has the status in its trailers, or, where a call is one
 * frame each way, in the headers of its answer. Pure.
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
  /** Names and values in turn. */
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

export function endTrailers({ code, details, metadata }: GrpcEnd): readonly string[] {
  return [String(code), details, ...metadata];
}

export function readEnd([code = String(GRPC_STATUS.UNKNOWN), details = "", ...metadata]: readonly string[]): GrpcEnd {
  return { code: Number(code), details, metadata };
}
