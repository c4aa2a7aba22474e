/**
 * Ends tasks at the deadlines that the processes which called them cannot keep: a task that computes holds up a caller that shares its process.
 *
 * A worker reports the deadline and the end of each task that it calls. Shortly after the deadline the caller has ended the task
 * itself, unless its event loop stands still. The daemon then interrupts the task wherever it runs on this node, and at last ends its worker.
 */
import type { ProcessId } from "../../base/ids.ts";
import { CANCEL_GRACE_MS } from "../../base/limits.ts";
import { CALLER_ACTS_WITHIN_MS, INTERRUPT_AGAIN_MS } from "./limits.ts";

interface CallOfProcess {
  readonly caller: ProcessId;
  readonly callId: number;
}

interface CallDeadlinesOptions {
  readonly interrupt: (call: CallOfProcess) => void;
  readonly kill: (call: CallOfProcess) => void;
}

/** Timers have no longer delay. */
const TIMER_MAX_MS = 2 ** 31 - 1;

export class CallDeadlines {
  readonly #options: CallDeadlinesOptions;
  readonly #timers = new Map<ProcessId, Map<number, NodeJS.Timeout>>();

  constructor(options: CallDeadlinesOptions) {
    this.#options = options;
  }

  /** @param ms 0: the call has ended */
  set(call: CallOfProcess, ms: number): void {
    this.#clear(call);
    if (ms > 0 && ms < TIMER_MAX_MS - CALLER_ACTS_WITHIN_MS) this.#next(call, { inMs: ms + CALLER_ACTS_WITHIN_MS, triedMs: 0 });
  }

  /** Forgets the deadlines of a process that has ended. */
  callerGone(caller: ProcessId): void {
    for (const timer of this.#timers.get(caller)?.values() ?? []) clearTimeout(timer);
    this.#timers.delete(caller);
  }

  close(): void {
    for (const caller of Array.from(this.#timers.keys())) this.callerGone(caller);
  }

  #next(call: CallOfProcess, { inMs, triedMs }: { inMs: number; triedMs: number }): void {
    let timers = this.#timers.get(call.caller);
    if (timers === undefined) {
      timers = new Map();
      this.#timers.set(call.caller, timers);
    }
    timers.set(
      call.callId,
      setTimeout(() => this.#act(call, triedMs), inMs),
    );
  }

  #act(call: CallOfProcess, triedMs: number): void {
    const isPatient = triedMs < CANCEL_GRACE_MS;
    if (isPatient) this.#options.interrupt(call);
    else this.#options.kill(call);
    // A caller that computes by itself may take long, and its task may have ended.
    this.#next(call, { inMs: isPatient ? INTERRUPT_AGAIN_MS : CANCEL_GRACE_MS, triedMs: triedMs + INTERRUPT_AGAIN_MS });
  }

  #clear({ caller, callId }: CallOfProcess): void {
    const timers = this.#timers.get(caller);
    clearTimeout(timers?.get(callId));
    timers?.delete(callId);
    if (timers?.size === 0) this.#timers.delete(caller);
  }
}
