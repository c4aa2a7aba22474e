/** Ends a stream of texts where a stop sequence begins, also where it comes in pieces. For engines that do not do that themselves. Pure. */
export class StopSequences {
  readonly #stops: readonly string[];
  /** The end of the received text, as far as it may begin a stop sequence. */
  #held = "";

  constructor(stops: readonly string[]) {
    this.#stops = stops;
  }

  /** @returns what can be passed on, and whether this is the end */
  next(text: string): { text: string; isEnd: boolean } {
    const whole = this.#held + text;
    const ends = this.#stops.map((stop) => whole.indexOf(stop)).filter((at) => at !== -1);
    if (ends.length > 0) {
      this.#held = "";
      return { text: whole.slice(0, Math.min(...ends)), isEnd: true };
    }
    const heldFrom = whole.length - Math.max(0, ...this.#stops.map((stop) => overlap(whole, stop)));
    this.#held = whole.slice(heldFrom);
    return { text: whole.slice(0, heldFrom), isEnd: false };
  }

  /** Gives the text that was held back, once no more text comes. */
  rest(): string {
    const held = this.#held;
    this.#held = "";
    return held;
  }
}

/** How many characters at the end of a text begin a stop sequence. */
function overlap(text: string, stop: string): number {
  for (let length = Math.min(stop.length - 1, text.length); length > 0; length -= 1)
    if (text.endsWith(stop.slice(0, length))) return length;
  return 0;
}
