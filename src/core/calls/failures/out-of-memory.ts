/**
 * Decides how often and when a task runs again after its worker was ended for memory, and writes the error when the task does not.
 *
 * A task that used more than its own `memoryBytes` would do so again, so that end counts as any failure of a worker, under `maxRetries`. A task
 * that was ended because the machine was full is not to blame: it has `taskOomRetries`, with growing pauses in which other tasks may end.
 */
import { OutOfMemoryError, type ShoalErrorOptions } from "../../../runtime/base/errors.ts";
import type { OutOfMemoryHeader, WorkerExitedHeader } from "../../../runtime/wire/messages.ts";

const FIRST_DELAY_MS = 250;
const DELAY_MAX_MS = 30_000;

/** Counts, for each call, how often the machine was full under it. */
export class OutOfMemoryRetries {
  readonly #retriesMax: number;
  readonly #used = new WeakMap<object, number>();

  /** @param retriesMax -1: without end */
  constructor(retriesMax: number) {
    this.#retriesMax = retriesMax;
  }

  /** @returns after which time the call may run again, or undefined when it may not for this reason */
  delayMs(call: { retry: { maxRetries: number } }, exit: WorkerExitedHeader | undefined): number | undefined {
    if (exit?.outOfMemory?.because !== "machine" || call.retry.maxRetries === 0) return undefined;
    const used = this.#used.get(call) ?? 0;
    if (this.#retriesMax >= 0 && used >= this.#retriesMax) return undefined;
    this.#used.set(call, used + 1);
    return Math.min(DELAY_MAX_MS, FIRST_DELAY_MS * 2 ** used);
  }
}

/** `what` says which call failed and where. */
export function outOfMemoryError(what: string, memory: OutOfMemoryHeader, options: ShoalErrorOptions): OutOfMemoryError {
  const hint =
    memory.because === "limit"
      ? "Ask for more with memoryBytes, or process less at a time."
      : "Run fewer of them at a time (numCpus or memoryBytes of the task), process less in each, or raise taskOomRetries of init.";
  return new OutOfMemoryError(`${what}. The largest processes:\n${memory.processes}`, {
    ...options,
    hint,
    details: { usedBytes: memory.usedBytes, limitBytes: memory.limitBytes },
  });
}
