/**
 * As-of joins: each row of the left side gets the row of the right side with the nearest key, among those with equal other keys.
 *
 * A task sorts the right side of a partition by groups and keys, and each left row finds its partner there by binary search. So neither side has to be
 * sorted before. The task holds that right side and one block of the left side. Each left row gives one row.
 */
import { type Block, concatBlocks, namingColumn, schemaOf, takeBlock, unifySchemas, vectorOf } from "../../blocks/block.ts";
import { type DataType, INT64, isNumberKind, NULL, typeName, unifyTypes, unitsIn } from "../../blocks/data-type.ts";
import { isNull, NO_ROW, nullVector, toFloat64, UnsafeInteger, type Vector, widenVector } from "../../blocks/vector.ts";
import { DataError } from "../../errors.ts";
import { NO_GROUP } from "../../kernels/hash.ts";
import { KeyTable } from "../../kernels/key-table.ts";
import { sortedIndices } from "../../kernels/sort.ts";
import { binsOf, withoutColumn } from "../exchange/bins.ts";
import { binAt, gathered, type Join, joined, leftKeysOf, type Sides, sidesOf } from "./join.ts";

export const ASOF_STRATEGIES = ["backward", "forward", "nearest"] as const;

export type AsofStrategy = (typeof ASOF_STRATEGIES)[number];

/** An as-of join. Its keys of equal values are those of a left join. */
export interface JoinAsof {
  readonly kind: "joinAsof";
  readonly name: string;
  readonly equal: Join;
  readonly leftOn: string;
  readonly rightOn: string;
  readonly strategy: AsofStrategy;
  /** The largest distance, of times in milliseconds. Undefined: any. */
  readonly tolerance: number | bigint | undefined;
  readonly allowExactMatches: boolean;
}

/** The rows of a partition, bin by bin. A column of the right side with the name of the left key is left out. */
export function* joinAsofBlocks(join: JoinAsof, left: readonly Block[], right: readonly Block[]): Generator<Block, void, undefined> {
  const [leftBins, rightBins] = [binsOf(left), binsOf(right)];
  const binCount = Math.max(leftBins.length, rightBins.length);
  let isEmpty = true;
  for (let bin = 0; bin < binCount; bin += 1) {
    const own = partnersOf(join, binAt(leftBins, bin), binAt(rightBins, bin));
    for (const block of gathered(own.sides.left)) {
      isEmpty = false;
      yield joined(join.equal, own.sides, block, { rightRows: own.find(block), takeLeft: whole });
    }
  }
  if (!isEmpty || left.length === 0 || right.length === 0) return;
  const own = partnersOf(join, binAt(leftBins, 0), binAt(rightBins, 0));
  yield joined(join.equal, own.sides, own.sides.noLeft, { rightRows: new Uint32Array(0), takeLeft: whole });
}

function whole(vector: Vector): Vector {
  return vector;
}

interface Partners {
  readonly sides: Sides;
  /** The partner of each row of the left side, or `NO_ROW`. */
  find(block: Block): Uint32Array;
}

function partnersOf(join: JoinAsof, left: readonly Block[], right: readonly Block[]): Partners {
  const type = commonType(join, left, right);
  const candidates = inOrder(concatBlocks(right), join.rightOn);
  const sides = sidesOf(join.equal, left, [join.leftOn === join.rightOn ? withoutColumn(candidates, join.rightOn) : candidates]);
  // Rows of a group keep their order in the table, which is that of their keys.
  const groups = join.equal.leftKeys.length === 0 ? undefined : new KeyTable(sides.rightKeys, sides.right.rowCount);
  const rows = groups?.rows ?? Uint32Array.from({ length: candidates.rowCount }, (_, row) => row);
  const starts = groups?.starts ?? Uint32Array.of(0, rows.length);
  const rightKeys = keysOf(candidates, join.rightOn, type).values;
  const partner = partnerSearch(join, takenKeys(rightKeys, rows), distanceIn(type, join.tolerance));
  return {
    sides,
    find(block) {
      const { values, isMissing } = keysOf(block, join.leftOn, type);
      const partners = new Uint32Array(block.rowCount).fill(NO_ROW);
      const found = groups?.find(leftKeysOf(join.equal, sides, block), block.rowCount);
      for (let row = 0; row < partners.length; row += 1) {
        const group = found?.[row] ?? 0;
        if (group === NO_GROUP || isMissing(row)) continue;
        const place = partner(values[row] as Key, starts[group] as number, starts[group + 1] as number);
        if (place !== undefined) partners[row] = rows[place] as number;
      }
      return partners;
    },
  };
}

/** The type of both keys. @throws DataError for a side without its key, for keys without a common type, and for keys that have no distance */
function commonType({ name, leftOn, rightOn }: JoinAsof, left: readonly Block[], right: readonly Block[]): DataType {
  const [a, b] = [typeOfKey(name, left, leftOn), typeOfKey(name, right, rightOn)];
  const type = unifyTypes(a, b);
  const listed = `${JSON.stringify(leftOn)} is ${typeName(a)} on the left and ${JSON.stringify(rightOn)} is ${typeName(b)} on the right`;
  if (type === undefined)
    throw new DataError(`Cannot run ${name}: the keys of on have no type in common: ${listed}`, { hint: "cast one of them before" });
  if (type.kind !== "null" && !isNumberKind(type.kind) && !DISTANCES.has(type.kind))
    throw new DataError(`Cannot run ${name}: the keys of on have to be numbers or times: ${listed}`, {
      hint: "cast them before, or give equal keys by the option by",
    });
  return type;
}

const DISTANCES: ReadonlySet<string> = new Set<DataType["kind"]>(["int64", "uint64", "timestamp", "date", "time32", "time64", "duration"]);

/** A side that never had a block has no columns. */
function typeOfKey(name: string, blocks: readonly Block[], column: string): DataType {
  const fields = unifySchemas(blocks.map(schemaOf));
  const found = fields.find((field) => field.name === column);
  if (found !== undefined || fields.length === 0) return found?.type ?? NULL;
  throw new DataError(`Cannot run ${name}: there is no column ${JSON.stringify(column)}`, {
    hint: `there are ${fields.map((field) => field.name).join(", ")}`,
  });
}

/** The rows of the right side that have a key, in the order of the keys. */
function inOrder(block: Block, column: string): Block {
  const key = vectorOf(block, column);
  if (key === undefined) return block;
  const order = sortedIndices(block, [{ column, descending: false }]);
  // NaN comes behind all numbers, and null behind NaN.
  let end = order.length;
  while (end > 0 && isMissingIn(key, order[end - 1] as number)) end -= 1;
  return takeBlock(block, order.subarray(0, end));
}

function isMissingIn(vector: Vector, row: number): boolean {
  return isNull(vector, row) || Number.isNaN(vector.values?.[row]);
}

type Key = number | bigint;

type Keys = Float64Array | BigInt64Array | BigUint64Array;

/** The keys of a block, in one type. */
function keysOf(block: Block, column: string, type: DataType): { values: Keys; isMissing: (row: number) => boolean } {
  const given = vectorOf(block, column) ?? nullVector(type, block.rowCount);
  const vector = namingColumn(column, () => widenVector(given, type));
  const values = type.kind === "null" ? new Float64Array(vector.length) : comparable(vector);
  return { values, isMissing: (row) => isNull(vector, row) || Number.isNaN(values[row]) };
}

/** Numbers where these are exact: they are compared several times as fast as bigints, and with bigints exactly. */
function comparable(vector: Vector): Keys {
  const wide = vector.values;
  if (!(wide instanceof BigInt64Array) && !(wide instanceof BigUint64Array)) return toFloat64(vector);
  try {
    return toFloat64({ ...vector, type: wide instanceof BigInt64Array ? INT64 : { kind: "uint64", as: "number" } });
  } catch (error) {
    if (error instanceof UnsafeInteger) return wide;
    throw error;
  }
}

function takenKeys(keys: Keys, rows: Uint32Array): Keys {
  const taken = keys.slice(0, rows.length);
  for (let i = 0; i < rows.length; i += 1) taken[i] = keys[rows[i] as number] as never;
  return taken;
}

/**
 * Finds the place of a key's partner among the places of a group, whose values ascend. Of equal distances the earlier key is the nearest.
 *
 * @param limit - the largest distance. Undefined: any
 */
function partnerSearch(
  { strategy, allowExactMatches }: JoinAsof,
  values: Keys,
  limit: Key | undefined,
): (key: Key, start: number, end: number) => number | undefined {
  /** The first place whose value does not go before the key, or with `orEqual` the first whose value goes behind it. */
  const placeOf = (key: Key, orEqual: boolean, [start, end]: readonly [number, number]): number => {
    let [low, high] = [start, end];
    while (low < high) {
      const middle = (low + high) >> 1;
      const value = values[middle] as Key;
      // Numbers and bigints are compared by value here, and not by ===.
      if (orEqual ? value <= key : value < key) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return (key, start, end) => {
    const before = strategy === "forward" ? start - 1 : placeOf(key, allowExactMatches, [start, end]) - 1;
    const behind = strategy === "backward" ? end : placeOf(key, !allowExactMatches, [start, end]);
    if (before < start && behind >= end) return undefined;
    const takesBefore = behind >= end || (before >= start && distance(key, values[before] as Key) <= distance(key, values[behind] as Key));
    const place = takesBefore ? before : behind;
    return limit === undefined || distance(key, values[place] as Key) <= limit ? place : undefined;
  };
}

/** A number beside a bigint is a whole one. */
function distance(a: Key, b: Key): Key {
  if (typeof a === "number" && typeof b === "number") return Math.abs(a - b);
  const difference = BigInt(a) - BigInt(b);
  return difference < 0n ? -difference : difference;
}

const MS_OF_DAY = 86_400_000;

/** A tolerance in the unit of the keys. The tolerance of times is in milliseconds. */
function distanceIn(type: DataType, tolerance: number | bigint | undefined): Key | undefined {
  if (tolerance === undefined || tolerance === Number.POSITIVE_INFINITY) return undefined;
  const perMs = "unit" in type ? unitsIn("ms", type.unit) : type.kind === "date" ? 1 / MS_OF_DAY : 1;
  if (isNumberKind(type.kind) || type.kind === "date" || type.kind === "time32") return Number(tolerance) * perMs;
  return typeof tolerance === "bigint" && perMs === 1 ? tolerance : BigInt(Math.floor(Number(tolerance) * perMs));
}
