/**
 * Runs the life of a call in its caller: encodes arguments, waits for dependencies, sends, settles or fails, and
 * retries.
 *
 * A call returns its refs at once, and their entries settle when it ends. Everything that the call needs is pinned
 * until then: the refs among and inside its arguments, and its own result handles. A failure is final when no retry
 * is left for its kind. A system failure, such as a dead worker, counts against `maxRetries`. An exception of the
 * task is retried only when `retryOn` accepts it.
 */
import { copyBytes } from "../../runtime/base/collections/bytes.ts";
import { type ActorId, nodeTagOf } from "../../runtime/base/ids.ts";
import { submittedFrom, TaskError } from "../../runtime/base/errors.ts";
import { enterLibrary, leaveLibrary } from "../../runtime/base/library-code.ts";
import { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import { inBandPayload, type Payload } from "../../runtime/objects/payload.ts";
import type { Connection } from "../../runtime/rpc/connection.ts";
import { parseLeaseSpec } from "../../runtime/scheduling/lease-spec.ts";
import {
  type ActorStateHeader,
  type GroupStateHeader,
  type LeaseRefusedHeader,
  MESSAGE,
  STREAMING,
  type WorkerExitedHeader,
} from "../../runtime/wire/messages.ts";
import { taskContext } from "../../runtime/worker/tasks/task-context.ts";
import type { ActorClient, LostCall } from "../actors/actor-client.ts";
import { CallCancellation } from "./cancellation/call-cancellation.ts";
import { type ArgumentContext, encodeArguments } from "./call-arguments.ts";
import { actorLostError, groupRemovedError, taskRefusedError, workerLostError } from "./failures/call-failures.ts";
import { CallSites } from "./call-sites.ts";
import { limitCall } from "./cancellation/call-limits.ts";
import { callIdOf, callName, type CallRecord, type CallTarget, failedDependency, whenSettled } from "./call-record.ts";
import { OutOfMemoryRetries } from "./failures/out-of-memory.ts";
import type { Lineage } from "./failures/lineage.ts";
import { isDisposed, ObjectRefHandle } from "../objects/object-ref.ts";
import type { ProcessObjects } from "../objects/values/process-objects.ts";
import type { Serializer } from "../serializer.ts";
import { userFrames } from "../user-stacks.ts";
import { ObjectRefGeneratorHandle, type StreamReader } from "../streams/object-ref-generator.ts";
import type { ResolvedTaskOptions, RetryPolicy, StreamLimits } from "../options/options.ts";
import { settlePlain } from "../objects/values/plain-value.ts";
import { notGivenError, type Recovery } from "./failures/recovery.ts";
import type { RuntimeOptions } from "../runtime-options.ts";
import type { FirstCallOptions } from "./submission/first-calls.ts";
import type { ConnectWorker } from "./links/worker-connections.ts";
import type { Environments } from "../session/environments.ts";
import { inheritedShape, placing } from "./submission/inherited-place.ts";
import { StreamReceiver } from "../streams/stream-receiver.ts";
import { StreamReplay } from "../streams/stream-replay.ts";
import { SharedDeaths } from "./failures/shared-deaths.ts";
import { TaskSubmitter } from "./submission/task-submitter.ts";

interface CallParts {
  readonly daemon: Connection;
  readonly objects: ProcessObjects;
  readonly serializer: Serializer;
  readonly environments: Environments;
  readonly recovery: Recovery;
  readonly streamReader: StreamReader;
  readonly connectWorker: ConnectWorker;
  readonly firstCalls: FirstCallOptions | undefined;
}

interface CallContext extends ArgumentContext, Pick<CallParts, "environments" | "streamReader"> {
  readonly lineage: Lineage;
  /** Tells the daemon of a task's time limit; absent in a process that runs no tasks. */
  readonly keepDeadline: ((record: CallRecord) => (timeoutMs: number | undefined) => void) | undefined;
}

const NO_ENTRIES: readonly ObjectEntry[] = [];

/** Removed placement groups are remembered until the tasks in them have ended; the oldest are forgotten. */
const REMOVED_GROUPS_MAX = 1000;

export class Calls {
  readonly submitter: TaskSubmitter;
  readonly cancellation: CallCancellation;
  /** The clients of actors. */
  readonly actors = new Map<ActorId, ActorClient>();
  readonly #options: CallContext;
  readonly #outOfMemory: OutOfMemoryRetries;
  readonly #sharedDeaths: SharedDeaths;
  readonly #callSites = new CallSites(() => performance.now());
  readonly #failing: { record: CallRecord; dependency: ObjectEntry }[] = [];
  readonly #held = new Set<CallRecord>();
  readonly #removedGroups = new Map<string, string>();
  #endedBy: ((call: string) => Error) | undefined;

  constructor(options: RuntimeOptions, parts: CallParts) {
    const { processId, ids, nodeId, ownWorker, taskOomRetries } = options;
    const { daemon, objects, serializer, environments, recovery, streamReader, connectWorker, firstCalls } = parts;
    const { table, lineage } = objects;
    const tellDeadline =
      (record: CallRecord) =>
      (timeoutMs = 0): void =>
        daemon.send(MESSAGE.CALL_DEADLINE, [callIdOf(record.sequence), timeoutMs]);
    const keepDeadline = options.role === "worker" ? tellDeadline : undefined;
    this.#options = { processId, ids, table, serializer, environments, lineage, streamReader, keepDeadline };
    const nowMs = (): number => performance.now();
    this.#outOfMemory = new OutOfMemoryRetries(taskOomRetries);
    this.#sharedDeaths = new SharedDeaths(processId);
    const submitter = new TaskSubmitter({
      daemon,
      flushDaemon: () => objects.channel.flushNow(),
      node: nodeTagOf(nodeId),
      connectWorker,
      firstCalls,
      ownWorker,
      onPlainResult: this.onPlainResult,
      onResult: this.onResult,
      onWorkerLost: this.onWorkerLost,
      onRefused: this.onRefused,
      failDependency: (record, entry) => this.failWithDependency(record, entry),
      awaitDependencies: this.submitWhenReady,
      onArgumentsLost: (record, lost) => {
        for (const [id, location] of lost) {
          // The id alone may stand for a ref that has come back.
          const argument = record.dependencies.find((entry) => entry.id === id);
          if (argument !== undefined) recovery.lost(argument, location);
        }
        this.submitWhenReady(record);
      },
      onHandedOn: (record) => {
        if (record.stream?.isStopped === true) this.cancellation.streamStopped(record);
      },
      nowMs,
    });
    this.submitter = submitter;
    this.cancellation = new CallCancellation({
      processId,
      daemon,
      nowMs,
      fail: (record, error) => this.fail(record, error),
      linkOf: (record) => submitter.whereIs(record)?.link,
      withdraw: (record) => (record.actor === undefined ? submitter : this.actors.get(record.actor))?.withdraw(record),
      openCalls: () => this.openCalls(),
    });
  }

  get pendingCount(): number {
    let count = this.submitter.pendingCount;
    for (const actor of this.actors.values()) count += actor.pendingCount;
    return count;
  }

  /** Yields all calls that have not been answered. */
  *openCalls(): Generator<CallRecord> {
    // Some calls are with nobody: they wait for arguments, or for their next try.
    yield* this.#held;
    yield* this.submitter.openCalls();
    for (const actor of this.actors.values()) yield* actor.openCalls();
  }

  /** @returns one ref, several, nothing, or a stream, by `numReturns`. */
  callTask(target: CallTarget, args: readonly unknown[], options: ResolvedTaskOptions): unknown {
    const isOutermost = enterLibrary();
    try {
      const record = this.#newRecord(target, undefined, args, options);
      // These run before the call is sent. A call may end within its submission, and releases its handles then.
      const refs = this.#returned(record);
      if (this.#mayBegin(record, options)) this.submitWhenReady(record);
      return refs;
    } finally {
      leaveLibrary(isOutermost);
    }
  }

  callActor(client: ActorClient, target: CallTarget, args: readonly unknown[], options: ResolvedTaskOptions): unknown {
    const isOutermost = enterLibrary();
    try {
      const record = this.#newRecord(target, client.resolved.id, args, options);
      const refs = this.#returned(record);
      if (this.#mayBegin(record, options)) {
        for (const dependency of record.dependencies) this.#options.table.watch(dependency);
        client.submit(record);
      }
      return refs;
    } finally {
      leaveLibrary(isOutermost);
    }
  }

  #mayBegin(record: CallRecord, options: ResolvedTaskOptions): boolean {
    if (this.#endedBy !== undefined) {
      this.fail(record, this.#endedBy(record.target.name));
      return false;
    }
    if (options.limits === undefined) return true;
    limitCall(record, options.limits, {
      onEnd: (error) => this.cancellation.end(record, error, { force: false, recursive: true }),
      keepOutside: record.actor === undefined ? this.#options.keepDeadline?.(record) : undefined,
    });
    return !record.isEnded;
  }

  /**
   * Runs a call again whose results were lost. Its arguments are pinned already, and freed ones are being made again.
   */
  rerun(record: CallRecord): void {
    this.#runAgain(record.stream === undefined ? record : this.#replayOf(record));
  }

  /** A call for the items of a stream that were lost; the stream itself may still be running. */
  #replayOf(record: CallRecord): CallRecord {
    const { table, serializer, ids } = this.#options;
    const wanted = record.results.filter((entry) => !entry.isSettled);
    const sequence = ids.nextSequence();
    const completion = new ObjectEntry(sequence, 0);
    completion.label = callName(record);
    const stream = new StreamReplay({
      wanted,
      completion,
      table,
      serializer,
      discard: (payload) => this.#discard(payload),
      stopped: () => this.cancellation.streamStopped(replay),
      notGiven: notGivenError,
    });
    const replay: CallRecord = { ...record, sequence, results: [completion], stream };
    for (const entry of wanted) entry.maker = replay;
    return replay;
  }

  #runAgain(record: CallRecord): void {
    const client = this.actors.get(record.actor as ActorId);
    record.isEnded = false;
    record.isRemade = true;
    record.attempt += 1;
    record.hasParked = false;
    for (const entry of record.results) if (!entry.isSettled) entry.maker = record;
    if (this.#endedBy !== undefined) {
      this.fail(record, this.#endedBy(record.target.name));
    } else if (client === undefined) {
      this.submitWhenReady(record);
    } else {
      for (const dependency of record.dependencies) this.#options.table.watch(dependency);
      client.submit(record);
    }
  }

  /**
   * Ends the session: from now on every call fails at once. @returns the calls that were sent or queued and have no
   * answer
   */
  end(failure: (call: string) => Error): CallRecord[] {
    this.#endedBy = failure;
    this.cancellation.close();
    const unanswered = this.submitter.close();
    for (const actor of this.actors.values()) unanswered.push(...actor.close(failure));
    return unanswered.filter((record) => !record.isEnded);
  }

  #newRecord(target: CallTarget, actor: ActorId | undefined, args: readonly unknown[], options: ResolvedTaskOptions): CallRecord {
    // A call that is not sent needs no arguments.
    const encoded = encodeArguments(options.limits?.signal?.aborted === true ? [] : args, this.#options, target);
    const sequence = this.#options.ids.nextSequence();
    // Pushing to an empty array would reserve room for 17.
    const results = [new ObjectEntry(sequence, 0)];
    for (let index = 1; index < options.numReturns; index += 1) results.push(new ObjectEntry(sequence, index));
    for (const entry of results) {
      entry.label = options.name ?? target.name;
      entry.actor = actor;
      if (options.numReturns !== 0) entry.returned = new ObjectRefHandle(entry);
    }
    const stream = options.numReturns === STREAMING ? this.#newStream(results[0] as ObjectEntry, options.stream) : undefined;
    const record: CallRecord = {
      sequence,
      target,
      actor,
      name: options.name,
      shape: actor === undefined && placing.isInherited ? inheritedShape(options, this.#options.environments) : options.shape,
      numReturns: options.numReturns,
      chunk: encoded.chunk,
      start: encoded.start,
      end: encoded.end,
      graph: encoded.graph,
      args: encoded.args,
      dependencies: encoded.dependencies,
      pinned: encoded.pinned,
      results,
      retry: options.retry,
      stream,
      retriesLeft: options.retry.maxRetries,
      attempt: 0,
      hasParked: false,
      parent: taskContext.current,
      callSite: this.#callSites.above(actor === undefined ? this.callTask : this.callActor),
      isEnded: false,
      isRemade: false,
      isQueued: false,
      limits: undefined,
    };
    for (const entry of results) entry.maker = record;
    return record;
  }

  #newStream(completion: ObjectEntry, limits: StreamLimits): StreamReceiver {
    const { table, serializer } = this.#options;
    const withRecord = (use: (record: CallRecord) => void): void => {
      const record = completion.maker as CallRecord | undefined;
      if (record !== undefined) use(record);
    };
    return new StreamReceiver({
      completion,
      completionHandle: completion.returned as object,
      limits,
      table,
      serializer,
      withdraw: () => withRecord((record) => this.cancellation.cancelRecord(record, { force: false, recursive: true })),
      stopped: () => withRecord((record) => this.cancellation.streamStopped(record)),
      onStored: (item) => withRecord((record) => this.#options.lineage.retainItem(record, item)),
    });
  }

  #returned(record: CallRecord): unknown {
    if (record.numReturns === 1) return (record.results[0] as ObjectEntry).returned;
    if (record.stream !== undefined) return new ObjectRefGeneratorHandle(record.stream as StreamReceiver, this.#options);
    return record.numReturns === 0 ? undefined : record.results.map((entry) => entry.returned);
  }

  /** Goes on once all dependencies have settled. A failed dependency fails the call. */
  readonly submitWhenReady = (record: CallRecord): void => {
    const { dependencies } = record;
    if (dependencies.length === 0) this.submitter.submit(record);
    else this.#waitForDependencies(record, dependencies);
  };

  #waitForDependencies(record: CallRecord, dependencies: readonly ObjectEntry[]): void {
    const proceed = (): void => {
      if (record.isEnded) return;
      this.#held.delete(record);
      const failed = failedDependency(record);
      if (failed === undefined) this.submitter.submit(record);
      else this.failWithDependency(record, failed);
    };
    if (!whenSettled(dependencies, this.#options.table, proceed)) this.#held.add(record);
  }

  // ---- answers

  readonly onPlainResult = (record: CallRecord, bytes: Uint8Array, flags: { graph: boolean; error: boolean }): void => {
    if (record.isEnded) return;
    if (flags.error) {
      this.#failedBy(record, inBandPayload(copyBytes(bytes), flags), NO_ENTRIES);
      return;
    }
    settlePlain(record.results[0] as ObjectEntry, bytes, flags.graph, this.#options.serializer);
    this.#ended(record);
  };

  readonly onResult = (record: CallRecord, returns: readonly Payload[]): void => {
    const { table } = this.#options;
    if (record.isEnded) {
      for (const payload of returns) this.#discard(payload);
      return;
    }
    const first = returns[0];
    if (first?.error === true) {
      const contained = first.refs.map((ref) => table.receive(ref));
      this.#failedBy(record, first, contained);
      return;
    }
    returns.forEach((payload, index) => {
      const entry = record.results[index];
      if (entry === undefined) return;
      if (entry.isSettled) {
        // The call ran again to remake another result.
        this.#discard(payload);
        return;
      }
      const contained = payload.refs.map((ref) => table.receive(ref));
      const handle = entry.returned;
      if (contained.length > 0 || payload.stored !== undefined) {
        table.contain(entry, contained);
        if (!entry.tracked || entry.handles === 0)
          table.track(entry, handle === undefined || isDisposed(handle) ? undefined : handle, payload.stored);
      }
      entry.settlePayload(payload);
    });
    if (returns.length === 0) (record.results[0] as ObjectEntry).settlePrimitive(undefined);
    else this.#options.lineage.retain(record);
    this.#ended(record);
  };

  /** Releases the holds of a late result. */
  #discard(payload: Payload): void {
    const { table } = this.#options;
    const entry = new ObjectEntry(this.#options.ids.nextSequence(), -1);
    table.contain(
      entry,
      payload.refs.map((ref) => table.receive(ref)),
    );
    entry.tracked = true;
    entry.failureSeen = true;
    entry.settlePayload(payload);
    table.madeHere(entry);
  }

  /** Remembers a removed group, whose end explains the end of a worker under one of the group's tasks. */
  groupRemoved({ id, reason }: GroupStateHeader): void {
    this.#removedGroups.set(id, reason ?? "");
    if (this.#removedGroups.size > REMOVED_GROUPS_MAX) this.#removedGroups.delete(this.#removedGroups.keys().next().value as string);
  }

  /** Handles the death of the worker under the call. */
  readonly onWorkerLost = (record: CallRecord, exit: WorkerExitedHeader | undefined): void => {
    if (record.isEnded) return;
    if (record.stream?.isStopped === true) {
      // A value without a reader need not be made again.
      this.#failAtCall(record, workerLostError(record, exit));
      return;
    }
    const group = this.#removedGroups.size === 0 ? undefined : parseLeaseSpec(record.shape).bundle?.group;
    if (group !== undefined && this.#removedGroups.has(group)) {
      this.#failAtCall(record, groupRemovedError(record, group, this.#removedGroups.get(group) ?? ""));
      return;
    }
    const delayMs = this.#outOfMemory.delayMs(record, exit);
    if (delayMs !== undefined) {
      // These retries have a count of their own.
      if (record.retriesLeft > 0) record.retriesLeft += 1;
      this.#again(record, delayMs);
      return;
    }
    if (this.#sharedDeaths.isFree(record, exit)) {
      if (record.retriesLeft > 0) record.retriesLeft += 1;
      this.#again(record);
      return;
    }
    if (record.retriesLeft !== 0 && exit?.outOfMemory?.because !== "machine") {
      // The worker was ended for a cancelled neighbour, so this call is not charged.
      if (exit?.isForCancellation === true && record.retriesLeft > 0) record.retriesLeft += 1;
      this.#again(record);
      return;
    }
    this.#failAtCall(record, workerLostError(record, exit));
  };

  /** Fails a call that asked for something that will never exist. */
  readonly onRefused = (record: CallRecord, refusal: LeaseRefusedHeader): void => {
    this.#failAtCall(record, taskRefusedError(record, refusal));
  };

  /** Handles a call whose actor is gone, or was gone while the call was with it. */
  readonly onActorLost = (record: CallRecord, state: ActorStateHeader, how: LostCall): void => {
    this.#failAtCall(record, actorLostError(record.target.name, state, how));
  };

  /**
   * Ends everything that depends on a failure, one call after the other. Nested, a chain of some thousand calls would
   * overflow the stack.
   */
  failWithDependency(record: CallRecord, dependency: ObjectEntry): void {
    this.#failing.push({ record, dependency });
    if (this.#failing.length > 1) return;
    try {
      for (const next of this.#failing) this.#failWithDependency(next.record, next.dependency);
    } finally {
      this.#failing.length = 0;
    }
  }

  #failWithDependency(record: CallRecord, dependency: ObjectEntry): void {
    if (record.isEnded) return;
    dependency.failureSeen = true;
    for (const entry of record.results) {
      if (dependency.payload !== undefined) {
        entry.callSite = dependency.callSite;
        this.#settleWith(record, entry, { payload: dependency.payload, contained: dependency.contained ?? NO_ENTRIES });
        continue;
      }
      entry.fail(dependency.failure);
      this.#watchFailure(record, entry);
    }
    this.#ended(record);
  }

  /** `contained`: the refs inside the failure, pinned once for all results. */
  #failedBy(record: CallRecord, payload: Payload, contained: readonly ObjectEntry[]): void {
    // The daemon stopped the task at its time limit while this process could not.
    if (record.limits?.expire() === true || record.retry.retryOn === false || record.retriesLeft === 0) {
      this.#settleFailure(record, payload, contained);
      return;
    }
    const context = { keeper: record.results[0] as ObjectEntry, refs: contained };
    const accepted = this.#options.serializer
      .decode(payload, context)
      .then(({ value }) => accepts(record.retry.retryOn, value instanceof TaskError ? value.cause : value));
    void accepted.then(
      (isAccepted) => {
        if (!isAccepted || record.isEnded) {
          this.#settleFailure(record, payload, contained);
          return;
        }
        for (const inner of contained) this.#options.table.unpin(inner);
        this.#again(record);
      },
      // An unreadable error, or a predicate that throws, is no reason to run the call again.
      () => this.#settleFailure(record, payload, contained),
    );
  }

  #settleFailure(record: CallRecord, payload: Payload, contained: readonly ObjectEntry[]): void {
    if (!record.isEnded) {
      for (const entry of record.results) {
        entry.callSite = record.callSite;
        this.#settleWith(record, entry, { payload, contained });
      }
      this.#ended(record);
    }
    for (const inner of contained) this.#options.table.unpin(inner);
  }

  /** Fails a result with another process's error, and keeps the refs in it. */
  #settleWith(record: CallRecord, entry: ObjectEntry, failure: { payload: Payload; contained: readonly ObjectEntry[] }): void {
    const { table } = this.#options;
    if (failure.contained.length > 0 && !entry.isSettled) {
      for (const inner of failure.contained) table.pin(inner);
      table.contain(entry, failure.contained.slice());
      const handle = entry.returned;
      if (entry.handles === 0 && handle !== undefined && !isDisposed(handle)) table.track(entry, handle);
    }
    entry.settlePayload(failure.payload);
    this.#watchFailure(record, entry);
  }

  /** Fails a call with an error that was made for it: the stack leads to the call, not to this module. */
  #failAtCall(record: CallRecord, error: Error): void {
    this.fail(record, submittedFrom(error, userFrames(record.callSite)));
  }

  fail(record: CallRecord, error: unknown): void {
    if (record.isEnded) return;
    for (const entry of record.results) {
      entry.fail(error);
      this.#watchFailure(record, entry);
    }
    this.#ended(record);
  }

  /** A failure that nobody awaits is reported when its ref goes; one without a ref, at once. */
  #watchFailure(record: CallRecord, entry: ObjectEntry): void {
    if (entry.failureSeen) return;
    const handle = entry.returned;
    if (handle === undefined) this.#options.table.reportUnseenFailure(entry);
    else this.#options.table.watchFailure(entry, handle);
  }

  #again(record: CallRecord, delayMs: number = record.retry.retryDelayMs): void {
    if (record.retriesLeft > 0) record.retriesLeft -= 1;
    record.attempt += 1;
    const submit = (): void => {
      this.#held.delete(record);
      if (record.isEnded) return;
      if (this.#endedBy !== undefined) {
        this.fail(record, this.#endedBy(record.target.name));
        return;
      }
      const client = record.actor === undefined ? undefined : this.actors.get(record.actor);
      if (client === undefined) this.submitter.submit(record);
      else client.submit(record);
    };
    if (delayMs > 0) {
      this.#held.add(record);
      setTimeout(submit, delayMs);
    } else {
      submit();
    }
  }

  #ended(record: CallRecord): void {
    record.isEnded = true;
    record.limits?.close();
    if (this.#held.size > 0) this.#held.delete(record);
    for (const entry of record.results) {
      entry.maker = undefined;
      const handle = entry.returned;
      entry.returned = undefined;
      if (entry.tracked && (handle === undefined || isDisposed(handle))) this.#options.table.madeHere(entry);
    }
    for (const entry of record.pinned) this.#options.table.unpin(entry);
  }
}

function accepts(retryOn: RetryPolicy["retryOn"], cause: unknown): boolean {
  if (typeof retryOn === "boolean") return retryOn;
  if (typeof retryOn === "function") return retryOn(cause);
  return retryOn.some((errorClass) => cause instanceof errorClass || (cause instanceof Error && cause.name === errorClass.name));
}
