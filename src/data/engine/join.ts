/**
 * Joins the rows of two sides whose keys lie in one partition.
 *
 * The right side is brought into a table, and the blocks of the left side look their keys up in it, one block at a time: so a task has the right side of its partition in memory,
 * and little else, whatever the left side has. Rows come in the order of the left side, and for each in that of the right; rows of the right side that met none come last.
 */
import { alignBlock, type Block, concatBlocks, namingColumn, schemaOf, takeBlock, unifySchemas, vectorOf } from "../blocks/block.ts";
import { type DataType, type Field, typeName, unifyTypes } from "../blocks/data-type.ts";
import { NO_ROW, nullVector, takeVectorOrNull, type Vector, widenVector } from "../blocks/vector.ts";
import { DataError } from "../errors.ts";
import { keyVectors, NO_GROUP } from "../kernels/hash.ts";
import { KeyTable } from "../kernels/key-table.ts";
import { ROWS_OF_JOINED_BLOCK } from "../limits.ts";

export const JOIN_TYPES = ["inner", "left", "right", "full", "leftSemi", "rightSemi", "leftAnti", "rightAnti"] as const;

export type JoinType = (typeof JOIN_TYPES)[number];

/** What is joined how. */
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

/** The joined rows of a partition. */
export function* joinBlocks(join: Join, left: readonly Block[], right: readonly Block[]): Generator<Block, void, undefined> {
  const sides = sidesOf(join, left, right);
  const table = new KeyTable(sides.rightKeys, sides.right.rowCount);
  const met = new Uint8Array(table.groupCount);
  for (const block of sides.left) {
    const keys = widened(keyVectors(block, join.leftKeys, "join on"), sides.keyTypes, join.leftKeys);
    const groups = table.find(keys, block.rowCount);
    for (const group of groups) if (group !== NO_GROUP) met[group] = 1;
    if (join.type === "leftSemi" || join.type === "leftAnti") yield takeBlock(block, rowsWhere(groups, join.type === "leftSemi"));
    else if (join.type !== "rightSemi" && join.type !== "rightAnti") yield* pairs(join, sides, { block, groups, table });
  }
  const { type } = join;
  if (type === "rightSemi" || type === "rightAnti") yield takeBlock(sides.right, rightRows(table, met, type === "rightSemi"));
  else if (type === "right" || type === "full") {
    const rows = rightRows(table, met, false);
    if (rows.length > 0)
      yield joined(join, sides, { left: sides.noLeft, leftRows: new Uint32Array(rows.length).fill(NO_ROW), rightRows: rows });
  }
}

/** Both sides with one schema each, and their keys with one type each. */
interface Sides {
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
function sidesOf(join: Join, left: readonly Block[], right: readonly Block[]): Sides {
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
      `${name}: the keys have no type in common: ${JSON.stringify(left)} is ${typeName(a)} on the left and ${JSON.stringify(right)} is ${typeName(b)} on the right`,
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
    throw new DataError(`${name}: both sides have a column ${JSON.stringify(twice)}`, {
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
  let leftRows = new Uint32Array(ROWS_OF_JOINED_BLOCK);
  let others = new Uint32Array(ROWS_OF_JOINED_BLOCK);
  let count = 0;
  const flush = (): Block => {
    const own = joined(join, sides, { left: block, leftRows: leftRows.subarray(0, count), rightRows: others.subarray(0, count) });
    leftRows = new Uint32Array(ROWS_OF_JOINED_BLOCK);
    others = new Uint32Array(ROWS_OF_JOINED_BLOCK);
    count = 0;
    return own;
  };
  for (let row = 0; row < block.rowCount; row += 1) {
    const group = groups[row] as number;
    if (group === NO_GROUP) {
      if (!keepsUnmet) continue;
      leftRows[count] = row;
      others[count++] = NO_ROW;
      if (count === ROWS_OF_JOINED_BLOCK) yield flush();
      continue;
    }
    for (let i = table.starts[group] as number; i < (table.starts[group + 1] as number); i += 1) {
      leftRows[count] = row;
      others[count++] = table.rows[i] as number;
      if (count === ROWS_OF_JOINED_BLOCK) yield flush();
    }
  }
  if (count > 0) yield flush();
}

/** The columns of both sides. A key has the type that both sides' keys fit, and is the right side's where a row has no left side. */
function joined(
  join: Join,
  sides: Sides,
  { left, leftRows, rightRows: others }: { readonly left: Block; readonly leftRows: Uint32Array; readonly rightRows: Uint32Array },
): Block {
  const isRightAlone = others.length > 0 && leftRows[0] === NO_ROW;
  const leftVectors = left.names.map((name, i) => {
    const key = join.leftKeys.indexOf(name);
    if (key < 0) return takeVectorOrNull(left.vectors[i] as Vector, leftRows);
    if (isRightAlone) return takeVectorOrNull(sides.rightKeys[key] as Vector, others);
    return takeVectorOrNull(widenVector(left.vectors[i] as Vector, sides.keyTypes[key] as DataType), leftRows);
  });
  const own = sides.right.names.filter((name) => !join.rightKeys.includes(name));
  const rightVectors = own.map((name) => takeVectorOrNull(vectorOf(sides.right, name) as Vector, others));
  return { rowCount: leftRows.length, names: [...sides.leftNames, ...sides.rightNames], vectors: [...leftVectors, ...rightVectors] };
}
