/**
 * The transforms behind an exchange: each takes all rows of its task together, because the exchange has gathered equal keys or the rows of one range.
 *
 * Only `partialAggregate` runs before an exchange: it makes states of the rows as they pass, and merges them when there are many. A task holds the rows of one
 * partition at a time.
 */
import {
  aggregateInBins,
  type Aggregates,
  combineStates,
  hasManyGroups,
  mergeAggregates,
  neededColumns,
  partialAggregate,
} from "../../aggregates/group-aggregate.ts";
import { describeValue, isThenable } from "../../../core/internal.ts";
import { type BatchFormat, batchOf, blockOfBatch } from "../../blocks/batch.ts";
import { type Block, blockBytes, blockReader, concatBlocks, sliceBlock, takeBlock } from "../../blocks/block.ts";
import { buffersOf, freeBuffers, freeDecoded } from "../../blocks/memory/memory.ts";
import { keepFile, keepOrigin, keepOrigins, type Place } from "../../blocks/memory/origin.ts";
import type { Vector } from "../../blocks/vector.ts";
import { groupRows, keyVectors } from "../../kernels/hash.ts";
import { rowsByPart } from "../../kernels/partition.ts";
import { type SortKey, sortedIndices } from "../../kernels/sort.ts";
import { BLOCK_BYTES_MAX, PARTITION_BYTES } from "../../limits.ts";
import { binsOf, withoutColumn } from "../exchange/bins.ts";
import { sampleGroups, type SampleGroupsTransform, withoutDraws } from "../exchange/group-sample.ts";
import { type PivotAggregates, pivotRows } from "../tables/pivot-rows.ts";
import { failureIn } from "./user-errors.ts";
import { type WindowSpec, windowVector } from "../tables/window-rows.ts";

type Blocks = AsyncIterable<Block>;
type GroupFunction = (batch: never) => unknown;

export type WholeTransform =
  /** `sortBlock` sorts all rows of the task as one, and `sortRows` those of each bin: bins of ranges are in order, and those of hashes are not. */
  | { readonly kind: "sortRows" | "sortBlock"; readonly name: string; readonly keys: readonly SortKey[] }
  | {
      readonly kind: "partialAggregate" | "mergeAggregates";
      readonly name: string;
      readonly keys: readonly string[];
      readonly aggregates: Aggregates;
      /** The verb of the error about a column that is no key. Default: `group by`. */
      readonly use?: string;
      /** Whether no other code holds the blocks, so that the aggregate frees each block after its last use. */
      readonly freesBlocks?: boolean;
    }
  | {
      readonly kind: "mapGroups";
      readonly name: string;
      readonly keys: readonly string[];
      readonly fn: GroupFunction;
      readonly batchFormat: BatchFormat;
    }
  | {
      /** Keeps this fraction of each group, from its first rows or its last ones. */
      readonly kind: "stratum";
      readonly name: string;
      readonly keys: readonly string[];
      readonly testSize: number;
      readonly isTest: boolean;
    }
  | {
      /** Rows of a group behind each other, in their order; the groups in the order in which they come. */
      readonly kind: "groupRows";
      readonly name: string;
      readonly keys: readonly string[];
    }
  | {
      /** Rows of a group behind each other, in an order, with columns more. */
      readonly kind: "window";
      readonly name: string;
      readonly keys: readonly string[];
      readonly orderBy: readonly SortKey[];
      readonly specs: readonly (readonly [name: string, spec: WindowSpec])[];
    }
  | {
      /** Keeps the first, or the last, of rows of equal keys, in their order. Without keys all columns are. */
      readonly kind: "distinctRows";
      readonly name: string;
      readonly keys: readonly string[];
      readonly keep: "first" | "last";
    }
  | PivotAggregates
  | SampleGroupsTransform
  | { readonly kind: "orderByHidden" | "oneBlock"; readonly name: string };

/** A column that partitioning adds and the transform behind it takes away: the random place of each row. No column of a user's has a name that begins so. */
export const HIDDEN_ORDER = "\0order";

export function applyWhole(blocks: Blocks, transform: WholeTransform): Blocks {
  switch (transform.kind) {
    case "sortRows":
      return byBins(blocks, transform, (block) => takeBlock(block, sortedIndices(block, transform.keys)));
    case "sortBlock":
      return whole(blocks, (block) => takeBlock(block, sortedIndices(block, transform.keys)));
    case "orderByHidden":
      return byBins(blocks, transform, orderByHidden);
    case "oneBlock":
      return whole(blocks, (block) => block);
    case "groupRows":
      return whole(blocks, (block) => groupRowsOf(block, transform.keys).ordered);
    case "window":
      return whole(blocks, (block) => windowColumns(block, transform));
    case "stratum":
      return whole(blocks, (block) => stratum(block, transform));
    case "partialAggregate":
      return partialAggregates(blocks, transform);
    case "distinctRows":
      return byBins(blocks, transform, (block) => takeBlock(block, distinctRows(block, transform)));
    case "mergeAggregates":
      return byBins(blocks, transform, (block) => mergeAggregates(block, transform.keys, transform.aggregates));
    case "pivotAggregates": {
      const { keys, on, aggregates } = transform;
      return byBins(blocks, transform, (block) => pivotRows(mergeAggregates(block, [...keys, on], aggregates), transform));
    }
    case "sampleGroups":
      return byBins(blocks, transform, (block) => sampleGroups(block, transform));
    case "mapGroups":
      return mapGroups(blocks, transform);
  }
}

const BY_BINS: ReadonlySet<string> = new Set<WholeTransform["kind"]>([
  "sortRows",
  "orderByHidden",
  "mergeAggregates",
  "pivotAggregates",
  "distinctRows",
  "sampleGroups",
]);

/** Whether a transform takes the bins of a partition one after the other. */
export function isByBins({ kind }: { readonly kind: string }): boolean {
  return BY_BINS.has(kind);
}

/** Tells whether a transform runs no user code, which might keep parts of its blocks. */
export function isOwnCode(transform: { readonly kind: string; readonly aggregates?: Aggregates }): boolean {
  return isByBins(transform) && transform.aggregates?.some(([, { kind }]) => kind === "custom") !== true;
}

/** Applies the change to all rows of each bin in one block; where there are none, gives a block without rows. */
async function* byBins(blocks: Blocks, transform: WholeTransform, change: (block: Block) => Block): AsyncGenerator<Block, void, undefined> {
  const bins = binsOf(await all(blocks));
  let isEmpty = true;
  for (const own of bins) {
    const block = concatBlocks(own);
    if (block.rowCount === 0) continue;
    isEmpty = false;
    const changed = change(block);
    if (isOwnCode(transform) && !own.includes(block)) freeBuffers(buffersOf([block]), buffersOf([changed]));
    yield changed;
  }
  const empty = concatBlocks(bins[0] ?? []);
  const isAggregate = transform.kind === "mergeAggregates" || transform.kind === "pivotAggregates";
  if (isEmpty && isAggregate && empty.names.length > 0) yield change(empty);
  else if (isEmpty) yield withoutDraws(withoutColumn(empty, HIDDEN_ORDER));
}

/** Applies the change to all rows of the task in one block; to nothing where there are none. */
async function* whole(blocks: Blocks, change: (block: Block) => Block): AsyncGenerator<Block, void, undefined> {
  const block = concatBlocks(await all(blocks));
  yield block.rowCount === 0 ? block : change(block);
}

async function all(blocks: Blocks): Promise<Block[]> {
  const gathered: Block[] = [];
  for await (const block of blocks) gathered.push(block);
  return gathered;
}

function orderByHidden(block: Block): Block {
  const order = sortedIndices(block, [{ column: HIDDEN_ORDER, descending: false }]);
  return takeBlock(withoutColumn(block, HIDDEN_ORDER), order);
}

/** Numbers of the rows that stay, in their order. */
export function distinctRows(
  block: Block,
  { keys, keep }: Pick<Extract<WholeTransform, { kind: "distinctRows" }>, "keys" | "keep">,
): Uint32Array {
  const columns = keys.length === 0 ? block.names : keys;
  const { ids, firstRows } = groupRows(keyVectors(block, columns, "drop duplicates by"), block.rowCount);
  if (keep === "first") return firstRows.toSorted();
  const lastRows = new Uint32Array(firstRows.length);
  for (let row = 0; row < ids.length; row += 1) lastRows[ids[row] as number] = row;
  return lastRows.sort();
}

function stratum(block: Block, { keys, testSize, isTest }: Extract<WholeTransform, { kind: "stratum" }>): Block {
  const { ids, firstRows } = groupRows(keyVectors(block, keys, "group by"), block.rowCount);
  const { rows, starts } = rowsByPart(ids, firstRows.length);
  const taken: Uint32Array[] = [];
  for (let group = 0; group < firstRows.length; group += 1) {
    const [start, end] = [starts[group] as number, starts[group + 1] as number];
    const border = end - Math.floor((end - start) * testSize);
    taken.push(isTest ? rows.subarray(border, end) : rows.subarray(start, border));
  }
  return takeBlock(block, Uint32Array.from(taken.flatMap((own) => [...own])).sort());
}

/** Blocks of few groups become states as they pass, which are merged when they are many. Rows of very many groups are gathered before: states of each block would be hardly fewer. */
async function* partialAggregates(
  blocks: Blocks,
  { keys, aggregates, use = "group by", freesBlocks = false }: Extract<WholeTransform, { kind: "partialAggregate" | "mergeAggregates" }>,
): AsyncGenerator<Block, void, undefined> {
  // The file of states is for the error of keys of two types, which shows where the states of several tasks meet.
  const merging = new Gathering(BLOCK_BYTES_MAX, (states) => {
    const together = keepOrigins(concatBlocks(states), states);
    return states.length === 1 ? together : keepFile(combineStates(together, keys, aggregates), together);
  });
  const aggregating = new Gathering(PARTITION_BYTES, (rows) => {
    const states = keepFile(aggregateInBins(rows, keys, aggregates), rows[0] as Block);
    if (freesBlocks) freeDecoded(rows, [states]);
    return states;
  });
  let [isEmpty, columns] = [true, undefined as Block | undefined];
  for await (const block of blocks) {
    if (block.rowCount === 0) {
      if (block.names.length > 0) columns ??= block;
      continue;
    }
    isEmpty = false;
    keyVectors(block, keys, use);
    // States come in the order of their rows, as lists of values have it.
    if (hasManyGroups(block, keys, aggregates)) {
      yield* merging.rest();
      yield* aggregating.add(keepOrigin(neededColumns(block, keys, aggregates), block));
    } else {
      yield* aggregating.rest();
      const states = keepFile(partialAggregate(block, keys, aggregates), block);
      if (freesBlocks) freeDecoded([block], [states]);
      yield* merging.add(states);
    }
  }
  yield* aggregating.rest();
  yield* merging.rest();
  // The results of no rows have their columns, too.
  if (isEmpty && columns !== undefined) yield partialAggregate(columns, keys, aggregates);
}

/** Makes one block of several when they have many bytes. */
class Gathering {
  #blocks: Block[] = [];
  #bytes = 0;
  readonly #bytesMin: number;
  readonly #make: (blocks: readonly Block[]) => Block;

  constructor(bytesMin: number, make: (blocks: readonly Block[]) => Block) {
    this.#bytesMin = bytesMin;
    this.#make = make;
  }

  *add(block: Block): Generator<Block, void, undefined> {
    this.#blocks.push(block);
    this.#bytes += blockBytes(block);
    if (this.#bytes >= this.#bytesMin) yield* this.rest();
  }

  *rest(): Generator<Block, void, undefined> {
    const blocks = this.#blocks;
    if (blocks.length === 0) return;
    this.#blocks = [];
    this.#bytes = 0;
    yield this.#make(blocks);
  }
}

/** The group of rows of equal keys, for an error. */
function groupPlace(rows: Block, keys: readonly string[]): Place {
  const first = blockReader(rows)(0);
  const text = `the group ${keys.map((key) => `${key} = ${describeValue(first[key])}`).join(", ")}`;
  return { text, details: { group: Object.fromEntries(keys.map((key) => [key, first[key]])) } };
}

/** The rows, those of each group behind each other, and where each group begins and the last one ends. */
function groupRowsOf(block: Block, keys: readonly string[]): { ordered: Block; starts: Uint32Array } {
  const { ids, firstRows } = groupRows(keyVectors(block, keys, "group by"), block.rowCount);
  const { rows, starts } = rowsByPart(ids, firstRows.length);
  return { ordered: takeBlock(block, rows), starts: starts.subarray(0, firstRows.length + 1) };
}

/** The rows of each group in order, with the columns of a window behind the others, or in the place of those of their names. */
function windowColumns(given: Block, { name, keys, orderBy, specs }: Extract<WholeTransform, { kind: "window" }>): Block {
  const { ordered: block, starts } = groupRowsOf(takeBlock(given, sortedIndices(given, orderBy)), keys);
  const groups = { block, starts, orderBy: orderBy.map(({ column }) => column) };
  const made = new Map(block.names.map((own, i) => [own, block.vectors[i] as Vector]));
  for (const [own, spec] of specs) made.set(own, windowVector(name, groups, spec));
  return { rowCount: block.rowCount, names: [...made.keys()], vectors: [...made.values()] };
}

async function* mapGroups(
  blocks: Blocks,
  { keys, fn, name, batchFormat }: Extract<WholeTransform, { kind: "mapGroups" }>,
): AsyncGenerator<Block, void, undefined> {
  const call = fn as (batch: unknown) => unknown;
  const block = concatBlocks(await all(blocks));
  if (block.rowCount === 0) return;
  const { ordered, starts } = groupRowsOf(block, keys);
  for (let group = 0; group + 1 < starts.length; group += 1) {
    const own = sliceBlock(ordered, starts[group] as number, starts[group + 1] as number);
    let returned: unknown;
    try {
      returned = call(batchOf(own, batchFormat));
      if (isThenable(returned)) returned = await returned;
    } catch (error) {
      throw failureIn(error, name, groupPlace(own, keys));
    }
    yield blockOfBatch(returned, name, undefined, own);
  }
}
