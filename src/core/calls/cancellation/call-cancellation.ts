/**
 * Ends calls that nobody waits for any more: what `cancel`, the options `signal` and `timeoutMs`, and the end of a parent do.
 *
 * The refs of a cancelled call are settled at once; this file then ends the work behind them. A call that has not been sent is withdrawn. A
 * call that is with a worker is pursued until the worker has answered it. First the worker is told (CANCEL), then the daemon interrupts
 * synchronous code, and at last the worker is ended. Only a call that has begun is interrupted or killed for, which spares the calls that are
 * queued before it. An actor's call is told and no more, because other callers rely on the state of the actor's process.
 * The grace of a worker counts the time in which this process turned its event loop: a process that computes cannot hear a worker.
 */
import { EventLoopTime } from "../../../runtime/base/time/event-loop-time.ts";
import { describeValue } from "../../../runtime/base/texts/describe.ts";
import type { ProcessId } from "../../../runtime/base/ids.ts";
import { isPutId } from "../../../runtime/base/ids.ts";
import type { ObjectEntry } from "../../../runtime/objects/object-entry.ts";
import type { Connection } from "../../../runtime/rpc/connection.ts";
import { type CancelHeader, type CancelRefHeader, type CancelRunningHeader, MESSAGE } from "../../../runtime/wire/messages.ts";
import type { WhyCallHeader } from "../../../runtime/wire/calls/why-messages.ts";
import { CANCEL_GRACE_MS } from "../../../runtime/base/limits.ts";
import type { TaskContext } from "../../../runtime/worker/tasks/task-context.ts";
import { ABANDON_WITHIN_MS, INTERRUPT_EVERY_MS } from "../../limits.ts";
import { cancelledError } from "./call-limits.ts";
import type { CallRecord } from "../call-record.ts";
import type { WorkerLink } from "../links/worker-link.ts";

interface CancelManner {
  readonly force: boolean;
  readonly recursive: boolean;
}

interface CallCancellationOptions {
  processId: ProcessId;
  daemon: Connection;
  nowMs: () => number;
  /** Settles the refs of a call as failed. */
  fail: (record: CallRecord, error: Error) => void;
  /** Takes a call back that has not been sent. @returns the link by which it was sent otherwise */
  withdraw: (record: CallRecord) => WorkerLink | undefined;
  /** The link by which a task was sent, if it was. */
  linkOf: (record: CallRecord) => WorkerLink | undefined;
  /** All calls of this process that have not ended. */
  openCalls: () => Iterable<CallRecord>;
}

/** A call whose refs are settled and whose worker has not answered for it. */
interface Pursuit {
  readonly record: CallRecord;
  readonly link: WorkerLink;
  readonly force: boolean;
  readonly recursive: boolean;
  /** Since when it is known to have begun, in event-loop time. */
  begunMs: number | undefined;
  isAbandoned: boolean;
  /** A generator whose items nobody reads any more. The generator may clean up, so only code that computes without a pause is interrupted. */
  readonly isStream: boolean;
  /** When its worker was last asked whether it hears anything, or ended as it did not say so; in event-loop time. */
  askedMs: number;
  owesAnswer: boolean;
}

export class CallCancellation {
  readonly #options: CallCancellationOptions;
  readonly #pursuits = new Set<Pursuit>();
  readonly #time: EventLoopTime;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CallCancellationOptions) {
    this.#options = options;
    this.#time = new EventLoopTime(options.nowMs, INTERRUPT_EVERY_MS);
  }

  /** How many calls are cancelled and not yet known to have ended. */
  get pursuedCount(): number {
    return this.#pursuits.size;
  }

  /**
   * Cancels the call or the actor's method behind a ref, as `cancel(ref)` asks.
   *
   * @throws TypeError for what no call computes, and for `force` with a call of an actor
   */
  cancelEntry(entry: ObjectEntry, manner: CancelManner): void {
    const record = entry.maker as CallRecord | undefined;
    if (record !== undefined) {
      if (manner.force && record.actor !== undefined) {
        throw new TypeError(
          `Cannot cancel with force: ${record.target.name} is a call of an actor, whose process has a state: use cancel without force, or kill(actor)`,
        );
      }
      this.cancelRecord(record, manner);
      return;
    }
    if (entry.index < 0 || (entry.id !== undefined && isPutId(entry.id))) {
      throw new TypeError(
        `Cannot cancel: no call computes the object, it was put: received ${describeValue(entry.id ?? "a ref from put")}`,
      );
    }
    if (entry.isSettled || entry.id === undefined || entry.owner === undefined) return;
    const header: CancelRefHeader = { id: entry.id, owner: entry.owner, ...manner };
    this.#options.daemon.send(MESSAGE.CANCEL_REF, header);
  }

  /** Cancels a call of this process for another process, which holds a ref of the call. */
  cancelForOther(entry: ObjectEntry | undefined, manner: CancelManner): void {
    const record = entry?.maker as CallRecord | undefined;
    if (record !== undefined) this.cancelRecord(record, { ...manner, force: manner.force && record.actor === undefined });
  }

  cancelRecord(record: CallRecord, manner: CancelManner): void {
    // The canceller knows that the call failed, so the end is reported to nobody.
    for (const entry of record.results) entry.failureSeen = true;
    this.end(record, cancelledError(record), manner);
  }

  /** The calls that a call of this process made and that have not ended. */
  cancelChildren(parent: TaskContext): void {
    const children: CallRecord[] = [];
    for (const record of this.#options.openCalls()) if (record.parent === parent && !record.isEnded) children.push(record);
    for (const record of children) this.cancelRecord(record, { force: false, recursive: true });
  }

  /** Settles the call with the error, and ends the work behind it. */
  end(record: CallRecord, error: Error, manner: CancelManner): void {
    if (record.isEnded) return;
    this.#options.fail(record, error);
    const link = this.#options.withdraw(record);
    if (link === undefined) return;
    const header: CancelHeader = { recursive: manner.recursive, abandon: false };
    link.cancel(record, header);
    if (record.actor !== undefined) return;
    const pursuit = newPursuit(record, link, manner);
    this.#begin(pursuit);
    if (manner.force) this.#pursue(pursuit);
  }

  /** The worker has been told that nobody reads the stream any more. It does not hear that while the generator computes. */
  streamStopped(record: CallRecord): void {
    const link = record.actor === undefined && !record.isEnded ? this.#options.linkOf(record) : undefined;
    if (link === undefined) return;
    this.#begin({ ...newPursuit(record, link, { force: false, recursive: true }), isStream: true });
  }

  #begin(pursuit: Pursuit): void {
    this.#pursuits.add(pursuit);
    if (this.#timer !== undefined) return;
    this.#time.begin();
    this.#timer = setInterval(() => this.#tick(), INTERRUPT_EVERY_MS);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#pursuits.clear();
  }

  #tick(): void {
    this.#time.tick();
    for (const pursuit of this.#pursuits) this.#pursue(pursuit);
    if (this.#pursuits.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #pursue(pursuit: Pursuit): void {
    const { record, link, force, recursive } = pursuit;
    if (!link.isUnanswered(record)) {
      this.#pursuits.delete(pursuit);
      return;
    }
    if (!link.hasBegun(record)) return;
    const nowMs = this.#time.ms;
    pursuit.begunMs ??= nowMs;
    const isOwnProcess = link.processId === this.#options.processId;
    const sinceMs = nowMs - pursuit.begunMs;
    if (pursuit.isStream) {
      if (isOwnProcess || sinceMs < CANCEL_GRACE_MS) return;
      this.#sendRunning(pursuit, { kill: false });
      if (nowMs - pursuit.askedMs >= CANCEL_GRACE_MS) this.#askWorker(pursuit, nowMs);
      return;
    }
    if (sinceMs < CANCEL_GRACE_MS && !force) {
      if (!isOwnProcess) this.#sendRunning(pursuit, { kill: false });
      return;
    }
    // On its own worker it asks again and again: once no other task is there, the worker has itself replaced.
    if (isOwnProcess || (!pursuit.isAbandoned && !force)) {
      pursuit.isAbandoned = true;
      link.cancel(record, { recursive, abandon: true });
    }
    if (isOwnProcess || (!force && sinceMs < CANCEL_GRACE_MS + ABANDON_WITHIN_MS)) return;
    this.#sendRunning(pursuit, { kill: true });
  }

  /**
   * A generator that was quick for many items computes without the frame in which it could be interrupted. Its worker hears nothing then, unlike that of one
   * which cleans up and awaits something: it is ended, unless it is known to be at another call.
   */
  #askWorker(pursuit: Pursuit, nowMs: number): void {
    const { record, link } = pursuit;
    pursuit.askedMs = nowMs;
    if (pursuit.owesAnswer) {
      this.#sendRunning(pursuit, { kill: true });
      return;
    }
    pursuit.owesAnswer = true;
    const question: WhyCallHeader = { callId: link.callIdOf(record), trail: { visited: [], withinMs: 1 } };
    // A timer would count all time; the grace counts event-loop time alone.
    link.ask(MESSAGE.WHY_CALL, question, 0).then(
      () => {
        pursuit.owesAnswer = false;
      },
      () => {
        if (link.isUnanswered(record)) this.#sendRunning(pursuit, { kill: true });
      },
    );
  }

  #sendRunning({ record, link, recursive }: Pursuit, { kill }: { kill: boolean }): void {
    const header: CancelRunningHeader = { worker: link.processId, callId: link.callIdOf(record), recursive, kill };
    this.#options.daemon.send(MESSAGE.CANCEL_RUNNING, header);
  }
}

function newPursuit(record: CallRecord, link: WorkerLink, { force, recursive }: CancelManner): Pursuit {
  return { record, link, force, recursive, begunMs: undefined, isAbandoned: false, isStream: false, askedMs: 0, owesAnswer: false };
}
