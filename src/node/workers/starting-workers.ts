/**
 * How many workers have been asked for and are not there yet, by environment.
 *
 * The lease manager counts them as if they were there, so that it never asks for more than it can use. Workers that end before they were
 * ready are told like those that became ready: either way one is no longer starting.
 */
export class StartingWorkers {
  readonly #starting = new Map<string, number>();

  /** In all environments. */
  get count(): number {
    let count = 0;
    for (const starting of this.#starting.values()) count += starting;
    return count;
  }

  of(environment: string): number {
    return this.#starting.get(environment) ?? 0;
  }

  /** One of them is there, or has ended. */
  ended(environment: string): void {
    const left = this.of(environment) - 1;
    if (left > 0) this.#starting.set(environment, left);
    else this.#starting.delete(environment);
  }

  /** None of them will ever be there. */
  failed(environment: string): void {
    this.#starting.delete(environment);
  }

  /** @returns how many more have to be started to have as many as wanted, which are counted from now on */
  upTo(environment: string, wanted: number): number {
    const missing = Math.max(0, wanted - this.of(environment));
    if (missing > 0) this.#starting.set(environment, wanted);
    return missing;
  }
}
