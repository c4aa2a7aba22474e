/**
 * Routes between this node's tables and the rest of the cluster: refs and bytes that belong to other nodes, and what ends with a dead node.
 *
 * Part of every daemon; on one machine there are no other nodes to route to. `remote-nodes.ts` carries the messages; this file decides which of them change refs,
 * store and leases here. `count`, `adopt`, `free` and `arenaLost` return whether the matter was another node's.
 */
import { type JobId, type NodeId, type NodeTag, nodeTagOf, type ProcessId } from "../../base/ids.ts";
import type { HeadPeer, HeadService } from "../../rpc/head-service.ts";
import type { Message, PeerConnection } from "../../rpc/peer-connection.ts";
import type { NodeInfoHeader, RoutedHeader } from "../../wire/cluster-messages.ts";
import { type LeaseGrantHeader, type LeaseNameHeader, type LogHeader, MESSAGE, type WireLocation } from "../../wire/messages.ts";
import { handle, type Handlers, extractFrom, type HeaderExtractors } from "../../wire/message-table.ts";
import type { MessagesBetweenDaemons, MessagesOfProcess } from "../../wire/messages-to-daemon.ts";
import type { MessagesToProcess } from "../../wire/messages-to-process.ts";
import type { ClusterLeases } from "../leases/cluster-leases.ts";
import type { EnvironmentDescription } from "../environments/environment-table.ts";
import type { StoreFolders } from "../../objects/transfer/served-object.ts";
import type { Transport } from "../../os/network/transport.ts";
import type { LeaseEvent } from "../leases/lease-events.ts";
import type { RemoteStores } from "../objects/object-locations.ts";
import { type CopyMessage, ObjectTransfer } from "../objects/object-transfer.ts";
import type { RefCount } from "../references/ref-ledger.ts";
import type { RefService } from "../references/ref-service.ts";
import { RemoteNodes } from "./remote-nodes.ts";
import type { StoreService } from "../objects/store-service.ts";

/** How a daemon reaches the rest of its cluster; made by the entry point. */
export interface NodeCluster {
  /** The link to the daemon of another node; undefined for one that is not known, or dead. */
  readonly linkTo: (tag: NodeTag) => PeerConnection | undefined;
  /** The nodes to which there is a link. */
  readonly linked: () => Iterable<NodeTag>;
  /** Which nodes there are. */
  readonly nodesChanged: (nodes: readonly NodeInfoHeader[]) => void;
  /** What is free has changed: the head is to be told. */
  readonly viewChanged: () => void;
  /** The node leaves: the head is told, and then it ends. */
  readonly leave: (reason: string) => void;
  /** An authenticated stream to the transfer address of another node. */
  readonly openTransfer: (tag: NodeTag) => Promise<Transport>;
  /** Where the store's files are. */
  readonly folders: StoreFolders;
}

interface ClusterRouterOptions {
  readonly nodeId: NodeId;
  readonly daemonId: ProcessId;
  readonly refs: RefService;
  readonly store: StoreService;
  /** The connection of a process of this node. */
  readonly local: (id: ProcessId) => PeerConnection | undefined;
  readonly tellProcesses: (type: number, header: unknown) => void;
  /** A worker of another node has printed something. */
  readonly logged: (entry: LogHeader) => void;
  readonly handle: (from: HeadPeer, message: Message, header: unknown) => void;
  readonly lease: (event: LeaseEvent) => void;
  readonly head: () => HeadService;
  readonly nodeGone: (node: NodeId) => void;
  readonly leases: () => ClusterLeases | undefined;
}

/** What is free changes with each grant; the head needs it some twenty times a second. */
const REPORT_AFTER_MS = 50;
/** What the head takes of all nodes together: of more than a thousand, each reports less often. */
const REPORTS_PER_SECOND = 20_000;
const NO_BYTES = new Uint8Array(0);

const FREED: HeaderExtractors<MessagesOfProcess, MessagesOfProcess[typeof MESSAGE.STORE_FREED]> = {
  [MESSAGE.STORE_FREED]: (rows) => rows,
};

/** What daemons say of jobs and their folders. */
type OfJobs = typeof MESSAGE.JOB_ENDED | typeof MESSAGE.PACKAGE_OFFER | typeof MESSAGE.PACKAGE_READ | typeof MESSAGE.PACKAGE_HELD;

export class ClusterRouter {
  readonly #cluster: NodeCluster;
  readonly #options: ClusterRouterOptions;
  readonly #remote: RemoteNodes;
  readonly #objects: ObjectTransfer;
  readonly #dead = new Set<NodeTag>();
  readonly #alive = new Set<NodeId>();
  #reportTimer: NodeJS.Timeout | undefined;

  constructor(cluster: NodeCluster, options: ClusterRouterOptions) {
    this.#cluster = cluster;
    this.#options = options;
    this.#remote = new RemoteNodes({
      daemonId: options.daemonId,
      linkTo: cluster.linkTo,
      linked: cluster.linked,
      deliver: (to, { type, callId, flags, body }, header) => {
        handle(this.#passing, type, header, to);
        options.local(to)?.send(type, header, { callId, flags, parts: [body] });
      },
      receive: (from, message, header) => this.#receive(from, message, header),
    });
    this.#objects = new ObjectTransfer({
      processId: options.daemonId,
      store: options.store,
      ...cluster.folders,
      connect: cluster.openTransfer,
      tell: (tag, type, header) => this.#remote.tell(tag, type, header),
      // TLS checks every byte by itself, and what is not TLS does not leave the machine.
      checks: false,
      nowMs: () => performance.now(),
      isOwned: ({ of: [id], owner }) => options.local(owner) !== undefined || options.refs.keeps(id),
    });
  }

  /** Another node comes to fetch objects. */
  acceptTransfer(tag: NodeTag, transport: Transport): void {
    if (this.#dead.has(tag)) transport.destroy();
    else this.#objects.accept(tag, transport);
  }

  /** What processes of this node want of objects of other nodes. */
  get handlers(): ObjectTransfer["handlers"] {
    return this.#objects.handlers;
  }

  /** A process of this node has ended: the others hear it behind all that it had said. */
  localProcessGone(process: ProcessId): void {
    this.#objects.processGone(process);
    this.#remote.split(process, { type: MESSAGE.HELD_ENDED, callId: 0, flags: 0, body: NO_BYTES }, []);
  }

  /** What the others have of which objects, as far as this node knows, and how they are asked. */
  get stores(): RemoteStores {
    return {
      copiesOf: (of) => this.#objects.copiesOf(of),
      isDead: (node) => this.#dead.has(node),
      ask: async (node, objects) => {
        return (await this.#remote.daemonOf(node).request(MESSAGE.OBJECT_LOCATE, objects)).header;
      },
    };
  }

  isHere(id: ProcessId | string): boolean {
    return this.#remote.isHere(id);
  }

  peer(id: ProcessId): HeadPeer {
    return this.#remote.peer(id);
  }

  /** The daemon of another node; undefined for one that is dead. */
  daemonOf(node: NodeId): PeerConnection | undefined {
    return this.#dead.has(nodeTagOf(node)) ? undefined : this.#remote.daemonOf(nodeTagOf(node));
  }

  /** A job of this node has ended: another node is to know. */
  jobEnded(node: NodeId, job: JobId): void {
    this.#remote.tell(nodeTagOf(node), MESSAGE.JOB_ENDED, job);
  }

  /** What a key of a runtime environment means, as the process that described it told the head. */
  async environment(key: string): Promise<EnvironmentDescription> {
    const { daemonId, head } = this.#options;
    const peer = this.#remote.peer(daemonId);
    const reply = await this.#remote.asked(MESSAGE.ENVIRONMENT_FETCH, (callId) => {
      head().receive(peer, { type: MESSAGE.ENVIRONMENT_FETCH, callId, flags: 0, body: NO_BYTES }, key);
    });
    return reply.header;
  }

  split(from: ProcessId, message: Message, header: unknown): { here: unknown } | undefined {
    for (const [location] of extractFrom(FREED, message.type, header) ?? [])
      if (!this.isHere(location[0])) this.#objects.freedElsewhere(location);
    return this.#remote.split(from, message, header);
  }

  tell(node: NodeTag, type: number, header: unknown): void {
    this.#remote.tell(node, type, header);
  }

  tellAll(type: number, header: unknown): void {
    this.#remote.tellAll(type, header);
  }

  receive(routed: { header: RoutedHeader; body: Uint8Array }): void {
    this.#remote.receive(routed);
  }

  count({ id, owner, holder, count }: RefCount): boolean {
    if (this.isHere(owner)) return false;
    if (count > 0) this.#remote.tell(nodeTagOf(owner), MESSAGE.REF_HOLD, [[id, owner, holder]]);
    else this.#remote.tell(nodeTagOf(owner), MESSAGE.REF_RELEASE, [[id, -count, owner]]);
    return true;
  }

  /** The bytes there are this daemon's to free, from now on. */
  adopt(location: WireLocation): boolean {
    return this.#tellAt(location, MESSAGE.STORE_ADOPT, [location, this.#options.daemonId]);
  }

  free(location: WireLocation, { reused }: { reused: boolean }): boolean {
    if (!this.isHere(location[0])) this.#objects.freedElsewhere(location);
    return this.#tellAt(location, MESSAGE.STORE_FREED, [[location, reused]]);
  }

  arenaLost(location: WireLocation): boolean {
    return this.#tellAt(location, MESSAGE.ARENA_LOST, location);
  }

  /** A process of another node has ended. */
  processGone(process: ProcessId): void {
    this.#options.refs.processGone(process);
    this.#options.store.processGone(process);
    this.#options.lease({ kind: "processGone", process });
  }

  nodesChanged(nodes: readonly NodeInfoHeader[]): void {
    this.#cluster.nodesChanged(nodes);
    for (const { nodeId, alive } of nodes) {
      if (alive) this.#alive.add(nodeId);
      else this.#alive.delete(nodeId);
    }
    for (const { nodeId, alive, reason } of nodes) if (!alive) this.#nodeGone(nodeId, reason ?? "it is dead");
  }

  /** The head's view follows what is free here, in one message for all that changes together. */
  viewChanged(): void {
    if (this.#reportTimer !== undefined) return;
    this.#reportTimer = setTimeout(
      () => {
        this.#reportTimer = undefined;
        if (this.#options.leases()?.hasNews === true) this.#cluster.viewChanged();
      },
      Math.max(REPORT_AFTER_MS, (1000 * this.#alive.size) / REPORTS_PER_SECOND),
    );
    this.#reportTimer.unref();
  }

  close(): void {
    clearTimeout(this.#reportTimer);
    this.#objects.close();
  }

  #receive(from: HeadPeer, message: Message, header: unknown): void {
    if (handle(this.#objects.copyHandlers, message.type, header, nodeTagOf(from.id))) return;
    if (!handle(this.#ofDaemons, message.type, header, from.id)) this.#options.handle(from, message, header);
  }

  /** What the daemons of other nodes say that no process of this node does; the rest of it is the daemon's. */
  readonly #ofDaemons: Handlers<Omit<MessagesBetweenDaemons, OfJobs | CopyMessage>, [from: ProcessId]> = {
    [MESSAGE.WORKER_EXITED]: (exit) => this.#options.tellProcesses(MESSAGE.WORKER_EXITED, exit),
    [MESSAGE.LOG]: (entry) => this.#options.logged(entry),
    [MESSAGE.STORE_ADOPT]: ([location, owner]) => this.#options.store.adopt(location, owner),
    [MESSAGE.LEASE_SPILL]: (asked) => this.#options.leases()?.spilled(asked),
    [MESSAGE.LEASE_SPILL_DROPPED]: (dropped, from) => this.#options.leases()?.spillDropped(from, dropped),
  };

  /** Messages for processes of this node that concern its leases, too. */
  readonly #passing: Handlers<Pick<MessagesToProcess, typeof MESSAGE.LEASE_GRANT | typeof MESSAGE.LEASE_REFUSED>, [to: ProcessId]> = {
    [MESSAGE.LEASE_GRANT]: (grant, to) => {
      this.#options.leases()?.granted(to, grant);
      if (this.#options.local(to) === undefined) this.#returnUnwanted(to, grant);
    },
    [MESSAGE.LEASE_REFUSED]: (refused, to) => this.#options.leases()?.refused(to, refused),
  };

  /** Who asked for it has ended. The other node may have heard of that before the question, which it then answered all the same. */
  #returnUnwanted(owner: ProcessId, { workerId, leaseId }: LeaseGrantHeader): void {
    const header: LeaseNameHeader = [workerId, leaseId];
    this.#remote.split(owner, { type: MESSAGE.LEASE_RETURN, callId: 0, flags: 0, body: NO_BYTES }, header);
  }

  #tellAt(location: WireLocation, type: number, header: unknown): boolean {
    if (this.isHere(location[0])) return false;
    this.#remote.tell(nodeTagOf(location[0]), type, header);
    return true;
  }

  #nodeGone(nodeId: NodeId, reason: string): void {
    const tag = nodeTagOf(nodeId);
    if (tag === nodeTagOf(this.#options.nodeId) || this.#dead.has(tag)) return;
    this.#dead.add(tag);
    this.#remote.nodeGone(tag, reason);
    this.#options.refs.nodeGone(tag);
    this.#options.nodeGone(nodeId);
    this.#options.store.nodeGone(tag);
    this.#objects.nodeGone(tag);
    this.#options.lease({ kind: "nodeGone", tag });
    this.#options.leases()?.nodeGone(tag);
    this.#options.tellProcesses(MESSAGE.NODE_GONE, [nodeId, reason]);
  }
}
