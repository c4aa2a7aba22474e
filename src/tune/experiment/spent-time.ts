/**
 * The time that a run has spent in its sessions, each from its beginning to its last result. Time while no driver ran does not count.
 *
 * Pure: times are passed in, so the results of a run's log give the same time again in a restore. The clocks of two nodes may differ; the
 * time never goes back.
 */
export class SpentTime {
  #earlierMs: number;
  #session: { readonly sinceMs: number; untilMs: number } | undefined;

  /** @param earlierMs - spent before the session that begins next */
  constructor(earlierMs = 0) {
    this.#earlierMs = earlierMs;
  }

  get ms(): number {
    return this.#earlierMs + (this.#session === undefined ? 0 : this.#session.untilMs - this.#session.sinceMs);
  }

  /** Advances the time, and begins a session if there is none. */
  see(atMs: number): void {
    if (this.#session === undefined) this.#session = { sinceMs: atMs, untilMs: atMs };
    else this.#session.untilMs = Math.max(this.#session.untilMs, atMs);
  }

  /** The session has ended, with the last time that was seen. */
  end(): void {
    this.#earlierMs = this.ms;
    this.#session = undefined;
  }
}
