/** What code that speaks with a process needs of the connection, whether it is a socket of this machine or a link to another node. */
import type { Reply } from "./connection.ts";

export interface PeerConnection {
  /** Above some amount of unsent bytes: senders with a backlog wait. */
  readonly isCongested: boolean;
  readonly isClosed: boolean;
  send(type: number, header: unknown, options?: { callId?: number; flags?: number; parts?: readonly Uint8Array[] }): void;
  /** @throws ConnectionClosedError when the peer goes away for good or does not answer within `timeoutMs` (30 s; 0 waits for ever). */
  request(type: number, header: unknown, options?: { parts?: readonly Uint8Array[]; timeoutMs?: number }): Promise<Reply>;
  reply(callId: number, header: unknown, parts?: readonly Uint8Array[]): void;
  replyError(callId: number, message: string): void;
}
