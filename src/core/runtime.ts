/**
 * The runtime of one process, driver or worker: everything that its API calls need.
 *
 * Builds its parts bottom up: objects, values, waiting, calls, actors, all over the connection to the node daemon, which it owns. Remote
 * functions, actors' handles and the handlers of the daemon's messages are built on it (`session/create-runtime.ts`). How the process came
 * to have a daemon is decided elsewhere (`init.ts` for drivers, `entry/worker.ts` for workers, `in-process.ts` for neither). Sending may
 * begin before the daemon is up: the transport keeps it.
 */
import { enterLibrary, insideLibrary, leaveLibrary } from "../runtime/base/library-code.ts";
import { isErrorLike, messageOf, textOf } from "../runtime/base/texts/describe.ts";
import { ShoalError } from "../runtime/base/errors.ts";
import { daemonEnded } from "../runtime/objects/daemon-channel.ts";
import type { LocalStore } from "../runtime/objects/store/local-store.ts";
import { ObjectEntry } from "../runtime/objects/object-entry.ts";
import type { ObjectTable } from "../runtime/objects/object-table.ts";
import { Connection, ConnectionClosedError } from "../runtime/rpc/connection.ts";
import { readAs } from "../runtime/wire/tables/message-table.ts";
import { MESSAGES_TO_PROCESS } from "../runtime/wire/tables/messages-to-process.ts";
import { MESSAGE } from "../runtime/wire/messages.ts";
import { tellMetrics } from "./telemetry/metrics-source.ts";
import { Telemetry } from "../runtime/events/telemetry.ts";
import { GRAPH_METHOD } from "../runtime/worker/actors/reserved-methods.ts";
import { Actors } from "./actors/actors.ts";
import type { CallCancellation } from "./calls/cancellation/call-cancellation.ts";
import { callName } from "./calls/call-record.ts";
import { Calls } from "./calls/calls.ts";
import { Environments } from "./session/environments.ts";
import { placing } from "./calls/submission/inherited-place.ts";
import { LongWaits } from "./why/long-waits.ts";
import { ObjectRefHandle, type RefRuntime } from "./objects/object-ref.ts";
import { OpenLinks } from "./calls/links/open-links.ts";
import { isKeptAsItIs } from "./objects/values/plain-value.ts";
import { ProcessObjects } from "./objects/values/process-objects.ts";
import { ProcessValues } from "./objects/values/process-values.ts";
import { Preemption } from "./context/preemption.ts";
import { Recovery } from "./calls/failures/recovery.ts";
import type { GetOptions } from "./types/ref-types.ts";
import { helloOf, type RuntimeOptions } from "./runtime-options.ts";
import type { Serializer } from "./serializer.ts";
import { Waiting, type WaitOptionsResolved } from "./objects/waiting.ts";
import { WhyExplainer, type WhyRuntime } from "./why/why.ts";
import { firstCallOptions, workerConnector } from "./calls/links/worker-connections.ts";

export class Runtime implements RefRuntime, WhyRuntime {
  readonly options: RuntimeOptions;
  readonly daemon: Connection;
  readonly telemetry: Telemetry;
  readonly links: OpenLinks = new OpenLinks();
  readonly preemption: Preemption = new Preemption();
  readonly objects: ProcessObjects;
  readonly table: ObjectTable;
  readonly store: LocalStore;
  readonly values: ProcessValues;
  readonly serializer: Serializer;
  readonly environments: Environments;
  readonly recovery: Recovery;
  readonly longWaits: LongWaits;
  readonly calls: Calls;
  readonly cancellation: CallCancellation;
  readonly actors: Actors;
  readonly why: WhyExplainer;
  readonly #waiting: Waiting;
  readonly #reports = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: RuntimeOptions) {
    this.options = options;
    const { processId, daemonId, jobId } = options;
    const daemon = new Connection(options.daemonTransport, { trusted: true });
    this.daemon = daemon;
    this.telemetry = new Telemetry((report) =>
      daemon.send(MESSAGE.EXTENSION, { extension: "telemetry", message: "report", header: report }),
    );
    const objects = new ProcessObjects(options, daemon, {
      payloadOf: (entry) => this.values.payloadOf(entry),
      onUnseenFailure: (entry) => this.#unseen(entry),
    });
    const { table, store } = objects;
    this.objects = objects;
    this.table = table;
    this.store = store;
    const values = new ProcessValues(options, {
      daemon,
      objects,
      recover: (error) => this.#waiting.recovered(error),
      onFunctionGone: (id) => this.links.forgetFunction(id),
    });
    this.values = values;
    const { serializer } = values;
    this.serializer = serializer;
    const recovery = new Recovery({
      processId,
      objects,
      isActorDead: ({ actor }) => actor !== undefined && this.actors.known(actor)?.state?.phase === "dead",
      rerun: (record) => this.calls.rerun(record),
    });
    this.recovery = recovery;
    const tell = (header: unknown): void => daemon.send(MESSAGE.WAITS, header);
    const longWaits = new LongWaits({ jobId, idOf: (entry) => table.idOf(entry), tell });
    this.longWaits = longWaits;
    const waiting = new Waiting({
      longWaits,
      table,
      serializer,
      recovery,
      store,
      onWaiting: (isWaiting) => {
        // At its end the session holds the process itself.
        if (options.role === "driver" && !this.#isClosed) daemon.setKeepsProcessAlive(isWaiting);
      },
    });
    this.#waiting = waiting;
    const environments = new Environments(daemon, options);
    this.environments = environments;
    if (environments.isInherited) placing.isInherited = true;
    const connectWorker = workerConnector(options, objects, this.links);
    const ways = { connectWorker, firstCalls: firstCallOptions(options, objects, this.links) };
    const calls = new Calls(options, { daemon, objects, serializer, environments, recovery, streamReader: waiting, ...ways });
    this.calls = calls;
    this.cancellation = calls.cancellation;
    this.actors = new Actors({
      daemonId,
      daemon,
      flushDaemon: () => objects.channel.flushNow(),
      table,
      calls,
      connectWorker,
      lookUp: async (asked) => (await this.holdWhile(daemon.request(MESSAGE.ACTOR_LOOKUP, asked))).header,
    });
    this.why = new WhyExplainer(this);
    daemon.onClose = (reason) => this.#daemonLost(reason);
    void daemon.request(MESSAGE.HELLO, helloOf(options), { timeoutMs: 0 }).catch(() => {
      // The connection's end is told by onClose.
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get pendingTaskCount(): number {
    return this.calls.pendingCount;
  }

  get hasOpenCalls(): boolean {
    for (const record of this.calls.openCalls()) if (!record.isEnded) return true;
    return false;
  }

  put(value: unknown): ObjectRefHandle {
    const { ids, processId } = this.options;
    const entry = new ObjectEntry(ids.nextSequence(), -1);
    const handle = new ObjectRefHandle(entry);
    if (isKeptAsItIs(value)) {
      entry.settlePrimitive(value);
      return handle;
    }
    const isOutermost = enterLibrary();
    try {
      const encoded = this.serializer.encode(value);
      if (encoded.entries.length > 0) {
        for (const inner of encoded.entries) this.table.pin(inner);
        this.table.contain(entry, encoded.entries.slice());
      }
      const payload = this.serializer.toPayload(encoded, { owner: processId, error: false });
      entry.settlePayload(payload);
      if (payload.stored !== undefined || encoded.entries.length > 0) this.table.track(entry, handle);
      return handle;
    } finally {
      leaveLibrary(isOutermost);
    }
  }

  getOne(ref: object, limits: GetOptions): Promise<unknown> {
    return insideLibrary(() => this.#waiting.getOne(ref, limits));
  }

  getMany(refs: readonly object[], limits: GetOptions): Promise<unknown[]> {
    return insideLibrary(() => this.#waiting.getMany(refs, limits));
  }

  wait<R extends object>(refs: readonly R[], options: WaitOptionsResolved): Promise<[R[], R[]]> {
    return insideLibrary(() => this.#waiting.wait(refs, options));
  }

  /** Keeps a driver alive until a question to the node has been answered, as a pending `get` does. @throws NodeDiedError when the node ends before */
  async holdWhile<T>(question: Promise<T>): Promise<T> {
    try {
      return await this.#waiting.holdWhile(question);
    } catch (error) {
      throw error instanceof ConnectionClosedError && this.daemon.isClosed && !this.#isClosed ? daemonEnded(error.message) : error;
    }
  }

  /** Stops sending; returns the names of the calls that were left without an answer. They fail. */
  close(options: { failsPending: boolean }): string[] {
    if (this.#isClosed) return [];
    this.#isClosed = true;
    this.telemetry.flush();
    tellMetrics(this.daemon);
    this.longWaits.close();
    const reason = "Shoal was shut down";
    const failure = (call: string): ShoalError =>
      new ShoalError(`Call ${call} failed: ${reason} before it had ended`, {
        reason,
        hint: "Await what is needed before shutdown() or the end of the program.",
      });
    const left = this.calls.end(failure);
    if (options.failsPending) {
      for (const record of left) {
        // The count is reported once for all; each is not.
        for (const entry of record.results) entry.failureSeen = true;
        this.calls.fail(record, failure(record.target.name));
      }
    }
    this.store.close();
    // A call that holds an actor for a compiled graph is no work that was left undone, and neither is a stream that its reader has left.
    return left.filter((record) => record.target.id !== GRAPH_METHOD && record.stream?.isStopped !== true).map(callName);
  }

  #daemonLost(reason: string): void {
    if (this.#isClosed) return;
    const error = daemonEnded(reason);
    this.serializer.endStore(error);
    this.table.endWatches(error);
    for (const record of this.calls.end(() => error)) this.calls.fail(record, error);
    this.options.onDaemonLost(reason);
  }

  /**
   * Ends the node's work when a driver exits and its event loop turns no more. Prints the remaining output of workers: output takes another
   * path than answers, so lines from before an error may arrive after the error, and would be lost.
   */
  exit(withinMs: number): void {
    this.#isClosed = true;
    this.telemetry.flush();
    tellMetrics(this.daemon);
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

  #unseen(entry: ObjectEntry): void {
    const report = this.values
      .failureOf(entry)
      .then((failure) => {
        const text = (isErrorLike(failure) ? textOf(failure, "stack") : undefined) ?? messageOf(failure);
        this.options.onWarning(`A call failed and nobody awaited its result:\n${text}`);
      })
      .finally(() => this.#reports.delete(report));
    this.#reports.add(report);
  }
}
