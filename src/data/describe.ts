/**
 * The description of a dataset: exact statistics of the columns, as the `describe` of pandas and Polars has them.
 *
 * The type of a column decides its statistics. All columns are aggregated in one pass. The quantiles keep the values of their columns, so `summary` is the
 * one for columns beyond the memory of a task.
 */
import { custom } from "../core/internal.ts";
import { type Aggregate, count, max, mean, min, quantile, std } from "./aggregates/aggregate.ts";
import { type DataType, type Field, isNumberKind, valueType } from "./blocks/data-type.ts";
import type { ConsumeOptions } from "./consuming/consume.ts";
import type { AnyRow } from "./row-types.ts";
import { chosenColumns, COLUMNS, type SummaryPlan } from "./summary.ts";

/** The options of `describe`. */
export interface DescribeOptions<R extends AnyRow = AnyRow> extends ConsumeOptions {
  /** The described columns. Default: all. */
  columns?: readonly (keyof R & string)[] | undefined;
  /** The quantiles of columns of numbers, each from 0 to 1, interpolated linearly. Default: 0.25, 0.5 and 0.75. */
  quantiles?: readonly number[] | undefined;
}

export const DESCRIBE = {
  columns: COLUMNS,
  quantiles: custom<readonly number[]>("an array of different numbers from 0 to 1 is needed", [0.25, 0.5, 0.75], (value) => {
    if (!Array.isArray(value) || !value.every((q) => typeof q === "number")) return "wrong type";
    return value.every((q) => q >= 0 && q <= 1) && new Set(value).size === value.length ? "ok" : "out of range";
  }),
};

/** @throws DataError for columns that do not exist, and if there is none */
export function describePlan(
  fields: readonly Field[],
  { columns, quantiles }: { readonly columns: readonly string[] | undefined; readonly quantiles: readonly number[] },
): SummaryPlan {
  const chosen = chosenColumns(fields, columns);
  const wanted = chosen.flatMap(({ name, type }) =>
    Object.entries(statisticsOf(name, type, quantiles)).map(([statistic, aggregate]) => ({ column: name, statistic, aggregate })),
  );
  return {
    columns: chosen.map(({ name }) => name),
    statistics: wanted.map(({ column, statistic }) => ({ column, statistic })),
    aggregates: Object.fromEntries(wanted.map(({ aggregate }, i) => [`statistic ${i}`, aggregate])),
    order: ["count", "nullCount", "mean", "std", "min", ...quantiles.map(percentOf), "max"],
  };
}

/** The results of a plan, where `nullCount` is the number of all rows until the count of values is taken off. */
export function describedResult({ statistics }: SummaryPlan, result: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const counts = new Map(
    statistics.flatMap(({ column, statistic }, i) =>
      statistic === "count" ? [[column, result[`statistic ${i}`] as number] as const] : [],
    ),
  );
  return Object.fromEntries(
    statistics.map(({ column, statistic }, i) => {
      const value = result[`statistic ${i}`];
      return [`statistic ${i}`, statistic === "nullCount" ? (value as number) - (counts.get(column) as number) : value];
    }),
  );
}

/** Names a quantile in percent: `25%`, `2.5%`. */
function percentOf(q: number): string {
  return `${Number((q * 100).toPrecision(12))}%`;
}

const TIMES: ReadonlySet<string> = new Set<DataType["kind"]>(["timestamp", "date", "time32", "time64", "duration"]);

function statisticsOf(column: string, type: DataType, quantiles: readonly number[]): Record<string, Aggregate> {
  const counts = { count: count(column, { ignoreNulls: true }), nullCount: count() };
  const extremes = { min: min(column), max: max(column) };
  const { kind } = valueType(type);
  if (isNumberKind(kind) || kind === "int64" || kind === "uint64")
    return {
      ...counts,
      mean: mean(column),
      std: std(column),
      ...extremes,
      ...Object.fromEntries(quantiles.map((q) => [percentOf(q), quantile(column, q)])),
    };
  if (kind === "decimal") return { ...counts, mean: mean(column), std: std(column), ...extremes };
  if (kind === "bool") return { ...counts, mean: mean(column), ...extremes };
  return kind === "string" || TIMES.has(kind) ? { ...counts, ...extremes } : counts;
}
