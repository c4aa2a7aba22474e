/**
 * The transforms of a task's rows: a chain of steps, each from blocks to blocks.
 *
 * Transforms are plain data with the user's functions, so a chain travels with its task. Consecutive transforms run in one task, block by block, and nothing is
 * stored between them. The functions of `task.ts` call them in workers.
 */
import { isThenable } from "../../../core/internal.ts";
import { isArrow } from "../../arrow/arrow-batch.ts";
import { hasManyGroups } from "../../aggregates/group-aggregate.ts";
import { type BatchFormat, batchOf, blockOfBatch } from "../../blocks/batch.ts";
import { type Block, blockOfRows, blockReader, concatBlocks, conformBlock, type Row, sliceBlock, takeBlock } from "../../blocks/block.ts";
import type { Field } from "../../blocks/data-type.ts";
import { LossSum, type OnError } from "../../blocks/memory/losses.ts";
import { keepFile, keepOrigin, placeOf, rowPlace } from "../../blocks/memory/origin.ts";
import { RowBytes } from "../../blocks/memory/row-bytes.ts";
import { usageOf } from "../../blocks/usage.ts";
import { DataError, DIFFERING_ROWS } from "../../errors.ts";
import { filteredRows, projected, unnested, withColumns } from "../../expressions/evaluate.ts";
import { callsUserCode, type ExpressionNode, type NamedNode } from "../../expressions/nodes.ts";
import { keyVectors } from "../../kernels/hash.ts";
import { ROWS_PER_BLOCK_MAX } from "../../limits.ts";
import { type DownloadTransform, downloadColumn } from "./download.ts";
import { type DrawTransform, drawInBlock } from "../exchange/group-sample.ts";
import { hashSide, type HashSplitTransform } from "../exchange/hash-split.ts";
import { leaveOut, type LeaveOutTransform } from "./leave-out.ts";
import type { PythonBatches } from "../python/python-step.ts";
import { Rebatcher } from "../streams/rebatch.ts";
import { type ReshapeTransform, reshaped } from "../streams/reshape.ts";
import { type SinkTransform, writeToSink } from "../writes/sink-transform.ts";
import type { SampleTransform } from "../exchange/sample.ts";
import { failureAt } from "./user-errors.ts";
import { applyWhole, distinctRows, type WholeTransform } from "./whole-transforms.ts";
import { writeFiles, type WriteTransform } from "../writes/write-transform.ts";

type UserFunction = (value: never) => unknown;

/** One step of a chain. `name` stands in plans and errors, such as `map(parse)`. */
export type Transform =
  | {
      readonly kind: "map" | "flatMap" | "filter";
      readonly name: string;
      readonly fn: UserFunction;
      readonly onError?: OnError | undefined;
    }
  | {
      readonly kind: "mapBatches";
      readonly name: string;
      readonly fn: UserFunction;
      readonly onError?: OnError | undefined;
      readonly batchFormat: BatchFormat;
      /** Undefined: each block is a batch. */
      readonly batchSize: number | undefined;
    }
  | { readonly kind: "select" | "drop"; readonly name: string; readonly columns: readonly string[] }
  | { readonly kind: "rename"; readonly name: string; readonly columns: Readonly<Record<string, string>> }
  | { readonly kind: "filterExpression"; readonly name: string; readonly expression: ExpressionNode }
  | { readonly kind: "unnest"; readonly name: string; readonly expression: ExpressionNode }
  | DownloadTransform
  | ReshapeTransform
  | { readonly kind: "withColumns"; readonly name: string; readonly columns: readonly NamedNode[] }
  | { readonly kind: "project"; readonly name: string; readonly columns: readonly NamedNode[] }
  | { readonly kind: "limit"; readonly name: string; readonly count: number }
  /** Gives each block the columns and types of the dataset. */
  | { readonly kind: "conform"; readonly name: string; readonly fields: readonly Field[] }
  | HashSplitTransform
  /** Drops duplicates within each block, where that drops many: before an exchange, for what travels. */
  | { readonly kind: "distinctInBlock"; readonly name: string; readonly keys: readonly string[]; readonly keep: "first" | "last" }
  /** Blocks of so many rows, which stay as small as that is. The last one of a task may have fewer, or with `isStrict` the last one of all. */
  | { readonly kind: "rebatch"; readonly name: string; readonly rows: number; readonly isStrict?: boolean }
  /** A step on rows that know their numbers, by the column `ROW_NUMBER`. */
  | { readonly kind: "numbered"; readonly name: string; readonly step: Transform }
  | PythonBatches
  | SampleTransform
  | LeaveOutTransform
  | DrawTransform
  | WriteTransform
  | SinkTransform
  | WholeTransform;

type Blocks = AsyncIterable<Block>;

/** The blocks after all transforms of the chain. @param losses - sum of the items that errors cost, and of the use of language models. Default: not counted */
export function runChain(blocks: Blocks, chain: readonly Transform[], losses?: LossSum): Blocks {
  const freeing = chain.map((transform, i) => freeingAggregate(transform, chain.slice(0, i)));
  return freeing.reduce((input, transform) => {
    const output = applyTransform(input, transform);
    const notesLosses = "onError" in transform || transform.kind === "mapBatches";
    return losses !== undefined && notesLosses ? losses.collectedFrom(output) : output;
  }, blocks);
}

/** An aggregate behind steps that keep nothing frees the blocks that it has seen. */
function freeingAggregate(transform: Transform, before: readonly Transform[]): Transform {
  return transform.kind === "partialAggregate" && keepsNothing([...before, transform]) ? { ...transform, freesBlocks: true } : transform;
}

/** Steps that give each block, or a block made of it, and keep no reference to it. */
const KEEPING_NOTHING: ReadonlySet<string> = new Set<Transform["kind"]>([
  "select",
  "drop",
  "rename",
  "filterExpression",
  "withColumns",
  "unnest",
  "project",
  "limit",
  "conform",
  "hashSplit",
  "distinctInBlock",
  "partialAggregate",
]);

/** Whether nobody has a block any more that has left the chain: no step is code of users, or waits for more blocks. */
export function keepsNothing(chain: readonly Transform[]): boolean {
  return chain.every(
    (step) =>
      KEEPING_NOTHING.has(step.kind) &&
      !isUserCode(step) &&
      !("aggregates" in step && step.aggregates.some(([, { kind }]) => kind === "custom")),
  );
}

/** The rows that a chain's first function of a user's is given together, of which one may be alone: a row, or a batch. Infinity: all of a block. */
export function unitRowsOf(chain: readonly Transform[]): number {
  const first = chain.find((step) => isUserCode(step));
  if (first === undefined || first.kind === "mapBatches") return first?.batchSize ?? Number.POSITIVE_INFINITY;
  return "fn" in first ? 1 : Number.POSITIVE_INFINITY;
}

/** Whether a step calls a function of a user's for its rows, by itself or in an expression. */
export function isUserCode(step: Transform): boolean {
  return "fn" in step || expressionsOf(step).some(callsUserCode);
}

function expressionsOf(step: Transform): readonly ExpressionNode[] {
  switch (step.kind) {
    case "filterExpression":
    case "unnest":
    case "download":
      return [step.expression];
    case "withColumns":
    case "project":
      return step.columns.map(({ node }) => node);
    case "numbered":
      return expressionsOf(step.step);
    default:
      return [];
  }
}

function applyTransform(blocks: Blocks, transform: Transform): Blocks {
  switch (transform.kind) {
    case "map":
      return mapRows(blocks, transform);
    case "flatMap":
      return flatMapRows(blocks, transform);
    case "filter":
      return filterRows(blocks, transform);
    case "mapBatches":
      return mapBatches(blocks, transform);
    case "select":
      return eachBlock(blocks, (block) => selectColumns(block, transform.columns, transform.name));
    case "drop":
      return eachBlock(blocks, (block) => dropColumns(block, transform.columns, transform.name));
    case "rename":
      return eachBlock(blocks, (block) => renameColumns(block, transform.columns, transform.name));
    case "filterExpression":
      return eachBlock(blocks, (block) => filteredBlock(block, transform.expression, transform.name));
    case "withColumns":
      return eachBlock(blocks, (block) => (isUnseen(block) ? block : withColumns(block, transform.columns, transform.name)));
    case "unnest":
      return eachBlock(blocks, (block) => (isUnseen(block) ? block : unnested(block, transform.expression, transform.name)));
    case "download":
      return downloadColumn(blocks, transform);
    case "project":
      return eachBlock(blocks, (block) => (isUnseen(block) ? block : projected(block, transform.columns, transform.name)));
    case "hashSplit":
      return eachBlock(blocks, (block) => (isUnseen(block) ? block : pickRows(block, hashSide(block, transform))));
    case "distinctInBlock":
      return eachBlock(blocks, (block) => (isUnseen(block) ? block : distinctInBlock(block, transform)));
    case "leaveOut":
      return leaveOut(blocks, transform);
    case "drawInBlock":
      return eachBlock(blocks, (block) => (isUnseen(block) ? block : drawInBlock(block, transform)));
    case "explode":
    case "unpivot":
      return reshapedBlocks(blocks, transform);
    case "conform":
      return eachBlock(blocks, (block) => conformBlock(block, transform.fields));
    case "limit":
      return limitRows(blocks, transform.count);
    case "rebatch":
      return rebatch(blocks, transform.rows);
    case "write":
      return writeFiles(blocks, transform);
    case "sink":
      return writeToSink(blocks, transform);
    case "pythonBatches":
      throw new Error("a step of Python runs in a worker of Python");
    case "sample":
    case "numbered":
      throw new Error("a step on numbered rows is the first of its task, which gives it the numbers");
    default:
      return applyWhole(blocks, transform);
  }
}

async function* reshapedBlocks(blocks: Blocks, transform: ReshapeTransform): AsyncGenerator<Block, void, undefined> {
  for await (const block of blocks) {
    if (isUnseen(block)) {
      yield block;
      continue;
    }
    // New rows may be many times as many: few rows are taken at a time.
    for (let start = 0; start === 0 || start < block.rowCount; start += ROWS_PER_BLOCK_MAX)
      yield keepFile(reshaped(sliceBlock(block, start, Math.min(start + ROWS_PER_BLOCK_MAX, block.rowCount)), transform), block);
  }
}

async function* eachBlock(blocks: Blocks, change: (block: Block) => Block): AsyncGenerator<Block, void, undefined> {
  for await (const block of blocks) {
    const changed = change(block);
    yield changed.rowCount === block.rowCount ? keepOrigin(changed, block) : changed;
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Rows

type RowStep = Extract<Transform, { kind: "map" | "flatMap" | "filter" }>;

/** In place of the result of a call that failed and that `onError` forgives. */
const FAILED = Symbol("failed");

/** The step's function. With `onError` an error of one row is added to `losses`, and the call gives {@link FAILED}. */
function forgiving({ fn, name, onError = "raise" }: RowStep, losses: LossSum): (block: Block, i: number, row: Row) => unknown {
  const call = fn as (row: Row) => unknown;
  if (onError === "raise") return (_block, _i, row) => call(row);
  return (block, i, row) => {
    const fail = (error: unknown): typeof FAILED => {
      losses.addError(failureAt(error, name, block, [i, i]));
      return FAILED;
    };
    try {
      const result = call(row);
      return isThenable(result) ? Promise.resolve(result).catch(fail) : result;
    } catch (error) {
      return fail(error);
    }
  };
}

async function* mapRows(blocks: Blocks, step: RowStep): AsyncGenerator<Block, void, undefined> {
  const { name, onError } = step;
  const losses = new LossSum();
  const call = forgiving(step, losses);
  for await (const block of blocks) {
    const read = blockReader(block);
    const size = new RowBytes();
    let rows: unknown[] = [];
    /** For each of the rows, the row of the block of which it was made, where rows are left out. */
    let sources: number[] | undefined = onError === "skip" ? [] : undefined;
    /** The block of the last results, which were made of the rows before `end`. */
    const made = (end: number): Block => {
      const [first, from] = [end - rows.length, sources];
      const sourceOf = from === undefined ? (row: number) => first + row : (row: number) => from[row] as number;
      const own = blockOfRows(rows, name, (row) => rowPlace(block, sourceOf(row)), block);
      return losses.beside(
        rows.length === block.rowCount ? keepOrigin(own, block) : keepOrigin(own, block, (row) => [sourceOf(row), sourceOf(row)]),
      );
    };
    let i = 0;
    try {
      for (; i < block.rowCount; i += 1) {
        const result = call(block, i, read(i));
        // Most functions are synchronous, and an await for each row costs more than a small function.
        let row = isThenable(result) ? await result : result;
        if (row === FAILED) {
          if (onError === "skip") continue;
          row = {};
        }
        rows.push(row);
        sources?.push(i);
        if (!size.add(row)) continue;
        yield made(i + 1);
        rows = [];
        sources &&= [];
        size.restart();
      }
    } catch (error) {
      throw failureAt(error, name, block, [i, i]);
    }
    if (rows.length > 0 || block.rowCount === 0) yield made(i);
    yield* losses.rest();
  }
}

async function* flatMapRows(blocks: Blocks, step: RowStep): AsyncGenerator<Block, void, undefined> {
  const { name, onError = "raise" } = step;
  const losses = new LossSum();
  const call = forgiving(step, losses);
  for await (const block of blocks) {
    const read = blockReader(block);
    const size = new RowBytes();
    let rows: unknown[] = [];
    /** For each of the rows, the row of the block of which it was made. */
    let sources: number[] = [];
    const made = (): Block => {
      const from = sources;
      return losses.beside(
        keepFile(
          blockOfRows(rows, name, (row) => rowPlace(block, from[row] as number), block),
          block,
        ),
      );
    };
    let i = 0;
    try {
      for (; i < block.rowCount; i += 1) {
        const returned = call(block, i, read(i));
        const results = isThenable(returned) ? await returned : returned;
        if (results === FAILED) continue;
        const given = iterableOf(results, name);
        for await (const row of onError === "raise"
          ? given
          : untilError(given, (error) => losses.addError(failureAt(error, name, block, [i, i])))) {
          rows.push(row);
          sources.push(i);
          if (!size.add(row) && rows.length < ROWS_PER_BLOCK_MAX) continue;
          yield made();
          [rows, sources] = [[], []];
          size.restart();
        }
      }
    } catch (error) {
      throw failureAt(error, name, block, [i, i]);
    }
    if (rows.length > 0) yield made();
    yield* losses.rest();
  }
}

/** The items before an error, of which `onFailure` is told. */
async function* untilError(
  items: Iterable<unknown> | AsyncIterable<unknown>,
  onFailure: (error: unknown) => void,
): AsyncGenerator<unknown, void, undefined> {
  try {
    yield* items;
  } catch (error) {
    onFailure(error);
  }
}

function iterableOf(value: unknown, name: string): Iterable<unknown> | AsyncIterable<unknown> {
  if (typeof value === "object" && value !== null && (Symbol.iterator in value || Symbol.asyncIterator in value))
    return value as Iterable<unknown>;
  throw new DataError(`Cannot run ${name}: the function gives an array of rows, or an iterator of them: received ${typeof value}`, {
    hint: "return [] for no row; a function that gives one row for each belongs in map",
  });
}

async function* filterRows(blocks: Blocks, step: RowStep): AsyncGenerator<Block, void, undefined> {
  const losses = new LossSum();
  const keep = forgiving(step, losses);
  for await (const block of blocks) {
    const read = blockReader(block);
    const kept = new Uint32Array(block.rowCount);
    let count = 0;
    let i = 0;
    try {
      for (; i < block.rowCount; i += 1) {
        const returned = keep(block, i, read(i));
        const answer = isThenable(returned) ? await returned : returned;
        if (answer && answer !== FAILED) kept[count++] = i;
      }
    } catch (error) {
      throw failureAt(error, step.name, block, [i, i]);
    }
    yield losses.beside(pickRows(block, kept.subarray(0, count)));
  }
}

async function* limitRows(blocks: Blocks, count: number): AsyncGenerator<Block, void, undefined> {
  let left = count;
  if (left === 0) return;
  for await (const block of blocks) {
    yield keepOrigin(sliceBlock(block, 0, Math.min(left, block.rowCount)), block);
    left -= block.rowCount;
    if (left <= 0) return;
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Batches

async function* mapBatches(
  blocks: Blocks,
  { fn, name, batchFormat, batchSize, onError = "raise" }: Extract<Transform, { kind: "mapBatches" }>,
): AsyncGenerator<Block, void, undefined> {
  const call = fn as (batch: unknown) => unknown;
  const losses = new LossSum();
  for await (const block of batchSize === undefined ? blocks : rebatch(blocks, batchSize)) {
    if (block.rowCount === 0) continue;
    const placeOfRow = (row: number): string => `row ${row + 1} of a batch made of ${placeOf(block, [0, block.rowCount - 1]).text}`;
    try {
      const returned = call(batchOf(block, batchFormat));
      const result = isThenable(returned) ? await returned : returned;
      const usage = usageOf(result);
      if (usage !== undefined) losses.add({ items: 0, replaced: 0, messages: [], usage });
      if (!isGenerator(result)) yield losses.beside(keepFile(blockOfBatch(result, name, placeOfRow, block), block));
      else for await (const batch of result) yield keepFile(blockOfBatch(batch, name, placeOfRow, block), block);
    } catch (error) {
      const failure = failureAt(error, name, block, [0, block.rowCount - 1]);
      if (onError === "raise") throw failure;
      losses.addError(failure, block.rowCount);
      yield* losses.rest();
    }
  }
}

function isGenerator(value: unknown): value is AsyncIterable<unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value) || isArrow(value)) return false;
  return Symbol.asyncIterator in value || Symbol.iterator in value;
}

/** Cuts the same rows into blocks of `rows` rows each; the last block has the rest. */
export async function* rebatch(blocks: Blocks, rows: number): AsyncGenerator<Block, void, undefined> {
  const rebatcher = new Rebatcher(rows);
  for await (const block of blocks) {
    rebatcher.add(block);
    for (let batch = rebatcher.take(); batch !== undefined; batch = rebatcher.take()) yield batch;
  }
  const rest = rebatcher.rest();
  if (rest !== undefined) yield rest;
}

// ---------------------------------------------------------------------------------------------------------------------
// Columns

function indexOfColumn(block: Block, column: string, name: string): number {
  const index = block.names.indexOf(column);
  if (index < 0)
    throw new DataError(`Cannot run ${name}: there is no column ${JSON.stringify(column)}: there are ${listNames(block.names)}`, {
      hint: DIFFERING_ROWS,
    });
  return index;
}

/** A block of no rows may come from a function that has seen none, and has no columns then. */
function isUnseen(block: Block): boolean {
  return block.names.length === 0 && block.rowCount === 0;
}

function filteredBlock(block: Block, expression: ExpressionNode, name: string): Block {
  if (isUnseen(block)) return block;
  return pickRows(block, filteredRows(block, expression, name));
}

function distinctInBlock(block: Block, transform: Extract<Transform, { kind: "distinctInBlock" }>): Block {
  const columns = transform.keys.length === 0 ? block.names : transform.keys;
  keyVectors(block, columns, "drop duplicates by");
  return hasManyGroups(block, columns, []) ? block : pickRows(block, distinctRows(block, transform));
}

/** The rows of these numbers, in their order. */
function pickRows(block: Block, rows: Uint32Array): Block {
  if (rows.length === block.rowCount) return block;
  return keepOrigin(takeBlock(block, rows), block, (row) => [rows[row] as number, rows[row] as number]);
}

/** Column names in a message. */
function listNames(names: readonly string[]): string {
  return names.length === 0 ? "none" : names.map((name) => JSON.stringify(name)).join(", ");
}

function selectColumns(block: Block, columns: readonly string[], name: string): Block {
  if (isUnseen(block)) return block;
  const indices = columns.map((column) => indexOfColumn(block, column, name));
  return pickColumns(block, indices, columns);
}

function dropColumns(block: Block, columns: readonly string[], name: string): Block {
  if (isUnseen(block)) return block;
  const dropped = new Set(columns.map((column) => indexOfColumn(block, column, name)));
  const kept = block.names.map((_, i) => i).filter((i) => !dropped.has(i));
  return pickColumns(
    block,
    kept,
    kept.map((i) => block.names[i] as string),
  );
}

function renameColumns(block: Block, columns: Readonly<Record<string, string>>, name: string): Block {
  if (isUnseen(block)) return block;
  for (const column of Object.keys(columns)) indexOfColumn(block, column, name);
  const names = block.names.map((own) => (Object.hasOwn(columns, own) ? (columns[own] as string) : own));
  const twice = names.find((own, i) => names.indexOf(own) !== i);
  if (twice !== undefined) throw new DataError(`Cannot run ${name}: two columns would be named ${JSON.stringify(twice)}`);
  return { ...block, names };
}

function pickColumns(block: Block, indices: readonly number[], names: readonly string[]): Block {
  return { rowCount: block.rowCount, names, vectors: indices.map((i) => block.vectors[i] as Block["vectors"][number]) };
}

/** All rows of the blocks in one block. */
export async function gather(blocks: Blocks): Promise<Block> {
  const all: Block[] = [];
  for await (const block of blocks) all.push(block);
  return concatBlocks(all);
}
