/**
 * What one process can say to another, whatever lies between them: a connection, or the link of two nodes with a daemon at each end.
 *
 * `Connection` satisfies it for processes of one node; `NodeLink` for nodes; the proxies of `node/membership/remote-nodes.ts` and `control/nodes/remote-node.ts` for processes of other nodes.
 */
import type { Frame } from "../wire/frame.ts";

/** What of a frame a receiver needs beside its decoded header. */
export type Message = Pick<Frame, "type" | "flags" | "callId" | "body">;

/** The answer to a request. */
export interface Reply {
  header: unknown;
  body: Uint8Array;
}

export interface SendOptions {
  readonly callId?: number;
  readonly flags?: number;
  readonly parts?: readonly Uint8Array[];
}

export interface PeerConnection {
  send(type: number, header: unknown, options?: SendOptions): void;
  /** @throws WireError when the peer answers with an error. @throws ConnectionClosedError when it goes away for good or does not answer within `timeoutMs` (30 s; 0 waits for ever). */
  request(type: number, header: unknown, options?: { parts?: readonly Uint8Array[]; timeoutMs?: number }): Promise<Reply>;
  reply(callId: number, header: unknown, parts?: readonly Uint8Array[]): void;
  /** The other end gets a `WireError` with its code, or `failed` for any other error. */
  replyError(callId: number, error: Error): void;
}
