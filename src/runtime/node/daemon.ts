/**
 * The node daemon: the shell around the node's state machines.
 *
 * The daemon builds its parts from the bottom up, and gives each part those that it stands on. It hands every message
 * of a process to the part that handles it, and decides nothing itself. The head keeps actors and definitions
 * (`runtime/head/head.ts`); on one machine the daemon hosts the head. The daemon never runs user code and never
 * waits, so it answers at once whatever the workers compute. On one machine it ends its workers and itself when the
 * last driver has gone.
 */
import { timeoutAfterIo } from "../base/time/timeout-after-io.ts";
import { type NodeId, type NodeTag, nodeTagOf, type ProcessId } from "../base/ids.ts";
import { acceptPeer } from "../rpc/handshake.ts";
import { type Connection, ConnectionClosedError } from "../rpc/connection.ts";
import type { Transport } from "../os/network/transport.ts";
import type { Message, PeerConnection } from "../rpc/peer-connection.ts";
import type { Frame } from "../wire/frame.ts";
import type { NodeCommands, NodeDigestHeader, NodeReportHeader, RoutedHeader } from "../wire/cluster/cluster-messages.ts";
import { type HelloHeader, MESSAGE } from "../wire/messages.ts";
import type { WhyRefHeader } from "../wire/calls/why-messages.ts";
import type { HeadPeer, HeadService } from "../rpc/head-service.ts";
import type { FolderHandlers } from "./environments/environment-service.ts";
import type { NodeDaemonOptions } from "./daemon-options.ts";
import { NodeLeases } from "./leases/node-leases.ts";
import { ClusterRouter } from "./membership/cluster-router.ts";
import { Drain } from "./membership/drain.ts";
import { EndedElsewhere } from "./membership/fencing/ended-elsewhere.ts";
import { nodeDigest } from "./membership/node-digest.ts";
import { NodeExtensions } from "./node-extensions.ts";
import { NodeInspections } from "./node-inspections.ts";
import { NodePeers, type Peer } from "./node-peers.ts";
import { NodeMetricsService } from "./node-metrics-service.ts";
import { nodeServices } from "./node-services.ts";
import { NodeState } from "./node-state.ts";
import { NodeLogs } from "./node-logs.ts";
import { NodeObjects } from "./objects/node-objects.ts";
import { admitProcess } from "./process-admission.ts";
import { RefService } from "./references/ref-service.ts";
import { RefValues } from "./references/ref-values.ts";
import { SilentOwners } from "./references/silent-owners.ts";
import { NodeWorkers } from "./workers/node-workers.ts";
import { handle, type Handlers } from "../wire/tables/message-table.ts";
import type { MessagesBetweenDaemons, MessagesOfProcess } from "../wire/tables/messages-to-daemon.ts";
import type { ExtensionHeader } from "../wire/calls/extension-messages.ts";
import { MESSAGES_TO_HEAD, type MessagesToHead } from "../wire/tables/messages-to-head.ts";

/** Share of `why`'s time limit that is kept for the way back. */
const WHY_HOP_MS = 100;
/** Wait for the exit of a process whose sockets have closed. */
const EXIT_AFTER_CLOSE_MS = 1000;

/** A process of this node, or the stand-in for a process of another node, whose kind is not known here. */
type Sender = HeadPeer & { kind?: HelloHeader["kind"] };
type QuestionsOfProcess = Pick<MessagesOfProcess, keyof MessagesToHead & keyof MessagesOfProcess>;
type DaemonHandlers = Handlers<MessagesOfProcess, [peer: Sender, message: Message]> &
  Pick<Handlers<MessagesBetweenDaemons, [peer: HeadPeer, message: Message]>, typeof MESSAGE.JOB_ENDED | typeof MESSAGE.PROCESSES_ENDED> &
  Partial<FolderHandlers>;

export class NodeDaemon {
  readonly #options: NodeDaemonOptions;
  readonly #peers: NodePeers;
  readonly #objects: NodeObjects;
  readonly #refs: RefService;
  readonly #workers: NodeWorkers;
  readonly #leases: NodeLeases;
  readonly #router: ClusterRouter;
  readonly #endedElsewhere: EndedElsewhere;
  readonly #head: HeadService;
  readonly #extensions: NodeExtensions;
  readonly #state: NodeState;
  readonly #logs: NodeLogs;
  readonly #metrics: NodeMetricsService;
  readonly #inspections: NodeInspections;
  readonly #handlers: DaemonHandlers;
  readonly #silentOwners = new SilentOwners();
  #drain: Drain | undefined;
  #isClosing = false;

  constructor(options: NodeDaemonOptions) {
    this.#options = options;
    const { processId, nodeId } = options;
    // The head and its node call each other, so one of the two comes last.
    const head = (): HeadService => this.#head;
    const peers = new NodePeers(options);
    const values = new RefValues();
    const objects = new NodeObjects(options, { peers, keeps: (id) => values.has(id) });
    const refs = new RefService({ processId, nodeId, values, peers, objects, head });
    const state = new NodeState(options, peers.local);
    const logs = new NodeLogs(options.logs);
    const workers = new NodeWorkers(options, {
      peers,
      logs,
      head,
      ended: (exit, intended) => state.workerEnded(exit, intended),
      lease: (event) => this.#leases.handle(event),
      processGone: (worker) => this.#processGone(worker),
    });
    const others = (): { drivers: number; objects: number } => ({ drivers: peers.drivers.length, objects: objects.store.report.objects });
    const leases = new NodeLeases(options, { peers, workers, head, others });
    const { environments } = workers;
    const router = new ClusterRouter(options, {
      peers,
      objects,
      refs,
      leases,
      environments,
      handle: (from, message, header) => this.#handle(from, message, header),
    });
    this.#peers = peers;
    this.#state = state;
    this.#logs = logs;
    this.#metrics = new NodeMetricsService({
      nodeId,
      usage: options.usage,
      store: () => objects.store.report,
      isHere: (process) => peers.local.has(process),
      calls: () => state.callTotals,
      dropped: () => state.dropped,
    });
    this.#inspections = new NodeInspections({ local: peers.local, workers: () => workers.pool });
    this.#objects = objects;
    this.#refs = refs;
    this.#workers = workers;
    this.#leases = leases;
    this.#router = router;
    this.#endedElsewhere = new EndedElsewhere({
      nodeTag: nodeTagOf(processId),
      known: () => [...refs.holders(), ...objects.store.owners(), ...leases.manager.leases().map(({ owner }) => owner)],
      // The question has no time limit: it ends with an answer, or with the death of that node and its processes.
      ask: async (node, asked) => (await peers.remote.daemonOf(node).request(MESSAGE.PROCESSES_ENDED, asked, { timeoutMs: 0 })).header,
      onEnded: (process) => router.processGone(process),
    });
    const drain = (...asked: NodeCommands["drain"]): void => this.#drainFor(...asked);
    // A head in this process may tell something before the extensions here have begun.
    const tellExtension = (told: ExtensionHeader): void => queueMicrotask(() => this.#extensions.toldByHead(told));
    this.#head = options.createHead(nodeServices(options, { peers, refs, workers, leases, router, drain, tellExtension }));
    this.#extensions = new NodeExtensions(options, {
      head: this.#head,
      warn: peers.warn,
      acceleratorsOf: (reservation) => leases.manager.acceleratorsOf(reservation),
    });
    this.#handlers = this.#allHandlers();
  }

  start(): void {
    this.#leases.start();
  }

  accept(transport: Transport): void {
    const { token, nodeId, processId } = this.#options;
    acceptPeer(transport, { token, nodeId, processId, onPeer: (connection, hello) => this.#join(connection, hello) });
  }

  /** Tells the programs of this node. */
  warn(text: string): void {
    this.#peers.warn(text);
  }

  get workerPids(): number[] {
    return this.#workers.pool.pids;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#drain?.close();
    this.#workers.beginClose();
    this.#leases.close();
    this.#objects.close();
    this.#extensions.close();
    this.#state.close();
    this.#metrics.close();
    this.#inspections.close();
    this.#head.close?.();
    await this.#workers.pool.close("the session was shut down");
    await Promise.all([this.#logs.close(), this.#state.historyWritten()]);
  }

  /** Handles a frame of another node's daemon, or of the head for a process of this node. */
  receiveRouted(header: RoutedHeader, body: Uint8Array): void {
    this.#router.receive(header, body);
  }

  /** Returns the daemon of another node, to ask it; undefined when it is dead. */
  daemonOf(node: NodeId): PeerConnection | undefined {
    const { remote } = this.#peers;
    return remote.isDead(nodeTagOf(node)) ? undefined : remote.daemonOf(nodeTagOf(node));
  }

  /** Accepts another node that comes to fetch objects. */
  acceptTransfer(tag: NodeTag, transport: Transport): void {
    this.#objects.acceptTransfer(tag, transport);
  }

  get digest(): NodeDigestHeader {
    const { manager } = this.#leases;
    for (const attempt of manager.bundles().waiting) this.#leases.handle({ kind: "groupAbort", ...attempt });
    const { actors, environments } = this.#workers;
    const contents = { bundles: manager.bundles().held, environments: environments.descriptions() };
    return nodeDigest(this.#options.nodeId, { processes: this.#peers.local, actors, ...contents });
  }

  /**
   * Follows another head: asks it again for the leases that it does not know, and asks other nodes for the deaths that
   * the last head may not have told.
   */
  headUp(): void {
    this.#leases.cluster?.headUp();
    this.#endedElsewhere.ask();
  }

  get report(): NodeReportHeader | undefined {
    return this.#leases.cluster?.report();
  }

  // ---- processes

  #join(connection: Connection, hello: HelloHeader): void {
    const { local } = this.#peers;
    const peer = admitProcess(connection, hello, {
      nodeId: this.#options.nodeId,
      isKnown: (process) => local.has(process as ProcessId),
      onMessage: (from, frame, header) => this.#receive(from, frame, header),
      onRefused: (refused, fault) => {
        this.#workers.pool.kill(refused.id, `the node daemon refused what it sent: ${fault}`);
        this.#leave(refused);
      },
    });
    if (peer === undefined) return;
    local.set(peer.id, peer);
    connection.onClose = () => this.#leave(peer);
    if (this.#drain !== undefined) connection.send(MESSAGE.NODE_DRAINING, this.#drain.notice);
    this.#objects.store.joined(peer.id);
    this.#state.joined(peer);
    if (peer.kind === "driver" || peer.kind === "worker")
      this.#extensions.processJoined(peer.id, peer.kind, { job: peer.jobId, pid: peer.pid });
    if (peer.kind === "worker") this.#workers.joined(peer.id);
  }

  #leave(peer: Peer): void {
    const { local, remote } = this.#peers;
    if (local.get(peer.id) !== peer) return;
    local.delete(peer.id);
    if (this.#isClosing) return;
    if (peer.kind === "worker") {
      this.#workers.left(peer.id, peer.connection);
      // The exit is on the way and tells the rest; a worker without its daemon is of no use.
      timeoutAfterIo(EXIT_AFTER_CLOSE_MS, () => this.#workers.pool.kill(peer.id, "it lost the connection to its node daemon"));
      return;
    }
    this.#state.driverGone(peer.id);
    this.#processGone(peer.id);
    for (const node of this.#workers.environments.driverGone(peer.jobId)) remote.tell(nodeTagOf(node), MESSAGE.JOB_ENDED, peer.jobId);
    if (peer.kind === "driver" && this.#peers.drivers.length === 0) this.#options.onAbandoned();
  }

  #processGone(process: ProcessId): void {
    this.#metrics.processGone(process);
    this.#state.openCalls.processGone(process);
    this.#refs.processGone(process);
    this.#silentOwners.heard(process);
    this.#objects.processGone(process);
    this.#router.localProcessGone(process);
    this.#head.processGone(process);
    this.#extensions.processGone(process);
    this.#leases.processGone(process);
  }

  #drainFor(...[deadlineMs, reason]: NodeCommands["drain"]): void {
    this.#drain?.close();
    this.#leases.handle({ kind: "draining" });
    this.#drain = new Drain({
      busy: () => this.#leases.manager.leases().length + this.#workers.actors.size + this.#peers.drivers.length + this.#extensions.work,
      deadlineMs,
      reason,
      nowMs: this.#options.nowMs,
      onDone: (why) => this.#options.cluster.leave(why),
    });
    this.#peers.tellProcesses(MESSAGE.NODE_DRAINING, this.#drain.notice);
  }

  // ---- messages

  #receive(peer: Peer, frame: Frame, header: unknown): void {
    const part = this.#router.split(peer.id, frame, header);
    if (part !== undefined) this.#handle(peer, frame, part.here);
  }

  #handle(peer: Sender, message: Message, header: unknown): void {
    handle(this.#handlers, message.type, header, peer, message);
  }

  #allHandlers(): DaemonHandlers {
    const { environments } = this.#workers;
    return {
      ...this.#headHandlers(),
      ...this.#leases.handlers,
      ...this.#workers.handlers,
      ...this.#refs.handlers,
      ...this.#objects.handlers,
      ...environments.handlers,
      ...environments.folderHandlers,
      ...this.#state.handlers,
      ...this.#logs.handlers,
      ...this.#metrics.handlers,
      ...this.#inspections.handlers,
      [MESSAGE.LEASE_DEMAND]: (header, peer, message) => {
        this.#state.openCalls.madeCall(peer.id);
        this.#leases.handlers[MESSAGE.LEASE_DEMAND](header, peer, message);
      },
      [MESSAGE.NODE_EXTENSION]: (asked, peer, message) => this.#extensions.receive(asked, peer, message),
      // The process that made the call does it.
      [MESSAGE.CANCEL_REF]: (header) => {
        const maker = this.#refs.makerOf(header);
        if (maker !== undefined) this.#peers.send(maker, MESSAGE.CANCEL_REF, header);
      },
      [MESSAGE.PROCESSES_ENDED]: (asked, peer, { callId }) =>
        peer.connection.reply(
          callId,
          asked.filter((process) => this.#peers.hasEnded(process)),
        ),
      [MESSAGE.WHY_REF]: (header, peer, { callId }) => this.#whyRef(peer, callId, header),
      [MESSAGE.SHUTDOWN]: (_nothing, peer, { callId }) => this.#shutdown(peer, callId),
    };
  }

  /** Passes questions to the head. The daemon itself also notes a few of them. */
  #headHandlers(): Handlers<QuestionsOfProcess, [peer: Sender, message: Message]> {
    const toHead = (header: unknown, peer: Sender, message: Message): void => this.#head.receive(peer, message, header);
    const passedOn = Object.fromEntries(Object.keys(MESSAGES_TO_HEAD).map((type) => [type, toHead]));
    return {
      ...(passedOn as unknown as Handlers<QuestionsOfProcess, [peer: Sender, message: Message]>),
      [MESSAGE.DEFINE]: (header, peer, message) => {
        // The head keeps the definition itself.
        this.#refs.defined(header);
        toHead(header, peer, message);
      },
      [MESSAGE.ENVIRONMENT]: (header, peer, message) => {
        this.#workers.environments.described(header);
        // Other nodes that run something in the environment ask the head.
        toHead(header, peer, message);
      },
      [MESSAGE.ACTOR_WATCH]: (header, peer, message) => {
        this.#state.openCalls.madeCall(peer.id);
        toHead(header, peer, message);
      },
      [MESSAGE.ACTOR_CREATE]: (header, peer, message) => {
        this.#leases.handle({ kind: "actorCreated", creator: peer.id });
        toHead(header, peer, message);
      },
      [MESSAGE.RESOURCES]: (_nothing, peer, message) => toHead({ store: this.#objects.store.report }, peer, message),
    };
  }

  #whyRef(peer: HeadPeer, callId: number, header: WhyRefHeader): void {
    const maker = this.#refs.makerOf(header);
    const target = maker === undefined ? undefined : this.#peers.peer(maker);
    const here = maker === undefined ? undefined : this.#peers.local.get(maker);
    const { nowMs } = this.#options;
    if (here !== undefined) this.#silentOwners.asked(here.id, nowMs());
    // The asker waits equally long, and hears why there is no answer.
    const answer = target?.connection.request(MESSAGE.WHY_REF, header, { timeoutMs: Math.max(1, header.trail.withinMs - WHY_HOP_MS) });
    (answer ?? Promise.reject(new Error("nobody makes it"))).then(
      (reply) => {
        if (here !== undefined) this.#silentOwners.heard(here.id);
        peer.connection.reply(callId, reply.header);
      },
      (error: Error) => {
        const isSilent = here !== undefined && !here.connection.isClosed && error instanceof ConnectionClosedError;
        if (isSilent) {
          peer.connection.reply(callId, this.#silentOwners.explain(here, nowMs()));
          return;
        }
        if (here !== undefined) this.#silentOwners.heard(here.id);
        peer.connection.replyError(callId, error);
      },
    );
  }

  #shutdown(peer: HeadPeer, callId: number): void {
    if (!this.#options.isOfDriver) {
      // The node goes on without this driver. The driver's leftovers end with its connection.
      peer.connection.reply(callId, undefined);
      return;
    }
    void this.close().then(() => {
      peer.connection.reply(callId, undefined);
      const connection = this.#peers.local.get(peer.id)?.connection;
      if (connection === undefined) {
        this.#options.onAbandoned();
        return;
      }
      // Much output may lie before the reply, and a driver that prints it to a slow terminal reads slowly. The end of
      // this process would cut the output off.
      connection.onClose = () => this.#options.onAbandoned();
      connection.close();
    });
  }
}
