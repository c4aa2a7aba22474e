/**
 * The first workers of a node of one machine, started before its daemon has loaded itself: on another processor they load the runtime in the meantime.
 *
 * They are given to the first who start a worker of no special kind, in the order in which they began; what is left at the end of the daemon ends with it. One that has ended
 * is not given away. How one starts and ends is the owner's matter.
 */
import { PREWARMED_MAX } from "../leases/limits.ts";

interface EarlyWorkersOptions<Worker> {
  /** How many workers the node has when all of its CPUs are at work. */
  readonly cpus: number;
  /** Starts one; `gone` is called when it ends without having been taken. */
  readonly start: (gone: () => void) => Worker;
  readonly end: (worker: Worker) => void;
}

export class EarlyWorkers<Worker> {
  readonly #end: (worker: Worker) => void;
  readonly #waiting = new Set<Worker>();
  readonly #allGone = Promise.withResolvers<void>();

  constructor({ cpus, start, end }: EarlyWorkersOptions<Worker>) {
    this.#end = end;
    // As many as the lease manager starts before anybody asks.
    const count = Math.min(PREWARMED_MAX, Math.max(1, Math.ceil(cpus)));
    while (this.#waiting.size < count) {
      const worker: Worker = start(() => this.#gone(worker));
      this.#waiting.add(worker);
    }
  }

  take(): Worker | undefined {
    const [worker] = this.#waiting;
    if (worker !== undefined) this.#waiting.delete(worker);
    return worker;
  }

  /** Resolves when the last one that nobody took has ended. */
  close(): Promise<void> {
    for (const worker of this.#waiting) this.#end(worker);
    if (this.#waiting.size === 0) this.#allGone.resolve();
    return this.#allGone.promise;
  }

  #gone(worker: Worker): void {
    this.#waiting.delete(worker);
    if (this.#waiting.size === 0) this.#allGone.resolve();
  }
}
