/**
 * The functions of `groupBy(...).window(...)`: columns that are made of the rows of a group in order.
 *
 * Functions are plain data, checked where the user writes them. `engine/tables/window-rows.ts` computes them. Nulls are left out of sums, means and
 * extremes, as in SQL and pandas.
 */
import { count, custom, describeValue, isPlainObject, readOptions } from "../../core/internal.ts";
import type { WindowSpec } from "../engine/tables/window-rows.ts";
import { type ExchangeStep, namesOf } from "./exchange-steps.ts";

/** Stands for the type of a column's values. */
interface ValuesOf<C> {
  readonly valuesOf: C;
}

/** A column over the rows of a group in order. Its values are of type `T`, and it reads the columns `C`. */
export class WindowFunction<T = unknown, C extends string = string> {
  declare readonly types: readonly [value: T, column: C];
  readonly spec: WindowSpec;

  /** Made by `rank`, `lag` and the others. */
  constructor(spec: WindowSpec) {
    this.spec = spec;
  }
}

/** The columns that functions make of rows `R`. */
export type WindowColumns<R, W> = {
  -readonly [P in keyof W]: W[P] extends WindowFunction<infer T>
    ? T extends ValuesOf<infer C>
      ? C extends keyof R
        ? R[C] | null
        : never
      : T
    : never;
};

/** The options of `window`. */
export interface WindowOptions<K extends string = string> {
  /** The columns by which the rows of a group are ordered. */
  orderBy: K | readonly K[];
  /** The largest values first, for all columns or for each. Default: false. */
  descending?: boolean | readonly boolean[] | undefined;
}

/** The options of `rolling`. */
export interface RollingOptions {
  /** How many rows count: the row itself, and those before it. */
  rows: number;
  /** Values that there have to be; with fewer the result is null. Default: `rows`. */
  minRows?: number | undefined;
}

const STATISTICS = ["sum", "mean", "min", "max"] as const;
/** A statistic of `running` and `rolling`. */
export type WindowStatistic = (typeof STATISTICS)[number];

/** The number of the row in its group, from 1. */
export function rowNumber(): WindowFunction<number, never> {
  return new WindowFunction({ kind: "rowNumber" });
}

/** The number of rows before those of equal order, and 1: 1, 2, 2, 4. */
export function rank(): WindowFunction<number, never> {
  return new WindowFunction({ kind: "rank" });
}

/** The number of different orders up to the row: 1, 2, 2, 3. */
export function denseRank(): WindowFunction<number, never> {
  return new WindowFunction({ kind: "denseRank" });
}

/** The value of a column so many rows before; null where the group has no such row. @throws TypeError, RangeError for wrong arguments */
export function lag<const C extends string>(column: C, rows = 1): WindowFunction<ValuesOf<C>, C> {
  checkShift("lag", column, rows);
  return new WindowFunction({ kind: "shift", column, rows });
}

/** The value of a column so many rows behind; null where the group has no such row. @throws TypeError, RangeError for wrong arguments */
export function lead<const C extends string>(column: C, rows = 1): WindowFunction<ValuesOf<C>, C> {
  checkShift("lead", column, rows);
  return new WindowFunction({ kind: "shift", column, rows: -rows });
}

/** The sum, mean, least or largest value of a column from the first row of the group to this one; null before the first value. @throws TypeError */
export function running<const C extends string>(statistic: WindowStatistic, column: C): WindowFunction<number | null, C> {
  checkStatistic("running", statistic, column);
  return new WindowFunction({ kind: statistic, column, rows: undefined, minRows: 1 });
}

/**
 * The sum, mean, least or largest value of a column in the last rows.
 *
 * @throws TypeError, RangeError for wrong arguments
 * @example
 * const weeks = days.groupBy("city").window({ week: data.rolling("mean", "km", { rows: 7, minRows: 1 }) }, { orderBy: "day" });
 */
export function rolling<const C extends string>(
  statistic: WindowStatistic,
  column: C,
  options: RollingOptions,
): WindowFunction<number | null, C> {
  checkStatistic("rolling", statistic, column);
  const { rows, minRows } = readOptions<{ rows: number | undefined; minRows: number | undefined }>(options, {
    of: "rolling",
    otherNames: { window: "it is rows", min_periods: "it is minRows", min_samples: "it is minRows" },
    options: { rows: count({ min: 1 }, undefined), minRows: count({ min: 1 }, undefined) },
  });
  if (rows === undefined)
    throw new TypeError("Cannot call rolling: it takes the option rows, the number of rows that count: received none");
  if (minRows !== undefined && minRows > rows)
    throw new RangeError(`Cannot call rolling: it takes a minRows up to rows (${rows}): received ${minRows}`);
  return new WindowFunction({ kind: statistic, column, rows, minRows: minRows ?? rows });
}

function checkShift(of: string, column: unknown, rows: unknown): void {
  if (typeof column !== "string")
    throw new TypeError(`Cannot call ${of}: it takes the name of a column: received ${describeValue(column)}`);
  if (!Number.isSafeInteger(rows) || (rows as number) < 0)
    throw new RangeError(`Cannot call ${of}: it takes a whole number of rows from 0: received ${describeValue(rows)}`);
}

function checkStatistic(of: string, statistic: unknown, column: unknown): void {
  if (!STATISTICS.includes(statistic as WindowStatistic))
    throw new TypeError(`Cannot call ${of}: it takes one of ${STATISTICS.join(", ")}: received ${describeValue(statistic)}`);
  if (typeof column !== "string")
    throw new TypeError(`Cannot call ${of}: it takes the name of a column: received ${describeValue(column)}`);
}

const DIRECTIONS = custom<boolean | readonly boolean[]>("a boolean, or a boolean for each column, is needed", false, (value) =>
  typeof value === "boolean" || (Array.isArray(value) && value.every((one) => typeof one === "boolean")) ? "ok" : "wrong type",
);

/** The step that brings the rows of each group together, in order, and adds columns. @throws TypeError, RangeError */
export function windowStep(keys: readonly string[], functions: unknown, { orderBy, ...given }: WindowOptions): ExchangeStep {
  if (!isPlainObject(functions) || Object.values(functions).some((one) => !(one instanceof WindowFunction)))
    throw new TypeError(
      `Cannot call window: it takes an object of functions such as { rank: data.rank() }: received ${describeValue(functions)}`,
    );
  const columns = namesOf("window", orderBy);
  const { descending } = readOptions(given, { of: "window", options: { descending: DIRECTIONS } });
  if (Array.isArray(descending) && descending.length !== columns.length)
    throw new RangeError(
      `Cannot call window: it takes a direction for each of its ${columns.length} columns: received ${descending.length}`,
    );
  const order = columns.map((column, i) => ({
    column,
    descending: Array.isArray(descending) ? descending[i] === true : descending === true,
  }));
  const specs = Object.entries(functions as Readonly<Record<string, WindowFunction>>).map(([name, { spec }]) => [name, spec] as const);
  const name = `groupBy(${keys.join(", ")}).window(${specs.map(([own]) => own).join(", ")})`;
  return { name, partitioning: { kind: "hash", keys, use: "group by" }, after: { kind: "window", name, keys, orderBy: order, specs } };
}
