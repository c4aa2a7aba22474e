/**
 * Worker processes that have started and belong to nobody yet: a job takes one instead of waiting for a process to start.
 *
 * They have loaded the runtime and no code of a user, have no name and no connection, and are told all of that when they are taken, with the folder in which they run from
 * then on. New ones start a while after one was taken, so as not to be in the way of the first work of the job that took it; takers in between do not put that off, or
 * jobs that follow each other closely would never find any. Where takers come so fast that several find none, what they need is this: from then on each that is
 * taken is replaced at once, until the takers have become few, so that who makes one actor after the other waits for none to start. They end before the daemon.
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
  /** Takers since that was last done, and those of them who found none. */
  #takers = 0;
  #unserved = 0;
  /** One that was taken is replaced at once. */
  #isInDemand = false;
  #isClosed = false;
  readonly #allGone = Promise.withResolvers<void>();

  constructor(options: SpareWorkersOptions<Spare>) {
    this.#options = options;
  }

  /** Starts what is missing. */
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
