/**
 * Parts of a dataset as datasets of their own: where they are cut, and the options that say so.
 *
 * The rows are made first and rest in the object store; a part shares the blocks that lie within it, and only those at its borders are cut.
 * Numbers of rows and fractions are checked before anything is made, but for those that depend on how many rows there are.
 */
import { get, getObjectLocations, put } from "../../core/index.ts";
import { custom, flag, oneOf, type Option, readOptions } from "../../core/internal.ts";
import { sliceBlock } from "../blocks/block.ts";
import { type BlockRef, keptBlock, ownedBlock } from "../engine/operators/operator.ts";
import { factsOf } from "../engine/tasks/task.ts";
import type { ConsumeOptions } from "./consume.ts";
import { localParts } from "../reading/local-parts.ts";
import type { Transform } from "../engine/tasks/transform.ts";
import type { AnyRow } from "../row-types.ts";

/** Cuts the blocks before the rows of these numbers, which ascend: one list of blocks more than there are borders. */
export async function cutBlocks(blocks: readonly BlockRef[], borders: readonly number[]): Promise<BlockRef[][]> {
  const total = blocks.reduce((sum, { rowCount }) => sum + rowCount, 0);
  const ends = [...borders.map((border) => Math.min(border, total)), total];
  let start = 0;
  const parts: BlockRef[][] = [];
  for (const end of ends) {
    parts.push(await blocksBetween(blocks, start, end));
    start = end;
  }
  return parts;
}

async function blocksBetween(blocks: readonly BlockRef[], start: number, end: number): Promise<BlockRef[]> {
  const own: BlockRef[] = [];
  let first = 0;
  for (const block of blocks) {
    const from = Math.max(0, start - first);
    const to = Math.min(block.rowCount, end - first);
    first += block.rowCount;
    if (from < to) own.push(await pieceOf(block, from, to));
  }
  return own;
}

async function pieceOf(block: BlockRef, from: number, to: number): Promise<BlockRef> {
  if (from === 0 && to === block.rowCount) return keptBlock(block);
  const piece = sliceBlock(await get(block.ref), from, to);
  return ownedBlock(put(piece), factsOf(piece));
}

/** Parts of these numbers of rows, each as far as may be of blocks that its node has. */
export async function cutNearNodes(
  blocks: readonly BlockRef[],
  sizes: readonly number[],
  nodeIds: readonly string[],
): Promise<BlockRef[][]> {
  // Where nothing is known of a block, it is near to nobody.
  const places = await getObjectLocations(blocks.map(({ ref }) => ref)).catch(() => undefined);
  const placed = blocks.map(({ ref, rowCount }) => ({ rowCount, nodeIds: places?.get(ref)?.nodeIds ?? [] }));
  const parts: BlockRef[][] = [];
  for (const pieces of localParts(placed, sizes, nodeIds)) {
    const own: BlockRef[] = [];
    for (const { block, from, to } of pieces) own.push(await pieceOf(blocks[block] as BlockRef, from, to));
    parts.push(own);
  }
  return parts;
}

/** The option `localityHints`: the node of each of so many parts. */
export function nodeHints(parts: number): Option<readonly string[] | undefined> {
  return custom<readonly string[] | undefined>(`an array of ${parts} ids of nodes is needed`, undefined, (value) => {
    if (!Array.isArray(value) || !value.every((id) => typeof id === "string")) return "wrong type";
    return value.length === parts ? "ok" : "out of range";
  });
}

/** The options of `split`. */
export interface SplitOptions extends ConsumeOptions {
  /** Exactly as many rows each, and what is left over in none. Default: false. */
  equal?: boolean | undefined;
  /**
   * Node ids of the parts' consumers, one for each part. A part then gets blocks of that node first. Its rows keep their order, but the parts no longer follow
   * each other. Default: none.
   */
  localityHints?: readonly string[] | undefined;
}

/** Returns the borders between parts of these fractions of all rows. The remaining rows are one part more. */
export function bordersOf(fractions: readonly number[], total: number): number[] {
  let sum = 0;
  return fractions.map((fraction) => {
    sum += fraction;
    // The sum of 0.1 and 0.2 is a little more than 0.3.
    return Math.floor(total * sum + 1e-9 * total);
  });
}

/** Checks fractions. @throws RangeError unless they are above 0 and their sum is below 1 */
export function checkFractions(fractions: unknown): asserts fractions is readonly number[] {
  const isGood =
    Array.isArray(fractions) && fractions.length > 0 && fractions.every((one) => typeof one === "number" && one > 0 && one < 1);
  if (isGood && (fractions as number[]).reduce((sum, one) => sum + one, 0) < 1) return;
  throw new RangeError(
    `Cannot call splitProportionately: it takes numbers above 0 whose sum is below 1, and what is left is one part more: received ${JSON.stringify(fractions)}`,
  );
}

/** Checks indices. @throws RangeError unless they are ascending whole numbers */
export function checkIndices(indices: unknown): asserts indices is readonly number[] {
  const isGood =
    Array.isArray(indices) &&
    indices.every((index, i) => Number.isSafeInteger(index) && index >= 0 && (i === 0 || index >= indices[i - 1]));
  if (!isGood)
    throw new RangeError(
      `Cannot call splitAtIndices: it takes whole numbers from 0, in ascending order: received ${JSON.stringify(indices)}`,
    );
}

/**
 * How many rows a test part has: a number from 1 on, or a part of all.
 *
 * @throws RangeError for neither
 */
export function testRows(testSize: unknown, total: number): number {
  if (typeof testSize === "number" && testSize > 0 && testSize < 1) return total - Math.floor(total * (1 - testSize) + 1e-9 * total);
  if (Number.isSafeInteger(testSize) && (testSize as number) >= 1 && (testSize as number) < total) return testSize as number;
  throw new RangeError(
    `Cannot call trainTestSplit: it takes as testSize a number between 0 and 1, or fewer rows than the ${total} that there are: received ${String(testSize)}`,
  );
}

/** The options of `trainTestSplit`. */
export interface TrainTestSplitOptions<R extends AnyRow = AnyRow> extends ConsumeOptions {
  /** Size of the test side: a fraction of the rows between 0 and 1, or a number of rows. */
  testSize: number;
  /** Bring the rows into random order first. Default: false. */
  shuffle?: boolean | undefined;
  /** Seed of the random order. Default: a new one each time. */
  seed?: number | undefined;
  /** A column for a stratified split: each of its values has the same fraction of rows in the test. Default: none. */
  stratify?: (keyof R & string) | undefined;
}

export const TRAIN_TEST = {
  testSize: custom<number | undefined>("a number is needed", undefined, (value) => (typeof value === "number" ? "ok" : "wrong type")),
  shuffle: flag(false),
  seed: custom<number | undefined>("a whole number is needed", undefined, (value) => (Number.isSafeInteger(value) ? "ok" : "wrong type")),
  stratify: custom<string | undefined>("the name of a column is needed", undefined, (value) =>
    typeof value === "string" ? "ok" : "wrong type",
  ),
};

/** The options of `streamingTrainTestSplit`. */
export interface StreamingTrainTestSplitOptions<R extends AnyRow = AnyRow> {
  /** About which part of the rows is to test with, between 0 and 1. */
  testSize: number;
  /** `"random"`: chance decides for each row. `"hash"`: the value of `hashColumn` does, so equal values are on one side, whatever rows come or go. Default: `"random"`. */
  type?: "random" | "hash" | undefined;
  /** The column that `"hash"` splits by. Its values are keys, as those of `groupBy`. */
  hashColumn?: (keyof R & string) | undefined;
  /** The seed of `"random"`. Default: another one each time. */
  seed?: number | undefined;
}

const STREAMING_TRAIN_TEST = {
  testSize: TRAIN_TEST.testSize,
  type: oneOf(["random", "hash"], "random"),
  hashColumn: TRAIN_TEST.stratify,
  seed: TRAIN_TEST.seed,
};

/**
 * The steps that give the two sides.
 *
 * @throws TypeError, RangeError for wrong options, and for those that do not go together
 */
export function trainTestSteps(options: StreamingTrainTestSplitOptions): { readonly train: Transform; readonly test: Transform } {
  const of = "streamingTrainTestSplit";
  const { testSize, type, hashColumn, seed } = readOptions(options, { of, options: STREAMING_TRAIN_TEST });
  if (!(testSize !== undefined && testSize > 0 && testSize < 1))
    throw new RangeError(`Cannot call ${of}: it takes as testSize a number between 0 and 1: received ${String(testSize)}`);
  const names = { train: `${of}(train)`, test: `${of}(test)` };
  if (type === "hash") {
    if (hashColumn === undefined) throw new TypeError(`Cannot call ${of}: it takes hashColumn with type: "hash": received none`);
    if (seed !== undefined) throw new TypeError(`Cannot call ${of}: it takes a seed with type: "random" alone`);
    const side = (isTest: boolean): Transform => ({
      kind: "hashSplit",
      name: isTest ? names.test : names.train,
      column: hashColumn,
      testSize,
      isTest,
    });
    return { train: side(false), test: side(true) };
  }
  if (hashColumn !== undefined) throw new TypeError(`Cannot call ${of}: it takes hashColumn with type: "hash" alone`);
  const sample = { kind: "sample", fraction: testSize, seed: seed ?? Math.floor(Math.random() * 2 ** 32) } as const;
  return { train: { ...sample, name: names.train, isRest: true }, test: { ...sample, name: names.test } };
}

export function rowsIn(blocks: readonly BlockRef[]): number {
  return blocks.reduce((rows, { rowCount }) => rows + rowCount, 0);
}
