/**
 * Hashes rows by their key columns, and gives each group of rows with equal keys a dense number.
 *
 * Values are equal as in JavaScript's `Object.is`, except that 0 and -0 are one group; all NaN are one group, and all nulls, too. Equal numbers of different
 * widths have one hash, so blocks with an int32 column and blocks with a float64 column meet in the same partition. A dictionary column hashes and compares
 * each dictionary value once, however many rows have it.
 */
import { getBit } from "../blocks/values/bitmap.ts";
import { type Block, vectorOf } from "../blocks/block.ts";
import { type DecimalType, typeName } from "../blocks/data-type.ts";
import { decimalText, unscaledReader } from "../blocks/values/decimals.ts";
import { gatherElements } from "../blocks/gather.ts";
import { freeArrays } from "../blocks/memory/memory.ts";
import { distinctRanges, type Ranges } from "../blocks/values/dictionary-codes.ts";
import { codesOf, decodeVector, dictionaryOf, hasMoreWordsThanRows, isNull, type Vector } from "../blocks/vector.ts";
import { DataError } from "../errors.ts";
import { DirectTable } from "./direct-table.ts";

/** Groups of rows with equal keys. */
interface Groups {
  /** The group of each row. */
  readonly ids: Uint32Array;
  /** The first row of each group, in the order in which groups first come. */
  readonly firstRows: Uint32Array;
}

/** @throws DataError for a column that does not exist, or whose type has no equality */
export function keyVectors(block: Block, columns: readonly string[], use: string): Vector[] {
  return columns.map((column) => {
    const vector = vectorOf(block, column);
    if (vector === undefined)
      throw new DataError(`Cannot ${use} ${JSON.stringify(column)}: there is no such column`, {
        hint: `there are ${block.names.join(", ")}`,
      });
    if (!isKey(vector))
      throw new DataError(`Cannot ${use} ${JSON.stringify(column)}: it is of the type ${typeName(vector.type)}`, {
        hint: "a key is a number, a text, bytes, a time or a boolean",
      });
    return vector;
  });
}

/** Tells whether values of the vector's type can be compared for equality. */
export function isKey({ type }: Vector): boolean {
  return type.kind !== "list" && type.kind !== "struct" && type.kind !== "tensor";
}

/** A hash of 32 bits for each row. Processes that partition the rows of one exchange have one seed. */
export function hashRows(vectors: readonly Vector[], rowCount: number, seed = 0): Uint32Array {
  const hashes = new Uint32Array(rowCount);
  for (const vector of vectors) addHashes(vector, hashes, seed);
  return hashes;
}

/** For tables, which never leave their process. Without it, files with keys chosen for one hash make a table's work grow with their square. */
const TABLE_SEED = Math.floor(Math.random() * 2 ** 32) | 0;

/** A hash of 32 bits for each row of all columns, in whatever order they are. A null counts no more than a column that is not there: blocks without it have nulls once they meet others. */
export function hashWholeRows({ names, vectors, rowCount }: Block, seed = 0): Uint32Array {
  const hashes = new Uint32Array(rowCount);
  vectors.forEach((vector, i) => {
    let name = 0x811c9dc5;
    for (const character of names[i] as string) name = Math.imul(name ^ (character.codePointAt(0) as number), 0x01000193);
    const own = hashRows([vector], rowCount, seed);
    for (let row = 0; row < rowCount; row += 1)
      if (!isNull(vector, row)) hashes[row] = (hashes[row] as number) + mix((own[row] as number) ^ name);
    freeArrays([own]);
  });
  return hashes;
}

const NULL_HASH = 0x9e3779b9;

/** Murmur3's finalizer: each bit of the input moves each bit of the output. */
function mix(value: number): number {
  let h = value;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

function addHashes(vector: Vector, hashes: Uint32Array, seed: number): void {
  const own = new Uint32Array(hashes.length);
  fillHashes(vector, own, seed);
  if (vector.nullCount > 0) for (let row = 0; row < own.length; row += 1) if (isNull(vector, row)) own[row] = NULL_HASH;
  for (let row = 0; row < own.length; row += 1) hashes[row] = mix(Math.imul(hashes[row] as number, 31) + (own[row] as number));
  freeArrays([own]);
}

/** The hash of each row in one column; whatever for nulls. */
function fillHashes(vector: Vector, hashes: Uint32Array, seed: number): void {
  const { type, values, offsets, bitOffset } = vector;
  switch (type.kind) {
    case "null":
      return;
    case "bool":
      for (let row = 0; row < hashes.length; row += 1) hashes[row] = getBit(values as Uint8Array, bitOffset + row) ? 1 : 2;
      return;
    case "string":
    case "binary":
      return hashBytes({ bytes: values as Uint8Array, offsets: offsets as Int32Array }, hashes, seed);
    case "int64":
    case "uint64":
    case "timestamp":
    case "time64":
    case "duration":
      return hashNumbers(hashes, seed, (from, to, numbers) => readWide(values as BigInt64Array, from, to, numbers));
    case "decimal":
      return hashDecimals(unscaledTexts(values as BigUint64Array, type), hashes, seed);
    case "dictionary": {
      if (hasMoreWordsThanRows(vector)) return fillHashes(decodeVector(vector), hashes, seed);
      const own = new Uint32Array(dictionaryOf(vector).length);
      fillHashes(dictionaryOf(vector), own, seed);
      return gatherElements(hashes, own, codesOf(vector));
    }
    default:
      return hashNumbers(hashes, seed, (from, to, numbers) => numbers.set((values as Float64Array).subarray(from, to)));
  }
}

/** Numbers are hashed as float64 values, so many at a time. */
const NUMBERS_AT_A_TIME = 2048;

/** @param read - brings the numbers of some rows to the beginning of an array */
function hashNumbers(hashes: Uint32Array, seed: number, read: (from: number, to: number, numbers: Float64Array) => void): void {
  const numbers = new Float64Array(NUMBERS_AT_A_TIME);
  const halves = new Uint32Array(numbers.buffer);
  for (let from = 0; from < hashes.length; from += NUMBERS_AT_A_TIME) {
    const to = Math.min(hashes.length, from + NUMBERS_AT_A_TIME);
    read(from, to, numbers);
    for (let row = from, i = 0; row < to; row += 1, i += 2) hashes[row] = hashNumber(halves[i + 1] as number, halves[i] as number, seed);
  }
}

/** Both zeros have one hash, and so have all NaN. */
function hashNumber(high: number, low: number, seed: number): number {
  const size = high & 0x7fffffff;
  if (size === 0 && low === 0) return 0;
  return size > 0x7ff00000 || (size === 0x7ff00000 && low !== 0) ? 0x7ff80000 : mix(low ^ seed) ^ high;
}

/** Whole numbers within 2^53 as the float64 of the same value. */
function readWide(values: BigInt64Array, from: number, to: number, numbers: Float64Array): void {
  const words = new Int32Array(values.buffer, values.byteOffset + 8 * from, 2 * (to - from));
  for (let i = 0; i < to - from; i += 1) numbers[i] = (words[2 * i + 1] as number) * 4294967296 + ((words[2 * i] as number) >>> 0);
}

/** Returns the text of each row's decimal without the zeros that it ends with. */
function unscaledTexts(values: BigUint64Array, type: DecimalType): (row: number) => string {
  const read = unscaledReader(values, type);
  return (row) => {
    const text = decimalText(read(row), type.scale);
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  };
}

/** Values that are equal have one hash, however many zeros they end with. */
function hashDecimals(textOf: (row: number) => string, hashes: Uint32Array, seed: number): void {
  for (let row = 0; row < hashes.length; row += 1) {
    const significant = textOf(row);
    let h = 0x811c9dc5 ^ seed;
    for (let i = 0; i < significant.length; i += 1) h = Math.imul(h ^ significant.charCodeAt(i), 0x01000193);
    hashes[row] = h;
  }
}

/** FNV-1a. */
function hashBytes({ bytes, offsets }: { bytes: Uint8Array; offsets: Int32Array }, hashes: Uint32Array, seed: number): void {
  const basis = 0x811c9dc5 ^ seed;
  for (let row = 0; row < hashes.length; row += 1) {
    let h = basis;
    for (let i = offsets[row] as number; i < (offsets[row + 1] as number); i += 1) h = Math.imul(h ^ (bytes[i] as number), 0x01000193);
    hashes[row] = h;
  }
}

/** Whether a row of one vector and a row of the other, which may be the same, have equal values; neither is null. */
export type RowEquality = (a: number, b: number) => boolean;

/** Returns the equality of rows of two vectors of one type. */
function equalityOf(left: Vector, right: Vector): RowEquality {
  switch (left.type.kind) {
    case "null":
      return () => true;
    case "bool":
      return (a, b) => getBit(left.values as Uint8Array, left.bitOffset + a) === getBit(right.values as Uint8Array, right.bitOffset + b);
    case "string":
    case "binary":
      return bytesEquality(left, right);
    case "int64":
    case "uint64":
    case "timestamp":
    case "time64":
    case "duration": {
      const [mine, theirs] = [halvesOf(left), halvesOf(right)];
      return (a, b) => mine[2 * a] === theirs[2 * b] && mine[2 * a + 1] === theirs[2 * b + 1];
    }
    case "dictionary": {
      const equal = equalityOf(dictionaryOf(left), dictionaryOf(right));
      const [mine, theirs] = [codesOf(left), codesOf(right)];
      return (a, b) => equal(mine[a] as number, theirs[b] as number);
    }
    case "decimal": {
      const [mine, theirs] = [left, right].map((one) => unscaledReader(one.values as BigUint64Array, one.type as DecimalType)) as [
        (row: number) => bigint,
        (row: number) => bigint,
      ];
      return (a, b) => mine(a) === theirs(b);
    }
    default: {
      const [mine, theirs] = [left.values as Float64Array, right.values as Float64Array];
      return (a, b) => mine[a] === theirs[b] || (Number.isNaN(mine[a]) && Number.isNaN(theirs[b]));
    }
  }
}

function halvesOf({ values }: Vector): Int32Array {
  const { buffer, byteOffset, length } = values as BigInt64Array;
  return new Int32Array(buffer, byteOffset, length * 2);
}

function bytesEquality(left: Vector, right: Vector): RowEquality {
  const [mine, theirs] = [left.values as Uint8Array, right.values as Uint8Array];
  const [starts, others] = [left.offsets as Int32Array, right.offsets as Int32Array];
  return (a, b) => {
    const start = starts[a] as number;
    const other = others[b] as number;
    const length = (starts[a + 1] as number) - start;
    if ((others[b + 1] as number) - other !== length) return false;
    for (let i = 0; i < length; i += 1) if (mine[start + i] !== theirs[other + i]) return false;
    return true;
  };
}

/** Whether rows are equal in all columns. `left` and `right` have the same types; where a null is asked for, the answer means nothing. */
export function rowEquality(left: readonly Vector[], right: readonly Vector[]): RowEquality {
  const [first, ...others] = left.map((vector, i) => equalityOf(vector, right[i] as Vector)) as [RowEquality, ...RowEquality[]];
  return others.length === 0 ? first : (a, b) => first(a, b) && others.every((equal) => equal(a, b));
}

/** Whether two rows of some vectors are equal in all of them, where nulls are equal to each other. */
export function equalityWithNulls(vectors: readonly Vector[]): RowEquality {
  const [first, ...others] = vectors.map(withNulls) as [RowEquality, ...RowEquality[]];
  return others.length === 0 ? first : (a, b) => first(a, b) && others.every((equal) => equal(a, b));
}

function withNulls(vector: Vector): RowEquality {
  const equal = equalityOf(vector, vector);
  if (vector.nullCount === 0 || vector.type.kind === "null") return equal;
  return (a, b) => {
    const aNull = isNull(vector, a);
    return aNull === isNull(vector, b) && (aNull || equal(a, b));
  };
}

/** A row has no group. */
export const NO_GROUP = 0xffffffff;

/** The hashes of rows that are looked up in one table. */
interface KeyHashes {
  readonly hashes: Uint32Array;
  /** Rows of different keys have different hashes, as {@link mix} gives no number twice. */
  readonly isExact: boolean;
}

/** Hashes for tables. Keys of the same types have the same ones in each block of this process. */
export function keyHashes(vectors: readonly Vector[], rowCount: number): KeyHashes {
  const [key] = vectors;
  if (vectors.length !== 1 || key === undefined || !SMALL_KINDS.has(key.type.kind))
    return { hashes: hashRows(vectors, rowCount, TABLE_SEED), isExact: false };
  const hashes = new Uint32Array(rowCount);
  hashes.set((key.values as Int32Array).subarray(0, rowCount));
  for (let row = 0; row < rowCount; row += 1) hashes[row] = mix((hashes[row] as number) ^ TABLE_SEED);
  // The element under a null is any number.
  if (key.nullCount > 0) for (let row = 0; row < rowCount; row += 1) if (isNull(key, row)) hashes[row] = NULL_HASH;
  return { hashes, isExact: key.nullCount === 0 };
}

/** Whole numbers of up to 32 bits. */
const SMALL_KINDS: ReadonlySet<string> = new Set(["int8", "int16", "int32", "uint8", "uint16", "uint32", "date", "time32"]);

/** Groups that a new table has room for: no more than leave it in the second cache of a processor. */
const GROUPS_EXPECTED_MIN = 1024;
const GROUPS_EXPECTED_MAX = 16_384;

/** Groups by the hashes of their keys: an open table that grows with them. */
export class GroupTable {
  /** The first row of each group; there is room for more. */
  firstRows: Uint32Array = new Uint32Array(1024);
  count = 0;
  /** A pair a place: a group, or NO_GROUP, and its hash. */
  #pairs: Uint32Array;

  /** @param rowCount - of the rows that are added; each may be a group, so many of them have room from the beginning */
  constructor(rowCount: number) {
    const expected = Math.min(rowCount, GROUPS_EXPECTED_MAX);
    this.#pairs = new Uint32Array(2 * 2 ** (33 - Math.clz32(Math.max(expected, GROUPS_EXPECTED_MIN) - 1))).fill(NO_GROUP);
  }

  /** Adds the rows that are given, in their order. @returns the group of each */
  addAll({ hashes, isExact }: KeyHashes, isEqual: RowEquality): Uint32Array {
    const ids = new Uint32Array(hashes.length);
    let pairs = this.#pairs;
    let mask = pairs.length / 2 - 1;
    for (let row = 0; row < hashes.length; row += 1) {
      const hash = hashes[row] as number;
      let place = 2 * (hash & mask);
      let group = pairs[place] as number;
      while (group !== NO_GROUP) {
        if (pairs[place + 1] === hash && (isExact || isEqual(this.firstRows[group] as number, row))) break;
        place = (place + 2) & (2 * mask + 1);
        group = pairs[place] as number;
      }
      if (group === NO_GROUP) {
        group = this.#add(row);
        pairs[place] = group;
        pairs[place + 1] = hash;
        if (4 * this.count > pairs.length) {
          pairs = this.#grow();
          mask = pairs.length / 2 - 1;
        }
      }
      ids[row] = group;
    }
    return ids;
  }

  /**
   * The group of each of other rows; `NO_GROUP` where there is none.
   *
   * @param isEqual - of one of them, and the first row of a group
   */
  find({ hashes, isExact }: KeyHashes, isEqual: RowEquality): Uint32Array {
    const ids = new Uint32Array(hashes.length);
    const pairs = this.#pairs;
    const mask = pairs.length / 2 - 1;
    for (let row = 0; row < hashes.length; row += 1) {
      const hash = hashes[row] as number;
      let place = 2 * (hash & mask);
      let group = pairs[place] as number;
      while (group !== NO_GROUP) {
        if (pairs[place + 1] === hash && (isExact || isEqual(row, this.firstRows[group] as number))) break;
        place = (place + 2) & (2 * mask + 1);
        group = pairs[place] as number;
      }
      ids[row] = group;
    }
    return ids;
  }

  #add(row: number): number {
    const group = this.count;
    if (group === this.firstRows.length) {
      const larger = new Uint32Array(2 * group);
      larger.set(this.firstRows);
      this.firstRows = larger;
    }
    this.firstRows[group] = row;
    this.count += 1;
    return group;
  }

  #grow(): Uint32Array {
    const old = this.#pairs;
    const pairs = new Uint32Array(4 * old.length).fill(NO_GROUP);
    const mask = pairs.length / 2 - 1;
    for (let i = 0; i < old.length; i += 2) {
      if (old[i] === NO_GROUP) continue;
      const hash = old[i + 1] as number;
      let place = 2 * (hash & mask);
      while (pairs[place] !== NO_GROUP) place = (place + 2) & (2 * mask + 1);
      pairs[place] = old[i] as number;
      pairs[place + 1] = hash;
    }
    this.#pairs = pairs;
    return pairs;
  }
}

/**
 * Numbers a column's values by its dictionary: equal values have one number, and null has a separate one. A column without a dictionary is returned unchanged. A
 * dictionary with more values than rows, as in a slice, is written out, because most lookups would be useless.
 */
function asNumbers(vector: Vector): Vector {
  if (vector.type.kind !== "dictionary") return vector;
  if (hasMoreWordsThanRows(vector)) return decodeVector(vector);
  const { length, nullCount } = vector;
  const { ids, firstRows } = distinctRanges(dictionaryOf(vector) as Ranges);
  const values = new Uint32Array(length);
  gatherElements(values, ids, codesOf(vector));
  if (nullCount > 0) for (let row = 0; row < length; row += 1) if (isNull(vector, row)) values[row] = firstRows.length;
  return { type: { kind: "uint32" }, length, nullCount: 0, bitOffset: 0, values };
}

/** The groups of rows with equal keys. */
export function groupRows(keys: readonly Vector[], rowCount: number): Groups {
  const vectors = keys.map(asNumbers);
  const [key, ...others] = vectors;
  if (key === undefined) return { ids: new Uint32Array(rowCount), firstRows: new Uint32Array(rowCount > 0 ? 1 : 0) };
  const direct = others.length === 0 ? DirectTable.of(key) : undefined;
  if (direct !== undefined) return direct;
  const table = new GroupTable(rowCount);
  const ids = table.addAll(keyHashes(vectors, rowCount), equalityWithNulls(vectors));
  return { ids, firstRows: table.firstRows.slice(0, table.count) };
}
