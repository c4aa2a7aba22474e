/**
 * The tasks of an exchange before its rows come together: they cut blocks into parts, and take samples of keys. The rows of a part lie in bins (`bins.ts`).
 *
 * A partition task yields a part for each partition, empty ones too, and then their facts. Which rows come together is decided by their keys, or by their
 * numbers and a seed, and never by how they lie in blocks.
 */
import { type ObjectRef, type ObjectRefGenerator, remote, type TaskOptions } from "../../../core/index.ts";
import { HeapGrowth } from "../../../core/internal.ts";
import { type Block, concatBlocks, packBlock, sliceBlock, takeBlock, vectorOf } from "../../blocks/block.ts";
import { hashRows, hashWholeRows, keyVectors } from "../../kernels/hash.ts";
import { buffersOf, freeArrays, freeBuffers } from "../../blocks/memory/memory.ts";
import { binBlocks, binsOfHashes } from "../../kernels/partition.ts";
import { hashNumber, Random } from "../../kernels/random.ts";
import { rangeOfRows, type SortKey } from "../../kernels/sort.ts";
import { type DataType, type Field, NULL, unifyTypes } from "../../blocks/data-type.ts";
import { type Vector, widenVector } from "../../blocks/vector.ts";
import { PARTITION_RETRIES } from "../../limits.ts";
import { withBinColumn } from "./bins.ts";
import { type BlockFacts, factsOf, StopWatch } from "../tasks/task.ts";
import { HIDDEN_ORDER } from "../tasks/whole-transforms.ts";

/** The rule that assigns rows to partitions. */
export type Partitioning =
  /** Rows of equal keys; to drop duplicates, those that are equal in all columns where there are no keys. */
  | {
      readonly kind: "hash";
      readonly keys: readonly string[];
      readonly use: "group by" | "join on" | "repartition by" | "drop duplicates by";
    }
  /** By ranges of keys, in order. */
  | {
      readonly kind: "range";
      readonly keys: readonly SortKey[];
      /** Values of the only key between the ranges, in any order. Default: found by samples. */
      readonly boundaries?: readonly (number | bigint | string | Date)[];
    }
  /** A random part of all. The place of a row depends on the seed and its number alone, so the result is the same however the rows lie in blocks. */
  | { readonly kind: "random"; readonly seed: number }
  /** As many rows that follow each other as in every other partition. */
  | { readonly kind: "even" };

/** The arguments of a partition task besides its blocks. */
export interface PartitionRequest {
  /** How many partitions there are. */
  readonly count: number;
  /** How many bins each of them has. */
  readonly bins: number;
  /** Seeds the hashes of keys; all tasks of an exchange have the same seed. Default: the hashes are the same in every run. */
  readonly seed?: number | undefined;
  /** The number of the task's first row among all rows, and the count of all rows. */
  readonly firstRow: number;
  readonly totalRows: number;
  /** Common types of keys that are times, for a hash partitioning: equal times of two units have different hashes. */
  readonly times?: KeyTypes;
  /** Key rows between the bins, for a range partitioning. */
  readonly borders?: Block;
}

/** Types of columns, by their names. */
type KeyTypes = Readonly<Record<string, DataType>>;

/**
 * The types of keys that are times, for each of the inputs.
 *
 * @param schemas - of each input, what its blocks have together
 */
export function timesOfKeys(partitionings: readonly Partitioning[], schemas: readonly (readonly Field[])[]): KeyTypes[] {
  const keysOfInput = partitionings.map((one, input) => {
    if (one.kind !== "hash") return [];
    return one.keys.length > 0 ? one.keys : (schemas[input] as readonly Field[]).map(({ name }) => name);
  });
  const typesOfInput = keysOfInput.map((keys, input) => keys.map((key) => schemas[input]?.find(({ name }) => name === key)?.type ?? NULL));
  const common = (keysOfInput[0] ?? []).map((_, i) =>
    typesOfInput.reduce<DataType | undefined>((all, types) => all && unifyTypes(all, types[i] ?? NULL), NULL),
  );
  return keysOfInput.map((keys) => {
    const entries = keys.map((key, i) => [key, common[i]] as const);
    return Object.fromEntries(entries.filter((entry): entry is [string, DataType] => entry[1] !== undefined && "unit" in entry[1]));
  });
}

/** The block with these columns in these types. */
function withTypes(block: Block, types: KeyTypes = {}): Block {
  const vectors = block.vectors.map((vector, i) => {
    const name = block.names[i] as string;
    return Object.hasOwn(types, name) ? widenVector(vector, types[name] as DataType) : vector;
  });
  return { ...block, vectors };
}

/** Facts that a partition task yields after its parts. */
export interface PartitionFacts {
  readonly parts: readonly BlockFacts[];
  readonly wallMs: number;
  readonly cpuMs: number;
}

export type PartitionStart = (request: PartitionRequest, blocks: readonly ObjectRef<Block>[]) => ObjectRefGenerator<Block | PartitionFacts>;

export function partitionTasks(partitioning: Partitioning, name: string, options: TaskOptions<1> = {}): PartitionStart {
  const task = remote(partition.bind(undefined, partitioning), {
    ...options,
    name: `${name} (partition)`,
    highWaterMark: Number.POSITIVE_INFINITY,
    maxRetries: PARTITION_RETRIES,
  });
  return (request, blocks) => task.remote(request, ...(blocks as unknown as Block[]));
}

/** Rows of the key columns, and what it took to find them. */
interface KeySample {
  readonly rows: Block;
  readonly wallMs: number;
  readonly cpuMs: number;
}

export type SampleStart = (rows: number, blocks: readonly ObjectRef<Block>[]) => ObjectRef<KeySample>;

/** Makes tasks that sample the key columns: a number of rows of each block. */
export function sampleTasks(keys: readonly SortKey[], name: string, options: TaskOptions<1> = {}): SampleStart {
  const task = remote(sampleKeys.bind(undefined, keys), { ...options, name: `${name} (sample)`, maxRetries: PARTITION_RETRIES });
  return (rows, blocks) => task.remote(rows, ...(blocks as unknown as Block[]));
}

/** Runs in workers, where it comes by its name, bound to its first argument. */
export function* partition(
  partitioning: Partitioning,
  request: PartitionRequest,
  ...blocks: readonly Block[]
): Generator<Block | PartitionFacts, void, undefined> {
  using _growth = new HeapGrowth();
  const watch = new StopWatch();
  const parts = partsOf(partitioning, request, blocks);
  for (const part of parts) yield packBlock(part);
  yield { parts: parts.map(factsOf), ...watch.spent };
  freeBuffers(buffersOf([...parts, ...blocks]));
}

function partsOf(partitioning: Partitioning, request: PartitionRequest, blocks: readonly Block[]): Block[] {
  const filled = blocks.filter((block) => block.rowCount > 0);
  if (filled.length === 0) return Array.from({ length: request.count }, () => concatBlocks(blocks));
  let { firstRow } = request;
  const numbered = filled.map((block) => {
    const first = firstRow;
    firstRow += block.rowCount;
    return { block: partitioning.kind === "random" ? withHiddenOrder(block, partitioning.seed, first) : block, first };
  });
  return cut(partitioning, request, numbered);
}

/** The parts of blocks, given with the numbers of their first rows. */
function cut(partitioning: Partitioning, request: PartitionRequest, numbered: readonly { block: Block; first: number }[]): Block[] {
  const { count, bins: perPartition } = request;
  const bins = numbered.map(({ block, first }) => binsOfRows(partitioning, { ...request, firstRow: first }, block));
  const { block, starts } = binBlocks(
    numbered.map((one) => one.block),
    bins,
    count * perPartition,
  );
  freeArrays(bins);
  const ordered = perPartition === 1 ? block : withBinColumn(block, starts, perPartition);
  return Array.from({ length: count }, (_, part) =>
    sliceBlock(ordered, starts[part * perPartition] as number, starts[(part + 1) * perPartition] as number),
  );
}

/** Runs in workers, like `partition`. */
export function sampleKeys(keys: readonly SortKey[], count: number, ...blocks: readonly Block[]): KeySample {
  const watch = new StopWatch();
  const columns = keys.map(({ column }) => column);
  const block = keysOf(concatBlocks(blocks), columns);
  const random = new Random(block.rowCount);
  const isWhole = block.rowCount <= count;
  const rows = isWhole
    ? block
    : takeBlock(
        block,
        Uint32Array.from({ length: count }, () => random.below(block.rowCount)),
      );
  return { rows: packBlock(rows), ...watch.spent };
}

function keysOf(block: Block, columns: readonly string[]): Block {
  if (block.rowCount === 0) return block;
  return { rowCount: block.rowCount, names: columns, vectors: keyVectors(block, columns, "sort by") };
}

function binsOfRows(
  partitioning: Partitioning,
  { count, bins, borders, firstRow, totalRows, times, seed = 0 }: PartitionRequest,
  given: Block,
): Uint32Array {
  const binCount = count * bins;
  const block = withTypes(given, times);
  switch (partitioning.kind) {
    case "hash":
      if (partitioning.use === "drop duplicates by" && partitioning.keys.length === 0) {
        keyVectors(block, block.names, partitioning.use);
        return binsOfHashes(hashWholeRows(block, seed), binCount);
      }
      return binsOfHashes(hashRows(keyVectors(block, partitioning.keys, partitioning.use), block.rowCount, seed), binCount);
    case "range": {
      const rows = keysOf(
        block,
        partitioning.keys.map(({ column }) => column),
      );
      return rangeOfRows(rows, borders as Block, partitioning.keys);
    }
    case "random":
      return binsOfHashes((vectorOf(block, HIDDEN_ORDER) as Vector).values as Uint32Array, binCount);
    case "even":
      return Uint32Array.from({ length: block.rowCount }, (_, row) => Math.floor(((firstRow + row) * binCount) / totalRows));
  }
}

function withHiddenOrder(block: Block, seed: number, firstRow: number): Block {
  const values = new Uint32Array(block.rowCount);
  for (let row = 0; row < values.length; row += 1) values[row] = hashNumber(seed, firstRow + row);
  const vector: Vector = { type: { kind: "uint32" }, length: values.length, nullCount: 0, bitOffset: 0, values };
  return { rowCount: block.rowCount, names: [...block.names, HIDDEN_ORDER], vectors: [...block.vectors, vector] };
}
