/**
 * Started worker processes without an owner: a job takes one instead of waiting for a process to start.
 *
 * Spare workers have loaded the runtime but no user code, and have no name or connection. Their taker sends all of that, with their working
 * folder. New ones start some time after one was taken, so that they do not slow down the first work of its job. Later takers do not delay
 * this, or quickly following jobs would never find a spare. If several takers find none, each taken worker is replaced at once until takers
 * have become few: a program that makes one actor after the other then waits for no start. Spare workers end before the daemon.
 */

interface SpareWorkersOptions<Spare> {
  readonly count: number;
  /** Starts one; `gone` is called when it ends without having been taken. */
  readonly start: (gone: () => void) => Spare;
  readonly end: (spare: Spare) => void;
  /** Calls back after a while; returns how to forget it. */
  readonly later: (callback: () => void) => () => void;
}

export class SpareWorkers<Spare> {
  readonly #options: SpareWorkersOptions<Spare>;
  readonly #spares = new Set<Spare>();
  /** Forgets that more will be started; undefined where none will. */
  #forget: (() => void) | undefined;
  /** Takers since the last count, and those that found no spare. */
  #takers = 0;
  #unserved = 0;
  /** Whether each taken worker is replaced at once. */
  #isInDemand = false;
  #isClosed = false;
  readonly #allGone = Promise.withResolvers<void>();

  constructor(options: SpareWorkersOptions<Spare>) {
    this.#options = options;
  }

  /** Starts the missing spare workers. */
  fill(): void {
    const { count, start } = this.#options;
    while (!this.#isClosed && this.#spares.size < count) {
      const spare: Spare = start(() => this.#gone(spare));
      this.#spares.add(spare);
    }
  }

  /** The one that has had the most time to start. */
  take(): Spare | undefined {
    if (this.#isClosed) return undefined;
    const [spare] = this.#spares;
    this.#takers += 1;
    if (spare === undefined) this.#unserved += 1;
    else this.#spares.delete(spare);
    if (this.#options.count > 0) this.#fillLater();
    this.#isInDemand ||= this.#unserved >= this.#options.count;
    if (this.#isInDemand) this.fill();
    return spare;
  }

  #fillLater(): void {
    this.#forget ??= this.#options.later(() => {
      this.#forget = undefined;
      this.#isInDemand &&= this.#takers >= this.#options.count;
      this.#takers = 0;
      this.#unserved = 0;
      if (this.#isInDemand) this.#fillLater();
      this.fill();
    });
  }

  /** Resolves when the last one has ended. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#forget?.();
    for (const spare of this.#spares) this.#options.end(spare);
    if (this.#spares.size === 0) this.#allGone.resolve();
    return this.#allGone.promise;
  }

  #gone(spare: Spare): void {
    this.#spares.delete(spare);
    if (this.#isClosed && this.#spares.size === 0) this.#allGone.resolve();
  }
}
