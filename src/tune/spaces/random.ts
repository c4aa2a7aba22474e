/**
 * A seeded generator of random numbers whose state can be saved: the same seed gives the same draws on every machine and in every process.
 *
 * The generator is sfc32: 128 bits of state, fast in JavaScript's 32-bit integers, and without known faults in the usual test batteries. Searchers and
 * schedulers own one each, and save its state with their own, so that a restored run goes on with the draws that it would have had.
 */

/** The state of a {@link Random}, for JSON. */
export type RandomState = readonly [number, number, number, number];

const TWO_TO_32 = 2 ** 32;
const TWO_TO_53 = 2 ** 53;

export class Random {
  #a = 0;
  #b = 0;
  #c = 0;
  #counter = 1;

  /** Without a seed the draws differ from run to run. */
  constructor(seed: number = Math.floor(Math.random() * TWO_TO_53)) {
    this.#a = seed >>> 0;
    this.#b = Math.floor(seed / TWO_TO_32) >>> 0;
    // Seeds that differ in a few bits give unrelated draws only after some rounds.
    for (let round = 0; round < 15; round += 1) this.#bits();
  }

  /** A number from 0 up to and without 1, with 53 random bits. */
  next(): number {
    const high = this.#bits() >>> 5;
    const low = this.#bits() >>> 6;
    return (high * 2 ** 26 + low) / TWO_TO_53;
  }

  /** A number from `lower` up to and without `upper`. */
  uniform(lower: number, upper: number): number {
    return lower + this.next() * (upper - lower);
  }

  /** A whole number from 0 up to and without `end`. */
  integer(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** A draw of the standard normal distribution, by Box and Muller. The second draw of each pair is left out, so that the state is the four words alone. */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
  }

  /** An item, drawn uniformly. */
  pick<T>(items: readonly T[]): T {
    return items[this.integer(items.length)] as T;
  }

  /** The items in random order. */
  shuffle<T>(items: readonly T[]): T[] {
    const shuffled = [...items];
    for (let last = shuffled.length - 1; last > 0; last -= 1) {
      const other = this.integer(last + 1);
      [shuffled[last], shuffled[other]] = [shuffled[other] as T, shuffled[last] as T];
    }
    return shuffled;
  }

  save(): RandomState {
    return [this.#a, this.#b, this.#c, this.#counter];
  }

  restore([a, b, c, counter]: RandomState): void {
    [this.#a, this.#b, this.#c, this.#counter] = [a, b, c, counter];
  }

  #bits(): number {
    const sum = (this.#a + this.#b + this.#counter) >>> 0;
    this.#counter = (this.#counter + 1) >>> 0;
    this.#a = (this.#b ^ (this.#b >>> 9)) >>> 0;
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) >>> 0;
    return sum;
  }
}
