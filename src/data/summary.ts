/**
 * The summary of a dataset: what each column's values are like, a statistic a row, as Ray's `summary()` has it.
 *
 * The type of a column, or the user's function, decides its statistics. All columns are aggregated in one pass; this file says what to aggregate and reads the result.
 * Statistics that are lists, such as the most frequent values, have a row for each of their elements.
 */
import { custom, describeValue } from "../core/internal.ts";
import {
  type Aggregate,
  approxQuantile,
  approxTopK,
  checkAggregates,
  count,
  max,
  mean,
  min,
  missingValuePercentage,
  std,
  zeroPercentage,
} from "./aggregates/aggregate.ts";
import { type DataType, type Field, isNumberKind, typeName, valueType } from "./blocks/data-type.ts";
import type { ConsumeOptions } from "./consuming/consume.ts";
import { DataError } from "./errors.ts";
import type { AnyRow } from "./row-types.ts";

/** The options of `summary`. */
export interface SummaryOptions<R extends AnyRow = AnyRow> extends ConsumeOptions {
  /** The columns that it tells of. Default: all. */
  columns?: readonly (keyof R & string)[] | undefined;
  /**
   * Other statistics for a column of a type, such as `int64`, by their names; undefined keeps the defaults of the type.
   *
   * @example
   * await rides.summary({ aggregates: (column, type) => (type === "string" ? { distinct: data.countDistinct(column) } : undefined) });
   */
  aggregates?: ((column: string, type: string) => Readonly<Record<string, Aggregate>> | undefined) | undefined;
}

/** Statistics of one column, by their names. Which it has depends on its type. */
export interface ColumnStatistics<T = unknown> {
  /** Rows, with those that are null. */
  readonly count?: number;
  /** Rows that are null or NaN, in percent. */
  readonly missingPct?: number | null;
  readonly mean?: number | null;
  /** The deviation of all values, over their number. */
  readonly std?: number | null;
  readonly min?: T | null;
  readonly max?: T | null;
  /** The median, about. */
  readonly "approxQuantile[0]"?: number;
  /** Values that are 0, in percent. */
  readonly zeroPct?: number | null;
  /** Statistics of one's own, and the ten most frequent values: `approxTopK[0]` to `approxTopK[9]`, each `{ value, count }`. */
  readonly [statistic: string]: unknown;
}

/** A statistic: its name, and what it is for each column; null where a column has it not. */
export interface SummaryRow {
  readonly statistic: string;
  readonly [column: string]: unknown;
}

export const COLUMNS = custom<readonly string[] | undefined>("an array of column names is needed", undefined, (value) =>
  Array.isArray(value) && value.every((name) => typeof name === "string") ? "ok" : "wrong type",
);

export const SUMMARY = {
  columns: COLUMNS,
  aggregates: custom<SummaryOptions["aggregates"]>("a function is needed", undefined, (value) =>
    typeof value === "function" ? "ok" : "wrong type",
  ),
};

const TOP_VALUES = 10;

/** The aggregates of a summary, by the names of the column and the statistic. */
export interface SummaryPlan {
  readonly columns: readonly string[];
  readonly statistics: readonly { readonly column: string; readonly statistic: string }[];
  /** The aggregates, each under the index of a statistic. */
  readonly aggregates: Readonly<Record<string, Aggregate>>;
  /** The statistics in the order of their rows. Default: by name. */
  readonly order?: readonly string[];
}

/** @throws DataError for columns that are not there, and where there is none */
export function summaryPlan(
  fields: readonly Field[],
  { columns, aggregates: own }: Pick<SummaryOptions, "columns" | "aggregates">,
): SummaryPlan {
  const chosen = chosenColumns(fields, columns);
  const wanted = chosen.flatMap(({ name, type }) => {
    const given = own?.(name, typeName(type));
    if (given !== undefined) checkAggregates(given, []);
    return Object.entries(given ?? defaults(name, type)).map(([statistic, aggregate]) => ({ column: name, statistic, aggregate }));
  });
  return {
    columns: chosen.map(({ name }) => name),
    statistics: wanted.map(({ column, statistic }) => ({ column, statistic })),
    aggregates: Object.fromEntries(wanted.map(({ aggregate }, i) => [`statistic ${i}`, aggregate])),
  };
}

/** The columns of a summary. @throws DataError for columns that do not exist, for one with the name of a summary's own, and if there is none */
export function chosenColumns(fields: readonly Field[], columns: readonly string[] | undefined): readonly Field[] {
  const chosen = columns?.map((column) => fieldOf(fields, column)) ?? fields;
  if (chosen.length === 0) throw new DataError("Cannot summarize: there is no column", { hint: "a dataset without rows may have none" });
  if (chosen.some(({ name }) => name === "statistic"))
    throw new DataError('Cannot summarize a column "statistic": rows of a summary have their statistic under that name', {
      hint: 'rename it before: renameColumns({ statistic: "other" }), or leave it out by the option columns',
    });
  return chosen;
}

function fieldOf(fields: readonly Field[], column: string): Field {
  const field = fields.find(({ name }) => name === column);
  if (field !== undefined) return field;
  throw new DataError(`Cannot summarize ${JSON.stringify(column)}: there is no such column`, {
    hint: `there are ${fields.map(({ name }) => name).join(", ")}`,
  });
}

function defaults(column: string, type: DataType): Record<string, Aggregate> {
  const all = { count: count(column), missingPct: missingValuePercentage(column) };
  switch (valueType(type).kind) {
    case "timestamp":
    case "date":
    case "time32":
    case "time64":
    case "duration":
      return { ...all, min: min(column), max: max(column) };
    case "string":
    case "binary":
      return { ...all, approxTopK: approxTopK(column, TOP_VALUES) };
    default:
      return isNumeric(type) ? { ...all, ...ofNumbers(column) } : all;
  }
}

function isNumeric({ kind }: DataType): boolean {
  return isNumberKind(kind) || kind === "int64" || kind === "uint64" || kind === "decimal" || kind === "bool";
}

function ofNumbers(column: string): Record<string, Aggregate> {
  return {
    mean: mean(column),
    std: std(column, { ddof: 0 }),
    min: min(column),
    max: max(column),
    approxQuantile: approxQuantile(column, [0.5]),
    zeroPct: zeroPercentage(column),
  };
}

/** Statistics of the columns of a dataset, printed as a table. */
export class DatasetSummary<R extends AnyRow = AnyRow> {
  /** The columns that it tells of, in their order. */
  readonly columns: readonly string[];
  /** The statistics, by name. */
  readonly rows: readonly SummaryRow[];
  readonly #byColumn: ReadonlyMap<string, ReadonlyMap<string, unknown>>;

  /** Made by `summary` and `describe`. @param result - the aggregates of the plan */
  constructor({ columns, statistics, order }: SummaryPlan, result: Readonly<Record<string, unknown>>) {
    const byColumn = new Map(columns.map((column) => [column, new Map<string, unknown>()]));
    statistics.forEach(({ column, statistic }, i) => {
      const value = result[`statistic ${i}`];
      const own = byColumn.get(column) as Map<string, unknown>;
      if (Array.isArray(value)) for (const [place, element] of value.entries()) own.set(`${statistic}[${place}]`, element);
      else if (!(value === null && statistic === "approxQuantile")) own.set(statistic, value);
    });
    const names = [...new Set([...byColumn.values()].flatMap((own) => [...own.keys()]))].sort((a, b) =>
      order === undefined ? (a < b ? -1 : 1) : order.indexOf(a) - order.indexOf(b),
    );
    this.columns = columns;
    this.#byColumn = byColumn;
    this.rows = names.map((statistic) => ({
      statistic,
      ...Object.fromEntries(columns.map((column) => [column, byColumn.get(column)?.get(statistic) ?? null])),
    }));
  }

  /**
   * The statistics of one column.
   *
   * @throws DataError for a column that it does not tell of
   */
  column<const C extends keyof R & string>(name: C): ColumnStatistics<R[C]> {
    const own = this.#byColumn.get(name);
    if (own === undefined)
      throw new DataError(`The summary tells nothing of ${describeValue(name)}`, { hint: `it has ${this.columns.join(", ")}` });
    return Object.fromEntries(own) as ColumnStatistics<R[C]>;
  }

  /** A statistic a line. */
  toString(): string {
    const header = ["statistic", ...this.columns];
    const lines = [header, ...this.rows.map((row) => header.map((name) => cell(row[name])))];
    const widths = header.map((_, i) => Math.max(...lines.map((line) => (line[i] as string).length)));
    return lines
      .map((line) =>
        line
          .map((text, i) => text.padEnd(widths[i] as number))
          .join("  ")
          .trimEnd(),
      )
      .join("\n");
  }

  get [Symbol.toStringTag](): string {
    return "DatasetSummary";
  }
}

Object.defineProperty(DatasetSummary.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value(this: DatasetSummary): string {
    return this.toString();
  },
});

const CELL_LENGTH_MAX = 32;

function cell(value: unknown): string {
  const text = textOf(value).replace(/\s+/g, " ");
  return text.length > CELL_LENGTH_MAX ? `${text.slice(0, CELL_LENGTH_MAX - 1)}…` : text;
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(Number.isInteger(value) ? value : Number(value.toPrecision(6)));
  if (typeof value === "bigint" || typeof value === "boolean") return String(value);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return `0x${Buffer.from(value).toString("hex")}`;
  if (typeof value === "object" && "value" in value && "count" in value) return `${textOf(value.value)} x ${String(value.count)}`;
  return describeValue(value);
}
