/**
 * Keeps the program's lines that made a call, for the stack of the call's error.
 *
 * A stack costs as much as three calls, so only a share of them gets one: a burst of the first calls, and then a fixed number a second. The text is made at once. A captured
 * stack that is not text keeps the objects whose methods it names, and a pending call would keep those alive.
 */
import { CALL_SITES_BURST, CALL_SITES_PER_SECOND } from "../limits.ts";

/** How many calls without a stack pass before the clock is read again. */
const LOOK_EVERY = 16;

export class CallSites {
  readonly #nowMs: () => number;
  #left = CALL_SITES_BURST;
  #passed = 0;
  #filledAtMs: number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#filledAtMs = nowMs();
  }

  /**
   * Returns the stack above a function.
   *
   * @returns undefined for calls beyond the share
   */
  above(below: (...args: never[]) => unknown): string | undefined {
    if (this.#left === 0 && !this.#refill()) return undefined;
    this.#left -= 1;
    const holder: { stack?: unknown } = {};
    Error.captureStackTrace(holder, below);
    return typeof holder.stack === "string" ? holder.stack : undefined;
  }

  #refill(): boolean {
    this.#passed += 1;
    if (this.#passed % LOOK_EVERY !== 0) return false;
    const nowMs = this.#nowMs();
    const due = Math.floor(((nowMs - this.#filledAtMs) / 1000) * CALL_SITES_PER_SECOND);
    if (due < 1) return false;
    this.#left = Math.min(due, CALL_SITES_BURST);
    this.#filledAtMs = nowMs;
    return true;
  }
}
