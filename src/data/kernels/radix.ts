/**
 * The order of rows by unsigned numbers of up to 64 bits. Rows of equal numbers keep their order.
 *
 * The numbers are scaled to the range that they span, and the highest 22 bits of the result order the rows, by counting in two passes. Where values are spread evenly few
 * rows have these bits in common. Such runs are ordered by comparing, and long ones in the same way again, by their own range.
 */

import { freeArrays } from "../blocks/memory/memory.ts";

/** Numbers of rows: the higher 32 bits and the lower ones, where there are any. */
export interface Words {
  readonly high: Uint32Array;
  readonly low?: Uint32Array | undefined;
}

const DIGIT_BITS = 11;
const DIGITS: number = 2 ** DIGIT_BITS;
const PREFIX_BITS: number = 2 * DIGIT_BITS;

/** Runs up to this length are ordered by comparing. */
const SHORT_RUN = 24;

/** The rows in the order of their numbers. */
export function orderByWords(rows: Uint32Array, words: Words): Uint32Array {
  const { high, low } = words;
  const [least, most] = rangeOf(rows, high);
  if (least !== most) return orderByPrefixes(rows, words, prefixesOfHigh(rows, words, least, Math.clz32(most - least)));
  return low === undefined ? rows : orderByWords(rows, { high: low });
}

function rangeOf(rows: Uint32Array, numbers: Uint32Array): [least: number, most: number] {
  let least = 0xffffffff;
  let most = 0;
  for (let i = 0; i < rows.length; i += 1) {
    const number = numbers[rows[i] as number] as number;
    if (number < least) least = number;
    if (number > most) most = number;
  }
  return rows.length === 0 ? [0, 0] : [least, most];
}

/** The highest bits of each number less `least`, the first `zeros` of which are 0 everywhere. */
function prefixesOfHigh(rows: Uint32Array, { high, low }: Words, least: number, zeros: number): Uint32Array {
  const prefixes = new Uint32Array(rows.length);
  const shift = 32 - PREFIX_BITS;
  if (low === undefined || zeros === 0)
    for (let i = 0; i < rows.length; i += 1) prefixes[i] = (((high[rows[i] as number] as number) - least) << zeros) >>> shift;
  else
    for (let i = 0; i < rows.length; i += 1) {
      const row = rows[i] as number;
      prefixes[i] = ((((high[row] as number) - least) << zeros) | ((low[row] as number) >>> (32 - zeros))) >>> shift;
    }
  return prefixes;
}

function orderByPrefixes(rows: Uint32Array, words: Words, prefixes: Uint32Array): Uint32Array {
  const once = { rows: new Uint32Array(rows.length), prefixes: new Uint32Array(rows.length) };
  const twice = { rows: new Uint32Array(rows.length), prefixes };
  scatter({ rows, prefixes }, once, 0);
  scatter(once, twice, DIGIT_BITS);
  freeArrays([once.rows, once.prefixes]);
  orderRuns(twice, words);
  freeArrays([prefixes]);
  return twice.rows;
}

interface Prefixed {
  readonly rows: Uint32Array;
  readonly prefixes: Uint32Array;
}

/** Brings rows in the order of one digit of their prefixes. */
function scatter(from: Prefixed, to: Prefixed, shift: number): void {
  const places = new Uint32Array(DIGITS);
  for (let i = 0; i < from.rows.length; i += 1) {
    const digit = ((from.prefixes[i] as number) >>> shift) & (DIGITS - 1);
    places[digit] = (places[digit] as number) + 1;
  }
  for (let digit = 0, sum = 0; digit < DIGITS; digit += 1) {
    const count = places[digit] as number;
    places[digit] = sum;
    sum += count;
  }
  for (let i = 0; i < from.rows.length; i += 1) {
    const prefix = from.prefixes[i] as number;
    const digit = (prefix >>> shift) & (DIGITS - 1);
    const place = places[digit] as number;
    places[digit] = place + 1;
    to.rows[place] = from.rows[i] as number;
    to.prefixes[place] = prefix;
  }
}

/** Orders the rows that have their prefix in common with others. */
function orderRuns({ rows, prefixes }: Prefixed, words: Words): void {
  for (let start = 0, i = 1; i <= rows.length; i += 1) {
    if (i < rows.length && prefixes[i] === prefixes[start]) continue;
    if (i - start > SHORT_RUN) {
      const run = rows.subarray(start, i);
      run.set(orderByWords(run, words));
    } else if (i - start > 1) orderByComparing(rows, start, i, words);
    start = i;
  }
}

function orderByComparing(rows: Uint32Array, start: number, end: number, { high, low }: Words): void {
  for (let i = start + 1; i < end; i += 1) {
    const row = rows[i] as number;
    let place = i;
    for (; place > start; place -= 1) {
      const other = rows[place - 1] as number;
      const isBefore =
        (high[row] as number) < (high[other] as number) ||
        (low !== undefined && high[row] === high[other] && (low[row] as number) < (low[other] as number));
      if (!isBefore) break;
      rows[place] = other;
    }
    rows[place] = row;
  }
}
