/**
 * Aggregates of groups in two steps: `partialAggregate` makes the states of the groups of one block, where the rows are, and `mergeAggregates` the results of all states of a
 * group, after they have come together. Few groups of many rows thus travel as few rows.
 *
 * A block of states has the keys, then a column a state. Its names begin with a character that no key may have.
 */
import { type Block, blockReader, concatBlocks, namingColumn, sliceBlock, takeBlock, vectorOf } from "../blocks/block.ts";
import { DataError } from "../errors.ts";
import { decodeVector, nullVector, sliceVector, type Vector } from "../blocks/vector.ts";
import { NULL, typeName } from "../blocks/data-type.ts";
import { buffersOf, freeArrays, freeBuffers } from "../blocks/memory/memory.ts";
import { binsOfNumbers } from "../kernels/direct-table.ts";
import { groupRows, hashRows, isKey, keyVectors } from "../kernels/hash.ts";
import { binBlocks, binsOfHashes } from "../kernels/partition.ts";
import type { Aggregate } from "./aggregate.ts";
import { type Grouping, NoNumbers } from "./kernel.ts";
import { failureAt } from "../engine/tasks/user-errors.ts";
import { kernelOf, statesOf, vectorOfStates } from "./kernels.ts";

/** Aggregates by the names of their results. */
export type Aggregates = readonly (readonly [name: string, aggregate: Aggregate])[];

/** The states of the groups of a block. */
export function partialAggregate(block: Block, keys: readonly string[], aggregates: Aggregates): Block {
  if (!hasManyGroups(block, keys, aggregates)) return aggregateRows(block, keys, aggregates);
  return aggregateInBins([neededColumns(block, keys, aggregates)], keys, aggregates);
}

/**
 * The states of the groups of blocks with many groups, and the columns that they need.
 *
 * A table of many groups does not fit into the processor's cache. So rows are first gathered by hashes of their keys, or by ranges of whole numbers, in bins
 * whose groups fit.
 */
export function aggregateInBins(blocks: readonly Block[], keys: readonly string[], aggregates: Aggregates): Block {
  const rowCount = blocks.reduce((sum, block) => sum + block.rowCount, 0);
  const binCount = Math.ceil(rowCount / ROWS_PER_BIN);
  const bins = binsOfKeys(
    blocks.map((block) => keyVectors(block, keys, "group by")),
    binCount,
  );
  const { block, starts } = binBlocks(blocks, bins, binCount);
  freeArrays(bins);
  const binned = Array.from({ length: binCount }, (_, bin) => sliceBlock(block, starts[bin] as number, starts[bin + 1] as number));
  const states = binned.map((rows) => aggregateRows(rows, keys, aggregates));
  const together = concatBlocks(states);
  freeBuffers(buffersOf([block, ...states]), buffersOf([together]));
  return together;
}

/** For each block the bin of each row. */
function binsOfKeys(blocks: readonly (readonly Vector[])[], binCount: number): Uint32Array[] {
  const hasOneKey = blocks.every((vectors) => vectors.length === 1);
  const byNumbers = hasOneKey
    ? binsOfNumbers(
        blocks.map(([vector]) => vector as Vector),
        binCount,
      )
    : undefined;
  return byNumbers ?? blocks.map((vectors) => binsOfHashes(hashRows(vectors, vectors[0]?.length ?? 0), binCount));
}

/** The columns that the keys and the aggregates of columns take. */
export function neededColumns(block: Block, keys: readonly string[], aggregates: Aggregates): Block {
  const names = block.names.filter((name) => keys.includes(name) || aggregates.some(([, { column }]) => column === name));
  return { rowCount: block.rowCount, names, vectors: names.map((name) => vectorOf(block, name) as Vector) };
}

/** Rows of a bin, so that a table of as many groups fits the second cache of a processor. */
const ROWS_PER_BIN = 32_768;

/** Whether half of the first rows have keys of their own, and there are many more. Functions of users see whole rows, in their order. */
export function hasManyGroups(block: Block, keys: readonly string[], aggregates: Aggregates): boolean {
  if (keys.length === 0 || block.rowCount < 4 * ROWS_PER_BIN || aggregates.some(([, { kind }]) => kind === "custom")) return false;
  const first = keyVectors(block, keys, "group by").map((vector) => sliceVector(vector, 0, ROWS_PER_BIN));
  return groupRows(first, ROWS_PER_BIN).firstRows.length > ROWS_PER_BIN / 2;
}

function aggregateRows(block: Block, keys: readonly string[], aggregates: Aggregates): Block {
  const vectors = keyVectors(block, keys, "group by");
  const { ids, firstRows } = groupRows(vectors, block.rowCount);
  const grouping = { ids, count: firstRows.length };
  const states = aggregates.map(([name, aggregate]) => accumulate(block, name, aggregate, grouping));
  return blockOfStates(keysOf(block, keys, firstRows), states);
}

/** Returns a block of one row for each group: the keys and the results. */
export function mergeAggregates(states: Block, keys: readonly string[], aggregates: Aggregates): Block {
  const { groupKeys, merged } = mergeStates(states, keys, aggregates);
  const results = aggregates.map(([name, aggregate], i) => namingColumn(name, () => finalize(aggregate, merged[i] as Vector[])));
  return {
    rowCount: groupKeys.rowCount,
    names: [...keys, ...aggregates.map(([name]) => name)],
    vectors: [...groupKeys.vectors, ...results],
  };
}

/** Returns a block of one row for each group: the keys and the combined states. */
export function combineStates(states: Block, keys: readonly string[], aggregates: Aggregates): Block {
  const { groupKeys, merged } = mergeStates(states, keys, aggregates);
  return blockOfStates(groupKeys, merged);
}

function mergeStates(states: Block, keys: readonly string[], aggregates: Aggregates): { groupKeys: Block; merged: Vector[][] } {
  const { ids, firstRows } = groupRows(keyVectors(states, keys, "group by"), states.rowCount);
  const grouping = { ids, count: firstRows.length };
  const merged = aggregates.map(([, aggregate], i) => {
    const own = states.vectors.filter((_, index) => (states.names[index] as string).startsWith(stateName(i, "")));
    return aggregate.kind === "custom" ? [mergeCustom(aggregate, own[0] as Vector, grouping)] : kernelOf(aggregate).merge(own, grouping);
  });
  return { groupKeys: keysOf(states, keys, firstRows), merged };
}

function keysOf(block: Block, keys: readonly string[], rows: Uint32Array): Block {
  return takeBlock({ rowCount: block.rowCount, names: keys, vectors: keyVectors(block, keys, "group by") }, rows);
}

function stateName(aggregate: number, state: number | ""): string {
  return `\0${aggregate}.${state}`;
}

/** Aggregates that tell values apart. */
const COMPARES_VALUES: ReadonlySet<string> = new Set<Aggregate["kind"]>(["countDistinct", "unique", "valueCounter", "approxTopK"]);

function blockOfStates(keys: Block, states: readonly (readonly Vector[])[]): Block {
  return {
    rowCount: keys.rowCount,
    names: [...keys.names, ...states.flatMap((own, i) => own.map((_, j) => stateName(i, j)))],
    vectors: [...keys.vectors, ...states.flat()],
  };
}

function accumulate(block: Block, name: string, aggregate: Aggregate, grouping: Grouping): Vector[] {
  if (aggregate.kind === "custom") return [accumulateCustom(block, name, aggregate, grouping)];
  const { kind, column } = aggregate;
  const values =
    column === undefined
      ? nullVector(NULL, block.rowCount)
      : decodeVector(keyOrColumn(block, column, `${kind}(${JSON.stringify(column)})`) as Vector);
  if (COMPARES_VALUES.has(kind) && !isKey(values))
    throw new DataError(`Cannot aggregate ${kind}(${JSON.stringify(column)}): the column is of the type ${typeName(values.type)}`, {
      hint: "values that are told apart are numbers, texts, bytes, times and booleans; flatMap makes a row of each element of a list",
    });
  try {
    return namingColumn(column ?? name, () => kernelOf(aggregate).accumulate(values, grouping));
  } catch (error) {
    if (error instanceof NoNumbers)
      throw new DataError(`Cannot aggregate ${kind}(${JSON.stringify(column)}): ${error.message}`, {
        hint: `make numbers of it before: withColumn(${JSON.stringify(column)}, col(${JSON.stringify(column)}).cast("float64"))`,
      });
    throw error;
  }
}

function keyOrColumn(block: Block, column: string, name: string): Vector | undefined {
  const index = block.names.indexOf(column);
  return index >= 0 ? block.vectors[index] : missing(block, column, name);
}

function missing(block: Block, column: string, name: string): never {
  throw new DataError(`Cannot aggregate ${name}: there is no column ${JSON.stringify(column)}`, {
    hint: `there are ${block.names.join(", ")}`,
  });
}

// ---------------------------------------------------------------------------------------------------------------------
// Functions of the user's

type Functions = {
  init(): unknown;
  accumulateRow(state: unknown, row: unknown): unknown;
  merge(a: unknown, b: unknown): unknown;
  finalize?(state: unknown): unknown;
};

function functionsOf({ functions }: Aggregate): Functions {
  return functions as unknown as Functions;
}

function accumulateCustom(block: Block, name: string, aggregate: Aggregate, { ids, count }: Grouping): Vector {
  const functions = functionsOf(aggregate);
  const states = Array.from({ length: count }, () => functions.init());
  const read = blockReader(block);
  let row = 0;
  try {
    for (; row < ids.length; row += 1) {
      const id = ids[row] as number;
      states[id] = functions.accumulateRow(states[id], read(row));
    }
  } catch (error) {
    throw failureAt(error, `aggregate(${name})`, block, [row, row]);
  }
  return vectorOfStates(states);
}

function mergeCustom(aggregate: Aggregate, vector: Vector, { ids, count }: Grouping): Vector {
  const functions = functionsOf(aggregate);
  const states = Array.from<unknown>({ length: count });
  const has = new Uint8Array(count);
  statesOf(vector).forEach((state, row) => {
    const id = ids[row] as number;
    states[id] = has[id] === 1 ? functions.merge(states[id], state) : state;
    has[id] = 1;
  });
  return vectorOfStates(states);
}

function finalize(aggregate: Aggregate, states: readonly Vector[]): Vector {
  if (aggregate.kind !== "custom") return kernelOf(aggregate).finalize(states);
  const { finalize: last } = functionsOf(aggregate);
  const [vector] = states as [Vector];
  return last === undefined ? vector : vectorOfStates(statesOf(vector).map((state) => last(state)));
}
