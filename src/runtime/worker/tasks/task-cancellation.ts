/**
 * Cancels one task or actor call: aborts the signal that its code sees, and breaks off its waits.
 *
 * A call gets one of these when it is cancelled, asks for its signal, or waits for a ref. JavaScript cannot throw
 * into a function that awaits any other promise. A cancellation therefore breaks off the waits for refs that are
 * in progress, or else the next one. It does so once: later waits, in a `finally` for instance, are the function's
 * cleanup and work normally.
 */

type BreakOff = (reason: Error) => void;

export class TaskCancellation {
  #controller: AbortController | undefined;
  #waits: Set<BreakOff> | undefined;
  #hasBrokenOff = false;
  /** The reason, once the call has been cancelled. */
  reason: Error | undefined = undefined;

  /** Signal that aborts with the reason. It is created at its first use. */
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
   * Tells whoever asked for the signal that nobody waits for the answer any more. The call itself goes on, because
   * its change of the actor may be half done.
   */
  callerGone(reason: Error): void {
    this.#controller?.abort(reason);
  }

  /** Begins a wait. Breaks it off at once when an earlier cancellation has not broken off any wait. */
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
