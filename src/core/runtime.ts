/**
 * The runtime of one process, driver or worker: everything that its API calls need, wired together.
 *
 * Owns the connection to the node daemon. What users hold (remote functions, actors' handles) and what becomes of the daemon's messages is built on it
 * (`session/create-runtime.ts`). How the process came to have a daemon is decided elsewhere (`init.ts` for drivers, `entry/worker.ts` for workers,
 * `in-process.ts` for neither). Sending may begin before the daemon is up: the transport keeps it.
 */
import { copyBytes } from "../runtime/base/bytes.ts";
import {
  type ActorId,
  actorObjectId,
  type IdSource,
  type JobId,
  type NodeId,
  nodeTagOf,
  type ObjectId,
  type ProcessId,
} from "../runtime/base/ids.ts";
import { libraryCode } from "../runtime/base/library-code.ts";
import { ShoalError } from "../runtime/base/errors.ts";
import type { Definition } from "../runtime/closure/capture.ts";
import type { RuntimeEnvSpec } from "../runtime/environment/runtime-env.ts";
import { DaemonChannel, daemonEnded } from "../runtime/objects/daemon-channel.ts";
import { DefinitionCache } from "../runtime/objects/definition-cache.ts";
import { LINEAGE_PART_OF_STORE } from "../runtime/objects/limits.ts";
import { LocalStore } from "../runtime/objects/local-store.ts";
import { ObjectEntry } from "../runtime/objects/object-entry.ts";
import { ObjectTable } from "../runtime/objects/object-table.ts";
import { type ContainedRef, inBandPayload, NO_BYTES, type Payload } from "../runtime/objects/payload.ts";
import { machineName } from "../runtime/os/machine/machine.ts";
import type { Transport } from "../runtime/os/network/transport.ts";
import { Connection, ConnectionClosedError } from "../runtime/rpc/connection.ts";
import { connectPeer } from "../runtime/rpc/handshake.ts";
import type { BusyPoll } from "../runtime/rpc/busy-poll.ts";
import type { Frame } from "../runtime/wire/frame.ts";
import { readAs } from "../runtime/wire/message-table.ts";
import { MESSAGES_TO_PROCESS } from "../runtime/wire/messages-to-process.ts";
import {
  type ActorLookupReply,
  type ActorStateHeader,
  type HelloHeader,
  type LogHeader,
  MESSAGE,
  type StoredHeader,
  type WireLocation,
} from "../runtime/wire/messages.ts";
import { Telemetry } from "../runtime/events/telemetry.ts";
import { FETCH_FOR } from "../runtime/wire/transfer-messages.ts";
import { GRAPH_METHOD } from "../runtime/worker/reserved-methods.ts";
import { ActorClient } from "./actors/actor-client.ts";
import { actorLostError } from "./calls/call-failures.ts";
import type { CallRecord } from "./calls/call-record.ts";
import { CallCancellation } from "./calls/call-cancellation.ts";
import { Calls } from "./calls/calls.ts";
import { Environments } from "./session/environments.ts";
import { placing } from "./calls/inherited-place.ts";
import { type FunctionRow, FunctionTable } from "./calls/function-table.ts";
import { HeldActors } from "./actors/held-actors.ts";
import { Lineage } from "./calls/lineage.ts";
import { LongWaits } from "./why/long-waits.ts";
import { NamedActors } from "./actors/named-actors.ts";
import { entryOf, ObjectRefHandle, type RefRuntime } from "./objects/object-ref.ts";
import { OpenLinks } from "./calls/open-links.ts";
import { isKeptAsItIs } from "./objects/plain-value.ts";
import { OutOfMemoryRetries } from "./calls/out-of-memory.ts";
import { Recovery } from "./calls/recovery.ts";
import type { GetOptions } from "./ref-types.ts";
import { type Reducer, Serializer } from "./serializer.ts";
import { TaskSubmitter } from "./calls/task-submitter.ts";
import { Waiting, type WaitOptionsResolved } from "./objects/waiting.ts";
import { WhyExplainer, type WhyRuntime } from "./why/why.ts";
import { WorkerLink, type WorkerLinkEvents, type WorkerTarget } from "./calls/worker-link.ts";

export interface RuntimeOptions {
  role: "driver" | "worker";
  mode: "process" | "inProcess";
  processId: ProcessId;
  nodeId: NodeId;
  daemonId: ProcessId;
  jobId: JobId;
  token: string;
  ids: IdSource;
  namespace: string;
  /** In which environment this process is, and what it submits unless it says otherwise. */
  runtimeEnv?: RuntimeEnvSpec | undefined;
  /** Of the node that this process is on. */
  labels: Readonly<Record<string, string>>;
  /** Where this process listens for calls; empty for drivers. */
  address: string;
  /** The same for processes of other nodes. */
  remoteAddress?: string | undefined;
  daemonTransport: Transport;
  /** Awake between calls and their answers; absent where they come within this process. */
  busyPoll?: BusyPoll | undefined;
  memoryDirectory: string;
  spillDirectory: string;
  storeQuotaBytes: number;
  /** How often a task runs again that was ended as the machine was full; -1: without end. */
  taskOomRetries: number;
  /** Functions run as they are and are never captured, as all processes share one heap. Default: in in-process mode. */
  runsLocally?: boolean | undefined;
  /** In-process mode: looks at each function that runs or travels as it is. */
  checkLocal?: ((source: object) => void) | undefined;
  /** For workers: this worker itself, for its nested tasks. */
  ownWorker?: { link: (events: WorkerLinkEvents) => WorkerLink; isFree: (shape: string) => boolean };
  /** For workers: what concerns what runs here (slots, actors, the end). */
  onWorkerMessage?: (frame: Frame, header: unknown) => void;
  onLog: (entry: LogHeader) => void;
  onWarning: (text: string) => void;
  onDaemonLost: (reason: string) => void;
  collectGarbage: () => void;
}

export class Runtime implements RefRuntime, WhyRuntime {
  readonly options: RuntimeOptions;
  readonly daemon: Connection;
  readonly channel: DaemonChannel;
  readonly table: ObjectTable;
  readonly store: LocalStore;
  readonly serializer: Serializer;
  readonly definitions: DefinitionCache;
  readonly functions: FunctionTable;
  readonly environments: Environments;
  readonly calls: Calls;
  readonly submitter: TaskSubmitter;
  readonly why: WhyExplainer = new WhyExplainer(this);
  readonly cancellation: CallCancellation;
  readonly lineage: Lineage;
  readonly recovery: Recovery;
  readonly #reports = new Set<Promise<void>>();
  readonly #waiting: Waiting;
  readonly longWaits: LongWaits;
  readonly #actors = new Map<ActorId, ActorClient>();
  readonly namedActors: NamedActors;
  readonly heldActors: HeldActors;
  /** The daemons that count the handles of actors which others created. */
  readonly actorOwners: Map<ActorId, ProcessId> = new Map();
  readonly links: OpenLinks = new OpenLinks();
  readonly telemetry: Telemetry;
  #isClosed = false;

  /** `createReducer`: handles, remote functions and classes in values, which are built on the runtime. */
  constructor(options: RuntimeOptions, createReducer: (runtime: Runtime) => Reducer) {
    this.options = options;
    const { processId, daemonId, ids } = options;
    const daemon = new Connection(options.daemonTransport, { trusted: true });
    this.daemon = daemon;
    this.telemetry = new Telemetry((report) =>
      daemon.send(MESSAGE.EXTENSION, { extension: "telemetry", message: "report", header: report }),
    );
    this.channel = new DaemonChannel({ connection: daemon, daemonId, processId });
    this.store = new LocalStore({
      memoryDirectory: options.memoryDirectory,
      spillDirectory: options.spillDirectory,
      processId,
      idOf: (entry) => this.table.idOf(entry),
      quotaBytes: options.storeQuotaBytes,
      collectGarbage: () => {
        this.lineage.dropStored();
        options.collectGarbage();
      },
      channel: this.channel,
      pin: (entry) => this.table.pin(entry),
      unpin: (entry) => this.table.unpin(entry),
      // A worker's heap is small and its pause nobody's; a driver's may be neither.
      onQuiet: () => {
        if (options.role === "worker") options.collectGarbage();
      },
    });
    this.table = new ObjectTable({
      processId,
      ownerOfRecord: options.role === "driver" ? processId : daemonId,
      ids,
      channel: this.channel,
      payloadOf: (entry) => this.#payloadOf(entry),
      freeStored: (location) => this.store.freed(location),
      onReleased: (entry) => {
        this.lineage.released(entry);
        if (this.store.copies.size > 0) this.store.copies.letGo(entry);
      },
      onUnkept: (entry) => {
        if (this.store.copies.size > 0) this.store.copies.letGo(entry);
      },
      onHandedOver: (location) => this.store.handedOver(location),
      onUnseenFailure: (entry) => {
        const report = this.#reportUnseen(entry).finally(() => this.#reports.delete(report));
        this.#reports.add(report);
      },
    });
    const refOf = (id: ActorId): ContainedRef => this.actorRef(id);
    this.heldActors = new HeldActors({ table: this.table, refOf });
    this.namedActors = new NamedActors({
      table: this.table,
      lookUp: async (asked) => (await this.holdWhile(daemon.request(MESSAGE.ACTOR_LOOKUP, asked))).header,
      clientOf: (found) => this.foundActor(found),
      refOf,
    });
    this.serializer = new Serializer({
      processId,
      nodeId: options.nodeId,
      pid: process.pid,
      table: this.table,
      store: this.store,
      definitions: () => this.definitions,
      publishDefinition: (definition) => this.functions.publishClass(definition),
      reducer: createReducer(this),
      recover: (error) => this.#waiting.recovered(error),
    });
    const storedBytesMax = options.storeQuotaBytes * LINEAGE_PART_OF_STORE;
    this.lineage = new Lineage({ table: this.table, processId, storedBytesMax });
    this.recovery = new Recovery({
      processId,
      table: this.table,
      lineage: this.lineage,
      dropLocation: (location) => this.store.lost(location),
      canRead: (location) => this.store.canRead(location),
      askOwner: (id, owner, location) => this.channel.lost(id, owner, location),
      isActorDead: (record) => this.#actors.get(record.actor as ActorId)?.state?.phase === "dead",
      rerun: (record) => this.calls.rerun(record),
    });
    this.definitions = new DefinitionCache({
      table: this.table,
      hooksFor: (refs) => this.serializer.readingHooks(refs),
      readStored: (stored) => this.#readStored(stored),
      fetch: async (id) => {
        const { header, body } = await daemon.request(MESSAGE.FETCH_DEFINITION, id);
        // What is fetched was sent to nobody in particular, so nobody holds for this process what it refers to.
        for (const [ref, owner] of header.refs) this.channel.hold({ id: ref, owner, holder: processId });
        if (header.stored !== undefined) this.channel.hold({ id: header.stored.id, owner: header.stored.owner, holder: processId });
        return { header, body };
      },
    });
    this.functions = new FunctionTable({
      idPrefix: processId.slice(16),
      capture: (target) => this.serializer.captureDefinition(target),
      newReference: () => {
        const reference = this.table.adoptForeign({ id: ids.putId(ids.nextSequence()), owner: daemonId });
        this.table.pin(reference);
        return reference;
      },
      refOf: (entry) => this.table.publish(entry),
      onGone: (id) => this.links.forgetFunction(id),
      pin: (entry) => this.table.pin(entry),
      unpin: (entry) => this.table.unpin(entry),
      publish: ({ header, parts, payloads, reference }) => {
        const isOther = ({ id }: ContainedRef): boolean => id !== reference.id;
        // A definition that held itself would never go.
        for (const payload of payloads) this.table.holdFor(daemonId, { ...payload, refs: payload.refs.filter(isOther) });
        daemon.send(MESSAGE.DEFINE, { ...header, number: 0 }, { parts });
      },
      store: (definition) => this.#storeDefinition(definition),
      onNote: (note) => {
        if (note.startsWith("WARNING")) options.onWarning(note);
      },
      runsLocally: options.runsLocally ?? options.mode === "inProcess",
      checkLocal: options.checkLocal,
    });
    const here = { node: options.nodeId, hostname: machineName() };
    this.environments = new Environments({ daemon, inherited: options.runtimeEnv, mode: options.mode, here });
    if (this.environments.isInherited) placing.isInherited = true;
    this.calls = new Calls({
      environments: this.environments,
      processId,
      ids,
      table: this.table,
      serializer: this.serializer,
      submitter: () => this.submitter,
      cancellation: () => this.cancellation,
      lineage: this.lineage,
      streamReader: {
        untilSettled: (entry) => this.#waiting.untilSettled(entry),
        read: (entry) => this.#waiting.read(entry),
      },
      outOfMemory: new OutOfMemoryRetries(options.taskOomRetries),
    });
    this.cancellation = new CallCancellation({
      processId,
      daemon,
      nowMs: () => performance.now(),
      fail: (record, error) => this.calls.fail(record, error),
      linkOf: (record) => this.submitter.whereIs(record)?.link,
      withdraw: (record) => (record.actor === undefined ? this.submitter : this.#actors.get(record.actor))?.withdraw(record),
      openCalls: () => this.#openCalls(),
    });
    const { ownWorker } = options;
    this.submitter = new TaskSubmitter({
      daemon,
      node: nodeTagOf(options.nodeId),
      connectWorker: (target, events) => this.#connectWorker(target, events),
      ownWorker:
        ownWorker === undefined
          ? undefined
          : {
              link: () => ownWorker.link({ ...this.submitter.linkEvents, onClosed: () => {} }),
              isFree: (shape) => ownWorker.isFree(shape),
            },
      onPlainResult: this.calls.onPlainResult,
      onResult: this.calls.onResult,
      onWorkerLost: this.calls.onWorkerLost,
      onRefused: this.calls.onRefused,
      failDependency: (record, entry) => this.calls.failWithDependency(record, entry),
      awaitDependencies: this.calls.submitWhenReady,
      onArgumentsLost: (record, lost) => {
        for (const [id, location] of lost) this.recovery.reported(id, location);
        this.calls.submitWhenReady(record);
      },
      nowMs: () => performance.now(),
    });
    this.longWaits = new LongWaits({
      jobId: options.jobId,
      idOf: (entry) => this.table.idOf(entry),
      tell: (header) => daemon.send(MESSAGE.WAITS, header),
    });
    this.#waiting = new Waiting({
      longWaits: this.longWaits,
      table: this.table,
      serializer: this.serializer,
      recover: (error) => this.recovery.begin(error),
      isStoreShort: () => this.store.isShort,
      onWaiting: (waiting) => {
        // At its end the session holds the process itself.
        if (options.role === "driver" && !this.#isClosed) daemon.setKeepsProcessAlive(waiting);
      },
    });
    daemon.onClose = (reason) => this.#daemonLost(reason);
    void daemon.request(MESSAGE.HELLO, this.#hello(), { timeoutMs: 0 }).catch(() => {
      // The connection's end is told by onClose.
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get pendingTaskCount(): number {
    let count = this.submitter.pendingCount;
    for (const actor of this.#actors.values()) count += actor.pendingCount;
    return count;
  }

  get hasOpenCalls(): boolean {
    for (const record of this.#openCalls()) if (!record.isEnded) return true;
    return false;
  }

  *#openCalls(): Generator<CallRecord> {
    yield* this.calls.heldCalls;
    yield* this.submitter.openCalls();
    for (const actor of this.#actors.values()) yield* actor.openCalls();
  }

  put(value: unknown): ObjectRefHandle {
    const { ids, processId } = this.options;
    const entry = new ObjectEntry(ids.nextSequence(), -1);
    const handle = new ObjectRefHandle(entry);
    if (isKeptAsItIs(value)) {
      entry.settlePrimitive(value);
      return handle;
    }
    const outer = libraryCode.isRunning;
    libraryCode.isRunning = true;
    const encoded = this.serializer.encode(value);
    if (encoded.entries.length > 0) {
      for (const inner of encoded.entries) this.table.pin(inner);
      this.table.contain(entry, encoded.entries.slice());
    }
    const payload = this.serializer.toPayload(encoded, { owner: processId, error: false });
    entry.settlePayload(payload);
    if (payload.stored !== undefined || encoded.entries.length > 0) this.table.track(entry, handle);
    libraryCode.isRunning = outer;
    return handle;
  }

  getOne(ref: object, limits: GetOptions): Promise<unknown> {
    return insideOwnCode(() => this.#waiting.getOne(ref, limits));
  }

  getMany(refs: readonly object[], limits: GetOptions): Promise<unknown[]> {
    return insideOwnCode(() => this.#waiting.getMany(refs, limits));
  }

  wait<R extends object>(refs: readonly R[], options: WaitOptionsResolved): Promise<[R[], R[]]> {
    return insideOwnCode(() => this.#waiting.wait(refs, options));
  }

  /** Keeps a driver alive until a question to the node has been answered, as a pending `get` does. @throws NodeDiedError when the node ends before */
  async holdWhile<T>(question: Promise<T>): Promise<T> {
    try {
      return await this.#waiting.holdWhile(question);
    } catch (error) {
      throw error instanceof ConnectionClosedError && this.daemon.isClosed && !this.#isClosed ? daemonEnded(error.message) : error;
    }
  }

  /** The client of an actor; one per actor and process. `watch` asks the daemon to tell its state. */
  actor(id: ActorId, className: string, options: { watch: boolean }): ActorClient {
    let client = this.#actors.get(id);
    if (client === undefined) {
      client = new ActorClient({
        id,
        className,
        connectWorker: (target, events) => this.#connectWorker(target, events),
        linkEvents: { onPlainResult: this.calls.onPlainResult, onResult: this.calls.onResult },
        fail: this.calls.onActorLost,
        failDependency: (record, entry) => this.calls.failWithDependency(record, entry),
        onIdle: () => this.heldActors.becameIdle(id),
      });
      this.#actors.set(id, client);
      this.calls.registerActor(client);
      if (options.watch) this.daemon.send(MESSAGE.ACTOR_WATCH, id);
    }
    return client;
  }

  /** The client of an actor that the head has found by its name. */
  foundActor({ actorId, owner, interface: face }: ActorLookupReply): ActorClient {
    this.actorOwners.set(actorId, owner);
    return this.actor(actorId, face.className, { watch: true });
  }

  /** The client of an actor, if this process has one. */
  knownActor(id: ActorId): ActorClient | undefined {
    return this.#actors.get(id);
  }

  /** Stops sending; returns how many calls were left without an answer. They fail. */
  close(options: { failsPending: boolean }): number {
    if (this.#isClosed) return 0;
    this.#isClosed = true;
    this.telemetry.flush();
    this.longWaits.close();
    this.cancellation.close();
    const unanswered = this.submitter.close();
    for (const actor of this.#actors.values()) unanswered.push(...actor.close());
    const left = unanswered.filter((record) => !record.isEnded);
    const reason = "Shoal was shut down";
    const failure = (call: string): ShoalError =>
      new ShoalError(`Call ${call} failed: ${reason} before it had ended`, {
        reason,
        hint: "Await what is needed before shutdown() or the end of the program.",
      });
    this.calls.end(failure);
    if (options.failsPending) {
      for (const record of left) {
        // The count is reported once for all; each is not.
        for (const entry of record.results) entry.failureSeen = true;
        this.calls.fail(record, failure(record.target.name));
      }
    }
    this.store.close();
    // What holds an actor for a compiled graph is no work that was left undone.
    return left.filter((record) => record.target.id !== GRAPH_METHOD).length;
  }

  #hello(): HelloHeader {
    const { processId, role, address, remoteAddress, jobId, ids } = this.options;
    return {
      processId,
      holderId: processId,
      kind: role,
      pid: process.pid,
      address,
      ...(remoteAddress === undefined ? {} : { remoteAddress }),
      taskIdPrefix: ids.prefix,
      jobId,
    };
  }

  async #connectWorker({ address, processId, incarnation, leaseId }: WorkerTarget, events: WorkerLinkEvents): Promise<WorkerLink> {
    // Inside one process nobody dies under an answer.
    const number = this.options.mode === "inProcess" ? undefined : this.links.newNumber();
    const { connection } = await connectPeer(
      address,
      { ...this.#hello(), leaseId, link: number },
      { token: this.options.token, processId },
    );
    connection.setKeepsProcessAlive(this.options.role === "worker");
    connection.busyPoll = this.options.busyPoll;
    // Workers inside this process share its table: what is sent to them is held by itself.
    const holder = this.options.mode === "inProcess" ? this.options.processId : processId;
    const onStored = (location: WireLocation): void => this.store.claim(location);
    const link = new WorkerLink({
      processId,
      holderId: holder,
      incarnation,
      connection,
      table: this.table,
      events,
      onStored,
      number,
      onHeldRead: (answer) => this.channel.heldRead({ sender: processId, link: number ?? 0, number: answer }),
    });
    this.links.opened(link);
    return link;
  }

  /** What goes with a value in which a remote function or class is; undefined where nothing is counted. */
  referenceOf(row: FunctionRow): { ref: ContainedRef; entry: ObjectEntry } | undefined {
    const entry = this.functions.publish(row) ?? (row.held === undefined ? undefined : entryOf(row.held));
    return entry === undefined ? undefined : { ref: this.table.publish(entry), entry };
  }

  #storeDefinition(definition: Definition): { payload: Payload; entry: ObjectEntry } {
    const { ids, processId } = this.options;
    const location = this.store.write(definition.bytes, definition.buffers, { owner: processId });
    const payload: Payload = {
      ...inBandPayload(NO_BYTES, { graph: true, error: false }),
      stored: { id: "" as ObjectId, owner: "" as ProcessId, location },
    };
    const entry = new ObjectEntry(ids.nextSequence(), -1);
    entry.settlePayload(payload);
    this.table.pin(entry);
    return { payload: this.table.payloadFor(entry), entry };
  }

  /** The bytes of a definition that lies in the store, mapped. The entry is pinned. */
  async #readStored(stored: StoredHeader): Promise<{ parts: { inBand: Uint8Array; buffers: readonly Uint8Array[] }; entry: ObjectEntry }> {
    const payload: Payload = { ...inBandPayload(NO_BYTES, { graph: true, error: false }), stored };
    const entry = this.table.receiveStored(stored, payload);
    if (!this.store.copies.isOfNode(stored.location)) await this.store.copies.bring(stored.location, entry, FETCH_FOR.WAIT);
    return { parts: this.store.read(stored.location, entry), entry };
  }

  #payloadOf(entry: ObjectEntry): Payload {
    if (entry.payload !== undefined) return entry.payload;
    if (entry.state === "failed") {
      const encoded = this.serializer.encodeError(entry.failure, { name: entry.label });
      return this.serializer.toPayload(encoded, { owner: this.options.processId, error: true });
    }
    const encoded = this.serializer.encode(entry.primitive);
    // Kept for the next who is sent it: the same argument may go to many.
    entry.payload = inBandPayload(copyBytes(encoded.bytes, encoded.start, encoded.end), { graph: false, error: false });
    return entry.payload;
  }

  #daemonLost(reason: string): void {
    if (this.#isClosed) return;
    const error = daemonEnded(reason);
    this.serializer.endStore(error);
    this.calls.end(() => error);
    for (const record of this.submitter.close()) this.calls.fail(record, error);
    for (const actor of this.#actors.values()) for (const record of actor.close()) this.calls.fail(record, error);
    this.options.onDaemonLost(reason);
  }

  /**
   * At the exit of a driver, which has no further turn of its event loop: ends the work of its node, and prints what its workers have still said. Output
   * comes on another way than answers, so what a task prints before it throws may come after its error, and would be lost with it.
   */
  exit(withinMs: number): void {
    this.#isClosed = true;
    this.telemetry.flush();
    this.daemon.onFrame = ({ type, header }) => {
      if (type === MESSAGE.LOG) this.options.onLog(readAs(MESSAGES_TO_PROCESS, type, { header }));
    };
    this.daemon.requestSync(MESSAGE.SHUTDOWN, withinMs);
  }

  /** At the end of a driver: failures that nobody has awaited are printed before it goes. */
  async reportUnseenFailures(): Promise<void> {
    this.table.reportAllUnseen();
    await Promise.all(this.#reports);
  }

  /** What a failed entry failed with; from now on it counts as seen. */
  async failureOf(entry: ObjectEntry): Promise<unknown> {
    entry.failureSeen = true;
    const { payload } = entry;
    if (payload === undefined) return entry.failure;
    try {
      return (await this.serializer.decode(payload, entry.contained === undefined ? {} : { refs: entry.contained })).value;
    } catch (error) {
      return error;
    }
  }

  async #reportUnseen(entry: ObjectEntry): Promise<void> {
    const failure = await this.failureOf(entry);
    const text = failure instanceof Error ? (failure.stack ?? failure.message) : String(failure);
    this.options.onWarning(`A call failed and nobody awaited its result:\n${text}`);
  }

  /** The failure of an actor for `ready`: the constructor's own error when that was it. */
  actorFailure(client: ActorClient, state: ActorStateHeader): Error {
    return actorLostError(client.className, state, { sent: false, constructorError: client.constructorError });
  }

  actorRef(id: ActorId): ContainedRef {
    const known = this.table.lookup(actorObjectId(id))?.owner ?? this.actorOwners.get(id);
    return { id: actorObjectId(id), owner: known ?? this.options.daemonId };
  }
}

function insideOwnCode<T>(body: () => T): T {
  const outer = libraryCode.isRunning;
  libraryCode.isRunning = true;
  const result = body();
  libraryCode.isRunning = outer;
  return result;
}
