/**
 * All receivers of a node daemon: the processes of its node, and other nodes' processes by their daemons.
 *
 * The lowest part of the daemon: other parts send through it without knowing a process's place. The daemon adds a process at its hello and removes it when its
 * connection or the process has ended. The methods are bound, so that each can be passed on alone.
 */
import type { JobId, ProcessId } from "../base/ids.ts";
import type { Connection } from "../rpc/connection.ts";
import type { HeadPeer } from "../rpc/head-service.ts";
import { type HelloHeader, MESSAGE } from "../wire/messages.ts";
import type { NodeDaemonOptions } from "./daemon-options.ts";
import { RemoteNodes } from "./membership/remote-nodes.ts";

/** A process of this node as its daemon knows it: a driver or a worker. */
export interface Peer extends HeadPeer {
  readonly kind: HelloHeader["kind"];
  readonly pid: number;
  readonly address: string;
  readonly remoteAddress: string;
  readonly jobId: JobId;
  readonly connection: Connection;
}

export class NodePeers {
  readonly local = new Map<ProcessId, Peer>();
  readonly remote: RemoteNodes;

  readonly #daemonId: ProcessId;

  constructor({ processId, cluster }: NodeDaemonOptions) {
    this.#daemonId = processId;
    this.remote = new RemoteNodes(processId, { cluster, local: this.local });
  }

  get drivers(): Peer[] {
    return Array.from(this.local.values()).filter(({ kind }) => kind === "driver");
  }

  /** Tells whether a process of this node has ended. Every process connects here before other processes know it. */
  hasEnded(process: ProcessId): boolean {
    if (process === this.#daemonId || !this.remote.isHere(process)) return false;
    return !this.local.has(process) && this.local.values().every(({ holderId }) => holderId !== process);
  }

  /** Returns a process of this node, or a stand-in for another node's; undefined for an ended process of this node. */
  readonly peer = (id: ProcessId): HeadPeer | undefined => (this.remote.isHere(id) ? this.local.get(id) : this.remote.peer(id));

  readonly send = (to: ProcessId, type: number, header: unknown): void => {
    this.peer(to)?.connection.send(type, header);
  };

  readonly tellProcesses = (type: number, header: unknown): void => {
    for (const { connection } of this.local.values()) connection.send(type, header);
  };

  readonly tellDrivers = (type: number, header: unknown, job?: JobId): void => {
    for (const { jobId, connection } of this.drivers) if (job === undefined || job === jobId) connection.send(type, header);
  };

  readonly warn = (text: string): void => this.tellDrivers(MESSAGE.WARNING, text);
}
