/**
 * Datasets of the program's items and columns, of ranges, and of the user's own sources.
 *
 * Items and columns become blocks at once, so the call that takes them throws their errors. Tasks read ranges and sources, one part each. `read.ts` has the
 * datasets of files.
 */
import type { NdArray } from "../../core/index.ts";
import { count, describeValue, isPlainObject, readOptions } from "../../core/internal.ts";
import { blockOfBatch } from "../blocks/batch.ts";
import { type Block, blockOfRows } from "../blocks/block.ts";
import { INT64 } from "../blocks/data-type.ts";
import { RowBytes } from "../blocks/memory/row-bytes.ts";
import { failureIn } from "../engine/tasks/user-errors.ts";
import { type Dataset, newDataset } from "../dataset.ts";
import type { AnyBatch, AnyRow, RowOfBatch } from "../row-types.ts";
import { readTasks, type TransformOptions } from "../options/transform-options.ts";
import type { SourcePart } from "../plan/logical-plan.ts";
import { ITEMS_PER_BLOCK, READ_TASKS_PER_CPU, ROWS_PER_BLOCK_MAX } from "../limits.ts";

/** The row of an item: the item itself where it is an object, else a row with the column `item`. */
type RowOfItem<T> = T extends AnyRow ? T : { item: T };

/**
 * A dataset of items: objects are rows, anything else is the column `item`.
 *
 * @throws TypeError unless given an array; DataError for a column of values of two types
 */
export function fromItems<T>(items: readonly T[]): Dataset<RowOfItem<T>> {
  if (!Array.isArray(items)) throw new TypeError(`Cannot call fromItems: it takes an array: received ${describeValue(items)}`);
  const rows = items.every((item) => isPlainObject(item)) ? items : items.map((item) => ({ item }));
  return newDataset({ kind: "input", name: "fromItems", blocks: [blockOfRows(rows, "fromItems")] });
}

/**
 * A dataset of columns: typed arrays, arrays of values, or arrays of several dimensions, of which the first one are the rows.
 *
 * @throws DataError for columns of different lengths, and for a column of values of two types
 */
export function fromColumns<const B extends Readonly<Record<string, ArrayLike<unknown> | NdArray>>>(
  columns: B,
): Dataset<RowOfBatch<B> & AnyRow> {
  return newDataset({ kind: "input", name: "fromColumns", blocks: [blockOfBatch(columns, "fromColumns")] });
}

/**
 * A dataset of the items of an iterable in this program: objects are rows, anything else is the column `item`. The pipeline reads items as it needs them, so an
 * endless iterable works, too. It is read only once: `materialize()` keeps its rows.
 *
 * @param options - `rowsPerBlock`: number of items that are read before a task gets them. Default: 4,096
 * @throws TypeError unless given an iterable; when it runs, DataError if the iterable was read before
 * @example
 * const lines = data.fromAsyncIterable(createInterface({ input: process.stdin }));
 */
export function fromAsyncIterable<T>(
  items: AsyncIterable<T> | Iterable<T>,
  options: { rowsPerBlock?: number | undefined } = {},
): Dataset<RowOfItem<T>> {
  if (typeof items !== "object" || items === null || !(Symbol.asyncIterator in items || Symbol.iterator in items))
    throw new TypeError(`Cannot call fromAsyncIterable: it takes an iterable: received ${describeValue(items)}`);
  const { rowsPerBlock } = readOptions(options, { of: "fromAsyncIterable", options: { rowsPerBlock: count({ min: 1 }, ITEMS_PER_BLOCK) } });
  return newDataset({ kind: "iterable", name: "fromAsyncIterable", items: { items, rowsPerBlock, isRead: false } });
}

/**
 * The whole numbers from 0 (included) to `n` (excluded), as the column `id`.
 *
 * @throws RangeError unless `n` is a whole number from 0
 */
export function range(n: number): Dataset<{ id: number }> {
  if (!Number.isSafeInteger(n) || n < 0)
    throw new RangeError(`Cannot call range: it takes a whole number from 0: received ${describeValue(n)}`);
  const parts = (cpus: number): Promise<{ args: readonly unknown[]; rowCount: number }[]> => {
    const pieces = Math.max(1, Math.min(cpus * READ_TASKS_PER_CPU, n));
    const borders = Array.from({ length: pieces + 1 }, (_, i) => Math.floor((n * i) / pieces));
    return Promise.resolve(borders.slice(1).map((end, i) => ({ args: [borders[i], end], rowCount: end - (borders[i] as number) })));
  };
  return newDataset({
    kind: "read",
    name: `range(${n})`,
    source: { name: "range", reader: readRange, parts, knowsRowCounts: true, columns: ["id"] },
    options: {},
  });
}

/** Numbers in a block of a range. */
const RANGE_ROWS = 128 * 1024;

export async function* readRange(start: number, end: number): AsyncGenerator<Block, void, undefined> {
  for (let from = start; from < end; from += RANGE_ROWS) {
    const length = Math.min(RANGE_ROWS, end - from);
    const values = new BigInt64Array(length);
    // 64-bit numbers as pairs of halves: no bigint is made for each.
    const halves = new Uint32Array(values.buffer);
    for (let i = 0; i < length; i += 1) {
      const value = from + i;
      halves[2 * i] = value;
      halves[2 * i + 1] = value / 4294967296;
    }
    yield { rowCount: length, names: ["id"], vectors: [{ type: INT64, length, nullCount: 0, bitOffset: 0, values }] };
  }
}

/** One part of a user's source. It travels to the reading worker with the variables that its function captures. */
export interface ReadTask<R extends AnyRow = AnyRow> {
  /** Rows, or batches of them, as they are read. */
  read(): Iterable<R | AnyBatch> | AsyncIterable<R | AnyBatch> | Promise<Iterable<R | AnyBatch>>;
  /** How many rows it gives, where that is known: a join with few rows is planned by it. */
  readonly rowCount?: number;
  /** The files that it reads, for `inputFiles()`. */
  readonly inputFiles?: readonly string[];
}

/** A source of the user's own. */
export interface Datasource<R extends AnyRow = AnyRow> {
  /** The source's name in plans and errors. */
  readonly name: string;
  /** The parts, in the order of their rows. `parallelism`: how many parts suit the cluster. */
  getReadTasks(options: { readonly parallelism: number }): readonly ReadTask<R>[] | Promise<readonly ReadTask<R>[]>;
}

/**
 * A dataset of a user's source.
 *
 * @param options - options of its tasks, such as `numCpus`; `concurrency` limits simultaneous reads
 * @throws TypeError for an invalid source; TypeError, RangeError for options that the core would refuse
 */
export function readDatasource<R extends AnyRow>(source: Datasource<R>, options: TransformOptions = {}): Dataset<R> {
  if (typeof source?.getReadTasks !== "function" || typeof source.name !== "string")
    throw new TypeError("Cannot call readDatasource: it takes { name, getReadTasks({ parallelism }) }");
  const tasksFor = async (cpus: number): Promise<readonly ReadTask<R>[]> => source.getReadTasks({ parallelism: cpus * READ_TASKS_PER_CPU });
  const parts = async (cpus: number): Promise<SourcePart[]> =>
    (await tasksFor(cpus)).map((task, index) => ({
      args: [source.name, task, index],
      ...(task.rowCount === undefined ? {} : { rowCount: task.rowCount }),
    }));
  const files = async (): Promise<readonly string[]> => (await tasksFor(1)).flatMap(({ inputFiles = [] }) => inputFiles);
  const { name } = source;
  return newDataset({
    kind: "read",
    name,
    source: { name, reader: readUserTask, parts, files, isOfUser: true },
    ...readTasks("readDatasource", options),
  });
}

export async function* readUserTask(name: string, task: ReadTask, index: number): AsyncGenerator<Block, void, undefined> {
  const size = new RowBytes();
  let rows: unknown[] = [];
  let givenCount = 0;
  try {
    for await (const given of await task.read()) {
      if (isRow(given)) {
        givenCount += 1;
        rows.push(given);
        if (!size.add(given) && rows.length < ROWS_PER_BLOCK_MAX) continue;
      }
      if (rows.length > 0) yield blockOfRows(rows, name);
      rows = [];
      size.restart();
      if (isRow(given)) continue;
      const block = blockOfBatch(given, name);
      givenCount += block.rowCount;
      yield block;
    }
  } catch (error) {
    throw failureIn(error, name, { text: `row ${givenCount + 1} of read task ${index + 1}`, details: { readTask: index + 1 } });
  }
  if (rows.length > 0) yield blockOfRows(rows, name);
}

/** A row and not a batch: some entry is no column. */
function isRow(given: unknown): boolean {
  if (!isPlainObject(given)) return false;
  const values = Object.values(given);
  return values.length === 0 || !values.every((value) => Array.isArray(value) || ArrayBuffer.isView(value));
}
