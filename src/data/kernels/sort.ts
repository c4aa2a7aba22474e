/**
 * The order of rows by several keys, and the ranges into which sampled borders cut it.
 *
 * Numbers go before NaN and NaN before null, in both directions; texts and bytes are compared byte by byte, which for UTF-8 is the order of code points. Rows of equal keys
 * keep their order. Columns of numbers are sorted by radix: each value becomes 64 bits that order as unsigned numbers, and four stable passes of 16 bits order them.
 */
import { getBit } from "../blocks/bitmap.ts";
import { type Block, concatBlocks, vectorOf } from "../blocks/block.ts";
import { typeName } from "../blocks/data-type.ts";
import { compareDecimals } from "../blocks/decimals.ts";
import { isNull, type ValueArray, type Vector } from "../blocks/vector.ts";
import { DataError } from "../errors.ts";

/** A column to sort by. */
export interface SortKey {
  readonly column: string;
  readonly descending: boolean;
}

/** The rows of the block in the order of the keys. */
export function sortedIndices(block: Block, keys: readonly SortKey[]): Uint32Array {
  const columns = keys.map((key) => orderOf(keyVector(block, key.column), key.descending));
  let indices = new Uint32Array(block.rowCount);
  for (let i = 0; i < indices.length; i += 1) indices[i] = i;
  if (columns.every((column) => column.words !== undefined)) {
    // From the last key to the first: each pass is stable, so the keys before decide and those behind break ties.
    for (const { words, vector } of columns.toReversed()) indices = nullsLast(radixSort(indices, words as Words), vector);
    return indices;
  }
  return indices.sort((a, b) => compareBy(columns, a, b) || a - b);
}

/**
 * For each row which range it belongs to: how many of the borders go before it, or are equal to it.
 *
 * @param rows - the key columns alone
 * @param borders - rows of the same columns, in order
 */
export function rangeOfRows(rows: Block, borders: Block, keys: readonly SortKey[]): Uint32Array {
  const together = concatBlocks([rows, borders]);
  const columns = keys.map((key) => orderOf(keyVector(together, key.column), key.descending));
  const ranges = new Uint32Array(rows.rowCount);
  for (let row = 0; row < ranges.length; row += 1) {
    let low = 0;
    let high = borders.rowCount;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareBy(columns, rows.rowCount + middle, row) <= 0) low = middle + 1;
      else high = middle;
    }
    ranges[row] = low;
  }
  return ranges;
}

function keyVector(block: Block, column: string): Vector {
  const vector = vectorOf(block, column);
  if (vector === undefined)
    throw new DataError(`Cannot sort by ${JSON.stringify(column)}: there is no such column`, {
      hint: `there are ${block.names.join(", ")}`,
    });
  return vector;
}

/** The order of one column: a comparison, and where values are numbers the bits that order alike. */
interface ColumnOrder {
  readonly vector: Vector;
  /** What nulls have here does not matter: they go behind the others afterwards. */
  readonly words: Words | undefined;
  /** For rows that are not null. */
  compare(a: number, b: number): number;
}

/** 64 bits of each row, that order as unsigned numbers. */
interface Words {
  readonly high: Uint32Array;
  readonly low: Uint32Array;
}

function orderOf(vector: Vector, descending: boolean): ColumnOrder {
  const { type } = vector;
  if (type.kind === "string" || type.kind === "binary") return { vector, words: undefined, compare: bytesOrder(vector, descending) };
  if (type.kind === "decimal") {
    const compare = compareDecimals(vector.values as ValueArray, type);
    return { vector, words: undefined, compare: descending ? (a, b) => compare(b, a) : compare };
  }
  if (type.kind === "list" || type.kind === "struct" || type.kind === "tensor")
    throw new DataError(`Cannot sort by a column of the type ${typeName(type)}`, { hint: "sort by a number, a text, a time or a boolean" });
  const words = wordsOf(vector, descending);
  const { high, low } = words;
  return {
    vector,
    words,
    compare: (a, b) => (high[a] as number) - (high[b] as number) || (low[a] as number) - (low[b] as number),
  };
}

function compareBy(columns: readonly ColumnOrder[], a: number, b: number): number {
  for (const column of columns) {
    const { vector } = column;
    if (vector.nullCount > 0) {
      const [aNull, bNull] = [isNull(vector, a), isNull(vector, b)];
      if (aNull && bNull) continue;
      if (aNull || bNull) return aNull ? 1 : -1;
    }
    const order = column.compare(a, b);
    if (order !== 0) return order;
  }
  return 0;
}

function bytesOrder(vector: Vector, descending: boolean): (a: number, b: number) => number {
  const offsets = vector.offsets as Int32Array;
  const bytes = vector.values as Uint8Array;
  const sign = descending ? -1 : 1;
  return (a, b) => {
    let i = offsets[a] as number;
    let j = offsets[b] as number;
    const iEnd = offsets[a + 1] as number;
    const jEnd = offsets[b + 1] as number;
    for (; i < iEnd && j < jEnd; i += 1, j += 1) {
      const difference = (bytes[i] as number) - (bytes[j] as number);
      if (difference !== 0) return sign * difference;
    }
    return sign * (iEnd - i - (jEnd - j));
  };
}

/** Behind all numbers, in either direction: the words of the infinities are smaller. */
const NAN_HIGH = 0xffffffff;

function wordsOf(vector: Vector, descending: boolean): Words {
  const { length, type, values, bitOffset } = vector;
  const high = new Uint32Array(length);
  const low = new Uint32Array(length);
  if (type.kind === "int64" || type.kind === "uint64" || type.kind === "timestamp")
    fillWideWords(values as BigInt64Array, type.kind !== "uint64", high, low);
  else if (type.kind === "bool") for (let i = 0; i < length; i += 1) high[i] = getBit(values as Uint8Array, bitOffset + i) ? 1 : 0;
  else if (type.kind !== "null") fillNumberWords(values as Float64Array, high, low);
  if (descending) invert(high, low);
  if (type.kind === "float64" || type.kind === "float32") moveNaN(values as Float64Array, high, low);
  return { high, low };
}

/** The halves of 64-bit numbers. */
function fillWideWords(values: BigInt64Array, isSigned: boolean, high: Uint32Array, low: Uint32Array): void {
  const halves = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  const flip = isSigned ? 0x80000000 : 0;
  for (let i = 0; i < values.length; i += 1) {
    high[i] = (halves[2 * i + 1] as number) ^ flip;
    low[i] = halves[2 * i] as number;
  }
}

function fillNumberWords(values: ArrayLike<number>, high: Uint32Array, low: Uint32Array): void {
  const one = new Float64Array(1);
  const halves = new Uint32Array(one.buffer);
  for (let i = 0; i < values.length; i += 1) {
    // Adding 0 makes 0 of -0: the two are equal.
    one[0] = (values[i] as number) + 0;
    const top = halves[1] as number;
    const isNegative = top >>> 31 === 1;
    high[i] = isNegative ? ~top : top ^ 0x80000000;
    low[i] = isNegative ? ~(halves[0] as number) : (halves[0] as number);
  }
}

function invert(high: Uint32Array, low: Uint32Array): void {
  for (let i = 0; i < high.length; i += 1) {
    high[i] = ~(high[i] as number);
    low[i] = ~(low[i] as number);
  }
}

function moveNaN(values: ArrayLike<number>, high: Uint32Array, low: Uint32Array): void {
  for (let i = 0; i < values.length; i += 1) {
    if (!Number.isNaN(values[i])) continue;
    high[i] = NAN_HIGH;
    low[i] = 0;
  }
}

/** The rows that are null behind the others, all in the order that they have. */
function nullsLast(indices: Uint32Array<ArrayBuffer>, vector: Vector): Uint32Array<ArrayBuffer> {
  if (vector.nullCount === 0) return indices;
  const moved = new Uint32Array(indices.length);
  let value = 0;
  let none = indices.length - vector.nullCount;
  for (const row of indices) moved[isNull(vector, row) ? none++ : value++] = row;
  return moved;
}

/** The indices ordered by the words; those of equal words keep their order. */
function radixSort(indices: Uint32Array, { high, low }: Words): Uint32Array<ArrayBuffer> {
  let from = indices.slice();
  let to = new Uint32Array(indices.length);
  const counts = new Uint32Array(0x10000);
  for (const [words, shift] of [
    [low, 0],
    [low, 16],
    [high, 0],
    [high, 16],
  ] as const) {
    counts.fill(0);
    for (let i = 0; i < words.length; i += 1) {
      const digit = ((words[i] as number) >>> shift) & 0xffff;
      counts[digit] = (counts[digit] as number) + 1;
    }
    // All rows have one digit here, as small whole numbers do in most places.
    if (words.length === 0 || counts[((words[0] as number) >>> shift) & 0xffff] === words.length) continue;
    for (let digit = 0, sum = 0; digit < counts.length; digit += 1) {
      const count = counts[digit] as number;
      counts[digit] = sum;
      sum += count;
    }
    for (let i = 0; i < from.length; i += 1) {
      const row = from[i] as number;
      const digit = ((words[row] as number) >>> shift) & 0xffff;
      const place = counts[digit] as number;
      counts[digit] = place + 1;
      to[place] = row;
    }
    [from, to] = [to, from];
  }
  return from;
}

/** Compares two rows of one column, neither of them null: below 0 where the first is smaller. */
export function precedes(vector: Vector): (a: number, b: number) => number {
  return orderOf(vector, false).compare;
}
