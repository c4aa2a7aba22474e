/**
 * Decides when the head tells programs that it cannot keep changes, and words the text.
 *
 * While its store is away or its disk is full, new actors, names, placement groups and values of `kvPut` wait, and so does each question
 * behind them. Nothing is lost, but a program would wait in silence. Pure: `head-server.ts` asks once a second and sends the text to all nodes.
 */

/** The changes that wait for the store. */
export interface Stall {
  /** When the first attempt began, on the head's clock. */
  readonly sinceMs: number;
  readonly reason: string;
}

/** A new election of NATS servers takes less. */
const TOLD_AFTER_MS = 5_000;
/** Programs that begin meanwhile hear of the cause, too. */
const TOLD_AGAIN_EVERY_MS = 30_000;

export class StallWatch {
  #toldAtMs: number | undefined;

  /** Returns the text that all programs are to read now. */
  look(stall: Stall | undefined, nowMs: number): string | undefined {
    if (stall === undefined) {
      if (this.#toldAtMs === undefined) return undefined;
      this.#toldAtMs = undefined;
      return "The head keeps changes again.";
    }
    if (nowMs - stall.sinceMs < TOLD_AFTER_MS || nowMs - (this.#toldAtMs ?? -Infinity) < TOLD_AGAIN_EVERY_MS) return undefined;
    this.#toldAtMs = nowMs;
    return `The head ${stallText(stall, nowMs)}: new actors, names, placement groups, definitions and kvPut wait until it can. Running calls go on.`;
  }
}

/** Ends a sentence that begins with the head. */
export function stallText({ sinceMs, reason }: Stall, nowMs: number): string {
  return `has kept no changes for ${Math.max(1, Math.round((nowMs - sinceMs) / 1000))} s, as ${reason}`;
}
