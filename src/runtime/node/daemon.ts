/**
 * The node daemon: the shell around the node's state machines.
 *
 * It turns messages of drivers and workers into events (leases, references, actors, the store's ledger) and their effects into messages, processes
 * and timers; no decision is made here. Actors and definitions are the head's (`runtime/head/head.ts`), which on one machine it hosts. What concerns other nodes
 * goes by `remote-nodes.ts`. It never runs user code and never waits, so it answers at once whatever the workers compute. On one machine it ends its workers
 * and itself when the last driver has gone.
 */
import { timeoutAfterIo } from "../base/timeout-after-io.ts";
import type { ActorId, JobId, NodeId, NodeTag, ProcessId } from "../base/ids.ts";
import { resourceVector } from "../base/resources.ts";
import { acceptPeer } from "../rpc/handshake.ts";
import type { Connection } from "../rpc/connection.ts";
import type { Transport } from "../os/network/transport.ts";
import type { Message, PeerConnection } from "../rpc/peer-connection.ts";
import type { Frame } from "../wire/frame.ts";
import type { NodeDigestHeader, NodeReportHeader, RoutedHeader } from "../wire/cluster-messages.ts";
import {
  type CancelRefHeader,
  type CancelRunningHeader,
  type HelloHeader,
  type LogHeader,
  MESSAGE,
  type ReclaimedHeader,
  type WorkerExitedHeader,
} from "../wire/messages.ts";
import type { ExtensionHeader } from "../wire/extension-messages.ts";
import type { LeaseReportHeader, WhyRefHeader } from "../wire/why-messages.ts";
import type { HeadPeer, HeadService } from "../rpc/head-service.ts";
import { parseLeaseSpec } from "../scheduling/lease-spec.ts";
import { EnvironmentService, type FolderHandlers } from "./environments/environment-service.ts";
import { ClusterLeases } from "./leases/cluster-leases.ts";
import type { NodeDaemonOptions } from "./daemon-options.ts";
import { type LeaseRouting, leasesOfOnlyNode } from "./leases/lease-routing.ts";
import type { LeaseEffect, LeaseEvent } from "./leases/lease-events.ts";
import { leaseHandlers, slotHeader } from "./leases/lease-messages.ts";
import type { Peer } from "./local-peer.ts";
import { LeaseManager } from "./leases/lease-manager.ts";
import { obstacleText } from "./leases/lease-obstacles.ts";
import { Drain } from "./membership/drain.ts";
import { leaseReport } from "./leases/lease-report.ts";
import { LeaseWatch } from "./leases/lease-watch.ts";
import { nodeDigest, type PlacedActor } from "./membership/node-digest.ts";
import { nodeServices } from "./node-services.ts";
import { admitProcess } from "./process-admission.ts";
import { NodeExtensions } from "./node-extensions.ts";
import { nodeHeader } from "./node-header.ts";
import { answerLocate } from "./objects/object-locations.ts";
import { ClusterRouter } from "./membership/cluster-router.ts";
import { MemoryGuard } from "./workers/memory-guard.ts";
import { RefService } from "./references/ref-service.ts";
import { StoreService } from "./objects/store-service.ts";
import { describeExit, WorkerPool } from "./workers/worker-pool.ts";
import { handle, type Handlers } from "../wire/message-table.ts";
import type { MessagesBetweenDaemons, MessagesOfProcess } from "../wire/messages-to-daemon.ts";
import { MESSAGES_TO_HEAD, type MessagesToHead } from "../wire/messages-to-head.ts";

/** A dying process' sockets close before its exit is known. */
const EXIT_AFTER_CLOSE_MS = 1000;
/** The system closes a dead process' sockets at once, unless another process has them, too. */
const CLOSE_AFTER_EXIT_MS = 1000;
const NO_BYTES = new Uint8Array(0);
/** What is said of a worker that ended before it was heard of. */
const GONE = { pid: 0, address: "", remoteAddress: "" };

/** A process of this node, or what stands for one of another, whose kind is not known here. */
type Sender = HeadPeer & { kind?: HelloHeader["kind"] };
type QuestionsOfProcess = Pick<MessagesOfProcess, keyof MessagesToHead & keyof MessagesOfProcess>;
type WorkerMessage =
  | typeof MESSAGE.LEASE_DEMAND
  | typeof MESSAGE.LEASE_ONCE
  | typeof MESSAGE.LEASE_RECLAIMED
  | typeof MESSAGE.WORKER_EXIT
  | typeof MESSAGE.CANCEL_REF
  | typeof MESSAGE.CANCEL_RUNNING
  | typeof MESSAGE.WHY_LEASE
  | typeof MESSAGE.WHY_REF
  | typeof MESSAGE.SHUTDOWN;
type DaemonHandlers = Handlers<MessagesOfProcess, [peer: Sender, message: Message]> &
  Pick<Handlers<MessagesBetweenDaemons>, typeof MESSAGE.JOB_ENDED> &
  Partial<FolderHandlers>;

export class NodeDaemon {
  readonly #options: NodeDaemonOptions;
  readonly #leases: LeaseManager;
  readonly #refs: RefService;
  readonly #head: HeadService;
  readonly #store: StoreService;
  readonly #workers: WorkerPool;
  readonly #environments: EnvironmentService;
  readonly #memory: MemoryGuard | undefined;
  readonly #peers = new Map<ProcessId, Peer>();
  readonly #actorWorkers = new Map<ProcessId, PlacedActor>();
  readonly #intendedExits = new Set<ProcessId>();
  readonly #router: ClusterRouter;
  /** Undefined on the only node, which seeks nothing elsewhere. */
  readonly #clusterLeases: ClusterLeases | undefined;
  readonly #routing: LeaseRouting;
  readonly #watch: LeaseWatch;
  readonly #extensions: NodeExtensions;
  readonly #handlers: DaemonHandlers;
  #drain: Drain | undefined;
  #isClosing = false;

  constructor(options: NodeDaemonOptions) {
    this.#options = options;
    this.#leases = new LeaseManager({
      total: resourceVector(options.resources),
      cpuCount: options.resources["CPU"] ?? 0,
      nodeId: options.nodeId,
      labels: options.labels,
      accelerators: options.accelerators,
      isClustered: !options.isOfDriver,
    });
    this.#watch = new LeaseWatch({
      leases: this.#leases,
      nowMs: options.nowMs,
      tick: () => this.#lease({ kind: "tick", nowMs: options.nowMs() }),
      warn: (text) => this.#warn(text),
      nameOf: (actor) => this.#head.describe(actor),
    });
    this.#store = new StoreService({
      quotaBytes: options.objectStoreMemoryBytes,
      disk: options.spillDisk,
      unlink: options.unlinkArena,
      send: (to, type, header) => this.#send(to, type, header),
      warn: (text) => this.#warn(text),
      nowMs: options.nowMs,
    });
    this.#refs = new RefService({
      processId: options.processId,
      peer: (id) => this.#peer(id),
      send: (to, type, header) => this.#send(to, type, header),
      actorUnheld: (actor) => this.#head.unheld(actor),
      definitionUnheld: (reference) => this.#head.definitionUnheld(reference, options.nodeId),
      countElsewhere: (change) => this.#router.count(change),
      adoptStored: (location) => {
        if (!this.#router.adopt(location)) this.#store.adopt(location, options.processId);
      },
      freeStored: (location, freed) => {
        if (!this.#router.free(location, freed)) this.#store.free(location, freed);
      },
      arenaLost: (location) => {
        if (!this.#router.arenaLost(location)) this.#store.arenaLost(location);
      },
    });
    this.#router = new ClusterRouter(options.cluster, {
      nodeId: options.nodeId,
      daemonId: options.processId,
      refs: this.#refs,
      store: this.#store,
      local: (id) => this.#peers.get(id)?.connection,
      tellProcesses: (type, header) => this.#tellProcesses(type, header),
      logged: (entry) => this.#tellDrivers(MESSAGE.LOG, entry, entry.job),
      handle: (from, message, header) => this.#handle(from, message, header),
      lease: (event) => this.#lease(event),
      head: () => this.#head,
      nodeGone: (node) => this.#environments.nodeGone(node),
      leases: () => this.#clusterLeases,
    });
    this.#environments = new EnvironmentService({
      build: options.buildEnvironment,
      folders: options.folders,
      // All programs of the only node have described theirs to this daemon.
      ask: options.isOfDriver ? undefined : (key) => this.#router.environment(key),
      launch: (key, settings) => this.#workers.spawn(key, settings),
      refuse: (environment, refusal) => this.#lease({ kind: "environmentFailed", environment, refusal }),
      ended: (environment) => this.#lease({ kind: "environmentEnded", environment }),
      workers: (environment) => this.#workers.countOf(environment),
    });
    const shared = {
      nodeId: options.nodeId,
      leases: this.#leases,
      nowMs: options.nowMs,
      lease: (event: LeaseEvent) => this.#lease(event),
      warn: (text: string) => this.#warn(text),
    };
    this.#clusterLeases = options.isOfDriver
      ? undefined
      : new ClusterLeases({
          ...shared,
          head: () => this.#head,
          send: (to, type, header) => this.#send(to, type, header),
          tell: (node, type, header) => this.#router.tell(node, type, header),
        });
    this.#routing = this.#clusterLeases ?? leasesOfOnlyNode((event) => this.#lease(event));
    this.#head = options.createHead(
      nodeServices({
        ...shared,
        daemonId: options.processId,
        info: nodeHeader(options),
        refs: this.#refs,
        peer: (id) => this.#peer(id),
        memory: () => this.#memory,
        router: () => this.#router,
        clusterLeases: () => this.#clusterLeases,
        tellProcesses: (type, header) => this.#tellProcesses(type, header),
        endActor: (worker, how) => this.#endActor(worker, how),
        drain: (deadlineMs) => this.#drainFor(deadlineMs),
      }),
    );
    this.#workers = new WorkerPool({
      launcher: options.launcher,
      newId: options.newProcessId,
      events: {
        onOutput: ({ text, environment, ...line }) => this.#log({ ...line, lines: [text] }, environment),
        onExit: (exit, worker) => this.#exited(exit, worker),
      },
    });
    const around = {
      workers: this.#workers,
      leases: this.#leases,
      peers: this.#peers,
      describe: (actor: ActorId) => this.#head.describe(actor),
    };
    this.#memory = options.memory === undefined ? undefined : new MemoryGuard(options.memory, around);
    this.#extensions = new NodeExtensions({
      ...shared,
      extensions: options.extensions ?? [],
      tellHead: (header) => this.#tellHead(header),
    });
    this.#handlers = this.#allHandlers();
  }

  start(): void {
    this.#applyLeases(this.#leases.start());
  }

  accept(transport: Transport): void {
    const { token, nodeId, processId } = this.#options;
    acceptPeer(transport, { token, nodeId, processId, onPeer: (connection, hello) => this.#join(connection, hello) });
  }

  get workerPids(): number[] {
    return this.#workers.pids;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#drain?.close();
    this.#environments.close();
    this.#watch.close();
    this.#router.close();
    this.#routing.close();
    this.#store.close();
    this.#memory?.close();
    this.#extensions.close();
    this.#head.close?.();
    await this.#workers.close("the session was shut down");
  }

  #join(connection: Connection, hello: HelloHeader): void {
    const peer = admitProcess(connection, hello, {
      nodeId: this.#options.nodeId,
      isKnown: (process) => this.#peers.has(process as ProcessId),
      onMessage: (from, frame, header) => this.#receive(from, frame, header),
      onRefused: (refused, fault) => {
        this.#workers.kill(refused.id, `the node daemon refused what it sent: ${fault}`);
        this.#leave(refused);
      },
    });
    if (peer === undefined) return;
    this.#peers.set(peer.id, peer);
    connection.onClose = () => this.#leave(peer);
    this.#store.joined(peer.id);
    if (peer.kind === "driver" || peer.kind === "worker") this.#extensions.processJoined(peer.id, peer.kind, peer.jobId);
    const environment = peer.kind === "worker" ? this.#workers.ready(peer.id) : undefined;
    if (environment !== undefined && environment !== "") this.#environments.workerStarted(environment);
    if (environment !== undefined) this.#lease({ kind: "workerReady", worker: peer.id, environment });
  }

  #leave(peer: Peer): void {
    if (this.#peers.get(peer.id) !== peer) return;
    this.#peers.delete(peer.id);
    if (this.#isClosing) return;
    if (peer.kind === "worker") {
      // Its exit is on the way and tells the rest; one that lives without its daemon is of no use.
      timeoutAfterIo(EXIT_AFTER_CLOSE_MS, () => this.#workers.kill(peer.id, "it lost the connection to its node daemon"));
      return;
    }
    this.#processGone(peer.id);
    for (const node of this.#environments.driverGone(peer.jobId)) this.#router.jobEnded(node, peer.jobId);
    if (!Array.from(this.#peers.values()).some((other) => other.kind === "driver")) this.#options.onAbandoned();
  }

  #receive(peer: Peer, frame: Frame, header: unknown): void {
    const part = this.#router.split(peer.id, frame, header);
    if (part !== undefined) this.#handle(peer, frame, part.here);
  }

  #handle(peer: Sender, message: Message, header: unknown): void {
    handle(this.#handlers, message.type, header, peer, message);
  }

  #allHandlers(): DaemonHandlers {
    return {
      ...this.#headHandlers(),
      ...leaseHandlers((event) => this.#lease(event)),
      ...this.#workerHandlers(),
      ...this.#refs.handlers,
      ...this.#store.handlers,
      ...this.#environments.handlers,
      ...this.#environments.folderHandlers,
      ...this.#router.handlers,
      [MESSAGE.NODE_EXTENSION]: (asked, peer, message) => this.#extensions.receive(asked, peer, message),
      [MESSAGE.OBJECT_LOCATE]: (objects, peer, { callId }) =>
        answerLocate(peer, callId, { objects, store: this.#store, nodeId: this.#options.nodeId, router: this.#router }),
    };
  }

  /** What is the head's to answer; of a few things the daemon has to know, too. */
  #headHandlers(): Handlers<QuestionsOfProcess, [peer: Sender, message: Message]> {
    const toHead = (header: unknown, peer: Sender, message: Message): void => this.#head.receive(peer, message, header);
    const passedOn = Object.fromEntries(Object.keys(MESSAGES_TO_HEAD).map((type) => [type, toHead]));
    return {
      ...(passedOn as unknown as Handlers<QuestionsOfProcess, [peer: Sender, message: Message]>),
      [MESSAGE.DEFINE]: (header, peer, message) => {
        // The definition itself is the head's.
        this.#refs.defined(header);
        toHead(header, peer, message);
      },
      [MESSAGE.ENVIRONMENT]: (header, peer, message) => {
        this.#environments.described(header);
        // Other nodes that are to run something in it ask there.
        toHead(header, peer, message);
      },
      [MESSAGE.ACTOR_CREATE]: (header, peer, message) => {
        this.#lease({ kind: "actorCreated", creator: peer.id });
        toHead(header, peer, message);
      },
      [MESSAGE.RESOURCES]: (_nothing, peer, message) => toHead({ store: this.#store.report }, peer, message),
    };
  }

  #workerHandlers(): Pick<DaemonHandlers, WorkerMessage> {
    return {
      [MESSAGE.LEASE_DEMAND]: (header, peer) => {
        const { shape, backlog } = header;
        const nested = peer.kind === "worker";
        const asked = { owner: peer.id, nested, spec: parseLeaseSpec(shape), backlog, nowMs: this.#options.nowMs() };
        this.#routing.demand(asked, header);
      },
      [MESSAGE.LEASE_ONCE]: ([, leaseId]) => this.#memory?.runsOnce(leaseId),
      [MESSAGE.LEASE_RECLAIMED]: (reclaimed, { id }) => this.#leaseReclaimed(id, reclaimed),
      [MESSAGE.WORKER_EXIT]: (leaving, { id }) => {
        // An actor that ends by its own decision (terminate, exitActor) says so first.
        this.#intendedExits.add(id);
        this.#head.workerLeaves(id, leaving);
      },
      [MESSAGE.CANCEL_REF]: (header) => this.#cancelRef(header),
      [MESSAGE.CANCEL_RUNNING]: (header, peer) => this.#cancelRunning(peer, header),
      [MESSAGE.WHY_LEASE]: (asked, { connection }, { callId }) => connection.reply(callId, this.#leaseReport(asked)),
      [MESSAGE.WHY_REF]: (header, peer, { callId }) => this.#whyRef(peer, callId, header),
      [MESSAGE.SHUTDOWN]: (_nothing, peer, { callId }) => this.#shutdown(peer, callId),
    };
  }

  /** Told by the daemon itself, which no answer reaches. */
  #tellHead(header: ExtensionHeader): void {
    const { processId: id } = this.#options;
    const connection: PeerConnection = {
      send: () => {},
      request: () => Promise.reject(new Error("the daemon is asked nothing")),
      reply: () => {},
      replyError: () => {},
    };
    this.#head.receive({ id, holderId: id, connection }, { type: MESSAGE.EXTENSION, callId: 0, flags: 0, body: NO_BYTES }, header);
  }

  #leaseReport(asked: Parameters<typeof leaseReport>[0]): LeaseReportHeader {
    const environments = this.#options.isOfDriver ? undefined : this.#environments;
    return leaseReport(asked, { leases: this.#leases, head: this.#head, peers: this.#peers, environments });
  }

  #whyRef(peer: HeadPeer, callId: number, header: WhyRefHeader): void {
    const maker = this.#refs.makerOf(header);
    const target = maker === undefined ? undefined : this.#peer(maker);
    const answer = target?.connection.request(MESSAGE.WHY_REF, header, { timeoutMs: Math.max(1, header.trail.withinMs) });
    (answer ?? Promise.reject(new Error("nobody makes it"))).then(
      (reply) => peer.connection.reply(callId, reply.header),
      (error: Error) => peer.connection.replyError(callId, error),
    );
  }

  #drainFor(deadlineMs: number | undefined): void {
    this.#drain?.close();
    this.#lease({ kind: "draining" });
    const drivers = (): number => Array.from(this.#peers.values()).filter(({ kind }) => kind === "driver").length;
    this.#drain = new Drain({
      busy: () => this.#leases.leases().length + this.#actorWorkers.size + drivers(),
      deadlineMs,
      nowMs: this.#options.nowMs,
      onDone: (reason) => this.#options.cluster.leave(reason),
    });
  }

  #shutdown(peer: HeadPeer, callId: number): void {
    if (!this.#options.isOfDriver) {
      // The node goes on without this driver: what it left ends with its connection.
      peer.connection.reply(callId, undefined);
      return;
    }
    void this.close().then(() => {
      peer.connection.reply(callId, undefined);
      this.#peers.get(peer.id)?.connection.close();
      this.#options.onAbandoned();
    });
  }

  // ---- leases

  #lease(event: LeaseEvent): void {
    this.#applyLeases(this.#leases.handle(event));
  }

  #leaseReclaimed(worker: ProcessId, [owner, leaseId, read]: ReclaimedHeader): void {
    this.#send(owner, MESSAGE.LEASE_TAKEN, [worker, leaseId, read]);
    this.#lease({ kind: "leaseReclaimed", worker, owner, leaseId });
  }

  #applyLeases(effects: readonly LeaseEffect[]): void {
    for (const effect of effects) {
      switch (effect.kind) {
        case "spawn":
          if (this.#isClosing) break;
          if (effect.environment === "") this.#workers.spawn("", undefined);
          else this.#environments.workerWanted(effect.environment);
          break;
        case "grant": {
          const worker = this.#peers.get(effect.worker);
          this.#send(effect.owner, MESSAGE.LEASE_GRANT, {
            leaseId: effect.leaseId,
            shape: effect.spec.key,
            workerId: effect.worker,
            address: (this.#isHere(effect.owner) ? worker?.address : worker?.remoteAddress) ?? "",
            pid: worker?.pid ?? 0,
            accelerators: effect.accelerators,
          });
          this.#memory?.granted(effect);
          break;
        }
        case "refused":
          this.#send(effect.owner, MESSAGE.LEASE_REFUSED, { shape: effect.spec.key, ...effect.refusal });
          break;
        case "actorRefused":
          this.#head.refused(effect.actor, effect.refusal);
          break;
        case "groupReserved":
          this.#head.groupReserved(effect.group, this.#options.nodeId);
          break;
        case "slot":
          this.#send(effect.worker, MESSAGE.WORKER_SLOT, slotHeader(effect));
          break;
        case "leaseEnded":
          this.#send(effect.worker, MESSAGE.WORKER_SLOT, effect.isLast);
          break;
        case "reclaim":
          this.#send(effect.worker, MESSAGE.LEASE_RECLAIM, [effect.owner, effect.leaseId]);
          break;
        case "revoke":
          this.#send(effect.owner, MESSAGE.LEASE_REVOKE, [effect.worker, effect.leaseId]);
          break;
        case "infeasible":
          this.#warnInfeasible(effect);
          break;
        case "placeActor":
          this.#actorWorkers.set(effect.worker, effect);
          this.#memory?.actorPlaced(effect);
          this.#placed(effect);
          break;
        case "endWorker":
          this.#workers.kill(effect.worker, effect.reason);
          break;
        case "workerRetiring":
          this.#send(effect.worker, MESSAGE.WORKER_EXIT, undefined);
          break;
        default:
          this.#routing.decided(effect);
      }
    }
    this.#watch.update();
    this.#routing.review();
    this.#router.viewChanged();
  }

  #placed({ actor, worker, accelerators }: Extract<LeaseEffect, { kind: "placeActor" }>): void {
    // Told of one that has just closed its connection, too: its exit, which follows, is the actor's.
    const { holderId, pid, address, remoteAddress } = this.#peers.get(worker) ?? { ...GONE, holderId: worker };
    this.#head.placed(actor, { id: worker, holderId, pid, address, remoteAddress }, accelerators);
  }

  #warnInfeasible(effect: Extract<LeaseEffect, { kind: "infeasible" }>): void {
    const actorName = this.#head.describe(effect.owner as ActorId);
    this.#warn(`${actorName === undefined ? "A task" : `Actor ${actorName}`} ${obstacleText(effect.obstacle)}`);
  }

  // ---- processes

  /** What it wrote before it ended is read first: holds among it are of refs that others have already, as they have its answers. */
  #exited(exit: WorkerExitedHeader, worker: { wasReady: boolean; environment: string }): void {
    const connection = this.#peers.get(exit.workerId)?.connection;
    if (connection === undefined || this.#isClosing) {
      this.#workerExited(exit, worker);
      return;
    }
    const takeBack = timeoutAfterIo(CLOSE_AFTER_EXIT_MS, () => connection.drop("the process ended"));
    connection.onClose = () => {
      takeBack();
      this.#workerExited(exit, worker);
    };
  }

  #workerExited(exit: WorkerExitedHeader, { wasReady, environment }: { wasReady: boolean; environment: string }): void {
    const id = exit.workerId;
    const wasActor = this.#actorWorkers.delete(id);
    const intended = this.#intendedExits.delete(id);
    if (this.#isClosing) return;
    this.#peers.delete(id);
    if (environment !== "") this.#environments.workerExited(environment);
    if (!wasReady) {
      if (environment !== "") this.#environments.workerStartFailed(environment, exit.lastOutput);
      this.#lease({ kind: "workerStartFailed", environment });
      if (exit.reason === undefined)
        this.#log(
          { pid: exit.pid, source: "worker", stream: "stderr", lines: [`A worker could not start (${describeExit(exit)}).`] },
          environment,
        );
      return;
    }
    this.#tellProcesses(MESSAGE.WORKER_EXITED, exit);
    this.#router.tellAll(MESSAGE.WORKER_EXITED, exit);
    if (wasActor) this.#head.workerExited(id, exit, { intended });
    this.#processGone(id);
  }

  #processGone(process: ProcessId): void {
    this.#refs.processGone(process);
    this.#store.processGone(process);
    this.#router.localProcessGone(process);
    this.#head.processGone(process);
    this.#extensions.processGone(process);
    this.#lease({ kind: "processGone", process });
    this.#routing.processGone(process);
  }

  #tellProcesses(type: number, header: unknown): void {
    for (const peer of this.#peers.values()) peer.connection.send(type, header);
  }

  /** A process of this node, or what stands for one of another; undefined for one of this node that has gone. */
  #peer(id: ProcessId): HeadPeer | undefined {
    return this.#isHere(id) ? this.#peers.get(id) : this.#router.peer(id);
  }

  #isHere(id: ProcessId): boolean {
    return this.#router.isHere(id);
  }

  #send(to: ProcessId, type: number, header: unknown): void {
    this.#peer(to)?.connection.send(type, header);
  }

  /** A frame of another node's daemon, or of the head for a process of this node. */
  receiveRouted(header: RoutedHeader, body: Uint8Array): void {
    this.#router.receive({ header, body });
  }

  /** The daemon of another node, to be asked things. */
  daemonOf(node: NodeId): PeerConnection | undefined {
    return this.#router.daemonOf(node);
  }

  /** Another node comes to fetch objects. */
  acceptTransfer(tag: NodeTag, transport: Transport): void {
    this.#router.acceptTransfer(tag, transport);
  }

  get digest(): NodeDigestHeader {
    for (const attempt of this.#leases.bundles().waiting) this.#lease({ kind: "groupAbort", ...attempt });
    const [bundles, environments] = [this.#leases.bundles().held, this.#environments.descriptions()];
    return nodeDigest(this.#options.nodeId, { processes: this.#peers, actors: this.#actorWorkers, bundles, environments });
  }

  /** Another head leads: what it does not know of the leases that are sought is asked again. */
  headUp(): void {
    this.#clusterLeases?.headUp();
  }

  get report(): NodeReportHeader | undefined {
    return this.#clusterLeases?.report();
  }

  #warn(text: string): void {
    this.#tellDrivers(MESSAGE.WARNING, text);
  }

  /** For the driver of the worker's job, which may be on another node, or have gone. */
  #log(line: LogHeader, environment: string): void {
    const entry: LogHeader = { ...line, job: this.#environments.jobOf(environment) };
    this.#tellDrivers(MESSAGE.LOG, entry, entry.job);
    this.#router.tellAll(MESSAGE.LOG, entry);
  }

  #tellDrivers(type: number, header: unknown, job?: JobId): void {
    for (const { kind, jobId, connection } of this.#peers.values())
      if (kind === "driver" && (job === undefined || job === jobId)) connection.send(type, header);
  }

  // ---- cancellation

  /** The process that made the call does it. */
  #cancelRef(header: CancelRefHeader): void {
    const maker = this.#refs.makerOf(header);
    if (maker !== undefined) this.#send(maker, MESSAGE.CANCEL_REF, header);
  }

  #cancelRunning(peer: HeadPeer, { worker, callId, recursive, kill }: CancelRunningHeader): void {
    if (this.#actorWorkers.has(worker)) return;
    const call = { caller: peer.id, callId, recursive };
    if (kill && worker === peer.id) this.#workers.killForCancellation(worker);
    else if (kill) this.#workers.killFor(worker, call);
    else this.#workers.interrupt(worker, call);
  }

  // ---- actors

  #endActor(worker: ProcessId, { afterPending, reason }: { afterPending: boolean; reason: string }): void {
    if (afterPending) {
      this.#intendedExits.add(worker);
      this.#send(worker, MESSAGE.WORKER_EXIT, reason);
    } else {
      this.#workers.kill(worker, reason);
    }
  }
}
