/**
 * Datasets of the program's own arrays and Arrow tables, and ranges of tensors.
 *
 * Tables and arrays become blocks at once, so the call that takes them throws their errors. Blocks are views of the given memory where its layout is ours.
 * Tasks make a range of tensors, one part each.
 */
import { NdArray } from "../../core/index.ts";
import { describeValue, oneOf, readOptions } from "../../core/internal.ts";
import { type ArrowTable, blocksOfTable, isArrow } from "../arrow/arrow-batch.ts";
import type { Block } from "../blocks/block.ts";
import { type DataType, elementsOf } from "../blocks/data-type.ts";
import { vectorOfNdArray } from "../blocks/values/nd-arrays.ts";
import { kindOfArray, newValueArray, type ValueArray } from "../blocks/vector.ts";
import { vectorOfArray } from "../blocks/vector-builder.ts";
import { type Dataset, newDataset } from "../dataset.ts";
import { READ_BLOCK_BYTES, READ_TASKS_PER_CPU } from "../limits.ts";
import type { SourcePart } from "../plan/logical-plan.ts";
import type { AnyRow } from "../row-types.ts";

/** The options of `fromArrow`. */
export interface FromArrowOptions {
  /** How decimals are read: as exact text, or as the nearest number. Default: as the table was made, else `"text"`. */
  decimal?: "text" | "number" | undefined;
}

/**
 * A dataset of Arrow tables: `ArrowData`, the bytes of an Arrow stream or file, or tables of flechette. For a table of apache-arrow pass `tableToIPC(table)`.
 * A column of 64-bit whole numbers is read as `bigint` if it has a value beyond 2^53.
 *
 * @throws TypeError for any other value, DataError for bytes that are not Arrow's
 */
export function fromArrow<R extends AnyRow = AnyRow>(
  tables: ArrowTable | readonly ArrowTable[],
  options: FromArrowOptions = {},
): Dataset<R> {
  const read = readOptions(options, { of: "fromArrow", options: { decimal: oneOf(["text", "number"], "text") } });
  const blocks = (Array.isArray(tables) ? (tables as readonly ArrowTable[]) : [tables as ArrowTable]).flatMap((table) => {
    if (!isArrow(table))
      throw new TypeError(
        `Cannot call fromArrow: it takes ArrowData, bytes of Arrow or a table of flechette: received ${describeValue(table)}`,
      );
    return blocksOfTable(table, "fromArrow", options.decimal === undefined ? {} : read);
  });
  return newDataset({ kind: "input", name: "fromArrow", blocks });
}

/** Arrays for {@link fromNumpy}. The first dimension of an array counts the rows. */
export type NumpyLike = NdArray | ValueArray;

/**
 * A dataset with the one column `data`: numbers from an array of one dimension, tensors from arrays of more. Several arrays follow each other.
 *
 * @throws TypeError for a value that is not an array of numbers, DataError for elements of an unsupported type
 */
export function fromNumpy(arrays: NdArray | readonly NdArray[]): Dataset<{ data: NdArray }>;
export function fromNumpy(arrays: BigInt64Array | BigUint64Array): Dataset<{ data: bigint }>;
export function fromNumpy(arrays: ValueArray | readonly ValueArray[]): Dataset<{ data: number }>;
export function fromNumpy(arrays: NumpyLike | readonly NumpyLike[]): Dataset<any> {
  const blocks = (Array.isArray(arrays) ? (arrays as readonly NumpyLike[]) : [arrays as NumpyLike]).map((array): Block => {
    if (!(array instanceof NdArray) && kindOfArray(array) === undefined)
      throw new TypeError(`Cannot call fromNumpy: it takes an NdArray, a typed array, or a list of them: received ${describeValue(array)}`);
    const vector = array instanceof NdArray ? vectorOfNdArray(array) : vectorOfArray(array);
    return { rowCount: vector.length, names: ["data"], vectors: [vector] };
  });
  return newDataset({ kind: "input", name: "fromNumpy", blocks });
}

/** The options of `rangeTensor`. */
export interface RangeTensorOptions {
  /** The shape of each tensor. Default: `[1]`. */
  shape?: readonly number[] | undefined;
  /** The type of the elements; `int64` gives bigints, as NumPy's ranges do. Default: `"float64"`. */
  dtype?: (typeof RANGE_KINDS)[number] | undefined;
}

const RANGE_KINDS = ["float64", "float32", "int32", "int64"] as const;

/**
 * A dataset with the one column `data`: `n` tensors, each filled with its row number from 0 on.
 *
 * @throws RangeError unless `n` is a whole number from 0 and `shape` a valid shape
 */
export function rangeTensor(n: number, { shape = [1], ...given }: RangeTensorOptions = {}): Dataset<{ data: NdArray }> {
  if (!Number.isSafeInteger(n) || n < 0)
    throw new RangeError(`Cannot call rangeTensor: it takes a whole number from 0: received ${describeValue(n)}`);
  if (!Array.isArray(shape) || shape.length === 0 || !shape.every((length) => Number.isSafeInteger(length) && length >= 0))
    throw new RangeError(
      `Cannot call rangeTensor: it takes a shape of whole numbers from 0, such as [2, 3]: received ${describeValue(shape)}`,
    );
  const { dtype } = readOptions(given, { of: "rangeTensor", options: { dtype: oneOf(RANGE_KINDS, "float64") } });
  const parts = (cpus: number): Promise<SourcePart[]> => {
    const pieces = Math.max(1, Math.min(cpus * READ_TASKS_PER_CPU, n));
    const borders = Array.from({ length: pieces + 1 }, (_, i) => Math.floor((n * i) / pieces));
    const cut = borders.slice(1).map((end, i) => [borders[i] as number, end] as const);
    return Promise.resolve(cut.map(([start, end]) => ({ args: [start, end, [...shape], dtype], rowCount: end - start })));
  };
  const name = `rangeTensor(${n})`;
  return newDataset({ kind: "read", name, source: { name: "rangeTensor", reader: readRangeTensor, parts }, options: {} });
}

export async function* readRangeTensor(
  start: number,
  end: number,
  shape: readonly number[],
  kind: (typeof RANGE_KINDS)[number],
): AsyncGenerator<Block, void, undefined> {
  const type: DataType = { kind: "tensor", of: { kind }, shape };
  const perRow = elementsOf(shape);
  const rows = Math.max(1, Math.floor(READ_BLOCK_BYTES / (8 * Math.max(1, perRow))));
  for (let from = start; from < end; from += rows) {
    const length = Math.min(rows, end - from);
    const values = newValueArray(kind, length * perRow) as ValueArray;
    for (let row = 0; row < length; row += 1) {
      const own = values.subarray(row * perRow, (row + 1) * perRow);
      if (own instanceof BigInt64Array) own.fill(BigInt(from + row));
      else (own as Float64Array).fill(from + row);
    }
    yield { rowCount: length, names: ["data"], vectors: [{ type, length, nullCount: 0, bitOffset: 0, values }] };
  }
}
