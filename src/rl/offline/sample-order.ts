/** The order in which recorded steps are learnt from: all of them in a random order, then all again in another one. */
import { Random } from "../../tensor/index.ts";

/** In JSON. */
export interface SampleOrderState {
  readonly pass: number;
  readonly at: number;
}

export class SampleOrder {
  readonly #seed: number;
  readonly #order: Int32Array;
  #pass = 0;
  #at = 0;

  /** @param rows - how many there are; 1 or more */
  constructor(rows: number, seed: number) {
    this.#seed = seed;
    this.#order = Int32Array.from({ length: rows }, (_, row) => row);
    this.#begin(0);
  }

  /** Begins a pass. Its order follows from the seed and its number, so that a state is two numbers. */
  #begin(pass: number): void {
    for (const row of this.#order.keys()) this.#order[row] = row;
    new Random(this.#seed, "recorded steps", pass).shuffle(this.#order);
    this.#pass = pass;
    this.#at = 0;
  }

  /** The next rows. A pass that ends goes over into the next one. */
  next(count: number): Int32Array {
    const rows = new Int32Array(count);
    for (let index = 0; index < count; index += 1) {
      if (this.#at === this.#order.length) this.#begin(this.#pass + 1);
      rows[index] = this.#order[this.#at] as number;
      this.#at += 1;
    }
    return rows;
  }

  getState(): SampleOrderState {
    return { pass: this.#pass, at: this.#at };
  }

  /** Goes on from a state. Where there are fewer rows by now, the next pass begins. */
  setState({ pass, at }: SampleOrderState): void {
    this.#begin(pass);
    this.#at = Math.min(at, this.#order.length);
  }
}
