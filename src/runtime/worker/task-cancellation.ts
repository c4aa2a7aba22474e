/**
 * The end that a caller wishes for one task or actor call: the signal that its code sees, and the waits that it breaks off.
 *
 * One per call that was cancelled, asked for its signal, or waits for a ref. JavaScript cannot throw into a function that awaits something of its own,
 * so a cancellation breaks off the waits for refs that are under way, or else the next one, once: what the function awaits after that, in a
 * `finally` for instance, is its cleaning up and works.
 */

type BreakOff = (reason: Error) => void;

export class TaskCancellation {
  #controller: AbortController | undefined;
  #waits: Set<BreakOff> | undefined;
  #hasBrokenOff = false;
  /** Why, once it has been cancelled. */
  reason: Error | undefined = undefined;

  /** Aborts with the reason. Made at the first use. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.reason !== undefined) this.#controller.abort(this.reason);
    }
    return this.#controller.signal;
  }

  cancel(reason: Error): void {
    if (this.reason !== undefined) return;
    this.reason = reason;
    const waits = this.#waits;
    this.#waits = undefined;
    if (waits !== undefined) {
      this.#hasBrokenOff = true;
      for (const breakOff of waits) breakOff(reason);
    }
    this.#controller?.abort(reason);
  }

  /**
   * Nobody hears the answer any more. Who has asked for the signal is told; the call itself goes on, as what it does to its actor may be half done.
   */
  callerGone(reason: Error): void {
    this.#controller?.abort(reason);
  }

  /** A wait begins. Breaks it off at once where a cancellation came before it and has broken off nothing. */
  waitBegins(breakOff: BreakOff): void {
    if (this.reason === undefined) {
      this.#waits ??= new Set();
      this.#waits.add(breakOff);
    } else if (!this.#hasBrokenOff) {
      this.#hasBrokenOff = true;
      breakOff(this.reason);
    }
  }

  waitEnds(breakOff: BreakOff): void {
    this.#waits?.delete(breakOff);
  }
}
