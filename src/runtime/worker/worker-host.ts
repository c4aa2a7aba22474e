/**
 * Hosts one worker. The host has the executor that runs tasks, the worker's actor if there is one, and the connections of callers.
 *
 * Takes the daemon's orders (a slot, an actor to start, the end) and accepts callers. A worker process has one of these (entry/worker.ts), and so has each
 * worker inside a driver's process (core/session/in-process.ts). The host's owner gives the function that ends the worker.
 */
import { type ActorId, type NodeId, nodeTagOf, type ProcessId } from "../base/ids.ts";
import type { FrameOutbox } from "../base/outbox.ts";
import type { DefinitionCache } from "../objects/definition-cache.ts";
import type { ObjectTable } from "../objects/object-table.ts";
import { type Payload, PayloadReader, payloadHeader, payloadParts } from "../objects/payload.ts";
import { ReadLinks } from "../objects/references/read-links.ts";
import type { ValueCodec } from "../objects/value-codec.ts";
import type { Transport } from "../os/network/transport.ts";
import type { Connection } from "../rpc/connection.ts";
import { acceptPeer } from "../rpc/handshake.ts";
import type { BusyPoll } from "../rpc/busy-poll.ts";
import { RECLAIM_AFTER_IDLE_MS } from "../scheduling/limits.ts";
import type { Frame } from "../wire/frame.ts";
import { disposeInstance, EXITED } from "./actors/actor-exit.ts";
import {
  type AcceleratorIds,
  type ActorLeavingHeader,
  type ActorStartHeader,
  type CancelRunningHeader,
  type FirstCallHeader,
  type HelloHeader,
  MESSAGE,
  type ParkHeader,
  type ReclaimedHeader,
  type ReclaimHeader,
} from "../wire/messages.ts";
import type { WhyHeader, WhyTrail } from "../wire/calls/why-messages.ts";
import { ActorHost } from "./actors/actor-host.ts";
import type { CallRecorder } from "../observe/call-recorder.ts";
import type { CallObservers } from "./calls/call-observers.ts";
import { CallServer } from "./call-server.ts";
import { KnownCallees } from "./calls/call-targets.ts";
import { Executor } from "./executor.ts";
import { FirstCallers } from "./first-callers.ts";
import { EXIT_WITHIN_MS, LOOK_FOR_OPEN_CALLS_MS } from "./limits.ts";
import { RetiringWorker } from "./retiring-worker.ts";
import { serveConnection, withdrawServices } from "./service-connections.ts";
import type { MarkedCall, SharingCall } from "../os/processes/memory/interrupt-slot.ts";
import { capturesChildren } from "../scheduling/lease-spec.ts";
import { type CallPlace, placing, TaskContext, taskContext } from "./tasks/task-context.ts";
import type { InterruptionGuard } from "./tasks/interruption-guard.ts";
import { handle, type Handlers, readHeader } from "../wire/tables/message-table.ts";
import { MESSAGES_TO_PROCESS, type MessagesToProcess } from "../wire/tables/messages-to-process.ts";

export interface WorkerHostOptions {
  processId: ProcessId;
  nodeId: NodeId;
  token: string;
  daemon: Connection;
  codec: ValueCodec;
  definitions: DefinitionCache;
  table: ObjectTable;
  /** Runs a nested task of this process under the worker's own slot, if there is one. */
  runOwn: (shape: string) => boolean;
  /** Whether calls of this process wait for a lease. */
  hasQueued: () => boolean;
  localFunction: (id: string) => ((...args: unknown[]) => unknown) | undefined;
  /** Cancels the calls that a call of this process made and that have not ended. */
  cancelChildren: (parent: TaskContext) => void;
  /** The call for which this worker's runtime made a call that runs on this worker. */
  parentOf: (callId: number) => TaskContext | undefined;
  /** Explains why a received call waits; `begun` are the calls that run here. */
  explain: (context: TaskContext | undefined, begun: readonly TaskContext[], trail: WhyTrail) => Promise<WhyHeader>;
  /** Shows the given accelerators to the code that runs here. */
  useAccelerators: (accelerators: AcceleratorIds | undefined) => void;
  /** Shows whose process this is, once it is an actor's; absent where it is not the actor's alone. */
  showActor?: ((className: string) => void) | undefined;
  /** Awake between answers and the next calls; absent where they come from within this process. */
  busyPoll?: BusyPoll | undefined;
  /** Outboxes, in which sent frames outlive this process; absent where nothing outlives it. */
  outboxes?: WorkerOutboxes | undefined;
  /** Makes synchronous tasks interruptible; absent where code cannot be stopped. */
  guard?: InterruptionGuard;
  /**
   * Whether something would end with this process: calls that it has made have not been answered, or actors that it created live. Absent where the process is not this
   * worker's alone, which then never retires.
   */
  isNeeded?: (() => boolean) | undefined;
  /** Extensions that want to hear of calls. */
  observers?: CallObservers | undefined;
  recorder?: CallRecorder | undefined;
  /** Ends this worker after its answers have been sent. */
  exit: () => void;
}

/** Makes the outboxes of connections, by the processes that they lead to. */
export interface WorkerOutboxes {
  open(reader: ProcessId, place: { isElsewhere: boolean }): FrameOutbox;
}

type WorkerMessage =
  | typeof MESSAGE.WORKER_SLOT
  | typeof MESSAGE.WORKER_APART
  | typeof MESSAGE.ACTOR_START
  | typeof MESSAGE.LEASE_RECLAIM
  | typeof MESSAGE.FIRST_CALL
  | typeof MESSAGE.RELAYED
  | typeof MESSAGE.HELD_ENDED
  | typeof MESSAGE.WORKER_EXIT;

export class WorkerHost {
  readonly executor: Executor;
  readonly actors: ActorHost = new ActorHost();
  readonly #options: WorkerHostOptions;
  readonly #callers = new Map<Connection, CallServer>();
  /** How far the calls of each caller were read. */
  readonly #read = new ReadLinks();
  /** By owner, up to which number leases have ended here: one that connects for them comes too late. */
  readonly #reclaimed = new Map<ProcessId, number>();
  readonly #retiring: RetiringWorker | undefined;
  readonly #firstCallers: FirstCallers;
  readonly #knownCallees = new KnownCallees();
  /** Lets the constructor of a waiting actor begin. */
  #constructorSlot: ((accelerators: AcceleratorIds | undefined) => void) | undefined;
  #isEnding = false;

  constructor(options: WorkerHostOptions) {
    this.#options = options;
    const { daemon, recorder } = options;
    if (recorder !== undefined) recorder.tellFailure = (failure) => daemon.send(MESSAGE.CALL_FAILED, failure);
    this.#firstCallers = new FirstCallers(daemon);
    if (options.isNeeded !== undefined) this.#retiring = new RetiringWorker(() => this.#declineTasks());
    this.executor = new Executor({
      park: (left, isReport) => daemon.send(MESSAGE.WORKER_PARK, { left, isReport } satisfies ParkHeader),
      unpark: (shape) => daemon.send(MESSAGE.WORKER_UNPARK, shape),
      runOwn: (shape) => this.#retiring?.isRetiring !== true && options.runOwn(shape),
      hasQueued: options.hasQueued,
      runsBeside: (context) => options.guard?.share(context && this.#named(context)),
      useAccelerators: options.useAccelerators,
    });
  }

  /** A caller connects: it must know the session's token. */
  accept(transport: Transport): void {
    const { token, nodeId, processId } = this.#options;
    acceptPeer(transport, { token, nodeId, processId, onPeer: (connection, caller) => this.#serve(connection, caller) });
  }

  /** A message of the daemon; `header` where it has been read and checked already. */
  receive(frame: Frame, header: unknown = readHeader(MESSAGES_TO_PROCESS, frame)): void {
    handle(this.#handlers, frame.type, header, frame);
  }

  readonly #handlers: Pick<Handlers<MessagesToProcess, [frame: Frame]>, WorkerMessage> = {
    [MESSAGE.WORKER_SLOT]: (slot) => {
      if (typeof slot === "boolean") this.executor.leaseEnded({ isLast: slot });
      else if (this.#constructorSlot !== undefined) this.#constructorSlot(slot[3]);
      else this.executor.slotGranted({ shape: slot[0], isAnswer: slot[1], isLeased: slot[2] });
    },
    [MESSAGE.WORKER_APART]: () => this.executor.keepApart(),
    [MESSAGE.ACTOR_START]: (header, { body }) => {
      const reader = new PayloadReader(body, { copy: true });
      const args = reader.next(header.args);
      const deps = header.deps.map((dep) => reader.next(dep));
      void this.#startActor(header, args, deps);
    },
    [MESSAGE.LEASE_RECLAIM]: (lease) => this.#reclaim(lease),
    [MESSAGE.FIRST_CALL]: (first, { body }) =>
      this.#firstCallers.came(first.caller, body, (connection) => this.#serve(connection, first.caller, first)),
    [MESSAGE.RELAYED]: ([caller, link], { body }) => this.#firstCallers.arrived(caller, -link, body),
    [MESSAGE.HELD_ENDED]: ([sender, link, asker]) =>
      void this.#read.readOver(sender, -link).then((number) => this.#options.table.heldRead({ sender, link, number, asker })),
    [MESSAGE.WORKER_EXIT]: () => {
      if (this.#retiring !== undefined && this.actors.actorId === undefined) this.#endRetiring();
      else this.actors.whenIdle(() => void this.#disposeAndExit());
    },
  };

  /** Writes the frames of this tick. Frames about objects go first. */
  flush(): void {
    this.#options.daemon.flush();
    for (const connection of this.#callers.keys()) connection.flush();
  }

  /** Drops its callers, as the end of a process would. */
  close(): void {
    if (this.actors.actorId !== undefined) withdrawServices(this.actors.actorId);
    for (const connection of this.#callers.keys()) connection.drop("the worker ended");
  }

  /** Ends an idle lease of `owner` on this worker while other owners starve. */
  #reclaim([owner, leaseId]: ReclaimHeader): void {
    const servers = Array.from(this.#callers.values()).filter((server) => server.callerId === owner);
    // All or none: a worker that calls itself has more than one, and who loses a connection waits for the word that its lease has ended.
    if (!servers.every((server) => server.isIdleFor(RECLAIM_AFTER_IDLE_MS))) return;
    this.#reclaimed.set(owner, leaseId);
    this.#retire(servers, [owner, leaseId]);
  }

  /** Reports the calls that were read. A caller runs only the unread calls again, because an answer may be lost with its connection. */
  #retire(servers: readonly CallServer[], [owner, leaseId]: ReclaimHeader): void {
    for (const server of servers) server.retire();
    const header: ReclaimedHeader = [owner, leaseId, servers.flatMap((server) => server.received.tasksRead)];
    this.#options.daemon.send(MESSAGE.LEASE_RECLAIMED, header);
  }

  /** The last call of this process is about to begin, or a call was interrupted. Daemon and callers learn that before the answer of the call. */
  #declineTasks(): void {
    const { daemon } = this.#options;
    daemon.send(MESSAGE.WORKER_RETIRING, undefined);
    daemon.flush();
    this.executor.declineQueued();
    for (const server of this.#callers.values()) server.decline();
  }

  /** The last lease on this worker has ended, and nothing is parked here. Calls that its tasks made and did not await, and actors that they created, go on all the same. */
  #endRetiring(): void {
    if (this.#options.isNeeded?.() === true) setTimeout(() => this.#endRetiring(), LOOK_FOR_OPEN_CALLS_MS);
    else void this.#disposeAndExit();
  }

  #begunCalls(): TaskContext[] {
    return Array.from(this.#callers.values()).flatMap((server) => server.begunCalls);
  }

  /** @param first present for a call that came before its caller has a connection */
  #serve(connection: Connection, caller: HelloHeader, first?: FirstCallHeader): void {
    const { codec, definitions, table, localFunction, cancelChildren, guard, explain, daemon, processId } = this.#options;
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    if (caller.kind === "service") {
      serveConnection(this.actors.actorId, caller.service, connection);
      return;
    }
    if (caller.processId !== processId && first === undefined) {
      connection.busyPoll = this.#options.busyPoll;
      const outbox = this.#options.outboxes?.open(caller.processId, { isElsewhere: nodeTagOf(caller.processId) !== nodeTagOf(processId) });
      if (outbox !== undefined) connection.keepIn(outbox);
    }
    connection.onClose = () => {
      resolve();
      this.#callers.delete(connection);
      server.callerGone();
    };
    const server: CallServer = new CallServer({
      connection,
      caller,
      first,
      executor: this.executor,
      definitions,
      known: first === undefined ? undefined : this.#knownCallees,
      codec,
      table,
      actors: this.actors,
      localFunction,
      cancelChildren,
      explain: (context, trail) => explain(context, this.#begunCalls(), trail),
      processId,
      ancestorsOf: (callId) => this.#ancestorsOf(callId),
      onActorEnd: (leaving) => this.#endActor(leaving),
      onInterrupted: () => this.#retiring?.retire(),
      begins: this.#retiring === undefined ? undefined : (id, maxCalls) => this.#retiring?.begins(id, maxCalls),
      guard,
      observers: this.#options.observers,
      recorder: this.#options.recorder,
      onUnsafe: () => {
        const header: CancelRunningHeader = { worker: processId, callId: 0, recursive: false, kill: true };
        daemon.send(MESSAGE.CANCEL_RUNNING, header);
      },
    });
    this.#callers.set(connection, server);
    if (this.#retiring?.isRetiring === true) server.decline();
    const readLink = {
      closed,
      get heldRead(): number {
        return server.heldRead;
      },
    };
    if (caller.link !== undefined) this.#read.opened(caller.processId, caller.link, readLink);
    const reclaimed = this.#reclaimed.get(caller.processId) ?? 0;
    if (caller.leaseId !== undefined && caller.leaseId <= reclaimed) this.#retire([server], [caller.processId, reclaimed]);
  }

  #named({ taskIdPrefix, callId, name }: TaskContext): SharingCall {
    for (const server of this.#callers.values()) if (server.taskIdPrefix === taskIdPrefix) return { caller: server.callerId, callId, name };
    return { caller: "", callId, name };
  }

  #ancestorsOf(callId: number): MarkedCall[] {
    const { processId, parentOf } = this.#options;
    const ancestors: MarkedCall[] = [];
    const servers = Array.from(this.#callers.values());
    for (let parent = parentOf(callId); parent !== undefined; ) {
      const { taskIdPrefix, callId: parentCall } = parent;
      const caller = servers.find((server) => server.taskIdPrefix === taskIdPrefix)?.callerId;
      if (caller === undefined) break;
      ancestors.push({ caller, callId: parentCall });
      parent = caller === processId ? parentOf(parentCall) : undefined;
    }
    return ancestors;
  }

  /** Says so first: it is no crash, and there is no restart. */
  #endActor(leaving: ActorLeavingHeader): void {
    if (this.#isEnding) return;
    this.#options.daemon.send(MESSAGE.WORKER_EXIT, leaving);
    void this.#disposeAndExit();
  }

  async #disposeAndExit(): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.actors.close();
    await disposeInstance(this.actors.instance, this.actors.className, this.actors.place);
    this.#options.exit();
  }

  /** The call that asked for it is left first; one that has ended already, or never ends, does not stop it. */
  #exitActor(context: TaskContext): void {
    this.actors.close();
    if (context.isFinished) {
      this.#endActor(EXITED);
      return;
    }
    context.exits = true;
    setTimeout(() => this.#endActor(EXITED), EXIT_WITHIN_MS).unref();
  }

  async #startActor(header: ActorStartHeader, args: Payload, deps: readonly Payload[]): Promise<void> {
    const { actorId, incarnation, definition, name, actorName, shape, resources, accelerators, groups } = header;
    const { daemon, codec, definitions, localFunction } = this.#options;
    if (this.actors.actorId !== undefined) {
      // A head that has taken over does not know what the last one had said.
      if (this.actors.instance !== undefined) daemon.send(MESSAGE.ACTOR_STARTED, { actorId, incarnation });
      return;
    }
    // The lease of the last task may have ended before the daemon heard that this worker retires.
    if (this.#retiring?.isRetiring === true) {
      daemon.send(MESSAGE.WORKER_EXIT, { ending: "declined" });
      this.#endRetiring();
      return;
    }
    const place: CallPlace = {
      actor: actorId,
      actorName,
      incarnation,
      shape,
      resources,
      accelerators,
      executor: undefined,
      isSerial: isSerial(groups),
      exitActor: (context) => this.#exitActor(context),
    };
    if (capturesChildren(shape)) placing.isInherited = true;
    if (accelerators !== undefined) this.#options.useAccelerators(accelerators);
    this.actors.begin(place, name, groups);
    this.#options.showActor?.(name);
    const context = new TaskContext({ name, taskIdPrefix: "", callId: 0, place });
    try {
      const decoded = await codec.decodeArguments(args, deps, (_lost, recover) => this.#awaitArguments(place, recover));
      const actorClass = (localFunction(definition) ?? (await definitions.load(definition))) as new (...values: unknown[]) => object;
      const instance = taskContext.run(context, () => new actorClass(...decoded));
      context.isFinished = true;
      if (context.exits) {
        this.#endActor(EXITED);
        return;
      }
      this.actors.constructed(instance);
      daemon.send(MESSAGE.ACTOR_STARTED, { actorId, incarnation });
    } catch (error) {
      if (context.exits) this.#endActor(EXITED);
      else this.#startFailed(actorId, incarnation, name, error);
    }
  }

  /** The constructor has not begun. The calls that make its lost arguments again may need the actor's resources meanwhile. */
  async #awaitArguments(place: CallPlace, recover: () => Promise<void>): Promise<void> {
    const { daemon, useAccelerators } = this.#options;
    daemon.send(MESSAGE.WORKER_PARK, { left: 0, isReport: false } satisfies ParkHeader);
    try {
      await recover();
    } finally {
      place.accelerators = await new Promise((resolve) => {
        this.#constructorSlot = resolve;
        daemon.send(MESSAGE.WORKER_UNPARK, place.shape);
      });
      this.#constructorSlot = undefined;
      if (place.accelerators !== undefined) useAccelerators(place.accelerators);
    }
  }

  #startFailed(actorId: ActorId, incarnation: number, name: string, error: unknown): void {
    const { daemon, codec, processId, table } = this.#options;
    const payload = codec.toPayload(codec.encodeError(error, { name: `${name}.constructor` }), { owner: processId, error: true });
    table.holdFor(processId, payload);
    daemon.send(MESSAGE.ACTOR_START_FAILED, { actorId, incarnation, error: payloadHeader(payload) }, { parts: payloadParts(payload) });
    this.actors.constructed(undefined);
  }
}

function isSerial(groups: Readonly<Record<string, number>>): boolean {
  const limits = Object.values(groups);
  return limits.length === 1 && limits[0] === 1;
}
