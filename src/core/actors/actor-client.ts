/**
 * This process' side of one actor: its calls, in order, to whichever process the actor lives in now.
 *
 * Calls wait here until the actor is alive and their arguments have settled; a call whose arguments are pending holds back those behind it, which is
 * what order means. When the actor's process dies, calls that were in flight fail with the cause, or are pushed again to its next
 * incarnation as `maxTaskRetries` allows; calls that had not been sent just wait for it. A dead actor fails everything with the reason.
 */
import { timeoutAfterIo } from "../../runtime/base/timeout-after-io.ts";
import type { ActorId } from "../../runtime/base/ids.ts";
import type { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import type { ActorStateHeader } from "../../runtime/wire/messages.ts";
import { TERMINATE_METHOD } from "../../runtime/worker/reserved-methods.ts";
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
import type { WorkerLink, WorkerLinkEvents, WorkerTarget } from "../calls/worker-link.ts";

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
  /** Writes at once what was gathered for the daemon. */
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
  /** This process has created the actor, which ends with it. */
  endsWithThisProcess = false;
  /** What the constructor threw, when that ended the actor. */
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
  /** Makes the error of what is asked after the end of the session. */
  #endedBy: ((call: string) => Error) | undefined;
  #endWaiters: (() => void)[] = [];
  #leaveWaiters: (() => void)[] = [];
  #readyWaiters: { resolve: () => void; reject: (why: ActorStateHeader | Error) => void }[] = [];

  constructor(options: ActorClientOptions) {
    this.id = options.id;
    this.className = options.className;
    this.#options = options;
  }

  /** This client was made for an actor that existed already under another id (`getIfExists`): its calls go there. */
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
      // It names the actor that is asked: a process refuses a call that was meant for another.
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
    // Those behind a call whose arguments were pending waited for it.
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
        // Its process is gone again, and the next state says what follows; or it has not answered in time.
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
    // What the last life left unanswered goes before all that waits here.
    if (before !== undefined && !before.link.isFinished) await this.#lastAnswers(before);
    if (!this.#isCurrent(state)) {
      link.close();
      return;
    }
    if (link.isClosed) return;
    if (this.#lostIncarnation === incarnation) {
      // The connection alone broke: what was on it may have run.
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

  /** The actor lives, as far as is told. What was on its connection waits until a new one shows that it does, or the death of its process is told, with the cause. */
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
    // What it answered before it died may still be on the way: the closing of the connection brings the rest here.
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

/** One that was cancelled waits for nothing: it is taken out and forgotten. */
function isReady(record: CallRecord): boolean {
  if (record.isEnded) return true;
  // One that is made again after it was lost has its old payload: the actor asks for the new one itself.
  for (const dependency of record.dependencies) if (!dependency.isSettled && dependency.payload === undefined) return false;
  return true;
}
