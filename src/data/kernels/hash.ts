/**
 * Rows by the values of their key columns: a hash of each row, and a dense number for each group of rows with equal keys.
 *
 * Equal are values that JavaScript's `Object.is` calls equal, but 0 and -0 are one group, and so are all NaN, and all nulls. Numbers are hashed by their value whatever their
 * width, so blocks whose column is int32 in one place and float64 in another meet in the same partition.
 */
import { getBit } from "../blocks/bitmap.ts";
import { type Block, vectorOf } from "../blocks/block.ts";
import { type DecimalType, typeName } from "../blocks/data-type.ts";
import { decimalText, unscaledReader } from "../blocks/decimals.ts";
import { isNull, type Vector } from "../blocks/vector.ts";
import { DataError } from "../errors.ts";

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
    if (vector.type.kind === "list" || vector.type.kind === "struct" || vector.type.kind === "tensor")
      throw new DataError(`Cannot ${use} ${JSON.stringify(column)}: it is of the type ${typeName(vector.type)}`, {
        hint: "a key is a number, a text, bytes, a time or a boolean",
      });
    return vector;
  });
}

/** A hash of 32 bits for each row. */
export function hashRows(vectors: readonly Vector[], rowCount: number): Uint32Array {
  const hashes = new Uint32Array(rowCount);
  for (const vector of vectors) addHashes(vector, hashes);
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

function addHashes(vector: Vector, hashes: Uint32Array): void {
  const hashOf = hasherOf(vector);
  const hasNulls = vector.nullCount > 0;
  for (let row = 0; row < hashes.length; row += 1) {
    const own = hasNulls && isNull(vector, row) ? NULL_HASH : hashOf(row);
    hashes[row] = mix(Math.imul(hashes[row] as number, 31) + own);
  }
}

function hasherOf(vector: Vector): (row: number) => number {
  const { type, values, offsets, bitOffset } = vector;
  switch (type.kind) {
    case "null":
      return () => NULL_HASH;
    case "bool":
      return (row) => (getBit(values as Uint8Array, bitOffset + row) ? 1 : 2);
    case "string":
    case "binary":
      return bytesHasher(values as Uint8Array, offsets as Int32Array);
    case "int64":
    case "uint64":
    case "timestamp":
      return wideHasher(values as BigInt64Array);
    case "decimal":
      return decimalHasher(values as BigUint64Array, type);
    default:
      return numberHasher(values as Float64Array);
  }
}

function numberHasher(values: ArrayLike<number>): (row: number) => number {
  const one = new Float64Array(1);
  const halves = new Uint32Array(one.buffer);
  return (row) => {
    one[0] = (values[row] as number) + 0;
    return mix(halves[0] as number) ^ (halves[1] as number);
  };
}

/** Whole numbers within 2^53 hash as the float64 of the same value. */
function wideHasher(values: BigInt64Array): (row: number) => number {
  const words = new Int32Array(values.buffer, values.byteOffset, values.length * 2);
  const one = new Float64Array(1);
  const halves = new Uint32Array(one.buffer);
  return (row) => {
    one[0] = (words[2 * row + 1] as number) * 4294967296 + ((words[2 * row] as number) >>> 0);
    return mix(halves[0] as number) ^ (halves[1] as number);
  };
}

/** Values that are equal have one hash, however many zeros they end with. */
function decimalHasher(values: BigUint64Array, type: DecimalType): (row: number) => number {
  const read = unscaledReader(values, type);
  return (row) => {
    const text = decimalText(read(row), type.scale);
    const significant = text.includes(".") ? text.replace(/\.?0+$/, "") : text;
    let h = 0x811c9dc5;
    for (let i = 0; i < significant.length; i += 1) h = Math.imul(h ^ significant.charCodeAt(i), 0x01000193);
    return h;
  };
}

/** FNV-1a. */
function bytesHasher(bytes: Uint8Array, offsets: Int32Array): (row: number) => number {
  return (row) => {
    let h = 0x811c9dc5;
    for (let i = offsets[row] as number; i < (offsets[row + 1] as number); i += 1) h = Math.imul(h ^ (bytes[i] as number), 0x01000193);
    return h;
  };
}

/** Whether a row of one vector and a row of the other, which may be the same, have equal values; neither is null. */
type RowEquality = (a: number, b: number) => boolean;

/** Of two vectors of one type. */
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
    case "timestamp": {
      const [mine, theirs] = [halvesOf(left), halvesOf(right)];
      return (a, b) => mine[2 * a] === theirs[2 * b] && mine[2 * a + 1] === theirs[2 * b + 1];
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

function withNulls(vector: Vector): RowEquality {
  const equal = equalityOf(vector, vector);
  if (vector.nullCount === 0 || vector.type.kind === "null") return equal;
  return (a, b) => {
    const aNull = isNull(vector, a);
    return aNull === isNull(vector, b) && (aNull || equal(a, b));
  };
}

/** No group lies at this place of a table of groups, or a row has none. */
export const NO_GROUP = 0xffffffff;

/** The groups of rows with equal keys. An open table of group numbers, which grows with the groups. */
export function groupRows(vectors: readonly Vector[], rowCount: number): Groups {
  if (vectors.length === 0) return { ids: new Uint32Array(rowCount), firstRows: new Uint32Array(rowCount > 0 ? 1 : 0) };
  const hashes = hashRows(vectors, rowCount);
  const equalities = vectors.map(withNulls);
  const [first, ...others] = equalities as [RowEquality, ...RowEquality[]];
  const isEqual: RowEquality = others.length === 0 ? first : (a, b) => first(a, b) && others.every((equal) => equal(a, b));
  const ids = new Uint32Array(rowCount);
  let firstRows = new Uint32Array(1024);
  let count = 0;
  let table = new Uint32Array(4096).fill(NO_GROUP);
  for (let row = 0; row < rowCount; row += 1) {
    const hash = hashes[row] as number;
    const mask = table.length - 1;
    let slot = hash & mask;
    for (;;) {
      const group = table[slot] as number;
      if (group === NO_GROUP) {
        table[slot] = count;
        if (count === firstRows.length) firstRows = grown(firstRows);
        firstRows[count] = row;
        ids[row] = count;
        count += 1;
        break;
      }
      const representative = firstRows[group] as number;
      if (hashes[representative] === hash && isEqual(representative, row)) {
        ids[row] = group;
        break;
      }
      slot = (slot + 1) & mask;
    }
    if (count * 2 > table.length) table = rehashed(table.length * 4, firstRows, count, hashes);
  }
  return { ids, firstRows: firstRows.slice(0, count) };
}

function grown(array: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(array.length * 2);
  larger.set(array);
  return larger;
}

/** An open table of group numbers by the hashes of their first rows. `size` is a power of two. */
export function rehashed(size: number, firstRows: Uint32Array, count: number, hashes: Uint32Array): Uint32Array<ArrayBuffer> {
  const table = new Uint32Array(size).fill(NO_GROUP);
  for (let group = 0; group < count; group += 1) {
    let slot = (hashes[firstRows[group] as number] as number) & (size - 1);
    while (table[slot] !== NO_GROUP) slot = (slot + 1) & (size - 1);
    table[slot] = group;
  }
  return table;
}
