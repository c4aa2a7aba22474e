/**
 * This process's side of one actor: sends its calls in order to the actor's present process.
 *
 * Calls wait here until the actor is alive and their arguments have settled. To keep the order, a call with pending arguments holds back later calls. When the
 * actor's process dies, calls in flight fail with the cause, or are pushed to the next incarnation as `maxTaskRetries` allows. Calls that were not sent wait for
 * the next incarnation. A dead actor fails all calls with the reason.
 */
import { timeoutAfterIo } from "../../runtime/base/time/timeout-after-io.ts";
import type { ActorId } from "../../runtime/base/ids.ts";
import type { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import type { ActorStateHeader } from "../../runtime/wire/messages.ts";
import { TERMINATE_METHOD } from "../../runtime/worker/actors/reserved-methods.ts";
import {
  DEATH_OF_NODE_TOLD_WITHIN_MS,
  DEATH_TOLD_WITHIN_MS,
  EXIT_REPORT_ELSEWHERE_WITHIN_MS,
  EXIT_REPORT_WITHIN_MS,
  RECONNECT_MAX_MS,
  RECONNECT_MIN_MS,
} from "../limits.ts";
import { CallQueues } from "./call-queues.ts";
import { type CallRecord, failedDependency } from "../calls/call-record.ts";
import type { WorkerLink, WorkerLinkEvents, WorkerTarget } from "../calls/links/worker-link.ts";

/** How a call was lost with its actor. */
export interface LostCall {
  sent: boolean;
  constructorError: unknown;
  /** The oldest call that this process had with the actor, when that was another one: it ran, or came before this one. */
  behind?: string | undefined;
  /** Why the connection ended, where it alone did. */
  whyClosed?: string | undefined;
}

/** How long the last answers of a dead process may take to be read before its connection is given up. */
const LAST_ANSWERS_WITHIN_MS = 1000;

interface ActorClientOptions {
  id: ActorId;
  className: string;
  connectWorker: (target: WorkerTarget, events: WorkerLinkEvents) => Promise<WorkerLink>;
  /** Writes the gathered messages to the daemon at once. */
  flushDaemon: () => void;
  linkEvents: Pick<WorkerLinkEvents, "onPlainResult" | "onResult">;
  fail: (record: CallRecord, state: ActorStateHeader, how: LostCall) => void;
  /** An argument of the call failed, so the call fails with it. */
  failDependency: (record: CallRecord, dependency: ObjectEntry) => void;
  onIdle: () => void;
}

export class ActorClient {
  readonly id: ActorId;
  readonly className: string;
  /** Whether this process created the actor, which then ends with it. */
  endsWithThisProcess = false;
  /** The constructor's error, if it ended the actor. */
  constructorError: unknown = undefined;
  readonly #options: ActorClientOptions;
  readonly #queue = new CallQueues<CallRecord>({ isReady, isLast: (record) => record.target.id === TERMINATE_METHOD });
  #link: WorkerLink | undefined;
  #incarnation = -1;
  /** Cancelled calls that are still in the queue. */
  #dropped = 0;
  /** The connection to this life or the last one, and when it has closed: the next life is not sent anything before. */
  #last: { link: WorkerLink; incarnation: number; closed: Promise<void> } | undefined;
  #state: ActorStateHeader | undefined;
  /** In flight when the connection broke; what becomes of them follows from the actor's next state. */
  #lost: CallRecord[] = [];
  /** Why the last connection ended. */
  #whyClosed: string | undefined;
  #lostIncarnation = -1;
  #redirect: ActorClient | undefined;
  /** Makes the error of calls after the end of the session. */
  #endedBy: ((call: string) => Error) | undefined;
  #endWaiters: (() => void)[] = [];
  #leaveWaiters: (() => void)[] = [];
  #readyWaiters: { resolve: () => void; reject: (why: ActorStateHeader | Error) => void }[] = [];

  constructor(options: ActorClientOptions) {
    this.id = options.id;
    this.className = options.className;
    this.#options = options;
  }

  /** Sends this client's calls to an actor that existed already under another id (`getIfExists`). */
  redirectTo(existing: ActorClient): void {
    this.#redirect = existing;
    existing.isUnordered ||= this.isUnordered;
    for (const record of this.#takeAll()) this.submit(record);
    // A dead actor fails the calls at once: no later event would report that none is pending.
    if (existing.pendingCount === 0) existing.#options.onIdle();
    for (const waiter of this.#readyWaiters.splice(0)) existing.ready().then(waiter.resolve, waiter.reject);
  }

  /** The client that calls really go through. */
  get resolved(): ActorClient {
    return this.#redirect?.resolved ?? this;
  }

  /** A call whose arguments are pending holds back none. */
  get isUnordered(): boolean {
    return this.#queue.isUnordered;
  }

  set isUnordered(isUnordered: boolean) {
    this.#queue.isUnordered = isUnordered;
  }

  get state(): ActorStateHeader | undefined {
    return this.#state;
  }

  get pendingCount(): number {
    return this.#queue.size - this.#dropped + this.#lost.length + (this.#last?.link.inFlightCount ?? 0);
  }

  submit(record: CallRecord): void {
    if (this.#redirect !== undefined) {
      // The record names the target actor: a process refuses a call for another actor.
      record.actor = this.resolved.id;
      this.#redirect.submit(record);
      return;
    }
    if (this.#state?.phase === "dead") {
      this.#options.fail(record, this.#state, { sent: false, constructorError: this.constructorError });
      return;
    }
    if (this.#canPushNow(record) && this.#link !== undefined) {
      this.#link.push(record);
      if (this.#link.inFlightCount === 1) {
        this.#options.flushDaemon();
        this.#link.flushEarly();
      }
      return;
    }
    record.isQueued = true;
    this.#queue.push(record);
    if (isReady(record)) this.#pump();
    else this.#waitFor(record);
  }

  /** The connection by which the call was sent, if it was. */
  linkOf(record: CallRecord): WorkerLink | undefined {
    return this.#link?.isUnanswered(record) === true ? this.#link : undefined;
  }

  /** The first call whose arguments hold it back, and with it those behind it. */
  get firstWaiting(): CallRecord | undefined {
    for (const record of this.#queue) if (!record.isEnded && !isReady(record)) return record;
    return undefined;
  }

  /** The call has ended before its answer. @returns the link by which it was sent, if it was */
  withdraw(record: CallRecord): WorkerLink | undefined {
    if (this.#redirect !== undefined) return this.#redirect.withdraw(record);
    if (this.#link?.isUnanswered(record) === true) return this.#link;
    if (!record.isQueued) return undefined;
    this.#dropped += 1;
    // Later calls waited for this call's pending arguments.
    this.#pump();
    if (this.pendingCount === 0) this.#options.onIdle();
    return undefined;
  }

  *openCalls(): Generator<CallRecord> {
    yield* this.#queue;
    yield* this.#lost;
    if (this.#last !== undefined) yield* this.#last.link.openCalls;
  }

  #takeAll(): CallRecord[] {
    this.#dropped = 0;
    const records = this.#queue.takeAll().filter((record) => !record.isEnded);
    for (const record of records) record.isQueued = false;
    return records;
  }

  #canPushNow(record: CallRecord): boolean {
    const link = this.#link;
    if (link === undefined || record.dependencies.length > 0 || link.isCongested) return false;
    return this.#queue.size === 0 || (record.target.id !== TERMINATE_METHOD && this.#queue.isEmptyFor(record.target.group));
  }

  /** Resolves when the constructor has ended. Rejects with the state of a dead actor, and with the error of a session that is over. */
  ready(): Promise<void> {
    if (this.#redirect !== undefined) return this.#redirect.ready();
    if (this.#state?.phase === "alive") return Promise.resolve();
    return new Promise((resolve, reject) => {
      if (this.#state?.phase === "dead") reject(this.#state);
      else if (this.#endedBy !== undefined) reject(this.#notReady(this.#endedBy));
      else this.#readyWaiters.push({ resolve, reject });
    });
  }

  /** Resolves when it is dead and its process is gone, or its session over. */
  ended(): Promise<void> {
    if (this.#redirect !== undefined) return this.#redirect.ended();
    if (isGone(this.#state) || this.#endedBy !== undefined) return Promise.resolve();
    return new Promise((resolve) => this.#endWaiters.push(resolve));
  }

  /** Resolves when the process in which it lives now is gone. One that lives in none yet is as new as it would be. */
  left(): Promise<void> {
    if (this.#redirect !== undefined) return this.#redirect.left();
    if (this.#state?.phase === "dead") return this.ended();
    if (this.#state?.phase !== "alive") return Promise.resolve();
    return new Promise((resolve) => this.#leaveWaiters.push(resolve));
  }

  stateChanged(state: ActorStateHeader): void {
    this.#state = state;
    if (state.phase === "alive") {
      this.#retryLost(state);
      void this.#connect(state);
      for (const waiter of this.#readyWaiters.splice(0)) waiter.resolve();
    } else if (state.phase === "restarting") {
      this.#link = undefined;
      this.#retryLost(state);
    } else if (state.phase === "dead") {
      this.#failAll(state);
      for (const waiter of this.#readyWaiters.splice(0)) waiter.reject(state);
    }
    if (isGone(state)) for (const resolve of this.#endWaiters.splice(0)) resolve();
    if (isGone(state) || state.phase === "restarting") for (const resolve of this.#leaveWaiters.splice(0)) resolve();
  }

  /** @returns the calls without an answer */
  close(endedBy: (call: string) => Error): CallRecord[] {
    this.#endedBy = endedBy;
    for (const waiter of this.#readyWaiters.splice(0)) waiter.reject(this.#notReady(endedBy));
    for (const resolve of [...this.#endWaiters.splice(0), ...this.#leaveWaiters.splice(0)]) resolve();
    return [...(this.#last?.link.close() ?? []), ...this.#takeAll(), ...this.#lost];
  }

  #notReady(endedBy: (call: string) => Error): Error {
    return endedBy(`${this.className}.constructor`);
  }

  async #connect(state: ActorStateHeader): Promise<void> {
    if (state.incarnation === this.#incarnation || state.address === undefined || state.processId === undefined) return;
    this.#incarnation = state.incarnation;
    for (let delayMs = RECONNECT_MIN_MS; this.#isCurrent(state); delayMs = Math.min(RECONNECT_MAX_MS, delayMs * 2)) {
      try {
        await this.#open(state, { address: state.address, processId: state.processId, incarnation: state.incarnation });
        return;
      } catch {
        // The process has gone again, and the next state decides; or it did not answer in time.
      }
      await new Promise<void>((resolve) => setTimeout(resolve, delayMs).unref());
    }
  }

  /** Whether that is the life in which the actor is, as far as is known. */
  #isCurrent(state: ActorStateHeader): boolean {
    return this.#incarnation === state.incarnation && this.#state?.phase === "alive" && this.#endedBy === undefined;
  }

  async #open(state: ActorStateHeader, target: WorkerTarget): Promise<void> {
    const { incarnation } = state;
    const before = this.#last;
    const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
    const link = await this.#options.connectWorker(target, {
      ...this.#options.linkEvents,
      // Only tasks are sent back.
      onDeclined: () => {},
      onBatchEnd: () => {
        if (this.#queue.size > 0) this.#pump();
        else if (this.pendingCount === 0) this.#options.onIdle();
      },
      onClosed: (ended, { reason }) => {
        this.#whyClosed = reason;
        if (this.#incarnation === incarnation) this.#link = undefined;
        const finish = (): void => {
          this.#linkClosed(incarnation, ended.finish().unanswered);
          this.#letGoOfClosed();
          onClosed();
        };
        if (ended.mayHaveRest) ended.whenExited(isElsewhere(state) ? EXIT_REPORT_ELSEWHERE_WITHIN_MS : EXIT_REPORT_WITHIN_MS, finish);
        else finish();
      },
    });
    // Unanswered calls of the last incarnation go before all waiting calls.
    if (before !== undefined && !before.link.isFinished) await this.#lastAnswers(before);
    if (!this.#isCurrent(state)) {
      link.close();
      return;
    }
    if (link.isClosed) return;
    if (this.#lostIncarnation === incarnation) {
      // Only the connection broke: its calls may have run.
      this.#lostIncarnation = -1;
      this.#retryLost(state);
    }
    this.#last = { link, incarnation, closed };
    this.#link = link;
    link.onDrain = () => this.#pump();
    this.#pump();
  }

  async #lastAnswers({ link, incarnation, closed }: { link: WorkerLink; incarnation: number; closed: Promise<void> }): Promise<void> {
    let takeBack: (() => void) | undefined;
    const late = new Promise<void>((resolve) => {
      takeBack = timeoutAfterIo(LAST_ANSWERS_WITHIN_MS, resolve);
    });
    await Promise.race([closed, late]);
    takeBack?.();
    if (!link.isFinished) this.#linkClosed(incarnation, link.close());
  }

  #linkClosed(incarnation: number, unanswered: CallRecord[]): void {
    if (this.#incarnation === incarnation) this.#link = undefined;
    this.#lost.push(...unanswered);
    this.#lostIncarnation = incarnation;
    const state = this.#state;
    if (state === undefined) return;
    if (state.phase === "dead") this.#failAll(state);
    else if (state.incarnation > incarnation) this.#retryLost(state);
    else if (this.#isCurrent(state)) {
      timeoutAfterIo(isElsewhere(state) ? DEATH_OF_NODE_TOLD_WITHIN_MS : DEATH_TOLD_WITHIN_MS, () => this.#reconnect(state));
    }
  }

  /** Connects again to an actor that lives by the last report. Calls of the old connection wait for a new one, or for the report of a death with its cause. */
  #reconnect(state: ActorStateHeader): void {
    if (!this.#isCurrent(state) || this.#link !== undefined) return;
    this.#incarnation = -1;
    void this.#connect(state);
  }

  /** The calls that were in flight to the incarnation that died. */
  #retryLost(state: ActorStateHeader): void {
    // The connection broke and nothing has been heard of the process' death yet.
    if (state.incarnation <= this.#lostIncarnation) return;
    const lost = this.#lost.splice(0);
    const behind = lost[0]?.target.name;
    const again: CallRecord[] = [];
    for (const record of lost) {
      if (record.isEnded) continue;
      if (record.retriesLeft === 0) {
        this.#failLost(record, state, behind);
        continue;
      }
      if (record.retriesLeft > 0) record.retriesLeft -= 1;
      record.attempt += 1;
      again.push(record);
    }
    for (const record of again) record.isQueued = true;
    this.#queue.putBack(again);
    if (this.#link !== undefined) this.#pump();
    if (lost.length > 0 && this.pendingCount === 0) this.#options.onIdle();
  }

  #failAll(state: ActorStateHeader): void {
    const link = this.#link;
    this.#link = undefined;
    const lost = this.#lost.splice(0);
    for (const record of lost) this.#failLost(record, state, lost[0]?.target.name);
    for (const record of this.#takeAll()) this.#options.fail(record, state, { sent: false, constructorError: this.constructorError });
    // Answers from before the death may still be on the way: they arrive before the connection's close.
    if (link !== undefined && link.inFlightCount === 0) link.close();
    this.#letGoOfClosed();
    if (this.pendingCount === 0) this.#options.onIdle();
  }

  /** The client of a dead actor stays, and a link has buffers. */
  #letGoOfClosed(): void {
    if (this.#last?.link.isClosed === true && this.#last.link.inFlightCount === 0) this.#last = undefined;
  }

  #failLost(record: CallRecord, state: ActorStateHeader, oldest: string | undefined): void {
    const behind = oldest === record.target.name ? undefined : oldest;
    this.#options.fail(record, state, { sent: true, constructorError: this.constructorError, behind, whyClosed: this.#whyClosed });
  }

  #pump(): void {
    for (;;) {
      const link = this.#link;
      if (link === undefined || link.isCongested) return;
      const record = this.#queue.takeReady();
      if (record === undefined) return;
      record.isQueued = false;
      if (record.isEnded) {
        this.#dropped -= 1;
        continue;
      }
      const failed = failedDependency(record);
      if (failed === undefined) {
        link.push(record);
        continue;
      }
      this.#options.failDependency(record, failed);
      if (this.pendingCount === 0) this.#options.onIdle();
    }
  }

  #waitFor(record: CallRecord): void {
    for (const dependency of record.dependencies) {
      if (!dependency.isSettled) {
        dependency.addWaiter({ entrySettled: (_entry: ObjectEntry) => this.#pump() });
      }
    }
  }
}

/** A dead actor's state is told twice when it is killed: at once, and when its process has ended. */
function isGone(state: ActorStateHeader | undefined): boolean {
  return state?.phase === "dead" && state.processId === undefined;
}

function isElsewhere({ address }: ActorStateHeader): boolean {
  return address?.startsWith("tcp:") === true;
}

/** Tells whether a call can be sent. A cancelled call counts as ready: it is taken out and forgotten. */
function isReady(record: CallRecord): boolean {
  if (record.isEnded) return true;
  // An object that is made again after a loss still has its old payload: the actor itself asks for the new one.
  for (const dependency of record.dependencies) if (!dependency.isSettled && dependency.payload === undefined) return false;
  return true;
}
