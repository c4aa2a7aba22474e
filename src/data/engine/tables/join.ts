/**
 * Joins the rows of two sides whose keys are in one partition.
 *
 * The right side becomes a table, and the blocks of the left side look up their keys in it, some MiB at a time. So a task holds the right side of its partition
 * in memory and little else, however large the left side is. Rows come in the order of the left side, then of the right side. Unmatched rows of the right side
 * come last.
 */
import {
  alignBlock,
  type Block,
  blockBytes,
  concatBlocks,
  namingColumn,
  schemaOf,
  sliceBlock,
  takeBlock,
  unifySchemas,
  vectorOf,
} from "../../blocks/block.ts";
import { type DataType, type Field, typeName, unifyTypes } from "../../blocks/data-type.ts";
import { NO_ROW, nullVector, sliceVector, takeVector, takeVectorOrNull, type Vector, widenVector } from "../../blocks/vector.ts";
import { gatherElements } from "../../blocks/gather.ts";
import { DataError } from "../../errors.ts";
import { binsOf } from "../exchange/bins.ts";
import { keyVectors, NO_GROUP } from "../../kernels/hash.ts";
import { KeyTable } from "../../kernels/key-table.ts";
import { BLOCK_BYTES_MAX, GATHERED_BYTES_MAX, ROWS_OF_JOINED_BLOCK } from "../../limits.ts";

export const JOIN_TYPES = ["inner", "left", "right", "full", "leftSemi", "rightSemi", "leftAnti", "rightAnti"] as const;

export type JoinType = (typeof JOIN_TYPES)[number];

/** The sides, 0 for the left one, of which every task may have all rows, with any rows of the other one: for each of those the result is known then. */
export function wholeSides(type: JoinType): readonly number[] {
  if (type === "full") return [];
  if (type === "inner") return [1, 0];
  return type.startsWith("left") ? [1] : [0];
}

/** The keys and the kind of a join. */
export interface Join {
  readonly kind: "join";
  readonly name: string;
  readonly type: JoinType;
  /** The key columns of each side, in the same order. */
  readonly leftKeys: readonly string[];
  readonly rightKeys: readonly string[];
  readonly leftSuffix: string;
  readonly rightSuffix: string;
}

/** The joined rows of a partition, bin by bin. */
export function* joinBlocks(join: Join, left: readonly Block[], right: readonly Block[]): Generator<Block, void, undefined> {
  const [leftBins, rightBins] = [binsOf(left), binsOf(right)];
  const binCount = Math.max(leftBins.length, rightBins.length);
  let isEmpty = true;
  for (let bin = 0; bin < binCount; bin += 1)
    for (const block of joinBin(join, binAt(leftBins, bin), binAt(rightBins, bin))) {
      isEmpty = false;
      yield block;
    }
  if (isEmpty && left.length > 0 && right.length > 0) yield noRows(join, binAt(leftBins, 0), binAt(rightBins, 0));
}

/** The columns of a join that has no rows. */
function noRows(join: Join, left: readonly Block[], right: readonly Block[]): Block {
  const sides = sidesOf(join, left, right);
  if (join.type.endsWith("Semi") || join.type.endsWith("Anti"))
    return join.type.startsWith("left") ? sides.noLeft : sliceBlock(sides.right, 0, 0);
  return joined(join, sides, sides.noLeft, singlePairs(new Uint32Array(0), false));
}

/** The same rows in fewer blocks: small ones are put together, since each bin has one of every partition task. A bin with a key that most rows have is copied piece by piece, and never as a whole. */
export function* gathered(blocks: readonly Block[]): Generator<Block, void, undefined> {
  let own: Block[] = [];
  let bytes = 0;
  for (const block of blocks) {
    const more = blockBytes(block);
    if (own.length > 0 && bytes + more > GATHERED_BYTES_MAX) {
      yield concatBlocks(own);
      own = [];
      bytes = 0;
    }
    own.push(block);
    bytes += more;
  }
  if (own.length > 0) yield concatBlocks(own);
}

/** The blocks of a bin; where there is none, a block with the columns. */
export function binAt(bins: readonly (readonly Block[])[], bin: number): readonly Block[] {
  const own = bins[bin] ?? [];
  const filled = own.filter((block) => block.rowCount > 0);
  if (filled.length > 0) return filled;
  return (own.length > 0 ? own : (bins[0] ?? [])).slice(0, 1).map((block) => sliceBlock(block, 0, 0));
}

/** The joined rows of blocks as they come, for types of joins that give no row of the right side alone. */
export async function* joinEach(join: Join, left: AsyncIterable<Block>, right: readonly Block[]): AsyncGenerator<Block, void, undefined> {
  let tabled: TabledSides | undefined;
  let names = "";
  for await (const block of left) {
    const schema = JSON.stringify(schemaOf(block));
    if (tabled === undefined || schema !== names) tabled = withTable(join, [block], right);
    names = schema;
    yield* joinBlock(join, tabled, block);
  }
}

/** The sides of a join, and the rows of the right one by their keys. */
interface TabledSides {
  readonly sides: Sides;
  readonly table: KeyTable;
  /** The keys that the left side has, where somebody asks for them. */
  readonly met: Uint8Array | undefined;
}

function withTable(join: Join, left: readonly Block[], right: readonly Block[]): TabledSides {
  const sides = sidesOf(join, left, right);
  const table = new KeyTable(sides.rightKeys, sides.right.rowCount);
  const marksMet = join.type === "full" || join.type.startsWith("right");
  return { sides, table, met: marksMet ? new Uint8Array(table.groupCount) : undefined };
}

/** Joins the left rows of one block with their matches. */
function* joinBlock(join: Join, { sides, table, met }: TabledSides, block: Block): Generator<Block, void, undefined> {
  const groups = table.find(leftKeysOf(join, sides, block), block.rowCount);
  if (met !== undefined) markMet(met, groups);
  if (join.type === "leftSemi" || join.type === "leftAnti") yield takeBlock(block, rowsWhere(groups, join.type === "leftSemi"));
  else if (join.type !== "rightSemi" && join.type !== "rightAnti") yield* pairs(join, sides, { block, groups, table });
}

/** The keys of a block of the left side, in the types of both sides. */
export function leftKeysOf({ leftKeys }: Join, { keyTypes }: Sides, block: Block): Vector[] {
  return widened(keyVectors(block, leftKeys, "join on"), keyTypes, leftKeys);
}

function* joinBin(join: Join, left: readonly Block[], right: readonly Block[]): Generator<Block, void, undefined> {
  const tabled = withTable(join, left, right);
  const { sides, table, met = new Uint8Array(0) } = tabled;
  for (const block of gathered(sides.left)) yield* joinBlock(join, tabled, block);
  const { type } = join;
  if (type === "rightSemi" || type === "rightAnti") yield takeBlock(sides.right, rightRows(table, met, type === "rightSemi"));
  else if (type === "right" || type === "full") {
    const rows = rightRows(table, met, false);
    if (rows.length > 0) yield joinedAlone(join, sides, rows);
  }
}

/** Notes the keys that the left side has. */
function markMet(met: Uint8Array, groups: Uint32Array): void {
  for (let row = 0; row < groups.length; row += 1) if (groups[row] !== NO_GROUP) met[groups[row] as number] = 1;
}

/** Both sides with one schema each, and their keys with one type each. */
export interface Sides {
  readonly left: readonly Block[];
  /** No row of the left side, with its columns. */
  readonly noLeft: Block;
  readonly right: Block;
  readonly rightKeys: readonly Vector[];
  readonly keyTypes: readonly DataType[];
  /** The columns of the result, of a join that has those of both sides. */
  readonly leftNames: readonly string[];
  readonly rightNames: readonly string[];
}

/** A side that never had a block has no columns, or its keys alone. */
export function sidesOf(join: Join, left: readonly Block[], right: readonly Block[]): Sides {
  const known = unifySchemas(left.map(schemaOf));
  const rightFields = unifySchemas(right.map(schemaOf));
  const keyTypes = join.leftKeys.map((name, i) => keyType(join, [name, join.rightKeys[i] as string], [known, rightFields]));
  const leftFields = known.length > 0 ? known : join.leftKeys.map((name, i) => ({ name, type: keyTypes[i] as DataType }));
  const all = alignBlock(concatBlocks(right), rightFields);
  return {
    left: left.filter((block) => block.rowCount > 0).map((block) => alignBlock(block, leftFields)),
    noLeft: { rowCount: 0, names: leftFields.map(({ name }) => name), vectors: leftFields.map(({ type }) => nullVector(type, 0)) },
    right: all,
    rightKeys:
      rightFields.length === 0
        ? keyTypes.map((type) => nullVector(type, 0))
        : widened(keyVectors(all, join.rightKeys, "join on"), keyTypes, join.rightKeys),
    keyTypes,
    ...resultNames(join, leftFields, rightFields),
  };
}

/** A side without any block has no columns: its key is what the other's is. */
function keyType(
  { name }: Join,
  [left, right]: readonly [string, string],
  [leftFields, rightFields]: readonly (readonly Field[])[],
): DataType {
  const a = typeOf(leftFields as readonly Field[], left) ?? { kind: "null" };
  const b = typeOf(rightFields as readonly Field[], right) ?? { kind: "null" };
  const unified = unifyTypes(a, b);
  if (unified === undefined)
    throw new DataError(
      `Cannot run ${name}: the keys have no type in common: ${JSON.stringify(left)} is ${typeName(a)} on the left and ${JSON.stringify(right)} is ${typeName(b)} on the right`,
      { hint: "give both sides keys of one type, such as by the option schema where they are read, or in a map before the join" },
    );
  return unified;
}

function typeOf(fields: readonly Field[], name: string): DataType | undefined {
  return fields.find((field) => field.name === name)?.type;
}

function widened(keys: readonly Vector[], types: readonly DataType[], names: readonly string[]): Vector[] {
  return keys.map((vector, i) => namingColumn(names[i] as string, () => widenVector(vector, types[i] as DataType)));
}

/** The names of the columns that both sides give to joined rows; the right side's keys are the left side's. */
function resultNames(
  { name, type, rightKeys, leftSuffix, rightSuffix }: Join,
  leftFields: readonly Field[],
  rightFields: readonly Field[],
): Pick<Sides, "leftNames" | "rightNames"> {
  const left = leftFields.map((field) => field.name);
  const right = rightFields.map((field) => field.name).filter((column) => !rightKeys.includes(column));
  const both = new Set(left.filter((column) => right.includes(column)));
  const leftNames = left.map((column) => (both.has(column) ? column + leftSuffix : column));
  const rightNames = right.map((column) => (both.has(column) ? column + rightSuffix : column));
  const hasBoth = !type.endsWith("Semi") && !type.endsWith("Anti");
  const names = [...leftNames, ...rightNames];
  const twice = names.find((column, i) => names.indexOf(column) !== i);
  if (hasBoth && twice !== undefined)
    throw new DataError(`Cannot run ${name}: both sides have a column ${JSON.stringify(twice)}`, {
      hint: 'set leftSuffix or rightSuffix, such as { rightSuffix: "Right" }, or drop one of the two before',
    });
  return { leftNames, rightNames };
}

function rowsWhere(groups: Uint32Array, isMet: boolean): Uint32Array {
  const rows = new Uint32Array(groups.length);
  let count = 0;
  for (let row = 0; row < groups.length; row += 1) if ((groups[row] !== NO_GROUP) === isMet) rows[count++] = row;
  return rows.subarray(0, count);
}

/** The rows of the right side, in their order, whose keys the left side has, or has not. */
function rightRows(table: KeyTable, met: Uint8Array, isMet: boolean): Uint32Array {
  const kept = new Uint32Array(table.rows.length);
  let count = 0;
  for (let group = 0; group < table.groupCount; group += 1) {
    if ((met[group] === 1) !== isMet) continue;
    for (let i = table.starts[group] as number; i < (table.starts[group + 1] as number); i += 1) kept[count++] = table.rows[i] as number;
  }
  return kept.subarray(0, count).sort();
}

interface Probe {
  readonly block: Block;
  readonly groups: Uint32Array;
  readonly table: KeyTable;
}

/** Each row of the left side with each row of the right side that has its keys, cut into blocks, as a few keys may give very many. */
function* pairs(join: Join, sides: Sides, { block, groups, table }: Probe): Generator<Block, void, undefined> {
  const keepsUnmet = join.type === "left" || join.type === "full";
  const rowsFit = Math.max(1, Math.floor(BLOCK_BYTES_MAX / (1 + rowBytes(block) + rowBytes(sides.right))));
  if (table.isUnique) {
    for (let start = 0; start === 0 || start < block.rowCount; start += rowsFit) {
      const end = Math.min(block.rowCount, start + rowsFit);
      yield joined(join, sides, sliceBlock(block, start, end), singlePairs(groups.subarray(start, end), keepsUnmet));
    }
    return;
  }
  const { starts, rows } = table;
  const rowsMax = Math.min(ROWS_OF_JOINED_BLOCK, rowsFit);
  let found = new Pairs(rowsMax);
  for (let row = 0; row < block.rowCount; row += 1) {
    const group = groups[row] as number;
    if (group === NO_GROUP) {
      if (!keepsUnmet) continue;
      found.add(row, NO_ROW);
      if (found.isFull) {
        yield joined(join, sides, block, found);
        found = new Pairs(rowsMax);
      }
      continue;
    }
    const end = starts[group + 1] as number;
    for (let i = starts[group] as number; i < end; i += 1) {
      found.add(row, rows[i] as number);
      if (!found.isFull) continue;
      yield joined(join, sides, block, found);
      found = new Pairs(rowsMax);
    }
  }
  if (found.count > 0) yield joined(join, sides, block, found);
}

/** Bytes of a row on average. A joined row has about those of a row of each side, and a row of the right side may meet very many. */
function rowBytes(block: Block): number {
  return blockBytes(block) / Math.max(1, block.rowCount);
}

/** The pairs where a row of the left side has one partner at most: its group has the number of that row. */
function singlePairs(groups: Uint32Array, keepsUnmet: boolean): FoundPairs {
  // No group is no row.
  if (keepsUnmet || !groups.includes(NO_GROUP)) return { rightRows: groups, takeLeft: (vector) => vector };
  const leftRows = rowsWhere(groups, true);
  const partners = new Uint32Array(leftRows.length);
  gatherElements(partners, groups, leftRows);
  return { rightRows: partners, takeLeft: (vector) => takeVector(vector, leftRows) };
}

interface FoundPairs {
  readonly rightRows: Uint32Array;
  /** Takes the joined rows out of a vector of the left side. */
  takeLeft(vector: Vector): Vector;
}

/** Rows of the left side and of the right one that meet. */
class Pairs implements FoundPairs {
  count = 0;
  readonly #left: Uint32Array;
  readonly #right: Uint32Array;
  /** Each row of the left side follows the one before it: where each has one partner, as with the keys of another table. */
  #isRun = true;

  constructor(rowsMax: number) {
    this.#left = new Uint32Array(rowsMax);
    this.#right = new Uint32Array(rowsMax);
  }

  get isFull(): boolean {
    return this.count === this.#left.length;
  }

  add(left: number, right: number): void {
    this.#left[this.count] = left;
    this.#right[this.count] = right;
    if (left !== (this.#left[0] as number) + this.count) this.#isRun = false;
    this.count += 1;
  }

  get rightRows(): Uint32Array {
    return this.#right.subarray(0, this.count);
  }

  takeLeft(vector: Vector): Vector {
    const first = this.#left[0] as number;
    return this.#isRun ? sliceVector(vector, first, first + this.count) : takeVector(vector, this.#left.subarray(0, this.count));
  }
}

/** The columns of both sides, of rows that have a left side. A key has the type that both sides' keys fit. */
export function joined(join: Join, sides: Sides, left: Block, found: FoundPairs): Block {
  const leftVectors = left.names.map((name, i) => {
    const own = found.takeLeft(left.vectors[i] as Vector);
    const key = join.leftKeys.indexOf(name);
    return key < 0 ? own : widenVector(own, sides.keyTypes[key] as DataType);
  });
  return withRight(join, sides, leftVectors, found.rightRows);
}

/** Rows of the right side that have no left side. They give the keys. */
function joinedAlone(join: Join, sides: Sides, rows: Uint32Array): Block {
  const leftVectors = sides.noLeft.names.map((name, i) => {
    const key = join.leftKeys.indexOf(name);
    return key < 0 ? nullVector((sides.noLeft.vectors[i] as Vector).type, rows.length) : takeVector(sides.rightKeys[key] as Vector, rows);
  });
  return withRight(join, sides, leftVectors, rows);
}

function withRight(join: Join, { right, leftNames, rightNames }: Sides, leftVectors: readonly Vector[], rows: Uint32Array): Block {
  const own = right.names.filter((name) => !join.rightKeys.includes(name));
  const rightVectors = own.map((name) => takeVectorOrNull(vectorOf(right, name) as Vector, rows));
  return { rowCount: rows.length, names: [...leftNames, ...rightNames], vectors: [...leftVectors, ...rightVectors] };
}
