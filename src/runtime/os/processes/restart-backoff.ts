/**
 * How long to wait before a program that ended is started again: at once after it ran well, longer and longer while it fails.
 *
 * Pure: the caller passes the run time. Never gives up, because a disk gets room and a port gets free at any time.
 */
const DELAY_MS_MIN = 100;
const DELAY_MS_MAX = 5_000;
/** A process that ran this long did not die from a failed start. */
const RAN_WELL_MS = 30_000;

export class RestartBackoff {
  #nextMs = DELAY_MS_MIN;

  /** @returns the milliseconds to wait */
  afterExit(ranForMs: number): number {
    if (ranForMs >= RAN_WELL_MS) this.#nextMs = DELAY_MS_MIN;
    const delayMs = this.#nextMs;
    this.#nextMs = Math.min(DELAY_MS_MAX, delayMs * 2);
    return delayMs;
  }
}
