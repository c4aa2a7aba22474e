/**
 * `Groups`: the rows of a dataset in groups of equal keys, and what is made of each group. `GroupedDataset` in `dataset.ts` is this class with its datasets.
 *
 * A dataset gives groups and groups give datasets. So that the two need not share a file, this one does not name the class of datasets: `D` stands for it, and whoever makes the
 * groups hands in how a dataset is made.
 */
import { type Aggregate, count, max, mean, min, type NullOptions, std, type StdOptions, sum } from "./aggregates/aggregate.ts";
import type { BatchFormat } from "./blocks/batch.ts";
import type { BatchIn } from "./consuming/consume.ts";
import type { PivotValue } from "./engine/tables/pivot-rows.ts";
import {
  aggregateStep,
  type ExchangeStep,
  groupRowsStep,
  type GroupSampleOptions,
  groupSampleStep,
  mapGroupsStep,
  type PivotOptions,
  pivotStep,
} from "./steps/exchange-steps.ts";
import type { Transform } from "./engine/tasks/transform.ts";
import { columnTransform } from "./expressions/column-transforms.ts";
import { Download, type Expression } from "./expressions/expression.ts";
import type { SumOf, ValueIn, WithColumn } from "./expressions/expression-types.ts";
import type { AnyBatch, AnyRow, RowOfResult } from "./row-types.ts";
import { type WindowColumns, type WindowFunction, type WindowOptions, windowStep } from "./steps/window-functions.ts";

/** A kind of datasets: which type the dataset of a type of rows has. */
export interface DatasetKind {
  readonly row: unknown;
  readonly dataset: unknown;
}

type DatasetOf<D extends DatasetKind, R extends AnyRow> = (D & { readonly row: R })["dataset"];

/** Makes a dataset of the groups' input. `then`: a further transform of its rows. */
type Exchange<D extends DatasetKind> = <R extends AnyRow>(step: ExchangeStep, then?: Transform) => DatasetOf<D, R>;

/** The row of aggregates of rows `R`: a column each. */
export type ResultOf<R, A> = { -readonly [K in keyof A]: A[K] extends Aggregate<infer T> ? ValueIn<R, T> : never };

/** Aggregates by the names of their results, of columns that the rows have. */
export type AggregatesOf<R> = Readonly<Record<string, Aggregate<unknown, keyof R & string>>>;

type KeysOf<R, K extends keyof R> = { [P in K]: R[P] };

/** The columns of a pivot: one for each value, or for each aggregate and value. */
type PivotColumns<R, V extends PivotValue, A> =
  A extends Aggregate<infer T>
    ? { [P in V as `${P}`]: ValueIn<R, T> | null }
    : { [P in `${keyof A & string}_${V}`]: P extends `${infer N extends keyof A & string}_${V}` ? ResultOf<R, A>[N] | null : never };

/** Groups of rows with equal keys. Each method gives a dataset of the results. */
export class Groups<R extends AnyRow, K extends keyof R & string, D extends DatasetKind> {
  readonly #keys: readonly string[];
  readonly #exchange: Exchange<D>;

  /** Made by `groupBy`. */
  constructor(keys: readonly string[], exchange: Exchange<D>) {
    this.#keys = keys;
    this.#exchange = exchange;
  }

  /**
   * Gives a row for each group: its keys and the aggregates.
   *
   * @throws TypeError for an invalid aggregate, DataError for a result with the name of a key
   */
  aggregate<const A extends AggregatesOf<R>>(aggregates: A): DatasetOf<D, KeysOf<R, K> & ResultOf<R, A>> {
    return this.#exchange(aggregateStep(this.#keys, aggregates));
  }

  /** Gives a row for each group: its keys and its number of rows, as the column `count()`. */
  count(): DatasetOf<D, KeysOf<R, K> & { "count()": number }> {
    return this.aggregate({ "count()": count() });
  }

  /** Gives a row for each group: its keys and the sum of a column, as the column `sum(name)`. */
  sum<const C extends keyof R & string>(
    column: C,
    options?: NullOptions,
  ): DatasetOf<D, KeysOf<R, K> & { [P in `sum(${C})`]: SumOf<R[C]> | null }> {
    return this.#one(`sum(${column})`, sum(column, options));
  }

  /** Gives a row for each group: its keys and the smallest value of a column, as the column `min(name)`. */
  min<const C extends keyof R & string>(
    column: C,
    options?: NullOptions,
  ): DatasetOf<D, KeysOf<R, K> & { [P in `min(${C})`]: Exclude<R[C], undefined> | null }> {
    return this.#one(`min(${column})`, min(column, options));
  }

  /** Gives a row for each group: its keys and the largest value of a column, as the column `max(name)`. */
  max<const C extends keyof R & string>(
    column: C,
    options?: NullOptions,
  ): DatasetOf<D, KeysOf<R, K> & { [P in `max(${C})`]: Exclude<R[C], undefined> | null }> {
    return this.#one(`max(${column})`, max(column, options));
  }

  /** Gives a row for each group: its keys and the mean of a column, as the column `mean(name)`. */
  mean<const C extends keyof R & string>(
    column: C,
    options?: NullOptions,
  ): DatasetOf<D, KeysOf<R, K> & { [P in `mean(${C})`]: number | null }> {
    return this.#one(`mean(${column})`, mean(column, options));
  }

  /** A row for each group: the keys, and as `std(name)` the standard deviation of a column, of the sample unless `ddof: 0` says otherwise. */
  std<const C extends keyof R & string>(
    column: C,
    options?: StdOptions,
  ): DatasetOf<D, KeysOf<R, K> & { [P in `std(${C})`]: number | null }> {
    return this.#one(`std(${column})`, std(column, options));
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
  ): DatasetOf<D, RowOfResult<O> & AnyRow> {
    return this.#exchange(mapGroupsStep(this.#keys, fn, options));
  }

  /**
   * Gives a row for each group: its keys, and a column for each of some values of another column. The column has the aggregate of the group's rows with that
   * value; null where there is no such row. Memory follows the results.
   *
   * @param on - the column whose values become columns: of texts, numbers or booleans
   * @throws TypeError, RangeError for wrong arguments. When it runs: DataError for a column of another type
   * @example
   * const months = await sales.unique("month");
   * const wide = sales.groupBy("city").pivot("month", { columns: months, aggregate: data.sum("amount") });
   */
  pivot<const V extends PivotValue, const A extends Aggregate<unknown, keyof R & string> | AggregatesOf<R>>(
    on: keyof R & string,
    options: PivotOptions<V, A>,
  ): DatasetOf<D, KeysOf<R, K> & PivotColumns<R, V, A>> {
    return this.#exchange(pivotStep(this.#keys, on, options));
  }

  /**
   * Gives a random sample of each group: so many rows, or such a part. With `rows`, groups may be larger than memory. The order of the rows is not specified.
   *
   * @throws TypeError, RangeError for wrong options
   * @example
   * const shown = reviews.groupBy("stars").sample({ rows: 100, seed: 1 });
   */
  sample(options: GroupSampleOptions): DatasetOf<D, R> {
    return this.#exchange(groupSampleStep(this.#keys, options));
  }

  /**
   * Adds a column, or replaces the column of that name. The rows of a group follow each other in their order.
   *
   * @throws TypeError for an invalid name or expression, and for a download
   * @example
   * const perKm = rides.groupBy("city").withColumn("perKm", col("fare").div(col("km")));
   */
  withColumn<const N extends string, T>(
    name: N,
    expression: Expression<T, keyof R & string>,
  ): DatasetOf<D, WithColumn<R, N, ValueIn<R, T>>> {
    if ((expression as unknown) instanceof Download)
      throw new TypeError(
        "Cannot call withColumn of groups: it takes no download: give it to withColumn of the dataset, before groupBy or after",
      );
    return this.#exchange(groupRowsStep(this.#keys), columnTransform(name, expression));
  }

  /**
   * The rows with columns that are made of the rows of their group in order: `rowNumber`, `rank`, `denseRank`, `lag`, `lead`, `running` and `rolling`. Rows of a group come behind each other, in that order.
   * The rows of the groups of a task have to fit into its memory.
   *
   * @throws TypeError, RangeError for wrong arguments; when it runs, DataError for sums and extremes of other values than numbers
   * @example
   * const steps = rides.groupBy("city").window({ n: data.rowNumber(), before: data.lag("km"), sum: data.running("sum", "km") }, { orderBy: "at" });
   */
  window<const W extends Readonly<Record<string, WindowFunction<unknown, keyof R & string>>>>(
    functions: W,
    options: WindowOptions<keyof R & string>,
  ): DatasetOf<D, Omit<R, keyof W> & WindowColumns<R, W>> {
    return this.#exchange(windowStep(this.#keys, functions, options));
  }

  #one<U extends AnyRow>(name: string, aggregate: Aggregate): DatasetOf<D, U> {
    return this.#exchange<U>(aggregateStep(this.#keys, { [name]: aggregate }));
  }
}
