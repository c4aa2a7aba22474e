/**
 * The interruption guard for the calls of one caller: names each call and its ancestors in the interrupt slot, and says why a call was stopped.
 *
 * Made by a `CallServer` for tasks; calls of actors are never interrupted. A call made by the worker's own runtime belongs to a call that waits on this worker:
 * stopping the waiting call must stop the nested one. For a generator each item is guarded, because the call itself only creates the generator.
 */
import { TaskCancelledError } from "../../base/errors.ts";
import type { BegunCalls, MarkedCall, InterruptRequest } from "../../os/processes/memory/interrupt-slot.ts";
import type { HelloHeader } from "../../wire/messages.ts";
import { type InterruptionGuard, isGuarded, type Measured, measure } from "../tasks/interruption-guard.ts";
import { SINGLE_ITEMS_MAX } from "../limits.ts";

/** A generator's computing time for an item. */
export interface MeasuredItems extends Measured {
  count: number;
}

interface CallGuardOptions {
  guard: InterruptionGuard;
  caller: Pick<HelloHeader, "processId">;
  /** Names the connection in the interrupt slot; undefined for a caller without a lease, which is this worker and ends with it. */
  marksUnder: number | undefined;
  /** The ancestors of a call that this worker's own runtime made, in this worker; undefined for other callers. */
  ancestorsOf: ((callId: number) => readonly MarkedCall[]) | undefined;
}

export class CallGuard {
  readonly #options: CallGuardOptions;
  readonly #begun: BegunCalls | undefined;

  constructor(options: CallGuardOptions) {
    this.#options = options;
    const { marksUnder, guard } = options;
    if (marksUnder !== undefined) this.#begun = guard.begunOf(marksUnder);
  }

  /** A task begins: if this process ends before the answer has left, its caller learns from the interrupt slot that it may have run. */
  begins(callId: number): void {
    this.#begun?.begins(callId);
  }

  /** @throws Interruption when the call was stopped; otherwise the error of the body */
  run<T>(callId: number, body: () => T): T {
    const { guard, caller, ancestorsOf } = this.#options;
    return guard.run({ caller: caller.processId, callId, ancestors: ancestorsOf?.(callId) }, body);
  }

  /** Asks a generator for an item; there is a frame only for the first ones of a function, and where they take long. */
  ask<T>(callId: number, items: MeasuredItems, next: () => T): T {
    const startMs = performance.now();
    const asked = items.count < SINGLE_ITEMS_MAX || isGuarded(items) ? this.run(callId, next) : next();
    items.count += 1;
    measure(items, performance.now() - startMs);
    return asked;
  }
}

/** The error of a stopped task. */
export function interruptedError(name: string, request: InterruptRequest | undefined): TaskCancelledError {
  let reason = "its process got SIGINT from elsewhere";
  if (request !== undefined) reason = request.isForAncestor ? "a task that it was made for was cancelled" : "its caller cancelled it";
  return new TaskCancelledError(`Task ${name} was interrupted`, { reason });
}
