/**
 * Random numbers from a seed: the same seed gives the same numbers in every process and version.
 *
 * The generator is xoshiro128**, and splitmix32 spreads a seed over its state (Blackman and Vigna, https://prng.di.unimi.it/).
 */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  /** Generators of different streams of one seed have nothing to do with each other. */
  constructor(seed: number, stream = 0) {
    const next = splitmix32(Math.imul(seed | 0, 0x9e3779b1) ^ Math.imul(stream | 0, 0x85ebca77) ^ Math.floor(seed / 4294967296));
    this.#a = next();
    this.#b = next();
    this.#c = next();
    this.#d = next() | 1;
  }

  /** A whole number from 0 to before 2^32. */
  uint32(): number {
    const b = this.#b;
    const product = Math.imul(b, 5);
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0;
    const t = b << 9;
    this.#c ^= this.#a;
    this.#d ^= b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= t;
    this.#d = (this.#d << 11) | (this.#d >>> 21);
    return result;
  }

  /** A whole number from 0 to before `bound`, which is at most 2^32. */
  below(bound: number): number {
    return Math.floor((this.uint32() / 4294967296) * bound);
  }
}

/** Puts items into a random order (Fisher and Yates). */
export function shuffleInPlace<T>(items: { readonly length: number; [index: number]: T }, random: Random): void {
  for (let i = items.length - 1; i > 0; i -= 1) {
    const other = random.below(i + 1);
    const kept = items[i] as T;
    items[i] = items[other] as T;
    items[other] = kept;
  }
}

function splitmix32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    return mixed(state);
  };
}

/** Returns a random whole number below 2^32 for a number. It depends on the seed and the number alone. */
export function hashNumber(seed: number, number: number): number {
  let h = Math.imul((seed | 0) ^ 0x9e3779b9, 0x85ebca6b) ^ Math.floor(seed / 4294967296);
  h = mixed(h ^ number);
  return mixed(h ^ Math.floor(number / 4294967296)) >>> 0;
}

/** Each bit of the input moves each bit of the output. */
function mixed(value: number): number {
  let h = Math.imul(value ^ (value >>> 16), 0x21f0aaad);
  h = Math.imul(h ^ (h >>> 15), 0x735a2d97);
  return h ^ (h >>> 15);
}
