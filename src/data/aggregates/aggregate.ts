/**
 * What users aggregate by: `count()`, `sum("km")`, `aggregator({ … })`.
 *
 * An aggregate is plain data with the user's functions in it, so it travels to the workers, where `kernels.ts` computes it. Nulls are no values: they count in `count()`
 * alone. A group without values has null, and 0 where something is counted.
 */
import { count as countOption, describeValue, readOptions } from "../../core/internal.ts";
import { DataError } from "../errors.ts";

/** The aggregates that are computed from one column each, without a function of the user's. */
type BuiltInKind =
  | "count"
  | "sum"
  | "min"
  | "max"
  | "mean"
  | "std"
  | "absMax"
  | "quantile"
  | "unique"
  | "countDistinct"
  | "asList"
  | "valueCounter"
  | "approxQuantile"
  | "approxTopK"
  | "missingValuePercentage"
  | "zeroPercentage";

/** A function of the user's own over the rows of a group. */
export interface AggregatorFunctions<R, S, T> {
  /** The state of a group without rows. States travel between workers, so they are values that a column can hold. */
  init(): S;
  /** The state with one row more. */
  accumulateRow(state: S, row: R): S;
  /** The state of the rows of both. */
  merge(a: S, b: S): S;
  /** The result. Default: the state. */
  finalize?(state: S): T;
}

/** An aggregate whose result is a `T`. */
export interface Aggregate<T = unknown> {
  readonly kind: BuiltInKind | "custom";
  readonly column?: string;
  /** Of `quantile`: from 0 to 1. */
  readonly quantile?: number;
  /** Of `approxQuantile`: each from 0 to 1. */
  readonly quantiles?: readonly number[];
  /** Of `approxTopK`: how many values. */
  readonly k?: number;
  /** Of those that are approximate: how much they keep. */
  readonly room?: number;
  readonly functions?: AggregatorFunctions<never, unknown, unknown>;
  /** For the compiler alone. */
  readonly result?: T;
}

function ofColumn<T>(kind: BuiltInKind, column: string): Aggregate<T> {
  if (typeof column !== "string") throw new TypeError(`${kind} takes the name of a column: received ${typeof column}`);
  return { kind, column };
}

/** The number of rows. */
export function count(): Aggregate<number> {
  return { kind: "count" };
}

/** The sum of a column of numbers; null where it has no value. That of decimals is a decimal, exact, with up to 76 digits; that of bigints a bigint, exact, or an error beyond 64 bits. */
export function sum(column: string): Aggregate<number | null>;
export function sum<T extends number | bigint | string>(column: string): Aggregate<T | null>;
export function sum(column: string): Aggregate<any> {
  return ofColumn("sum", column);
}

/** The smallest value of a column: a number, a text, a time. NaN is smaller and larger than nothing. */
export function min<T = number>(column: string): Aggregate<T | null> {
  return ofColumn("min", column);
}

/** The largest value of a column. */
export function max<T = number>(column: string): Aggregate<T | null> {
  return ofColumn("max", column);
}

/** The arithmetic mean of a column of numbers. */
export function mean(column: string): Aggregate<number | null> {
  return ofColumn("mean", column);
}

/** The standard deviation of the sample, over n - 1: null for fewer than two values. Computed by Welford's method, merged by Chan's. */
export function std(column: string): Aggregate<number | null> {
  return ofColumn("std", column);
}

/** The largest absolute value of a column of numbers. */
export function absMax(column: string): Aggregate<number | null> {
  return ofColumn("absMax", column);
}

/** The value below which a part of the values lies, exactly, with linear interpolation between two values. Keeps all values of a group in memory. */
export function quantile(column: string, q = 0.5): Aggregate<number | null> {
  if (typeof q !== "number" || !(q >= 0 && q <= 1)) throw new RangeError(`quantile takes a number from 0 to 1: received ${q}`);
  return { ...ofColumn<number | null>("quantile", column), quantile: q };
}

/** The distinct values of a column, in the order in which they first come. */
export function unique<T = unknown>(column: string): Aggregate<T[]> {
  return ofColumn("unique", column);
}

/** How many distinct values a column has. */
export function countDistinct(column: string): Aggregate<number> {
  return ofColumn("countDistinct", column);
}

/** All values of a column, in their order. */
export function asList<T = unknown>(column: string): Aggregate<T[]> {
  return ofColumn("asList", column);
}

/** Values and how often each comes, as two lists of equal lengths. */
export interface ValueCounts<T> {
  readonly values: T[];
  readonly counts: number[];
}

/** A value and how often it comes. */
export interface FrequentValue<T> {
  readonly value: T;
  readonly count: number;
}

/** How often each value of a column comes, the most frequent first. Keeps all distinct values of a group in memory. */
export function valueCounter<T = unknown>(column: string): Aggregate<ValueCounts<T>> {
  return ofColumn("valueCounter", column);
}

/** The options of `approxQuantile`. */
export interface ApproxQuantileOptions {
  /** The size of the sketch: 800 knows ranks to 0.5 %, 200 to 1.8 %, and a group takes about three times as many numbers. From 8 to 65,535. Default: 800. */
  precision?: number | undefined;
}

/**
 * About the values below which these parts of the values lie, a number for each, all of them values of the column. Memory does not grow with the rows; `quantile` is exact. NaN is left out.
 *
 * @throws RangeError for parts that are not from 0 to 1
 */
export function approxQuantile(
  column: string,
  quantiles: readonly number[],
  options: ApproxQuantileOptions = {},
): Aggregate<number[] | null> {
  const wrong =
    Array.isArray(quantiles) && quantiles.length > 0 ? quantiles.find((q) => !(typeof q === "number" && q >= 0 && q <= 1)) : quantiles;
  if (wrong !== undefined) throw new RangeError(`approxQuantile takes an array of numbers from 0 to 1: received ${describeValue(wrong)}`);
  const { precision } = readOptions(options, { of: "approxQuantile", options: { precision: countOption({ min: 8, max: 65_535 }, 800) } });
  return { ...ofColumn<number[] | null>("approxQuantile", column), quantiles, room: precision };
}

/** The options of `approxTopK`. */
export interface ApproxTopKOptions {
  /** How many values of a group are counted at a time: counts are too small by 2 / capacity of all rows at most, and exact where there are fewer values. Default: 32,768. */
  capacity?: number | undefined;
}

/**
 * The most frequent values of a column with their counts, about. Memory does not grow with the values; `valueCounter` is exact.
 *
 * @throws RangeError for a `k` that is no whole number from 1
 */
export function approxTopK<T = unknown>(column: string, k: number, options: ApproxTopKOptions = {}): Aggregate<FrequentValue<T>[]> {
  if (!Number.isSafeInteger(k) || k < 1) throw new RangeError(`approxTopK takes a whole number of values from 1: received ${String(k)}`);
  const { capacity } = readOptions(options, { of: "approxTopK", options: { capacity: countOption({ min: 1 }, 32_768) } });
  return { ...ofColumn<FrequentValue<T>[]>("approxTopK", column), k, room: Math.max(k, capacity) };
}

/** How many of the rows have no value, in percent: 0 to 100. NaN is none, as in Ray. */
export function missingValuePercentage(column: string): Aggregate<number | null> {
  return ofColumn("missingValuePercentage", column);
}

/** How many of the values are 0, in percent: 0 to 100. */
export function zeroPercentage(column: string): Aggregate<number | null> {
  return ofColumn("zeroPercentage", column);
}

/**
 * An aggregate of one's own.
 *
 * @example
 * const product = data.aggregator({ init: () => 1, accumulateRow: (state, row: { x: number }) => state * row.x, merge: (a, b) => a * b });
 */
export function aggregator<R, S, T = S>(functions: AggregatorFunctions<R, S, T>): Aggregate<T> {
  for (const name of ["init", "accumulateRow", "merge"] as const)
    if (typeof functions?.[name] !== "function")
      throw new TypeError(`aggregator takes { init, accumulateRow, merge, finalize? }: ${name} is no function`);
  return { kind: "custom", functions: functions };
}

/** @throws TypeError, or DataError for a name that is a key's */
export function checkAggregates(aggregates: Readonly<Record<string, unknown>>, keys: readonly string[]): void {
  if (typeof aggregates !== "object" || aggregates === null || Object.keys(aggregates).length === 0)
    throw new TypeError('aggregate takes an object of aggregates, such as { rides: count(), km: sum("km") }');
  for (const [name, aggregate] of Object.entries(aggregates)) {
    if (typeof aggregate !== "object" || aggregate === null || !("kind" in aggregate))
      throw new TypeError(`aggregate: ${JSON.stringify(name)} is no aggregate: make it with count(), sum(column) and the like`);
    if (keys.includes(name)) throw new DataError(`aggregate: ${JSON.stringify(name)} is the name of a key already`);
  }
}

/** The aggregates of no rows: 0 where something is counted, an empty list, or null. */
export function emptyResult(aggregates: Readonly<Record<string, Aggregate>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(aggregates).map(([name, aggregate]) => [name, emptyValue(aggregate)]));
}

function emptyValue({ kind, functions }: Aggregate): unknown {
  switch (kind) {
    case "count":
    case "countDistinct":
      return 0;
    case "unique":
    case "asList":
    case "approxTopK":
      return [];
    case "valueCounter":
      return { values: [], counts: [] };
    case "custom": {
      const own = functions as { init(): unknown; finalize?(state: unknown): unknown };
      const state = own.init();
      return own.finalize === undefined ? state : own.finalize(state);
    }
    default:
      return null;
  }
}
