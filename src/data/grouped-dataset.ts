/** Groups of rows with equal keys, as `groupBy` gives them: what may be done with each group. Each method gives a dataset of the results. */
import { oneOf, readOptions } from "../core/internal.ts";
import { type Aggregate, checkAggregates, count, max, mean, min, std, sum } from "./aggregates/aggregate.ts";
import type { BatchFormat } from "./blocks/batch.ts";
import type { BatchIn, Dataset } from "./dataset.ts";
import type { ExchangePlan } from "./plan/logical-plan.ts";
import type { AnyBatch, AnyRow, RowOfResult } from "./row-types.ts";

/** The row of aggregates: a column each. */
export type ResultOf<A> = { -readonly [K in keyof A]: A[K] extends Aggregate<infer T> ? T : never };

type Row<R, K extends keyof R> = { [P in K]: R[P] };

/** Makes a dataset of the grouped one's input. */
type Exchange = <U extends AnyRow>(step: Omit<ExchangePlan, "kind" | "input">) => Dataset<U>;

export class GroupedDataset<R extends AnyRow, K extends keyof R & string> {
  readonly #keys: readonly string[];
  readonly #exchange: Exchange;

  /** Made by `groupBy`. */
  constructor(keys: readonly string[], exchange: Exchange) {
    this.#keys = keys;
    this.#exchange = exchange;
  }

  /**
   * One row a group: its keys and the aggregates.
   *
   * @throws TypeError for what is no aggregate, DataError for the name of a key
   */
  aggregate<const A extends Readonly<Record<string, Aggregate>>>(aggregates: A): Dataset<Row<R, K> & ResultOf<A>> {
    checkAggregates(aggregates, this.#keys);
    const keys = this.#keys;
    const named = Object.entries(aggregates);
    const list = named.map(([name]) => name).join(", ");
    const name = keys.length === 0 ? `aggregate(${list})` : `groupBy(${keys.join(", ")}).aggregate(${list})`;
    return this.#exchange({
      name,
      before: { kind: "partialAggregate", name: "partialAggregate", keys, aggregates: named },
      partitioning: { kind: "hash", keys },
      ...(keys.length === 0 ? { partitions: 1 } : {}),
      after: { kind: "mergeAggregates", name, keys, aggregates: named },
    });
  }

  /** One row a group: its keys and the number of its rows, as the column `count()`. */
  count(): Dataset<Row<R, K> & { "count()": number }> {
    return this.aggregate({ "count()": count() });
  }

  /** One row a group: its keys and the sum of a column, as the column `sum(name)`. */
  sum<const C extends keyof R & string>(column: C): Dataset<Row<R, K> & { [P in `sum(${C})`]: number | null }> {
    return this.#one(`sum(${column})`, sum(column));
  }

  /** One row a group: its keys and the smallest value of a column, as the column `min(name)`. */
  min<const C extends keyof R & string>(column: C): Dataset<Row<R, K> & { [P in `min(${C})`]: R[C] | null }> {
    return this.#one(`min(${column})`, min(column));
  }

  /** One row a group: its keys and the largest value of a column, as the column `max(name)`. */
  max<const C extends keyof R & string>(column: C): Dataset<Row<R, K> & { [P in `max(${C})`]: R[C] | null }> {
    return this.#one(`max(${column})`, max(column));
  }

  /** One row a group: its keys and the mean of a column, as the column `mean(name)`. */
  mean<const C extends keyof R & string>(column: C): Dataset<Row<R, K> & { [P in `mean(${C})`]: number | null }> {
    return this.#one(`mean(${column})`, mean(column));
  }

  /** One row a group: its keys and the standard deviation of a column, of the sample, as the column `std(name)`. */
  std<const C extends keyof R & string>(column: C): Dataset<Row<R, K> & { [P in `std(${C})`]: number | null }> {
    return this.#one(`std(${column})`, std(column));
  }

  /**
   * The function's result for each group: columns or rows, as many as it likes. It is given all rows of the group in one batch, in their order.
   *
   * @example
   * const largest = rides.groupBy("city").mapGroups((rows) => rows.toSorted((a, b) => b.km - a.km).slice(0, 3), { batchFormat: "rows" });
   */
  mapGroups<O extends AnyBatch | Promise<AnyBatch>, F extends BatchFormat = "columns">(
    fn: (group: BatchIn<R, F>) => O,
    options: { batchFormat?: F | undefined } = {},
  ): Dataset<RowOfResult<O> & AnyRow> {
    if (typeof fn !== "function") throw new TypeError(`mapGroups takes a function: received ${typeof fn}`);
    const { batchFormat } = readOptions(options, { of: "mapGroups", options: { batchFormat: oneOf(["columns", "rows"], "columns") } });
    const keys = this.#keys;
    const name = `groupBy(${keys.join(", ")}).mapGroups${fn.name === "" || fn.name === "fn" ? "" : `(${fn.name})`}`;
    return this.#exchange({ name, partitioning: { kind: "hash", keys }, after: { kind: "mapGroups", name, keys, fn, batchFormat } });
  }

  #one<U extends AnyRow>(name: string, aggregate: Aggregate): Dataset<U> {
    return this.aggregate({ [name]: aggregate }) as unknown as Dataset<U>;
  }
}

/** The aggregates of no rows: 0 where something is counted, an empty list, or null. */
export function emptyResult(aggregates: Readonly<Record<string, Aggregate>>): AnyRow {
  return Object.fromEntries(Object.entries(aggregates).map(([name, aggregate]) => [name, emptyValue(aggregate)]));
}

function emptyValue({ kind, functions }: Aggregate): unknown {
  switch (kind) {
    case "count":
    case "countDistinct":
      return 0;
    case "unique":
    case "asList":
      return [];
    case "custom": {
      const own = functions as { init(): unknown; finalize?(state: unknown): unknown };
      const state = own.init();
      return own.finalize === undefined ? state : own.finalize(state);
    }
    default:
      return null;
  }
}
