/**
 * The first workers of a single-machine node, started before its daemon has loaded: meanwhile they load the runtime on another processor.
 *
 * The first requests for ordinary workers take them in the order in which they began. Remaining ones end with the daemon, and ended ones are not given away. The owner
 * decides how a worker starts and ends.
 */
import { PREWARMED_MAX } from "../leases/limits.ts";

interface EarlyWorkersOptions<Worker> {
  /** Number of workers when all CPUs of the node are at work. */
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
