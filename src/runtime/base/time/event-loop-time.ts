/**
 * A clock for the patience with another process: it counts only time in which this process turned its event loop.
 *
 * A process that stood still, alone or with the whole machine, has read nothing meanwhile, and its peer may have had no chance to send. A
 * caller that measures silence ticks regularly, and a late tick counts no more than a regular one on a busy machine. So a standstill of any
 * length is one late tick.
 */

/** Bounds the time of a late tick, in intervals: on a busy machine a regular tick is as late. */
const REGULAR_TICKS_MAX = 2;

export class EventLoopTime {
  readonly #nowMs: () => number;
  readonly #countedMax: number;
  #ms = 0;
  #tickedMs = 0;

  /** @param everyMs between two ticks */
  constructor(nowMs: () => number, everyMs: number) {
    this.#nowMs = nowMs;
    this.#countedMax = REGULAR_TICKS_MAX * everyMs;
  }

  /** As of the last tick; only differences mean something. */
  get ms(): number {
    return this.#ms;
  }

  /** Starts the clock: the first tick is due one interval from now, and earlier time does not count. */
  begin(): void {
    this.#tickedMs = this.#nowMs();
  }

  tick(): void {
    const nowMs = this.#nowMs();
    this.#ms += Math.min(nowMs - this.#tickedMs, this.#countedMax);
    this.#tickedMs = nowMs;
  }
}
