/**
 * The longest time that a request of a replica took in the last minute. Pure: times come with the calls.
 *
 * Kept for parts of the minute, so that a request costs a comparison. The answer covers a minute, give or take one part.
 */
import { SLOWEST_PARTS, UTILIZATION_WINDOW_MS } from "../limits.ts";

const PART_MS = UTILIZATION_WINDOW_MS / SLOWEST_PARTS;

export class Slowest {
  readonly #parts = new Array<number>(SLOWEST_PARTS).fill(0);
  #part = 0;

  observe(tookMs: number, nowMs: number): void {
    this.#advance(nowMs);
    const index = this.#part % SLOWEST_PARTS;
    if (tookMs > (this.#parts[index] as number)) this.#parts[index] = tookMs;
  }

  /** 0 where no request ended. */
  valueAt(nowMs: number): number {
    this.#advance(nowMs);
    return Math.max(...this.#parts);
  }

  #advance(nowMs: number): void {
    const part = Math.floor(nowMs / PART_MS);
    const first = Math.max(this.#part + 1, part - SLOWEST_PARTS + 1);
    for (let passed = first; passed <= part; passed += 1) this.#parts[passed % SLOWEST_PARTS] = 0;
    this.#part = part;
  }
}
