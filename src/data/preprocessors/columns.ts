/**
 * Options and values that preprocessors share: names of columns, numbers with nulls, and categories.
 *
 * Categories have the order of Python's `sorted`, as their places are the numbers of encoders.
 * A key tells the number 1, the text "1" and true apart.
 */
import { custom, describeValue } from "../../core/internal.ts";
import { DataError } from "../errors.ts";
import type { AnyColumn } from "../row-types.ts";
import type { Values } from "./preprocessor.ts";

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === "string" && name !== "");
}

const NAMES_NEEDED = "an array of names is needed, none of them twice";
const namesFit = (value: unknown): "ok" | "wrong type" | "out of range" =>
  !isNames(value) ? "wrong type" : new Set(value).size === value.length ? "ok" : "out of range";

/** Names of columns to read. */
export const COLUMNS = custom<readonly string[]>(NAMES_NEEDED, [], namesFit);
/** Names of columns to write, one for each column that is read. Default: those. */
export const OUTPUT_COLUMNS = custom<readonly string[] | undefined>(NAMES_NEEDED, undefined, namesFit);

export interface ColumnOptions {
  /** The columns to read. */
  columns: readonly string[];
  /** Names of the columns that are written, one for each of `columns`. Default: `columns`, which are replaced. */
  outputColumns?: readonly string[] | undefined;
}

/** @throws TypeError for a call without columns, or with another number of output columns */
export function checkColumns(
  kind: string,
  { columns, outputColumns }: { columns: readonly string[]; outputColumns?: readonly string[] | undefined },
): void {
  if (columns.length === 0) throw new TypeError(`Cannot call ${kind}: it takes columns: [name, ...]: received none`);
  if (outputColumns !== undefined && outputColumns.length !== columns.length)
    throw new TypeError(
      `Cannot call ${kind}: it takes an output column for each of its ${columns.length} columns: received ${outputColumns.length}: ${outputColumns.join(", ")}`,
    );
}

/** A number, or null for a missing value. @throws DataError for other values */
export function numberOrNull(value: unknown, column: string): number | null {
  if (value === null || value === undefined) return null;
  if (typeof value === "number") return value;
  if (typeof value === "bigint" || typeof value === "boolean") return Number(value);
  throw new DataError(`Column ${JSON.stringify(column)} has ${describeValue(value)} where a number is needed`);
}

/** Each number of a column through a function. Nulls stay nulls. */
export function mapNumbers(values: Values, column: string, fn: (x: number) => number | null): AnyColumn {
  const result = new Array<number | null>(values.length);
  let hasNull = false;
  for (let row = 0; row < values.length; row += 1) {
    const x = numberOrNull(values[row], column);
    const y = x === null ? null : fn(x);
    hasNull ||= y === null;
    result[row] = y;
  }
  return hasNull ? result : Float64Array.from(result as number[]);
}

/** A value that can be a category. */
export type Category = string | number | boolean;

/** The text by which categories of a map are told apart: 1 and "1" differ. */
export function keyOf(value: unknown): string {
  return `${typeof value}:${String(value)}`;
}

/** The category of a key. */
export function categoryOfKey(key: string): Category {
  const [type] = key.split(":", 1) as [string];
  const text = key.slice(type.length + 1);
  return type === "string" ? text : type === "number" ? Number(text) : text === "true";
}

/** @throws DataError for a value that is no category */
export function categoryOf(value: unknown, column: string): Category {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  if (typeof value === "bigint" && Number.isSafeInteger(Number(value))) return Number(value);
  throw new DataError(`Column ${JSON.stringify(column)} has ${describeValue(value)}, which is no category`, {
    hint: 'categories are texts, numbers and booleans: turn others into texts first, such as by col(name).cast("string")',
  });
}

/** Categories in ascending order: numbers by value, texts by code point. @throws DataError for categories of several types */
export function sortedCategories(values: Iterable<unknown>, column: string): Category[] {
  const categories = [...values].map((value) => categoryOf(value, column));
  const types = new Set(categories.map((value) => typeof value));
  if (types.size > 1) throw new DataError(`Column ${JSON.stringify(column)} has categories of several types: ${[...types].join(", ")}`);
  return categories.sort(compareCategories);
}

export function compareCategories(a: Category, b: Category): number {
  if (typeof a === "string" && typeof b === "string") return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return Number(a) - Number(b);
}

/** Elements of a list, an array or a typed array. */
export function elementsIn(value: unknown, column: string): Iterable<unknown> {
  if (Array.isArray(value)) return value;
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return value as unknown as Iterable<unknown>;
  throw new DataError(`Column ${JSON.stringify(column)} has ${describeValue(value)} where a list is needed`);
}

/** Pairs of the names that are read and written. */
export function pairsOf({ columns, outputColumns = columns }: ColumnOptions): (readonly [from: string, to: string])[] {
  return columns.map((from, i) => [from, outputColumns[i] as string] as const);
}
