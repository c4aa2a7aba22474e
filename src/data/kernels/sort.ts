/**
 * The order of rows by several keys, and the ranges into which sampled borders cut it.
 *
 * Numbers go before NaN and NaN before null, in both directions. Texts and bytes compare byte by byte, which for UTF-8 is the order of code points. Rows of equal
 * keys keep their order. Columns of numbers are sorted by radix: each value becomes up to 64 bits that order as unsigned numbers. For a dictionary column these
 * are the ranks of its values.
 */
import { getBit } from "../blocks/values/bitmap.ts";
import { type Block, concatBlocks, vectorOf } from "../blocks/block.ts";
import { typeName } from "../blocks/data-type.ts";
import { compareDecimals } from "../blocks/values/decimals.ts";
import { gatherElements } from "../blocks/gather.ts";
import { codesOf, decodeVector, dictionaryOf, hasMoreWordsThanRows, isNull, type ValueArray, type Vector } from "../blocks/vector.ts";
import { DataError } from "../errors.ts";
import { orderByWords, type Words } from "./radix.ts";

/** A column to sort by. */
export interface SortKey {
  readonly column: string;
  readonly descending: boolean;
}

/** The rows of the block in the order of the keys. */
export function sortedIndices(block: Block, keys: readonly SortKey[]): Uint32Array {
  const columns = keys.map((key) => orderOf(keyVector(block, key.column), key.descending));
  let indices: Uint32Array = new Uint32Array(block.rowCount);
  for (let i = 0; i < indices.length; i += 1) indices[i] = i;
  if (columns.every((column) => column.words !== undefined)) {
    // From the last key to the first: each pass is stable, so the keys before decide and those behind break ties.
    for (const { words, vector } of columns.toReversed()) indices = nullsLast(orderByWords(indices, words as Words), vector);
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
  const [first, ...others] = columns as [ColumnOrder, ...ColumnOrder[]];
  if (others.length === 0 && first.words !== undefined) return rangesByWords(first, first.words, rows.rowCount);
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

/** The ranges of the first rows of a column, the others of which are borders. Of these the ones that are null come last, and all of them go before a row that is null. */
function rangesByWords({ vector }: ColumnOrder, words: Words, rowCount: number): Uint32Array {
  const ranges = new Uint32Array(rowCount);
  const hasNulls = vector.nullCount > 0;
  let end = vector.length;
  if (hasNulls) while (end > rowCount && isNull(vector, end - 1)) end -= 1;
  const { high: tops, low: rests = new Uint32Array(vector.length) } = words;
  const { least, shift, starts } = bordersByPrefix(tops, rowCount, end);
  const last = starts.length - 2;
  for (let row = 0; row < rowCount; row += 1) {
    if (hasNulls && isNull(vector, row)) {
      ranges[row] = vector.length - rowCount;
      continue;
    }
    const top = tops[row] as number;
    const rest = rests[row] as number;
    if (top < least) continue;
    const prefix = Math.min((top - least) >>> shift, last);
    let low = starts[prefix] as number;
    let high = starts[prefix + 1] as number;
    while (low < high) {
      const middle = (low + high) >> 1;
      const border = tops[middle] as number;
      if (border < top || (border === top && (rests[middle] as number) <= rest)) low = middle + 1;
      else high = middle;
    }
    ranges[row] = low - rowCount;
  }
  return ranges;
}

/** The highest bits of numbers by which borders are looked up: of a few hundred borders most prefixes have one or none. */
const BORDER_BITS = 12;

/**
 * Returns the first border of each prefix, and the end behind the last: a number is compared only with the borders of its prefix.
 *
 * @param tops - the borders are those from `begin` to before `end`, in order
 */
function bordersByPrefix(tops: Uint32Array, begin: number, end: number): { least: number; shift: number; starts: Uint32Array } {
  const least = begin < end ? (tops[begin] as number) : 0;
  const span = begin < end ? (tops[end - 1] as number) - least : 0;
  const shift = Math.max(0, 32 - Math.clz32(span) - BORDER_BITS);
  const starts = new Uint32Array((span >>> shift) + 2).fill(end);
  for (let border = end - 1; border >= begin; border -= 1) starts[((tops[border] as number) - least) >>> shift] = border;
  // A prefix without borders begins where the next one does.
  for (let prefix = starts.length - 2; prefix >= 0; prefix -= 1)
    starts[prefix] = Math.min(starts[prefix] as number, starts[prefix + 1] as number);
  return { least, shift, starts };
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
  /** The words of null rows do not matter: nulls go behind the others afterwards. */
  readonly words: Words | undefined;
  /** For rows that are not null. */
  compare(a: number, b: number): number;
}

function orderOf(given: Vector, descending: boolean): ColumnOrder {
  // A slice may have a few rows of a large dictionary, which is not put in order for them.
  const vector = hasMoreWordsThanRows(given) ? decodeVector(given) : given;
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
    compare:
      low === undefined
        ? (a, b) => (high[a] as number) - (high[b] as number)
        : (a, b) => (high[a] as number) - (high[b] as number) || (low[a] as number) - (low[b] as number),
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
  switch (type.kind) {
    case "dictionary": {
      const places = placesOf(dictionaryOf(vector));
      const high = new Uint32Array(length);
      gatherElements(high, places, codesOf(vector));
      return inDirection({ high }, descending);
    }
    case "int64":
    case "uint64":
    case "timestamp":
    case "time64":
    case "duration":
      return inDirection(wideWords(values as BigInt64Array, type.kind !== "uint64"), descending);
    case "float64":
    case "float32":
      return floatWords(type.kind === "float64" ? (values as Float64Array) : Float64Array.from(values as Float32Array), descending);
    case "bool":
      return inDirection(
        { high: Uint32Array.from({ length }, (_, i) => (getBit(values as Uint8Array, bitOffset + i) ? 1 : 0)) },
        descending,
      );
    case "null":
      return { high: new Uint32Array(length) };
    case "uint32":
      return descending ? inDirection({ high: (values as Uint32Array).slice() }, true) : { high: values as Uint32Array };
    default:
      return inDirection({ high: smallWords(values as Int32Array) }, descending);
  }
}

/** For each value of a dictionary how many different ones go before it. */
function placesOf(words: Vector): Uint32Array {
  const compare = bytesOrder(words, false);
  const order = Uint32Array.from({ length: words.length }, (_, word) => word).sort(compare);
  const places = new Uint32Array(words.length);
  for (let i = 1; i < order.length; i += 1) {
    const [last, word] = [order[i - 1] as number, order[i] as number];
    places[word] = (places[last] as number) + (compare(last, word) === 0 ? 0 : 1);
  }
  return places;
}

/** The halves of 64-bit numbers. */
function wideWords(values: BigInt64Array, isSigned: boolean): Words {
  const halves = halvesOf(values);
  const high = new Uint32Array(values.length);
  const low = new Uint32Array(values.length);
  const flip = isSigned ? 0x80000000 : 0;
  for (let i = 0; i < values.length; i += 1) {
    high[i] = (halves[2 * i + 1] as number) ^ flip;
    low[i] = halves[2 * i] as number;
  }
  return { high, low };
}

function halvesOf({ buffer, byteOffset, length }: Float64Array | BigInt64Array): Uint32Array {
  return new Uint32Array(buffer, byteOffset, 2 * length);
}

/** The bits of negative numbers order the other way round. 0 and -0 are equal. */
function floatWords(values: Float64Array, descending: boolean): Words {
  const halves = halvesOf(values);
  const high = new Uint32Array(values.length);
  const low = new Uint32Array(values.length);
  const flip = descending ? -1 : 0;
  for (let i = 0; i < values.length; i += 1) {
    const top = halves[2 * i + 1] as number;
    const rest = halves[2 * i] as number;
    const size = top & 0x7fffffff;
    if (size >= 0x7ff00000 && (size > 0x7ff00000 || rest !== 0)) high[i] = NAN_HIGH;
    else if (top <= 0x7fffffff || (size === 0 && rest === 0)) {
      high[i] = size ^ 0x80000000 ^ flip;
      low[i] = rest ^ flip;
    } else {
      high[i] = ~top ^ flip;
      low[i] = ~rest ^ flip;
    }
  }
  return { high, low };
}

/** Returns the sort words of whole numbers of up to 32 bits. */
function smallWords(values: Int8Array | Int16Array | Int32Array | Uint8Array | Uint16Array): Uint32Array {
  const words = new Uint32Array(values.length);
  for (let i = 0; i < words.length; i += 1) words[i] = (values[i] as number) ^ 0x80000000;
  return words;
}

function inDirection(words: Words, descending: boolean): Words {
  if (!descending) return words;
  for (const half of [words.high, words.low ?? []] as Uint32Array[])
    for (let i = 0; i < half.length; i += 1) half[i] = ~(half[i] as number);
  return words;
}

/** The rows that are null behind the others, all in the order that they have. */
function nullsLast(indices: Uint32Array, vector: Vector): Uint32Array {
  if (vector.nullCount === 0) return indices;
  const moved = new Uint32Array(indices.length);
  let value = 0;
  let none = indices.length - vector.nullCount;
  for (let i = 0; i < indices.length; i += 1) {
    const row = indices[i] as number;
    moved[isNull(vector, row) ? none++ : value++] = row;
  }
  return moved;
}

/** Compares two rows of one column, neither of them null: below 0 where the first is smaller. */
export function precedes(vector: Vector): (a: number, b: number) => number {
  return orderOf(vector, false).compare;
}
