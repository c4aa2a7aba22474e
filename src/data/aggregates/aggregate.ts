/**
 * The aggregates of the public interface: `count()`, `sum("km")`, `aggregator({ … })`.
 *
 * An aggregate is plain data with the user's functions, so it travels to the workers, where `kernels.ts` computes it. Only `count()` counts nulls, unless
 * `ignoreNulls: false` says otherwise. A group without values gives null, and 0 for counts.
 */
import { count as countOption, describeValue, flag, number, readOptions } from "../../core/internal.ts";
import { DataError } from "../errors.ts";
import type { Gathered } from "../expressions/expression-types.ts";

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

/**
 * An aggregate of a column.
 *
 * @typeParam T - the result's type, as a term that the dataset's rows complete
 * @typeParam N - the column that it reads
 */
export interface Aggregate<out T = unknown, out N extends string = string> {
  readonly kind: BuiltInKind | "custom";
  readonly column?: string;
  /** The quantile, from 0 to 1; for `quantile` alone. */
  readonly quantile?: number;
  /** The quantiles, each from 0 to 1; for `approxQuantile` alone. */
  readonly quantiles?: readonly number[];
  /** Number of values; for `approxTopK` alone. */
  readonly k?: number;
  /** Size of the kept state; for approximate aggregates alone. */
  readonly room?: number;
  /** Delta degrees of freedom of `std`: it divides by the number of values minus `ddof`. Default: 1. */
  readonly ddof?: number;
  /** Whether nulls are left out. Default: the kind's own. */
  readonly ignoreNulls?: boolean;
  readonly functions?: AggregatorFunctions<never, unknown, unknown>;
  /** For the compiler alone. */
  readonly term?: T;
  readonly names?: N;
}

/** The names that the compiler compares with the columns of a dataset: a name that is known at run time alone is compared by the workers. */
type Known<N extends string> = string extends N ? never : N;

function ofColumn<T, N extends string>(kind: BuiltInKind, column: N): Aggregate<T, Known<N>> {
  if (typeof column !== "string") throw new TypeError(`Cannot call ${kind}: it takes the name of a column: received ${typeof column}`);
  return { kind, column };
}

/** How an aggregate treats nulls. */
export interface NullOptions {
  /** Whether nulls are left out. */
  ignoreNulls?: boolean | undefined;
}

/** The options of `std`. */
export interface StdOptions extends NullOptions {
  /** The squares are divided by the number of values less this: 1 for a sample, 0 where the values are all that there are. Default: 1. */
  ddof?: number | undefined;
}

const DDOF = number("a number from 0 is needed", 1, (value) => Number.isFinite(value) && value >= 0);

/** An aggregate that leaves nulls out unless the options say otherwise. */
function withNulls<T, N extends string>(aggregate: Aggregate<T, N>, options: NullOptions): Aggregate<T, N> {
  return { ...aggregate, ...readOptions(options, { of: aggregate.kind, options: { ignoreNulls: flag(true) } }) };
}

/**
 * The number of rows. Given a column, nulls count too, as in Ray, unless `ignoreNulls: true` leaves them out.
 *
 * @throws TypeError for an invalid column name
 */
export function count(column?: undefined, options?: NullOptions): Aggregate<number, never>;
export function count<const N extends string>(column: N, options?: NullOptions): Aggregate<number, Known<N>>;
export function count(column?: string, options: NullOptions = {}): Aggregate<number> {
  const { ignoreNulls } = readOptions(options, { of: "count", options: { ignoreNulls: flag(false) } });
  if (column !== undefined) return { ...ofColumn<number, string>("count", column), ignoreNulls };
  if (ignoreNulls) throw new TypeError("Cannot call count: it takes ignoreNulls with the name of a column: received none");
  return { kind: "count" };
}

/**
 * The sum of a column of numbers; null where it has no value. That of decimals is a decimal, exact, with up to 76 digits; that of bigints a bigint, exact, or an error beyond 64 bits. That of
 * booleans is how many are true.
 *
 * @param options - `ignoreNulls: false`: null where a value is null. Default: true
 */
export function sum<const N extends string>(column: N, options: NullOptions = {}): Aggregate<Gathered<N, "sum">, Known<N>> {
  return withNulls(ofColumn("sum", column), options);
}

/** The smallest value of a column: a number, a text, a time. NaN is smaller and larger than nothing. @param options - as of `sum` */
export function min<const N extends string>(column: N, options: NullOptions = {}): Aggregate<Gathered<N, "extreme">, Known<N>> {
  return withNulls(ofColumn("min", column), options);
}

/** The largest value of a column. @param options - as of `sum` */
export function max<const N extends string>(column: N, options: NullOptions = {}): Aggregate<Gathered<N, "extreme">, Known<N>> {
  return withNulls(ofColumn("max", column), options);
}

/** The arithmetic mean of a column of numbers. @param options - as of `sum` */
export function mean<const N extends string>(column: N, options: NullOptions = {}): Aggregate<number | null, Known<N>> {
  return withNulls(ofColumn("mean", column), options);
}

/**
 * The standard deviation, of the sample unless `ddof: 0` says otherwise: null where there are no more values than `ddof`. Computed by Welford's method, merged by Chan's.
 *
 * @param options - `ignoreNulls` as of `sum`
 */
export function std<const N extends string>(column: N, options: StdOptions = {}): Aggregate<number | null, Known<N>> {
  return {
    ...ofColumn<number | null, N>("std", column),
    ...readOptions(options, { of: "std", options: { ignoreNulls: flag(true), ddof: DDOF } }),
  };
}

/** The largest absolute value of a column of numbers. @param options - as of `sum` */
export function absMax<const N extends string>(column: N, options: NullOptions = {}): Aggregate<number | null, Known<N>> {
  return withNulls(ofColumn("absMax", column), options);
}

/** The value below which a part of the values lies, exactly, with linear interpolation between two values. Keeps all values of a group in memory. @param options - as of `sum` */
export function quantile<const N extends string>(column: N, q = 0.5, options: NullOptions = {}): Aggregate<number | null, Known<N>> {
  if (typeof q !== "number" || !(q >= 0 && q <= 1))
    throw new RangeError(`Cannot call quantile: it takes a number from 0 to 1: received ${q}`);
  return { ...withNulls(ofColumn<number | null, N>("quantile", column), options), quantile: q };
}

/** Nulls may be in a list unless the options are known to leave them out. */
type ListPart<O extends NullOptions> = O extends LeavingOut ? "list" : "listWithNulls";
interface LeavingOut {
  ignoreNulls?: true | undefined;
}

/** The distinct values of a column, in the order in which they first come. @param options - `ignoreNulls: false`: null is one of them. Default: true */
export function unique<const N extends string, const O extends NullOptions = LeavingOut>(
  column: N,
  options?: O,
): Aggregate<Gathered<N, ListPart<O>>, Known<N>>;
export function unique(column: string, options: NullOptions = {}): Aggregate<any> {
  return withNulls(ofColumn("unique", column), options);
}

/** How many distinct values a column has. @param options - as of `unique` */
export function countDistinct<const N extends string>(column: N, options: NullOptions = {}): Aggregate<number, Known<N>> {
  return withNulls(ofColumn("countDistinct", column), options);
}

/** All values of a column, in their order. @param options - `ignoreNulls: false`: nulls are among them. Default: true */
export function asList<const N extends string, const O extends NullOptions = LeavingOut>(
  column: N,
  options?: O,
): Aggregate<Gathered<N, ListPart<O>>, Known<N>>;
export function asList(column: string, options: NullOptions = {}): Aggregate<any> {
  return withNulls(ofColumn("asList", column), options);
}

/** How often each value of a column comes, the most frequent first. Keeps all distinct values of a group in memory. */
export function valueCounter<const N extends string>(column: N): Aggregate<Gathered<N, "counts">, Known<N>> {
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
export function approxQuantile<const N extends string>(
  column: N,
  quantiles: readonly number[],
  options: ApproxQuantileOptions = {},
): Aggregate<number[] | null, Known<N>> {
  const wrong =
    Array.isArray(quantiles) && quantiles.length > 0 ? quantiles.find((q) => !(typeof q === "number" && q >= 0 && q <= 1)) : quantiles;
  if (wrong !== undefined)
    throw new RangeError(`Cannot call approxQuantile: it takes an array of numbers from 0 to 1: received ${describeValue(wrong)}`);
  const { precision } = readOptions(options, { of: "approxQuantile", options: { precision: countOption({ min: 8, max: 65_535 }, 800) } });
  return { ...ofColumn<number[] | null, N>("approxQuantile", column), quantiles, room: precision };
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
export function approxTopK<const N extends string>(
  column: N,
  k: number,
  options: ApproxTopKOptions = {},
): Aggregate<Gathered<N, "frequent">, Known<N>> {
  if (!Number.isSafeInteger(k) || k < 1)
    throw new RangeError(`Cannot call approxTopK: it takes a whole number of values from 1: received ${String(k)}`);
  const { capacity } = readOptions(options, { of: "approxTopK", options: { capacity: countOption({ min: 1 }, 32_768) } });
  return { ...ofColumn<Gathered<N, "frequent">, N>("approxTopK", column), k, room: Math.max(k, capacity) };
}

/** How many of the rows have no value, in percent: 0 to 100. NaN is none, as in Ray. */
export function missingValuePercentage<const N extends string>(column: N): Aggregate<number | null, Known<N>> {
  return ofColumn("missingValuePercentage", column);
}

/** How many of the values are 0, in percent: 0 to 100. @param options - `ignoreNulls: false`: of all rows. Default: true */
export function zeroPercentage<const N extends string>(column: N, options: NullOptions = {}): Aggregate<number | null, Known<N>> {
  return withNulls(ofColumn("zeroPercentage", column), options);
}

/**
 * An aggregate of one's own.
 *
 * @example
 * const product = data.aggregator({ init: () => 1, accumulateRow: (state, row: { x: number }) => state * row.x, merge: (a, b) => a * b });
 */
export function aggregator<R, S, T = S>(functions: AggregatorFunctions<R, S, T>): Aggregate<T, never> {
  for (const name of ["init", "accumulateRow", "merge"] as const)
    if (typeof functions?.[name] !== "function")
      throw new TypeError(`Cannot call aggregator: it takes { init, accumulateRow, merge, finalize? }: ${name} is no function`);
  return { kind: "custom", functions: functions };
}

/** @throws TypeError, or DataError for a name that is a key's */
export function checkAggregates(aggregates: Readonly<Record<string, unknown>>, keys: readonly string[]): void {
  if (typeof aggregates !== "object" || aggregates === null || Object.keys(aggregates).length === 0)
    throw new TypeError('Cannot call aggregate: it takes an object of aggregates, such as { rides: count(), km: sum("km") }');
  for (const [name, aggregate] of Object.entries(aggregates)) {
    if (typeof aggregate !== "object" || aggregate === null || !("kind" in aggregate))
      throw new TypeError(`Cannot call aggregate: ${JSON.stringify(name)} is no aggregate: make it with count(), sum(column) and the like`);
    if (keys.includes(name)) throw new DataError(`Cannot call aggregate: ${JSON.stringify(name)} is the name of a key already`);
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
