/**
 * Random numbers that repeat: a stream is made from a seed and a path, and its state can be saved.
 *
 * The generator is Bob Jenkins' small fast counter (sfc32), which passes PractRand and needs 16 bytes. Layers take theirs from the stream of
 * `withRandom`, so that a module that makes its layers in field initializers is repeatable, too.
 */

/** The whole state of a stream. */
export type RandomState = readonly number[];

const SCRAMBLE_ROUNDS = 15;
const UNIT = 2 ** -32;

/**
 * A stream of random numbers.
 *
 * @example
 * ```ts
 * const random = new Random(1, "runner", 0); // the same numbers each time
 * random.uniform(); // from 0 to below 1
 * ```
 */
export class Random {
  #a = 0;
  #b = 0;
  #c = 0;
  #counter = 1;
  /** The second number of the last pair of normal ones; NaN: none. */
  #spare = Number.NaN;

  /** Without a seed the stream differs each time. Streams of one seed and different paths have nothing to do with each other. */
  constructor(seed?: number, ...path: readonly (string | number)[]) {
    if (seed !== undefined && !Number.isSafeInteger(seed))
      throw new RangeError(`Cannot make a random stream: a seed is a whole number: received ${seed}.`);
    const words = new Uint32Array(4);
    if (seed === undefined) crypto.getRandomValues(words);
    else absorb(words, JSON.stringify([seed, ...path]));
    [this.#a, this.#b, this.#c] = [words[0] as number, words[1] as number, words[2] as number];
    this.#counter = seed === undefined ? (words[3] as number) : 1;
    for (let round = 0; round < SCRAMBLE_ROUNDS; round++) this.#next();
  }

  /** Draws a number from 0 to below 1. */
  uniform(): number {
    return this.#next() * UNIT;
  }

  /** Draws from the normal distribution of mean 0 and variance 1. */
  normal(): number {
    if (!Number.isNaN(this.#spare)) {
      const spare = this.#spare;
      this.#spare = Number.NaN;
      return spare;
    }
    const radius = Math.sqrt(-2 * Math.log(1 - this.uniform()));
    const angle = 2 * Math.PI * this.uniform();
    this.#spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }

  /** Draws a whole number from 0 to below `limit`, each equally often. */
  integer(limit: number): number {
    if (!Number.isInteger(limit) || limit < 1 || limit > 2 ** 32)
      throw new RangeError(`Cannot draw a number: the limit is a whole number from 1 to 2^32: received ${limit}.`);
    const fair = 2 ** 32 - (2 ** 32 % limit);
    let drawn = this.#next();
    while (drawn >= fair) drawn = this.#next();
    return drawn % limit;
  }

  /** Puts a list in a random order, in place. */
  shuffle<List extends { length: number; [index: number]: unknown }>(list: List): List {
    for (let last = list.length - 1; last > 0; last--) {
      const other = this.integer(last + 1);
      [list[last], list[other]] = [list[other], list[last]];
    }
    return list;
  }

  getState(): RandomState {
    return [this.#a, this.#b, this.#c, this.#counter, ...(Number.isNaN(this.#spare) ? [] : [this.#spare])];
  }

  setState(state: RandomState): void {
    const [a, b, c, counter, spare = Number.NaN] = state;
    if (![a, b, c, counter].every((word) => Number.isInteger(word)) || state.length > 5)
      throw new RangeError(`Cannot set the state of a random stream: it has four whole numbers: received ${JSON.stringify(state)}.`);
    [this.#a, this.#b, this.#c, this.#counter, this.#spare] = [a as number, b as number, c as number, counter as number, spare];
  }

  #next(): number {
    const drawn = (this.#a + this.#b + this.#counter) >>> 0;
    this.#counter = (this.#counter + 1) >>> 0;
    this.#a = (this.#b ^ (this.#b >>> 9)) >>> 0;
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + drawn) >>> 0;
    return drawn;
  }
}

/** Mixes a text into words, so that texts that differ in one letter give unlike words (MurmurHash3's mixing). */
function absorb(words: Uint32Array, text: string): void {
  for (let lane = 0; lane < words.length; lane++) {
    let hash = Math.imul(lane + 1, 0x9e3779b1);
    for (let at = 0; at < text.length; at++) {
      hash = Math.imul(hash ^ text.charCodeAt(at), 0x85ebca6b);
      hash = (hash << 13) | (hash >>> 19);
    }
    hash = Math.imul(hash ^ (hash >>> 16), 0xc2b2ae35);
    words[lane] = hash ^ (hash >>> 15);
  }
}

let ambient: Random | undefined;

/**
 * Runs `f`, in which layers take their first weights and noise from this stream.
 *
 * @example
 * ```ts
 * const network = withRandom(new Random(1), () => new Mlp([4, 64, 2]));
 * ```
 */
export function withRandom<Result>(random: Random, f: () => Result): Result {
  const before = ambient;
  ambient = random;
  try {
    return f();
  } finally {
    ambient = before;
  }
}

/** The stream of the innermost {@link withRandom}, else one that differs each time. */
export function currentRandom(): Random {
  ambient ??= new Random();
  return ambient;
}
