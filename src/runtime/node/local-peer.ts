/**
 * A process of this node as its daemon knows it: a driver or a worker, from its hello until its connection ends.
 *
 * Made and held by the daemon.
 */
import type { JobId } from "../base/ids.ts";
import type { Connection } from "../rpc/connection.ts";
import type { HeadPeer } from "../rpc/head-service.ts";
import type { HelloHeader } from "../wire/messages.ts";

export interface Peer extends HeadPeer {
  readonly kind: HelloHeader["kind"];
  readonly pid: number;
  readonly address: string;
  readonly remoteAddress: string;
  readonly jobId: JobId;
  readonly connection: Connection;
}
