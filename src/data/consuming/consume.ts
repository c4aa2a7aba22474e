/**
 * How blocks are consumed: as rows, as batches in either format, and as batches of mixed rows.
 *
 * `Dataset` and `DataIterator` share this. Both give a stream of blocks, which a signal ends.
 * Batches are made ahead while the consumer has one: at its end those that nobody takes are dropped, and the stream is ended.
 * Rows are mixed in a buffer, so the whole order is random only as far as that reaches; `randomShuffle` is for more.
 */
import type { ArrowData, NdArray } from "../../core/index.ts";
import { count, custom, flag, oneOf, readOptions } from "../../core/internal.ts";
import { tensorsOfBlock } from "../blocks/values/nd-arrays.ts";
import { type BatchFormat, batchOf } from "../blocks/batch.ts";
import { type Block, blockReader, concatBlocks, sliceBlock, takeBlock } from "../blocks/block.ts";
import { rebatch } from "../engine/tasks/transform.ts";
import { Random, shuffleInPlace } from "../kernels/random.ts";
import { BATCH_ROWS, BATCHES_AHEAD_MAX } from "../limits.ts";
import type { AnyRow, Batch } from "../row-types.ts";

/** The options of what consumes a dataset. */
export interface ConsumeOptions {
  /** Ends it, and all work for it, with the signal's reason. Default: none. */
  signal?: AbortSignal | undefined;
}

/** The options of `iterBatches`. */
export interface IterBatchesOptions<F extends BatchFormat = BatchFormat> extends ConsumeOptions {
  /** Rows of a batch; the last one may have fewer. Default: 256. */
  batchSize?: number | undefined;
  /** Default: `"columns"`. */
  batchFormat?: F | undefined;
  /** Leave out the last batch where it is not full. Default: false. */
  dropLast?: boolean | undefined;
  /** Mixes the rows: each batch is taken at random from this many rows at least, which this process has in memory. Default: rows keep their order. */
  localShuffleBufferSize?: number | undefined;
  /** A whole number from which the mixing follows, for the same rows in the same order. Default: another one each time. */
  localShuffleSeed?: number | undefined;
  /** Batches that are made while the consumer has one. 0 makes each when it is asked for. Default: 1. */
  prefetchBatches?: number | undefined;
}

/** The options of `iterTensors`. */
export type IterTensorsOptions = Omit<IterBatchesOptions, "batchFormat">;

/** A batch with an array for each column. */
export type TensorBatch<R> = { readonly [K in keyof R]: NdArray };

/** A batch in a format. */
export type BatchIn<R, F extends BatchFormat> = F extends "rows" ? R[] : F extends "arrow" ? ArrowData : Batch<R>;

/** Opens a stream of blocks that the signal ends. */
type OpenBlocks = (options: ConsumeOptions) => AsyncIterable<Block>;

const OPTIONS = {
  batchSize: count({ min: 1 }, BATCH_ROWS),
  dropLast: flag(false),
  localShuffleBufferSize: count({ min: 1 }, undefined),
  localShuffleSeed: custom<number | undefined>("a whole number is needed", undefined, (value) =>
    Number.isSafeInteger(value) ? "ok" : "wrong type",
  ),
  prefetchBatches: count({ min: 0, max: BATCHES_AHEAD_MAX }, 1),
};

const FORMAT = { batchFormat: oneOf(["columns", "rows", "arrow"], "columns") };

/** The rows of the blocks one by one. */
export async function* rowsOfBlocks<R extends AnyRow>(blocks: AsyncIterable<Block>): AsyncGenerator<R, void, undefined> {
  for await (const block of blocks) {
    const read = blockReader(block);
    for (let i = 0; i < block.rowCount; i += 1) yield read(i) as R;
  }
}

/** All rows at once. */
export async function allRows<R extends AnyRow>(blocks: AsyncIterable<Block>): Promise<R[]> {
  const rows: R[] = [];
  const columns = new Set<string>();
  /** Rows that follow each other and have the same columns, to before a row. */
  const runs: { readonly names: readonly string[]; end: number }[] = [];
  for await (const block of blocks) {
    if (block.rowCount === 0) continue;
    const read = blockReader(block);
    for (let i = 0; i < block.rowCount; i += 1) rows.push(read(i) as R);
    for (const name of block.names) columns.add(name);
    runs.push({ names: block.names, end: rows.length });
  }
  fillMissing(rows, runs, columns);
  return rows;
}

/** Gives each row all columns: functions may have given other ones in other blocks. */
function fillMissing(
  rows: readonly AnyRow[],
  runs: readonly { readonly names: readonly string[]; readonly end: number }[],
  columns: ReadonlySet<string>,
): void {
  let start = 0;
  for (const { names, end } of runs) {
    const own = new Set(names);
    const missing = own.size === columns.size ? [] : Array.from(columns).filter((name) => !own.has(name));
    for (let i = start; i < end && missing.length > 0; i += 1)
      for (const name of missing)
        Object.defineProperty(rows[i], name, { value: null, writable: true, enumerable: true, configurable: true });
    start = end;
  }
}

/** The rows in batches, as `iterBatches` gives them. */
export async function* batchesOfBlocks<R, F extends BatchFormat>(
  open: OpenBlocks,
  { batchFormat: format, ...others }: IterBatchesOptions<F>,
): AsyncGenerator<BatchIn<R, F>, void, undefined> {
  const { batchFormat } = readOptions({ batchFormat: format }, { of: "iterBatches", options: FORMAT });
  yield* batches("iterBatches", open, others, (block) => batchOf(block, batchFormat) as BatchIn<R, F>);
}

/** The rows in batches, as `iterTensors` gives them. */
export function tensorsOfBlocks<R>(open: OpenBlocks, options: IterTensorsOptions): AsyncGenerator<TensorBatch<R>, void, undefined> {
  return batches("iterTensors", open, options, (block) => tensorsOfBlock(block) as TensorBatch<R>);
}

async function* batches<T>(
  of: string,
  open: OpenBlocks,
  { signal, ...given }: IterTensorsOptions,
  make: (block: Block) => T,
): AsyncGenerator<T, void, undefined> {
  const { batchSize, dropLast, localShuffleBufferSize, localShuffleSeed, prefetchBatches } = readOptions(given, { of, options: OPTIONS });
  if (localShuffleSeed !== undefined && localShuffleBufferSize === undefined)
    throw new TypeError(`Cannot call ${of}: it takes localShuffleSeed with localShuffleBufferSize alone: without it rows keep their order`);
  const made = async function* (blocks: AsyncIterable<Block>): AsyncGenerator<T, void, undefined> {
    const mixed = localShuffleBufferSize === undefined ? blocks : mixBlocks(blocks, localShuffleBufferSize, localShuffleSeed);
    for await (const block of rebatch(mixed, batchSize)) if (!dropLast || block.rowCount === batchSize) yield make(block);
  };
  if (prefetchBatches === 0) yield* made(open({ signal }));
  else yield* ahead((own) => made(open({ signal: own })), prefetchBatches, signal);
}

/**
 * The rows in random order as far as the buffer reaches: it is mixed when it has half more rows than it must keep, and gives those.
 *
 * @param rows - that stay in the buffer, as long as there are more
 */
async function* mixBlocks(
  blocks: AsyncIterable<Block>,
  rows: number,
  seed = Math.floor(Math.random() * 2 ** 32),
): AsyncGenerator<Block, void, undefined> {
  const random = new Random(seed);
  const room = Math.ceil(rows * 1.5);
  let parts: Block[] = [];
  let held = 0;
  for await (const block of blocks) {
    // A block larger than the buffer is mixed in pieces, so that the number of rows mixed at a time does not depend on block sizes.
    for (let from = 0; from < block.rowCount; ) {
      const to = Math.min(block.rowCount, from + room - held);
      parts.push(sliceBlock(block, from, to));
      held += to - from;
      from = to;
      if (held < room) continue;
      const mixed = mixRows(concatBlocks(parts), random);
      const given = held - rows;
      yield sliceBlock(mixed, 0, given);
      parts = [sliceBlock(mixed, given, held)];
      held = rows;
    }
  }
  if (held > 0) yield mixRows(concatBlocks(parts), random);
}

/** The rows in random order. */
function mixRows(block: Block, random: Random): Block {
  const order = Uint32Array.from({ length: block.rowCount }, (_, i) => i);
  shuffleInPlace(order, random);
  return takeBlock(block, order);
}

/** Reads a stream with some items made in advance. A consumer that leaves does not wait for those. */
async function* ahead<T>(
  open: (signal: AbortSignal) => AsyncGenerator<T, void, undefined>,
  batchesAhead: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<T, void, undefined> {
  const own = new AbortController();
  const items = open(signal === undefined ? own.signal : AbortSignal.any([signal, own.signal]));
  const waiting: Promise<IteratorResult<T, void>>[] = [];
  const ask = (): void => {
    const next = items.next();
    // A failure is thrown in the item's turn.
    next.catch(() => {});
    waiting.push(next);
  };
  try {
    for (;;) {
      while (waiting.length <= batchesAhead) ask();
      const item = await (waiting.shift() as Promise<IteratorResult<T, void>>);
      if (item.done === true) return;
      yield item.value;
    }
  } finally {
    own.abort();
    await Promise.allSettled(waiting);
    await items.return();
  }
}
