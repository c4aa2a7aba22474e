/**
 * Routes messages from other nodes, and handles the death of a node.
 *
 * `remote-nodes.ts` sends this node's messages; this file takes other nodes' messages. Messages for a process of this node are passed on, messages between daemons are
 * handled here, and the rest is handled like a message of this node's own process. It also finds the parts of own processes' messages that belong to other nodes.
 */
import { type NodeId, nodeTagOf, type ProcessId } from "../../base/ids.ts";
import type { HeadPeer } from "../../rpc/head-service.ts";
import type { Message } from "../../rpc/peer-connection.ts";
import type { NodeInfoHeader, RoutedHeader } from "../../wire/cluster/cluster-messages.ts";
import { type LeaseGrantHeader, type LeaseNameHeader, MESSAGE } from "../../wire/messages.ts";
import { handle, type Handlers, extractFrom, type HeaderExtractors } from "../../wire/tables/message-table.ts";
import type { MessagesBetweenDaemons, MessagesOfProcess } from "../../wire/tables/messages-to-daemon.ts";
import type { MessagesToProcess } from "../../wire/tables/messages-to-process.ts";
import type { NodeDaemonOptions } from "../daemon-options.ts";
import type { EnvironmentService } from "../environments/environment-service.ts";
import type { NodeLeases } from "../leases/node-leases.ts";
import type { NodePeers } from "../node-peers.ts";
import type { NodeObjects } from "../objects/node-objects.ts";
import type { CopyMessage } from "../objects/object-transfer.ts";
import type { RefService } from "../references/ref-service.ts";

/** Parts of the daemon that other nodes concern. */
interface RouterPorts {
  readonly peers: NodePeers;
  readonly objects: NodeObjects;
  readonly refs: RefService;
  readonly leases: NodeLeases;
  readonly environments: EnvironmentService;
  /** Handles a message that processes of this node may send, too. */
  readonly handle: (from: HeadPeer, message: Message, header: unknown) => void;
}

const NO_BYTES = new Uint8Array(0);

const FREED: HeaderExtractors<MessagesOfProcess, MessagesOfProcess[typeof MESSAGE.STORE_FREED]> = {
  [MESSAGE.STORE_FREED]: (rows) => rows,
};

/** Messages between daemons about jobs and their folders. */
type OfJobs = typeof MESSAGE.JOB_ENDED | typeof MESSAGE.PACKAGE_OFFER | typeof MESSAGE.PACKAGE_READ | typeof MESSAGE.PACKAGE_HELD;

export class ClusterRouter {
  readonly #options: NodeDaemonOptions;
  readonly #ports: RouterPorts;
  readonly #alive = new Set<NodeId>();

  constructor(options: NodeDaemonOptions, ports: RouterPorts) {
    this.#options = options;
    this.#ports = ports;
  }

  /** Passes on the parts of a message for other nodes. @returns this node's part */
  split(from: ProcessId, message: Message, header: unknown): { here: unknown } | undefined {
    const { objects, peers } = this.#ports;
    for (const [location] of extractFrom(FREED, message.type, header) ?? []) objects.freedByProcess(location);
    return peers.remote.split(from, message, header);
  }

  /** A frame of another node's daemon, or of the head. */
  receive([from, to, type, callId, flags, header]: RoutedHeader, body: Uint8Array): void {
    const { remote } = this.#ports.peers;
    const message: Message = { type, callId, flags, body };
    if (to !== "" && to !== this.#options.processId) this.#deliver(to, message, header);
    else if (type === MESSAGE.REPLY) remote.answered(from, message, header);
    else this.#receive(remote.peer(from), message, header);
  }

  /** A process of another node has ended. */
  processGone(process: ProcessId): void {
    const { refs, objects, leases } = this.#ports;
    refs.processGone(process);
    objects.processGone(process);
    leases.processGone(process);
  }

  /** A process of this node has ended: the others hear it behind all that it had said. */
  localProcessGone(process: ProcessId): void {
    this.#ports.peers.remote.split(process, { type: MESSAGE.HELD_ENDED, callId: 0, flags: 0, body: NO_BYTES }, []);
  }

  nodesChanged(nodes: readonly NodeInfoHeader[]): void {
    this.#options.cluster.nodesChanged(nodes);
    for (const { nodeId, alive } of nodes) {
      if (alive) this.#alive.add(nodeId);
      else this.#alive.delete(nodeId);
    }
    const { cluster } = this.#ports.leases;
    if (cluster !== undefined) cluster.nodeCount = this.#alive.size;
    for (const { nodeId, alive, reason } of nodes) if (!alive) this.#nodeGone(nodeId, reason ?? "it is dead");
  }

  #deliver(to: ProcessId, { type, callId, flags, body }: Message, header: unknown): void {
    handle(this.#passing, type, header, to);
    this.#ports.peers.local.get(to)?.connection.send(type, header, { callId, flags, parts: [body] });
  }

  #receive(from: HeadPeer, message: Message, header: unknown): void {
    const { objects, handle: handleHere } = this.#ports;
    if (handle(objects.copyHandlers, message.type, header, nodeTagOf(from.id))) return;
    if (!handle(this.#ofDaemons, message.type, header, from.id)) handleHere(from, message, header);
  }

  /** Handlers of messages that only other nodes' daemons send; the daemon handles the rest. */
  readonly #ofDaemons: Handlers<Omit<MessagesBetweenDaemons, OfJobs | CopyMessage | typeof MESSAGE.PROCESSES_ENDED>, [from: ProcessId]> = {
    [MESSAGE.WORKER_EXITED]: (exit) => this.#ports.peers.tellProcesses(MESSAGE.WORKER_EXITED, exit),
    [MESSAGE.LOG]: (entry) => this.#ports.peers.tellDrivers(MESSAGE.LOG, entry, entry.job),
    [MESSAGE.STORE_ADOPT]: ([location, owner]) => this.#ports.objects.store.adopt(location, owner),
    [MESSAGE.LEASE_SPILL]: (asked) => this.#ports.leases.cluster?.spilled(asked),
    [MESSAGE.LEASE_SPILL_DROPPED]: (dropped, from) => this.#ports.leases.cluster?.spillDropped(from, dropped),
  };

  /** Messages for processes of this node that concern its leases, too. */
  readonly #passing: Handlers<Pick<MessagesToProcess, typeof MESSAGE.LEASE_GRANT | typeof MESSAGE.LEASE_REFUSED>, [to: ProcessId]> = {
    [MESSAGE.LEASE_GRANT]: (grant, to) => {
      this.#ports.leases.cluster?.granted(to, grant);
      if (!this.#ports.peers.local.has(to)) this.#returnUnwanted(to, grant);
    },
    [MESSAGE.LEASE_REFUSED]: (refused, to) => this.#ports.leases.cluster?.refused(to, refused),
  };

  /** Returns a lease whose owner has ended. The other node may have learned that before the question, and granted it all the same. */
  #returnUnwanted(owner: ProcessId, { workerId, leaseId }: LeaseGrantHeader): void {
    const header: LeaseNameHeader = [workerId, leaseId];
    this.#ports.peers.remote.split(owner, { type: MESSAGE.LEASE_RETURN, callId: 0, flags: 0, body: NO_BYTES }, header);
  }

  #nodeGone(nodeId: NodeId, reason: string): void {
    const tag = nodeTagOf(nodeId);
    const { peers, refs, objects, leases, environments } = this.#ports;
    if (tag === nodeTagOf(this.#options.nodeId) || peers.remote.isDead(tag)) return;
    peers.remote.nodeGone(tag, reason);
    refs.nodeGone(tag);
    environments.nodeGone(nodeId);
    objects.nodeGone(tag);
    leases.handle({ kind: "nodeGone", tag });
    leases.cluster?.nodeGone(tag);
    peers.tellProcesses(MESSAGE.NODE_GONE, [nodeId, reason]);
  }
}
