/**
 * The tasks of an exchange before its rows come together: they cut blocks into parts, and take samples of keys.
 *
 * A partition task yields a part for each partition, empty ones too, and then the facts of all parts. Which rows come together is decided by their keys, or by their
 * numbers and a seed, and never by how they lie in blocks.
 */
import { type ObjectRef, type ObjectRefGenerator, remote } from "../../core/index.ts";
import { type Block, concatBlocks, packBlock, takeBlock, vectorOf } from "../blocks/block.ts";
import { hashRows, keyVectors } from "../kernels/hash.ts";
import { partitionBlock } from "../kernels/partition.ts";
import { hashNumber, Random } from "../kernels/random.ts";
import { rangeOfRows, type SortKey } from "../kernels/sort.ts";
import type { Vector } from "../blocks/vector.ts";
import { PARTITION_RETRIES } from "../limits.ts";
import { type BlockFacts, factsOf } from "./task.ts";
import { HIDDEN_ORDER } from "./whole-transforms.ts";

/** Which rows come together. */
export type Partitioning =
  /** Those of equal keys. */
  | { readonly kind: "hash"; readonly keys: readonly string[]; readonly use: "group by" | "join on" | "repartition by" }
  /** Those of a range of keys; the ranges are in order. */
  | { readonly kind: "range"; readonly keys: readonly SortKey[] }
  /** A random part of all. The place of a row depends on the seed and its number alone, so the result is the same however the rows lie in blocks. */
  | { readonly kind: "random"; readonly seed: number }
  /** As many rows that follow each other as in every other partition. */
  | { readonly kind: "even" };

/** What a partition task needs to know besides its blocks. */
export interface PartitionRequest {
  readonly count: number;
  /** The number of its first row among all rows, and how many there are. */
  readonly firstRow: number;
  readonly totalRows: number;
  /** Of a range partitioning: rows of keys between the partitions. */
  readonly borders?: Block;
}

export type PartitionStart = (
  request: PartitionRequest,
  blocks: readonly ObjectRef<Block>[],
) => ObjectRefGenerator<Block | readonly BlockFacts[]>;

export function partitionTasks(partitioning: Partitioning, name: string): PartitionStart {
  const task = remote(partition.bind(undefined, partitioning), {
    name: `${name} (partition)`,
    highWaterMark: Number.POSITIVE_INFINITY,
    maxRetries: PARTITION_RETRIES,
  });
  return (request, blocks) => task.remote(request, ...(blocks as unknown as Block[]));
}

/** Samples of the key columns, so many rows of each of its blocks. */
export function sampleTasks(
  keys: readonly SortKey[],
  name: string,
): (rows: number, blocks: readonly ObjectRef<Block>[]) => ObjectRef<Block> {
  const task = remote(sampleKeys.bind(undefined, keys), { name: `${name} (sample)`, maxRetries: PARTITION_RETRIES });
  return (rows, blocks) => task.remote(rows, ...(blocks as unknown as Block[]));
}

/** Runs in workers, where it comes by its name, bound to its first argument. */
export function* partition(
  partitioning: Partitioning,
  request: PartitionRequest,
  ...blocks: readonly Block[]
): Generator<Block | readonly BlockFacts[], void, undefined> {
  const given = concatBlocks(blocks);
  const block = partitioning.kind === "random" ? withHiddenOrder(given, partitioning.seed, request.firstRow) : given;
  const parts =
    block.rowCount === 0
      ? Array.from({ length: request.count }, () => block)
      : partitionBlock(block, partsOf(partitioning, request, block), request.count);
  for (const part of parts) yield packBlock(part);
  yield parts.map(factsOf);
}

/** Runs in workers, like `partition`. */
export function sampleKeys(keys: readonly SortKey[], rows: number, ...blocks: readonly Block[]): Block {
  const columns = keys.map(({ column }) => column);
  const block = keysOf(concatBlocks(blocks), columns);
  if (block.rowCount <= rows) return packBlock(block);
  const random = new Random(block.rowCount);
  return packBlock(
    takeBlock(
      block,
      Uint32Array.from({ length: rows }, () => random.below(block.rowCount)),
    ),
  );
}

function keysOf(block: Block, columns: readonly string[]): Block {
  if (block.rowCount === 0) return block;
  return { rowCount: block.rowCount, names: columns, vectors: keyVectors(block, columns, "sort by") };
}

function partsOf(partitioning: Partitioning, { count, borders, firstRow, totalRows }: PartitionRequest, block: Block): Uint32Array {
  switch (partitioning.kind) {
    case "hash": {
      const hashes = hashRows(keyVectors(block, partitioning.keys, partitioning.use), block.rowCount);
      return partsOfHashes(hashes, count);
    }
    case "range": {
      const rows = keysOf(
        block,
        partitioning.keys.map(({ column }) => column),
      );
      return rangeOfRows(rows, borders as Block, partitioning.keys);
    }
    case "random":
      return partsOfHashes((vectorOf(block, HIDDEN_ORDER) as Vector).values as Uint32Array, count);
    case "even":
      return Uint32Array.from({ length: block.rowCount }, (_, row) => Math.floor(((firstRow + row) * count) / totalRows));
  }
}

/** Parts of as many hashes each. */
function partsOfHashes(hashes: Uint32Array, count: number): Uint32Array {
  const parts = new Uint32Array(hashes.length);
  const scale = count / 4294967296;
  for (let row = 0; row < parts.length; row += 1) parts[row] = (hashes[row] as number) * scale;
  return parts;
}

function withHiddenOrder(block: Block, seed: number, firstRow: number): Block {
  const values = new Uint32Array(block.rowCount);
  for (let row = 0; row < values.length; row += 1) values[row] = hashNumber(seed, firstRow + row);
  const vector: Vector = { type: { kind: "uint32" }, length: values.length, nullCount: 0, bitOffset: 0, values };
  return { rowCount: block.rowCount, names: [...block.names, HIDDEN_ORDER], vectors: [...block.vectors, vector] };
}
