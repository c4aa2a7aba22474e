/**
 * Batches: turns blocks into the values that users' functions and consumers get, and results of functions into blocks.
 *
 * In the format `columns` a batch is an object with an entry for each column: a typed array in the block's memory where all rows are numbers, else a
 * `Column`. In the format `rows` it is an array of rows, in the format `arrow` an Arrow table. A function may return any of the three.
 */
import { type ArrowData, NdArray } from "../../core/index.ts";
import { describeValue } from "../../core/internal.ts";
import { arrowOfBlock, blockOfTable, isArrow } from "../arrow/arrow-batch.ts";
import { DataError } from "../errors.ts";
import { type Block, blockOfRows, columnOfRows, namingColumn, nameOfRow, type Row, rowsOf, vectorOf } from "./block.ts";
import { Column, vectorOfColumn } from "./column.ts";
import { type DataType, isNumberKind } from "./data-type.ts";
import { keptNumbers, keptVector } from "./memory/kept-vectors.ts";
import { vectorOfNdArray } from "./values/nd-arrays.ts";
import { kindOfArray, toFloat64, type ValueArray, type Vector } from "./vector.ts";
import { isPlainRow, vectorOfArray } from "./vector-builder.ts";

export type BatchFormat = "columns" | "rows" | "arrow";

/** A batch with one entry for each column. */
type ColumnBatch = Readonly<Record<string, ValueArray | Column<unknown>>>;

export function batchOf(block: Block, format: BatchFormat): ColumnBatch | Row[] | ArrowData {
  if (format === "arrow") return arrowOfBlock(block);
  return format === "rows" ? rowsOf(block) : columnsOf(block);
}

/** The block as an object of columns. Its own keys are the columns, nothing else. */
function columnsOf(block: Block): ColumnBatch {
  return Object.fromEntries(block.names.map((name, i) => [name, namingColumn(name, () => userColumn(block.vectors[i] as Vector, name))]));
}

/** A column as functions of users see it. */
export function userColumn(vector: Vector, name: string): ValueArray | Column<unknown> {
  const { type, nullCount, values } = vector;
  if (nullCount > 0) return new Column(vector, name);
  if (isNumberKind(type.kind)) return values as ValueArray;
  if (type.kind === "int64" || type.kind === "uint64") return type.as === "bigint" ? (values as ValueArray) : toFloat64(vector);
  return new Column(vector, name);
}

/** How many rows a batch has, in any format. */
export function rowCount(batch: object): number {
  if (Array.isArray(batch)) return batch.length;
  if (isArrow(batch)) return blockOfTable(batch, "rowCount").rowCount;
  const first = Object.values(batch)[0] as { readonly length?: unknown } | undefined;
  return typeof first?.length === "number" ? first.length : 0;
}

/**
 * Makes a block of a function's result.
 *
 * @param from - the function, for messages
 * @param placeOfRow - as of `blockOfRows`
 * @param input - as of `blockOfRows`
 * @throws DataError for a value that is not a batch, for columns of different lengths, and for a column of two types
 */
export function blockOfBatch(batch: unknown, from: string, placeOfRow = nameOfRow, input?: Block): Block {
  if (Array.isArray(batch)) return blockOfRows(batch, from, placeOfRow, input);
  if (isArrow(batch)) return blockOfTable(batch, from);
  if (!isPlainRow(batch)) {
    throw new DataError(
      `A batch is an object with a column an entry, an array of rows, or an Arrow table: ${from} gave ${describeValue(batch)}`,
      {
        hint: "return { name: values, … } or [row, …]; a function of a single row belongs in map",
      },
    );
  }
  const names = Object.keys(batch);
  const vectors = names.map((name) =>
    namingColumn(name, () =>
      columnOfRows(name, from, placeOfRow, () => vectorOfGiven(batch[name], name, from, input && vectorOf(input, name)?.type)),
    ),
  );
  const length = vectors[0]?.length ?? 0;
  const odd = vectors.findIndex((vector) => vector.length !== length);
  if (odd >= 0) {
    throw new DataError(
      `The columns of a batch have one length: ${from} gave ${length} values in ${JSON.stringify(names[0])} and ${vectors[odd]?.length} in ${JSON.stringify(names[odd])}`,
    );
  }
  return { rowCount: length, names, vectors };
}

/**
 * The vector of a column that a function gave.
 *
 * @param offered - the type of the input's column of that name. Arrays keep it where their values fit; a typed array has the type that it says, but for the float64 in which 64-bit whole numbers are shown
 * @throws DataError for any other value
 */
export function vectorOfGiven(given: unknown, name: string, from: string, offered?: DataType): Vector {
  if (given instanceof Column) return vectorOfColumn(given);
  if (Array.isArray(given)) return keptVector(given, offered);
  if (given instanceof Float64Array && (offered?.kind === "int64" || offered?.kind === "uint64"))
    return keptNumbers(given, offered) ?? vectorOfArray(given);
  if (kindOfArray(given) !== undefined) return vectorOfArray(given as ValueArray);
  if (given instanceof NdArray) return vectorOfNdArray(given);
  throw new DataError(
    `A column is a typed array, an array, an NdArray or a Column: ${from} gave ${describeValue(given)} for ${JSON.stringify(name)}`,
  );
}
