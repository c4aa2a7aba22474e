/**
 * Repeatable random numbers: a stream for each purpose, derived from one seed.
 *
 * A stream is xoshiro128**, whose state is four words of 32 bits. The words come from the seed, the name of the purpose and an index, so that streams of
 * different environments, runners and purposes share nothing. A checkpoint stores the state of a stream as a list of numbers.
 */

/** The state of a stream: four unsigned words. */
export type RandomState = readonly [number, number, number, number];

export class RandomStream {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  /** Derives a stream from a seed, a purpose such as `"reset"`, and an index such as the number of the environment. */
  constructor(seed: number, purpose: string, index = 0) {
    let mixed = hashed(purpose);
    // A seed of more than 32 bits counts with all its bits.
    for (const part of [seed, Math.floor(seed / 2 ** 32), index]) mixed = scrambled(mixed ^ scrambled(part | 0));
    const words = [0x9e37_79b9, 0x3c6e_f372, 0xdaa6_6d2b, 0x78dd_e6e4].map((step) => scrambled((mixed + step) | 0));
    [this.#a, this.#b, this.#c, this.#d] = words as [number, number, number, number];
  }

  /** A whole number of 32 bits. */
  nextWord(): number {
    const shifted = this.#b << 9;
    const product = Math.imul(this.#b, 5);
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = (this.#d << 11) | (this.#d >>> 21);
    return result;
  }

  /** A number from 0 up to, and without, 1, of 53 bits. */
  next(): number {
    const high = this.nextWord() >>> 5;
    return (high * 2 ** 26 + (this.nextWord() >>> 6)) / 2 ** 53;
  }

  /** A number between two bounds. */
  uniform(low: number, high: number): number {
    return low + (high - low) * this.next();
  }

  /** A whole number from 0 up to, and without, `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** A number of the normal distribution with mean 0 and deviation 1. */
  normal(): number {
    // The second number of the pair is not kept: it would be a part of the state.
    const radius = Math.sqrt(-2 * Math.log(1 - this.next()));
    return radius * Math.cos(2 * Math.PI * this.next());
  }

  /** Brings a list into a random order, in place. */
  shuffle(list: Int32Array | number[]): void {
    for (let last = list.length - 1; last > 0; last -= 1) {
      const other = this.below(last + 1);
      const value = list[last] as number;
      list[last] = list[other] as number;
      list[other] = value;
    }
  }

  getState(): RandomState {
    return [this.#a >>> 0, this.#b >>> 0, this.#c >>> 0, this.#d >>> 0];
  }

  setState([a, b, c, d]: RandomState): void {
    [this.#a, this.#b, this.#c, this.#d] = [a | 0, b | 0, c | 0, d | 0];
  }
}

/** A seed for where the user gave none. */
export function freshSeed(): number {
  return Math.floor(Math.random() * 2 ** 31);
}

/** FNV-1a of a text. */
function hashed(text: string): number {
  let hash = 0x811c_9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193);
  return hash;
}

/** The finalizer of MurmurHash3: each bit of the input changes half of the bits of the output. */
function scrambled(word: number): number {
  let mixed = word;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return mixed ^ (mixed >>> 16);
}
