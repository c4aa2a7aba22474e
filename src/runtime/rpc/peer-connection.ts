/**
 * Messages between two processes over any path: a connection, or the link of two nodes with a daemon at each end.
 *
 * `Connection` satisfies it for processes of one node; `NodeLink` for nodes; the proxies of `runtime/node/membership/remote-nodes.ts` and `runtime/head/nodes/remote-node.ts` for processes of other nodes.
 */
import { type Frame, FRAME_FLAG } from "../wire/frame.ts";
import { isReplyTo, problemOfReply, type ReplyTo } from "../wire/tables/replies.ts";
import { DecodeError } from "../wire/value/decode-error.ts";
import { readWireError } from "../wire/wire-error.ts";

/** Parts of a frame that a receiver needs beside its decoded header. */
export type Message = Pick<Frame, "type" | "flags" | "callId" | "body">;

/** The answer to a request. */
export interface Reply<Header = unknown> {
  header: Header;
  body: Uint8Array;
}

/** A request that has not been answered. */
export interface OpenRequest {
  /** Settles a request with its REPLY; an error, or a header of another shape than the request's number requires, rejects. */
  answer(message: Pick<Message, "flags" | "body">, header: unknown): void;
  reject(error: Error): void;
}

export function openRequest<N extends number>(
  type: N,
  resolve: (reply: Reply<ReplyTo<N>>) => void,
  reject: (error: Error) => void,
): OpenRequest {
  const answer: OpenRequest["answer"] = ({ flags, body }, header) => {
    if ((flags & FRAME_FLAG.ERROR) !== 0) reject(readWireError(header));
    else if (isReplyTo(type, header)) resolve({ header, body: Buffer.from(body) });
    else reject(new DecodeError(problemOfReply(type, header)));
  };
  return { answer, reject };
}

export interface SendOptions {
  readonly callId?: number;
  readonly flags?: number;
  readonly parts?: readonly Uint8Array[];
}

export interface RequestOptions {
  readonly parts?: readonly Uint8Array[];
  readonly timeoutMs?: number;
  /** The time starts again with each message over this connection. Links between nodes ignore it. */
  readonly isOfSilence?: boolean;
}

export interface PeerConnection {
  send(type: number, header: unknown, options?: SendOptions): void;
  /**
   * @throws WireError when the peer answers with an error, DecodeError when its answer is malformed, ConnectionClosedError when it closes
   * for good or does not answer within `timeoutMs` (30 s; 0 waits for ever)
   */
  request<N extends number>(type: N, header: unknown, options?: RequestOptions): Promise<Reply<ReplyTo<N>>>;
  reply(callId: number, header: unknown, parts?: readonly Uint8Array[]): void;
  /** The other end gets a `WireError` with its code, or `failed` for any other error. */
  replyError(callId: number, error: Error): void;
}
