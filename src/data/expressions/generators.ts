/**
 * Values that are made of the number of a row and a seed: random numbers, UUIDs and rising numbers.
 *
 * A value depends on nothing else, so it is the same however rows lie in blocks, and when a task runs again.
 */
import { INT64, STRING } from "../blocks/data-type.ts";
import { hashNumber } from "../kernels/random.ts";
import { floats, type Kernel, type Operand } from "./operations/operand.ts";

const NO_NULLS = { nullCount: 0, bitOffset: 0 } as const;

function rowNumbers(inputs: readonly Operand[]): Float64Array {
  return (inputs[0] as Operand).vector.values as Float64Array;
}

/** From 0 to before 1, in steps of 2^-53. */
export const random: Kernel = (inputs, length, [seed]) => {
  const rows = rowNumbers(inputs);
  const values = new Float64Array(length);
  const otherSeed = hashNumber(seed as number, -1);
  for (let i = 0; i < length; i += 1) {
    const row = rows[i] as number;
    values[i] = (hashNumber(seed as number, row) * 2 ** 21 + (hashNumber(otherSeed, row) >>> 11)) / 2 ** 53;
  }
  return floats(values, NO_NULLS);
};

const HEX = Buffer.from("0123456789abcdef");
/** Places of the sixteen bytes in the text of a UUID. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const DASHES = [8, 13, 18, 23];
const TEXT_BYTES = 36;

/** UUIDs of version 4. A quarter of the bytes differs for any two of 2^32 rows that follow each other. */
export const uuid: Kernel = (inputs, length, seeds) => {
  const rows = rowNumbers(inputs);
  const values = new Uint8Array(length * TEXT_BYTES);
  const offsets = new Int32Array(length + 1);
  const words = new Uint32Array(4);
  const bytes = new Uint8Array(words.buffer);
  for (let i = 0; i < length; i += 1) {
    for (let word = 0; word < 4; word += 1) words[word] = hashNumber(seeds[word] as number, rows[i] as number);
    bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
    const start = i * TEXT_BYTES;
    for (let at = 0; at < 16; at += 1) {
      const byte = bytes[at] as number;
      const place = start + (PLACES[at] as number);
      values[place] = HEX[byte >> 4] as number;
      values[place + 1] = HEX[byte & 15] as number;
    }
    for (const dash of DASHES) values[start + dash] = 0x2d;
    offsets[i + 1] = start + TEXT_BYTES;
  }
  return { type: STRING, length, ...NO_NULLS, offsets, values };
};

/** The number of the row itself. */
export const monotonicallyIncreasingId: Kernel = (inputs, length) => {
  const values = BigInt64Array.from(rowNumbers(inputs), BigInt);
  return { type: INT64, length, ...NO_NULLS, values };
};
