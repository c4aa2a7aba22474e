/**
 * `Dataset`: rows that are read, changed and written as a stream, by tasks on all CPUs of the cluster.
 *
 * A dataset is a plan and does nothing until it is consumed; each transform gives a new one. This file has the public methods; `plan/` has the plans, and
 * `engine/` runs them.
 */
import { type ArrowData, get, getRuntimeContext, ready, remote } from "../core/index.ts";
import { count as countOption, describeValue, flag, oneOf, readOptions, text as textOption } from "../core/internal.ts";
import { type Aggregate, count, emptyResult, max, mean, min, type NullOptions, std, type StdOptions, sum } from "./aggregates/aggregate.ts";
import { nameOf, requireCount, requireFunction, requireNames, requireParts, seedOf } from "./arguments.ts";
import { arrowOfAll } from "./arrow/arrow-batch.ts";
import { type BatchFormat, batchOf } from "./blocks/batch.ts";
import { type Block, blockBytes } from "./blocks/block.ts";
import type { Field } from "./blocks/data-type.ts";
import { ON_ERROR } from "./blocks/memory/losses.ts";
import {
  type BatchIn,
  batchesOfBlocks,
  type ConsumeOptions,
  type IterBatchesOptions,
  type IterTensorsOptions,
  allRows,
  rowsOfBlocks,
  type TensorBatch,
  tensorsOfBlocks,
} from "./consuming/consume.ts";
import { CommonSchema } from "./engine/streams/common-schema.ts";
import { checkSink, type Datasink, writeToDatasink } from "./writing/datasink.ts";
import { DataIterator, readSplitOptions, type StreamingSplitOptions } from "./consuming/data-iterator.ts";
import { type BlockRef, keptBlock } from "./engine/operators/operator.ts";
import {
  aggregateStep,
  distinctStep,
  type DropDuplicatesOptions,
  type ExchangeStep,
  type GroupByOptions,
  groupPartitions,
  namesOf,
  shuffleStep,
  type SortOptions,
  sortStep,
} from "./steps/exchange-steps.ts";
import type { SinkTransform } from "./engine/writes/sink-transform.ts";
import { alignedPlan, knownRowCount, knownSchema, run, startSession, usableCpus } from "./engine/run.ts";
import { SplitCoordinator } from "./engine/streams/split-coordinator.ts";
import { gather, type Transform } from "./engine/tasks/transform.ts";
import { type NarrowFile, widenPlan } from "./engine/tasks/widen-file.ts";
import { writeRowless } from "./engine/writes/write-transform.ts";
import { columnsTransform, columnTransform, filterTransform, selectTransform } from "./expressions/column-transforms.ts";
import { type Download, Expression, type NamedExpression, type Star, type Unnest } from "./expressions/expression.ts";
import type { SumOf, ValueIn, WithColumn, WithColumns, WithFields } from "./expressions/expression-types.ts";
import { type AggregatesOf, type DatasetKind, Groups, type ResultOf } from "./groups.ts";
import {
  type JoinAsofOptions,
  type JoinedAsofRow,
  type JoinedRow,
  type JoinOptions,
  readJoin,
  readJoinAsof,
} from "./options/join-options.ts";
import type { JoinType } from "./engine/tables/join.ts";
import { type MixOptions, readMix } from "./options/mix-options.ts";
import { DataError } from "./errors.ts";
import { ROWS_SHOWN } from "./limits.ts";
import { explain } from "./plan/explain.ts";
import { mayDiffer } from "./plan/known-fields.ts";
import { filesOf, isReadOnce, type LogicalPlan } from "./plan/logical-plan.ts";
import type { PhysicalPlan } from "./plan/physical-plan.ts";
import { portablePlan } from "./plan/portable-plan.ts";
import { physicalPlan } from "./plan/rules.ts";
import type { AnyBatch, AnyRow, ClassOf, ResultOfCall, RowOfResult, RowOfSeveral, Several, ZippedRow } from "./row-types.ts";
import {
  type MapBatchesPythonActorOptions,
  type MapBatchesPythonOptions,
  type PythonActor,
  type PythonTask,
  readPythonBatches,
} from "./options/python-options.ts";
import { readRepartition, type RepartitionOptions } from "./options/repartition-options.ts";
import { Schema } from "./schema.ts";
import {
  bordersOf,
  checkFractions,
  checkIndices,
  cutBlocks,
  cutNearNodes,
  nodeHints,
  rowsIn,
  type SplitOptions,
  type StreamingTrainTestSplitOptions,
  testRows,
  TRAIN_TEST,
  trainTestSteps,
  type TrainTestSplitOptions,
} from "./consuming/splits.ts";
import type { SqlConnect } from "./sql/connection.ts";
import { checkSql } from "./sql/arguments.ts";
import { readWriteSql, writeBySql, type WriteSqlOptions } from "./sql/write-sql.ts";
import { STREAM_FORMATS, type StreamFormat, streamOf } from "./consuming/streams.ts";
import { checkSettings, type DataSettings, resolveSettings } from "./options/settings.ts";
import { DataStatistics, type RunState } from "./reports/statistics.ts";
import { WriteCheckpoint } from "./checkpoint/write-checkpoint.ts";
import { DESCRIBE, describedResult, type DescribeOptions, describePlan } from "./describe.ts";
import { DatasetSummary, SUMMARY, type SummaryOptions, summaryPlan } from "./summary.ts";
import {
  type ActorTransformOptions,
  readCompute,
  type RowErrorOptions,
  splitOnError,
  type TransformOptions,
  type WithConstructorArgs,
} from "./options/transform-options.ts";
import { type WriteResult, writeDataset } from "./writing/write.ts";
import {
  csvWrite,
  imagesWrite,
  jsonWrite,
  numpyWrite,
  parquetWrite,
  tfrecordsWrite,
  webdatasetWrite,
  type WriteCsvOptions,
  type WriteImagesOptions,
  type WriteJsonOptions,
  type WriteNumpyOptions,
  type WriteParquetOptions,
  type WritePlan,
  type WriteRecordsOptions,
} from "./options/write-options.ts";

/** The options of `mapBatches`. */
export interface MapBatchesOptions<F extends BatchFormat = BatchFormat> extends TransformOptions, BatchOptions<F>, RowErrorOptions {}

/** The options of `mapBatches` with a class. */
export interface MapBatchesActorOptions<F extends BatchFormat = BatchFormat>
  extends ActorTransformOptions,
    BatchOptions<F>,
    RowErrorOptions {}

interface BatchOptions<F extends BatchFormat> {
  /** Rows of a batch; the last one may have fewer. Default: each block is a batch. */
  batchSize?: number | undefined;
  /** The form of the function's argument: an object of columns, an array of rows, or an Arrow table as `ArrowData`. Default: `"columns"`. */
  batchFormat?: F | undefined;
}

type BatchResult = AnyBatch | Promise<AnyBatch> | Generator<AnyBatch> | AsyncGenerator<AnyBatch>;

const FORMAT = oneOf(["columns", "rows", "arrow"], "columns");

/** The row of columns by name and of expressions with names. */
type Selected<R, C> = {
  [P in C as P extends string ? P : P extends NamedExpression<infer A> ? A : never]: P extends keyof R
    ? R[P]
    : P extends NamedExpression<string, infer T>
      ? ValueIn<R, T>
      : never;
};

type WithSelected<R, S> = Omit<R, keyof S> & S;

type AnyTransformOptions = TransformOptions | ActorTransformOptions;
type UserFunction = (value: never) => unknown;
type UserClass = abstract new (...args: any) => object;

function isUntyped({ type }: Field): boolean {
  return type.kind === "null";
}

export let newDataset: <R extends AnyRow>(plan: LogicalPlan, settings?: DataSettings) => Dataset<R>;

/**
 * Rows of type `R`, wherever they are.
 *
 * @example
 * const words = data.readText("book.txt").flatMap(({ text }) => text.split(" ").map((word) => ({ word })));
 * for await (const { word } of words.limit(10)) console.log(word);
 */
export class Dataset<R extends AnyRow = AnyRow> implements AsyncIterable<R> {
  readonly #plan: LogicalPlan;
  readonly #settings: DataSettings;
  #name: string | undefined;
  #lastRun: RunState | undefined;
  /** The schema that a whole run has found, as a function decides it. */
  #foundFields: readonly Field[] | undefined;

  static {
    newDataset = (plan, settings) => new Dataset(plan, settings);
  }

  /** Made by the functions of `shoal/data`. */
  private constructor(plan: LogicalPlan, settings: DataSettings = {}) {
    this.#plan = plan;
    this.#settings = settings;
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Transforms

  /**
   * The function's result for each row. A promise is awaited before the next row.
   *
   * A class in place of the function runs in a pool of actors: each makes one instance, and its method `call` is the function. So do those of the other transforms.
   *
   * @throws TypeError for an invalid function, an unknown option or a value of a wrong type
   */
  map<U extends AnyRow>(
    fn: (row: R) => U | Promise<U>,
    options: TransformOptions & { onError: "null" },
  ): Dataset<{ [K in keyof U]: U[K] | null }>;
  map<U extends AnyRow>(fn: (row: R) => U | Promise<U>, options?: TransformOptions & RowErrorOptions): Dataset<U>;
  map<C extends ClassOf<R, AnyRow | Promise<AnyRow>>>(
    actorClass: C,
    ...options: WithConstructorArgs<C, ActorTransformOptions & RowErrorOptions>
  ): Dataset<Awaited<ResultOfCall<C>> & AnyRow>;
  map(fn: UserFunction | UserClass, options?: AnyTransformOptions): Dataset<any> {
    return this.#rowTransform("map", fn, options);
  }

  /** All rows that the function gives for each row: an array, or an iterator that is read as it goes. */
  flatMap<U extends AnyRow>(fn: (row: R) => Several<U>, options?: TransformOptions & RowErrorOptions): Dataset<U>;
  flatMap<C extends ClassOf<R, Several<AnyRow>>>(
    actorClass: C,
    ...options: WithConstructorArgs<C, ActorTransformOptions & RowErrorOptions>
  ): Dataset<RowOfSeveral<ResultOfCall<C>> & AnyRow>;
  flatMap(fn: UserFunction | UserClass, options?: AnyTransformOptions): Dataset<any> {
    return this.#rowTransform("flatMap", fn, options);
  }

  /**
   * The rows for which the expression is true, or the function returns a truthy value. An expression is computed on whole columns. Directly behind
   * `readParquet`, excluded row groups are not read.
   *
   * @example
   * const long = rides.filter(col("km").gt(10).and(col("city").eq("Rome")));
   */
  filter(expression: Expression<unknown, keyof R & string>): Dataset<R>;
  filter(fn: (row: R) => unknown, options?: TransformOptions & RowErrorOptions): Dataset<R>;
  filter<C extends ClassOf<R, unknown>>(
    actorClass: C,
    ...options: WithConstructorArgs<C, ActorTransformOptions & RowErrorOptions>
  ): Dataset<R>;
  filter(fn: UserFunction | UserClass | Expression, options?: AnyTransformOptions): Dataset<R> {
    if (fn instanceof Expression) return this.#transform(filterTransform(fn, options));
    if (typeof fn === "boolean")
      throw new TypeError(
        `Cannot call filter: it takes a function or an expression: received ${String(fn)}; expressions are compared by methods: col("km").gt(10)`,
      );
    return this.#rowTransform("filter", fn, options);
  }

  /**
   * The function's result for each batch: columns, rows, an Arrow table, or a generator of any of them.
   *
   * @example
   * const squares = data.range(1000).mapBatches(({ id }) => ({ square: Float64Array.from(id, (x) => x * x) }));
   * const vectors = texts.mapBatches(Embed, { constructorArgs: ["small"], batchSize: 256, concurrency: { min: 1, max: 4 } });
   */
  mapBatches<O extends BatchResult, F extends BatchFormat = "columns">(
    fn: (batch: BatchIn<R, F>) => O,
    options?: MapBatchesOptions<F>,
  ): Dataset<RowOfResult<O> & AnyRow>;
  mapBatches<C extends ClassOf<BatchIn<R, F>, BatchResult>, F extends BatchFormat = "columns">(
    actorClass: C,
    ...options: WithConstructorArgs<C, MapBatchesActorOptions<F>>
  ): Dataset<RowOfResult<ResultOfCall<C>> & AnyRow>;
  /** In Python: `python.task(...)` or `python.actor(...)`. Give the rows that come as a type argument: nothing checks them. */
  mapBatches<U extends AnyRow>(fn: PythonTask, options?: MapBatchesPythonOptions): Dataset<U>;
  mapBatches<U extends AnyRow>(actorClass: PythonActor, options?: MapBatchesPythonActorOptions): Dataset<U>;
  mapBatches(
    fn: UserFunction | UserClass | PythonTask | PythonActor,
    options:
      | MapBatchesOptions
      | (MapBatchesActorOptions & { constructorArgs?: readonly unknown[] | undefined })
      | MapBatchesPythonActorOptions = {},
  ): Dataset<any> {
    requireFunction("mapBatches", fn);
    const python = readPythonBatches(fn, options);
    if (python !== undefined) return this.#transform(python.step, python.others);
    const { onError, others: own } = splitOnError("mapBatches", options as MapBatchesOptions, ["raise", "skip"]);
    const { batchSize, batchFormat, ...others } = own;
    const read = readOptions(
      { batchSize, batchFormat },
      { of: "mapBatches", options: { batchSize: countOption({ min: 1 }, undefined), batchFormat: FORMAT } },
    );
    return this.#transform(
      { kind: "mapBatches", name: nameOf("mapBatches", fn as UserFunction), fn: fn as UserFunction, ...read, ...(onError && { onError }) },
      others,
    );
  }

  /**
   * Adds a column with the expression's values, or replaces the column of that name.
   *
   * @example
   * const perKm = rides.withColumn("perKm", col("fare").div(col("km")));
   * @throws TypeError for an invalid name or expression
   */
  withColumn<const N extends string, T>(
    name: N,
    expression: Expression<T, keyof R & string> | Download<T, keyof R & string>,
  ): Dataset<WithColumn<R, N, ValueIn<R, T>>> {
    return this.#transform(columnTransform(name, expression));
  }

  /**
   * Adds or replaces several columns: the entries of an object, or the fields of a struct by `unnest`. All expressions see the columns of before.
   *
   * @example
   * const swapped = pairs.withColumns({ a: col("b"), b: col("a") });
   * const flat = people.withColumns(unnest(col("address")));
   * @throws TypeError unless given an object of expressions
   */
  withColumns<T>(fields: Unnest<T, keyof R & string>): Dataset<WithFields<R, ValueIn<R, T>>>;
  withColumns<const M extends Readonly<Record<string, Expression<unknown, keyof R & string>>>>(columns: M): Dataset<WithColumns<R, M>>;
  withColumns(columns: Readonly<Record<string, Expression>> | Unnest): Dataset<any> {
    return this.#transform(columnsTransform(columns));
  }

  /** The rows with these columns alone, in this order: names, and expressions with names by `as`. With `star()` before them, all columns and these. */
  selectColumns<const K extends keyof R & string>(columns: readonly K[]): Dataset<Pick<R, K>>;
  selectColumns<const C extends readonly (string | NamedExpression | Star)[]>(
    columns: C & readonly ((keyof R & string) | NamedExpression<string, unknown, keyof R & string> | Star)[],
  ): Dataset<[Extract<C[number], Star>] extends [never] ? Selected<R, C[number]> : WithSelected<R, Selected<R, C[number]>>>;
  selectColumns(columns: readonly (string | NamedExpression | Star)[]): Dataset<any> {
    return this.#transform(selectTransform(columns));
  }

  /** The rows without these columns. */
  dropColumns<const K extends keyof R & string>(columns: readonly K[]): Dataset<Omit<R, K>> {
    requireNames("dropColumns", columns);
    return this.#transform({ kind: "drop", name: `dropColumns(${columns.join(", ")})`, columns });
  }

  /** The rows with other names for some columns: `{ old: "new" }`. */
  renameColumns<const M extends { readonly [K in keyof R & string]?: string }>(
    columns: M,
  ): Dataset<{ [K in keyof R as K extends keyof M ? (M[K] extends string ? M[K] : never) : K]: R[K] }> {
    requireNames("renameColumns", Object.values(columns));
    const name = `renameColumns(${Object.entries(columns)
      .map(([from, to]) => `${from} as ${to as string}`)
      .join(", ")})`;
    return this.#transform({ kind: "rename", name, columns: { ...columns } as Readonly<Record<string, string>> });
  }

  /** Keeps the first rows, and stops the tasks that would make the others. */
  limit(rows: number): Dataset<R> {
    requireCount("limit", rows);
    return this.#derived<R>({ kind: "limit", name: `limit(${rows})`, input: this.#plan, count: rows });
  }

  /** The rows of this dataset, then those of the others. */
  union(...others: readonly Dataset<R>[]): Dataset<R> {
    const inputs = [this, ...others].map((dataset) => {
      if (!(dataset instanceof Dataset)) throw new TypeError(`Cannot call union: it takes Datasets: received ${describeValue(dataset)}`);
      return dataset.#plan;
    });
    return this.#derived<R>({ kind: "union", name: "union", inputs });
  }

  /**
   * Mixes the blocks of this dataset and of the others: the next block always comes from the dataset that is furthest behind its weight. Repartition the
   * datasets for a finer mix.
   *
   * @throws TypeError for a value that is not a dataset; RangeError unless there is a positive weight for each dataset
   * @example
   * const corpus = web.mix(books, { weights: [3, 1], stop: "first" });
   */
  mix(...given: readonly [...others: readonly Dataset<R>[], options: MixOptions] | readonly Dataset<R>[]): Dataset<R> {
    const { others, mix } = readMix(given, (value): value is Dataset<R> => value instanceof Dataset);
    const inputs = [this.#plan, ...others.map((other) => other.#plan)];
    return this.#derived<R>({ kind: "union", name: "mix", inputs, mix });
  }

  /**
   * Joins the rows of all datasets by position: the first with the first, and so on. A repeated column name gets a number: `id_1`.
   *
   * @throws TypeError for a value that is not a dataset; when it runs, DataError for datasets of different numbers of rows
   */
  zip<const O extends readonly Dataset[]>(...others: O): Dataset<ZippedRow<R, O>> {
    if (others.length === 0 || others.some((other) => !(other instanceof Dataset)))
      throw new TypeError("Cannot call zip: it takes Datasets, one or more");
    const inputs = [this.#plan, ...others.map((other) => other.#plan)];
    return this.#derived({ kind: "combine", name: "zip", inputs, combine: { kind: "zip", name: "zip" } });
  }

  /**
   * A random part of the rows, about so large, in their order. The same seed gives the same rows.
   *
   * @param fraction - from 0 to 1
   * @throws RangeError for another fraction; TypeError for a seed that is no whole number
   */
  randomSample(fraction: number, options: { seed?: number | undefined } = {}): Dataset<R> {
    if (typeof fraction !== "number" || !(fraction >= 0 && fraction <= 1))
      throw new RangeError(`Cannot call randomSample: it takes a fraction from 0 to 1: received ${String(fraction)}`);
    const name = `randomSample(${fraction})`;
    return this.#transform({ kind: "sample", name, fraction, seed: seedOf("randomSample", options) });
  }

  /** The blocks in random order, and the rows of each in theirs: cheaper than `randomShuffle`, and less random. @throws TypeError for a seed that is no whole number */
  randomizeBlockOrder(options: { seed?: number | undefined } = {}): Dataset<R> {
    const seed = seedOf("randomizeBlockOrder", options);
    return this.#derived<R>({ kind: "blockOrder", name: "randomizeBlockOrder", input: this.#plan, seed });
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Rows that come together

  /**
   * The rows in the order of one or more columns. Rows of equal keys keep their order; NaN and then null come last in both directions; texts go by code point.
   *
   * @param keys - a column, or several, the first before the others
   * @throws TypeError for an invalid column name or option. When it runs: DataError for boundaries of another type than the column
   */
  sort(keys: (keyof R & string) | readonly (keyof R & string)[], options: SortOptions = {}): Dataset<R> {
    return this.#exchange(sortStep(keys, options));
  }

  /**
   * The rows in random order.
   *
   * @throws TypeError for a seed that is no whole number
   */
  randomShuffle(options: { seed?: number | undefined } = {}): Dataset<R> {
    return this.#exchange(shuffleStep(options));
  }

  /**
   * The same rows in other blocks of at most 128 MiB: in so many, in the same order and of about as many rows each, or as the options say.
   *
   * @throws TypeError, RangeError for wrong options, and for those that do not go together
   * @example
   * await rides.repartition({ keys: ["city"], blocks: 20 }).writeParquet("out/", { partitionBy: ["city"] });
   */
  repartition(blocks: number | RepartitionOptions<keyof R & string>): Dataset<R> {
    const step = readRepartition(blocks);
    return step.kind === "rebatch" ? this.#transform(step) : this.#exchange(step.exchange);
  }

  /**
   * Groups the rows by equal keys, to be aggregated. Null and NaN are keys like others; 0 and -0 are the same. The order of the groups is not specified.
   *
   * @throws TypeError, RangeError for invalid column names or options
   * @example
   * const perCity = rides.groupBy("city").aggregate({ rides: data.count(), km: data.sum("km") });
   */
  groupBy<const K extends keyof R & string>(keys: K | readonly K[], options: GroupByOptions = {}): GroupedDataset<R, K> {
    const partitions = groupPartitions(options);
    return new GroupedDataset<R, K>(namesOf("groupBy", keys), <U extends AnyRow>(step: ExchangeStep, then?: Transform) => {
      const made = this.#exchange<U>({ ...step, ...partitions });
      return then === undefined ? made : made.#transform<U>(then);
    });
  }

  /**
   * Drops rows whose values repeat an earlier row's, in some columns or in all. Null equals null here, and NaN equals NaN. The order of the rows is not
   * specified; sort them where it matters.
   *
   * @param keys - a column, or several. Default: all
   * @throws TypeError for an invalid column name or option. When it runs: DataError for a key column of lists or structs
   * @example
   * const newest = versions.sort("savedAt").dropDuplicates("id", { keep: "last" });
   */
  dropDuplicates(keys?: (keyof R & string) | readonly (keyof R & string)[], options: DropDuplicatesOptions = {}): Dataset<R> {
    return this.#exchange(distinctStep(keys, options));
  }

  /**
   * The rows of this dataset with those of another one that have equal keys. A null key equals none; NaN equals NaN. The keys come once, under the names of this side.
   *
   * Rows come in no particular order, but in the same one each time. The rows of the other dataset that meet in one task have to fit into its memory, so the smaller dataset is the one to pass.
   *
   * @throws TypeError for no dataset, no name of a column, or keys of different numbers. When it runs: DataError for keys without a common type, and for a column of both
   * sides where no suffix tells them apart
   * @example
   * const named = rides.join(cities, { on: "city", type: "left", rightSuffix: "OfCity" });
   */
  join<
    S extends AnyRow,
    const K extends keyof R & string,
    const RK extends keyof S & string = K & keyof S & string,
    T extends JoinType = "inner",
    const LS extends string = "",
    const RS extends string = "",
  >(other: Dataset<S>, options: JoinOptions<K, RK, T, LS, RS>): Dataset<JoinedRow<R, S, K, RK, T, LS, RS>> {
    if (!(other instanceof Dataset)) throw new TypeError(`Cannot call join: it takes a Dataset: received ${describeValue(other)}`);
    const { partitions, ...join } = readJoin(options);
    const inputs = [this.#plan, (other as Dataset).#plan] as const;
    return this.#derived({ kind: "combine", name: join.name, inputs, combine: join, partitions });
  }

  /**
   * Joins each row of this dataset with one row of another: that with the last value at or before its own, the first at or after it, or the nearest. Without such
   * a row, the other columns are null. Rows of either dataset without a value, or with NaN, have no partner. Neither dataset needs to be sorted.
   *
   * Rows come in no particular order, but in the same one each time. The rows of the other dataset that meet in one task have to fit into its memory: those of
   * some values of `by`, or all of them without `by`.
   *
   * @throws TypeError, RangeError for no dataset and wrong options. When it runs: DataError for a missing column, for keys without a common type or a distance, and for
   * a column of both sides where no suffix tells them apart
   * @example
   * const priced = trades.joinAsof(quotes, { on: "at", by: "ticker", tolerance: 1000 });
   */
  joinAsof<
    S extends AnyRow,
    const O extends keyof R & string,
    const RO extends keyof S & string = O & keyof S & string,
    const K extends keyof R & string = never,
    const RK extends keyof S & string = K & keyof S & string,
    const LS extends string = "",
    const RS extends string = "",
  >(other: Dataset<S>, options: JoinAsofOptions<O, RO, K, RK, LS, RS>): Dataset<JoinedAsofRow<R, S, O, RO, K, RK, LS, RS>> {
    if (!(other instanceof Dataset)) throw new TypeError(`Cannot call joinAsof: it takes a Dataset: received ${describeValue(other)}`);
    const { partitions, ...join } = readJoinAsof(options);
    const inputs = [this.#plan, (other as Dataset).#plan] as const;
    return this.#derived({ kind: "combine", name: join.name, inputs, combine: join, partitions });
  }

  /**
   * The aggregates of all rows, as one row.
   *
   * @typeParam S - the rows, never given: with `R` in the result, a dataset of more columns would be none of fewer to the compiler
   */
  async aggregate<const A extends AggregatesOf<R>, S = R>(aggregates: A, options: ConsumeOptions = {}): Promise<ResultOf<S, A>> {
    const [row] = await this.#exchange<ResultOf<S, A>>(aggregateStep([], aggregates)).takeAll(options);
    return row ?? (emptyResult(aggregates) as ResultOf<S, A>);
  }

  /** The sum of a column of numbers; null where it has no value. That of bigints is a bigint, and that of decimals is as they are read. */
  async sum<K extends keyof R & string, V = R[K]>(
    column: K,
    { signal, ...options }: NullOptions & ConsumeOptions = {},
  ): Promise<SumOf<V> | null> {
    return this.#valueOf(sum(column, options), signal);
  }

  /** The smallest value of a column; null where it has none. */
  async min<K extends keyof R & string>(
    column: K,
    { signal, ...options }: NullOptions & ConsumeOptions = {},
  ): Promise<Exclude<R[K], undefined> | null> {
    return this.#valueOf(min(column, options), signal);
  }

  /** The largest value of a column; null where it has none. */
  async max<K extends keyof R & string>(
    column: K,
    { signal, ...options }: NullOptions & ConsumeOptions = {},
  ): Promise<Exclude<R[K], undefined> | null> {
    return this.#valueOf(max(column, options), signal);
  }

  /** The mean of a column of numbers; null where it has no value. */
  async mean(column: keyof R & string, { signal, ...options }: NullOptions & ConsumeOptions = {}): Promise<number | null> {
    return this.#valueOf(mean(column, options), signal);
  }

  /** The standard deviation of a column of numbers, of the sample unless `ddof: 0` says otherwise; null where it has no more values than `ddof`. */
  async std(column: keyof R & string, { signal, ...options }: StdOptions & ConsumeOptions = {}): Promise<number | null> {
    return this.#valueOf(std(column, options), signal);
  }

  /** The compiler cannot resolve the term of an aggregate where the row is a type parameter; the caller says what it is. */
  async #valueOf(aggregate: Aggregate<unknown, keyof R & string>, signal: AbortSignal | undefined): Promise<any> {
    return (await this.aggregate({ value: aggregate }, { signal })).value;
  }

  /** The distinct values of a column that are not null. They have to fit into the memory of this process. */
  async unique<K extends keyof R & string>(column: K, options: ConsumeOptions = {}): Promise<R[K][]> {
    const step = aggregateStep([column], { rows: count() }, "take unique values of");
    const distinct = this.selectColumns([column]).#exchange<Pick<R, K>>(step);
    return (await distinct.takeAll(options)).map((row) => row[column]).filter((value) => value !== null);
  }

  // -------------------------------------------------------------------------------------------------------------------

  /** The same rows with other engine settings, which hold for this dataset and for datasets made of it. */
  withSettings(settings: DataSettings): Dataset<R> {
    checkSettings(settings);
    return this.#derived<R>(this.#plan, { ...this.#settings, ...settings });
  }

  /** The name that `setName` gave, to this dataset or to the one that it is made of. */
  get name(): string | undefined {
    return this.#name;
  }

  /**
   * Names the dataset, and all datasets made of it from now on. Progress, `stats()` and `explain()` show the name. Returns this dataset.
   *
   * @param name - undefined: no name
   * @throws TypeError unless the name is a text of one line
   * @example
   * const rides = data.readCsv("rides/").setName("rides");
   */
  setName(name: string | undefined): this {
    if (name !== undefined && (typeof name !== "string" || name.trim() === "" || /\p{Cc}/u.test(name)))
      throw new TypeError(`Cannot call setName: it takes a text of one line: received ${describeValue(name)}`);
    this.#name = name;
    return this;
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Consuming

  [Symbol.asyncIterator](): AsyncGenerator<R, void, undefined> {
    return this.iterRows();
  }

  /** The rows one by one. `break` ends all work for those behind. */
  async *iterRows(options: ConsumeOptions = {}): AsyncGenerator<R, void, undefined> {
    yield* rowsOfBlocks<R>(this.#blocks(options));
  }

  /** The rows in batches. Columns of numbers are views of shared memory. */
  async *iterBatches<F extends BatchFormat = "columns">(
    options: IterBatchesOptions<F> = {},
  ): AsyncGenerator<BatchIn<R, F>, void, undefined> {
    yield* batchesOfBlocks<R, F>((own) => this.#blocks(own), options);
  }

  /**
   * The rows in batches of one array a column, the rows being its first dimension: of numbers, booleans and tensors of one shape. They are views of shared memory.
   *
   * @throws DataError for columns of other types, and for nulls
   */
  async *iterTensors(options: IterTensorsOptions = {}): AsyncGenerator<TensorBatch<R>, void, undefined> {
    yield* tensorsOfBlocks<R>((own) => this.#blocks(own), options);
  }

  /**
   * A row for each element of a column of lists. A null and an empty list give one row, with a null there.
   *
   * @throws TypeError for no name of a column. When it runs: DataError for a column of another type
   * @example
   * const tagged = posts.explode("tags").groupBy("tags").count();
   */
  explode<const K extends keyof R & string>(
    column: K,
  ): Dataset<Omit<R, K> & { [P in K]: R[P] extends ArrayLike<infer E> | null ? E | null : any }> {
    requireNames("explode", [column]);
    return this.#transform({ kind: "explode", name: `explode(${column})`, column });
  }

  /**
   * Long rows of wide ones: for each row, and each of the columns, a row with the other columns, the name of the column and its value.
   *
   * @param on - the columns that become rows; their values are brought to one type
   * @param options - `nameColumn` (default: `"variable"`) and `valueColumn` (default: `"value"`)
   * @throws TypeError for wrong arguments. When it runs: DataError for columns without a common type, and for names that other columns have
   * @example
   * const months = wide.unpivot(["jan", "feb"], { nameColumn: "month", valueColumn: "sales" });
   */
  unpivot<const K extends keyof R & string, const N extends string = "variable", const V extends string = "value">(
    on: readonly K[],
    options: { nameColumn?: N | undefined; valueColumn?: V | undefined } = {},
  ): Dataset<Omit<R, K> & { [P in N]: K } & { [P in V]: R[K] }> {
    const columns = namesOf("unpivot", on);
    const names = readOptions(options, {
      of: "unpivot",
      options: { nameColumn: textOption("variable"), valueColumn: textOption("value") },
    });
    return this.#transform({ kind: "unpivot", name: `unpivot(${columns.join(", ")})`, on: columns, ...names });
  }

  /** The first rows. */
  async take(rows: number = ROWS_SHOWN, options: ConsumeOptions = {}): Promise<R[]> {
    requireCount("take", rows);
    return allRows<R>(this.limit(rows).#blocks(options, this));
  }

  /**
   * All rows: they have to fit into the memory of this process.
   *
   * @param options - `limit`: more rows than these are an error, and are not made. Default: none
   * @throws DataError for more rows than the limit, RangeError for a limit that is no whole number from 1
   */
  async takeAll({ signal, ...given }: ConsumeOptions & { limit?: number | undefined } = {}): Promise<R[]> {
    const { limit } = readOptions(given, { of: "takeAll", options: { limit: countOption({ min: 1 }, undefined) } });
    if (limit === undefined) return allRows<R>(this.#blocks({ signal }));
    const rows = await allRows<R>(this.limit(limit + 1).#blocks({ signal }, this));
    if (rows.length <= limit) return rows;
    throw new DataError(`takeAll has a limit of ${limit} rows, and there are more`, {
      hint: "take(n) gives the first ones, and iterRows() one after the other",
    });
  }

  /** The first rows as one batch. */
  async takeBatch<F extends BatchFormat = "columns">(
    rows: number = ROWS_SHOWN,
    options: ConsumeOptions & { batchFormat?: F | undefined } = {},
  ): Promise<BatchIn<R, F>> {
    const { signal, ...given } = options;
    const { batchFormat } = readOptions(given, { of: "takeBatch", options: { batchFormat: FORMAT } });
    return batchOf(await gather(this.limit(rows).#blocks({ signal }, this)), batchFormat) as BatchIn<R, F>;
  }

  /** All rows as one Arrow table: they have to fit into the memory of this process. `tableFromIPC(arrow.stream)` of any Arrow library reads it. */
  async toArrow(options: ConsumeOptions = {}): Promise<ArrowData> {
    return arrowOfAll(this.#blocks(options));
  }

  /** Prints the first rows. */
  async show(rows: number = ROWS_SHOWN, options: ConsumeOptions = {}): Promise<void> {
    const shown = await this.take(rows, options);
    if (shown.length === 0) console.log("no rows");
    else console.table(shown);
  }

  /** How many rows there are. Nothing runs where that is known: of Parquet files by their footers. Else counts in the facts of the blocks, which are not fetched, and reads the columns alone that steps ask for. */
  async count(options: ConsumeOptions = {}): Promise<number> {
    options.signal?.throwIfAborted();
    const known = await knownRowCount(this.#plan, resolveSettings(this.#settings));
    if (known !== undefined) return known;
    let rows = 0;
    for await (const block of this.#runPlan(physicalPlan(this.#plan, []), options, this)) {
      rows += block.rowCount;
      block.release();
    }
    return rows;
  }

  /**
   * Computes statistics of the columns. Numbers and booleans have the count, mean, population deviation (as in Ray), extremes, approximate median, and the
   * shares of missing and zero values. Texts have the most frequent values, times the extremes. First reads rows until each column has a type, which takes all
   * rows if a column has only nulls; then reads all rows once.
   *
   * @throws DataError for an unknown column, for a dataset without columns, and for an iterable, which can be read only once
   * @example
   * console.log(await rides.summary());
   * const { mean, missingPct } = (await rides.summary({ columns: ["km"] })).column("km");
   */
  async summary(options: SummaryOptions<R> = {}): Promise<DatasetSummary<R>> {
    const { signal, ...given } = options;
    const read = readOptions(given as SummaryOptions, { of: "summary", options: SUMMARY });
    const plan = summaryPlan(await this.#fieldsToSummarize({ signal }), read);
    return new DatasetSummary<R>(plan, await this.aggregate(plan.aggregates, { signal }));
  }

  /**
   * Computes the statistics of pandas' and Polars' `describe`, exactly: the counts of values and nulls, and as the types have them the mean, the deviation of the
   * sample, the extremes and quantiles. The values of columns of numbers have to fit into the memory of a task; `summary` has approximate medians of any number of
   * rows.
   *
   * @throws TypeError, RangeError for wrong options; DataError for an unknown column, for a dataset without columns, and for an iterable, which can be read only once
   * @example
   * console.log(await rides.describe());
   * const { mean, "50%": median } = (await rides.describe({ columns: ["km"] })).column("km");
   */
  async describe(options: DescribeOptions<R> = {}): Promise<DatasetSummary<R>> {
    const { signal, ...given } = options;
    const read = readOptions(given as DescribeOptions, {
      of: "describe",
      otherNames: { percentiles: "it is quantiles", include: "it is columns" },
      options: DESCRIBE,
    });
    const plan = describePlan(await this.#fieldsToSummarize({ signal }), read);
    return new DatasetSummary<R>(plan, describedResult(plan, await this.aggregate(plan.aggregates, { signal })));
  }

  #fieldsToSummarize(options: ConsumeOptions): Promise<readonly Field[]> {
    if (!isReadOnce(this.#plan)) return this.#typedFields(options);
    throw new DataError("Cannot summarize: an iterable can be read once, and the types of columns are needed before", {
      hint: "keep its rows first: (await dataset.materialize()).summary()",
    });
  }

  /**
   * The columns and their types. Nothing runs where footers, or the beginnings of files, say them, and no function of a user's is between. A function or a source of the user's may give other
   * columns in each block, so the whole dataset is made; no block is fetched or kept. Of images, other files without such a beginning, and iterables they are those of the first block
   * that has rows, and no more is made than that.
   *
   * @throws DataError where types of blocks do not meet
   * @example
   * // The columns of the first row alone, without the others:
   * const { names } = await rides.map(enriched).limit(1).schema();
   */
  async schema(options: ConsumeOptions = {}): Promise<Schema> {
    return new Schema(await this.#fields(options));
  }

  async #fields(options: ConsumeOptions): Promise<readonly Field[]> {
    options.signal?.throwIfAborted();
    const known = await knownSchema(this.#plan, resolveSettings(this.#settings));
    if (known !== undefined) return known;
    if (this.#foundFields !== undefined) return this.#foundFields;
    const isWhole = !isReadOnce(this.#plan) && mayDiffer(physicalPlan(this.#plan));
    const schema = new CommonSchema();
    // Columns of blocks without rows count only where none has rows.
    let rowless: readonly Field[] = [];
    for await (const block of (isWhole ? this : this.limit(1)).#run(options)) {
      if (block.rowCount > 0) schema.add(block);
      else if (rowless.length === 0) rowless = block.schema;
      block.release();
    }
    const found = schema.fields.length > 0 ? schema.fields : rowless;
    if (isWhole) this.#foundFields = found;
    return found;
  }

  /** The fields, where a column that begins with nulls has the type of the first block that knows one. */
  async #typedFields(options: ConsumeOptions): Promise<readonly Field[]> {
    let fields = await this.#fields(options);
    if (!fields.some(isUntyped)) return fields;
    for await (const block of this.#run(options)) {
      fields = fields.map((field) => (isUntyped(field) ? (block.schema.find(({ name }) => name === field.name) ?? field) : field));
      block.release();
      if (!fields.some(isUntyped)) break;
    }
    return fields;
  }

  /** The names of the columns. */
  async columns(options: ConsumeOptions = {}): Promise<readonly string[]> {
    return (await this.schema(options)).names;
  }

  /** How many blocks there are. Nothing runs where the blocks are kept in the object store; else they are made, and neither fetched nor kept. */
  async numBlocks(options: ConsumeOptions = {}): Promise<number> {
    if (this.#plan.kind === "stored") return this.#plan.blocks.length;
    return (await this.#measured(options)).blocks;
  }

  /** Bytes of all blocks in memory. Nothing runs where the blocks are kept in the object store, or the program has them; else they are made, and neither fetched nor kept. */
  async sizeBytes(options: ConsumeOptions = {}): Promise<number> {
    if (this.#plan.kind === "stored") return this.#plan.blocks.reduce((bytes, block) => bytes + block.sizeBytes, 0);
    if (this.#plan.kind === "input") return this.#plan.blocks.reduce((bytes, block) => bytes + blockBytes(block), 0);
    return (await this.#measured(options)).bytes;
  }

  async #measured(options: ConsumeOptions): Promise<{ readonly blocks: number; readonly bytes: number }> {
    let [blocks, bytes] = [0, 0];
    for await (const block of this.#run(options)) {
      blocks += 1;
      bytes += block.sizeBytes;
      block.release();
    }
    return { blocks, bytes };
  }

  /** The files that this dataset is read from, in their order; none where it is read from elsewhere, or kept in the object store. */
  inputFiles(): Promise<readonly string[]> {
    return filesOf(this.#plan);
  }

  /** All rows as an array: the values of the column `item` where that is the only one, as `fromItems` takes them. They have to fit into the memory of this process. */
  async toItems(options: ConsumeOptions = {}): Promise<(R extends { item: infer T } ? T | R : R)[]> {
    const rows = await this.takeAll(options);
    const isItems = rows.every((row) => Object.keys(row).length === 1 && "item" in row);
    return (isItems ? rows.map((row) => row["item"] as unknown) : rows) as never;
  }

  /**
   * The rows as bytes of CSV, of JSON lines, or of a stream of Arrow's, made as they are read: for a `Response`, or a file. Whoever cancels the stream ends the producers.
   *
   * @throws TypeError or RangeError for another format
   * @example
   * return new Response(rides.toReadableStream({ format: "csv" }), { headers: { "content-type": "text/csv" } });
   */
  toReadableStream(options: ConsumeOptions & { format: StreamFormat }): ReadableStream<Uint8Array> {
    const { signal, ...given } = options;
    const { format } = readOptions(given, { of: "toReadableStream", options: { format: oneOf(STREAM_FORMATS, "jsonl") } });
    return streamOf(this.#blocks({ signal }), format);
  }

  /** Makes all rows now and keeps them in the object store. The dataset that it gives reads them there. */
  async materialize(options: ConsumeOptions = {}): Promise<Dataset<R>> {
    const made = this.#stored(`materialize(${this.#plan.name})`, await this.#made(options));
    made.#lastRun = this.#lastRun;
    return made;
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Parts

  /**
   * Splits the rows into `parts` datasets of consecutive rows and about equal size. All rows are computed and kept in the object store.
   *
   * @param options - `equal`: exactly equal numbers of rows, without the last few rows. `localityHints`: a node for each part, which gets that node's blocks first
   * @throws RangeError unless `parts` is a whole number from 1, and unless there is a hint for each part; TypeError for a wrong option
   */
  async split(parts: number, options: SplitOptions = {}): Promise<Dataset<R>[]> {
    requireParts("split", parts);
    const { signal, ...given } = options;
    const { equal, localityHints } = readOptions(given, { of: "split", options: { equal: flag(false), localityHints: nodeHints(parts) } });
    const blocks = await this.#made({ signal });
    const total = rowsIn(blocks);
    const borders = Array.from({ length: parts + 1 }, (_, i) => (equal ? i * Math.floor(total / parts) : Math.floor((i * total) / parts)));
    const sizes = borders.slice(1).map((border, i) => border - (borders[i] as number));
    const cut = await (localityHints === undefined ? cutBlocks(blocks, borders.slice(1)) : cutNearNodes(blocks, sizes, localityHints));
    return cut.slice(0, parts).map((own, i) => this.#stored(`split(${i + 1} of ${parts})`, own));
  }

  /**
   * Splits the rows at the given indices: n indices give n + 1 datasets.
   *
   * @throws RangeError unless the indices are ascending whole numbers
   */
  async splitAtIndices(indices: readonly number[], options: ConsumeOptions = {}): Promise<Dataset<R>[]> {
    checkIndices(indices);
    const cut = await cutBlocks(await this.#made(options), indices);
    return cut.map((own, i) => this.#stored(`splitAtIndices(${i + 1} of ${cut.length})`, own));
  }

  /**
   * Splits the rows into datasets of the given fractions and one of the remaining rows.
   *
   * @throws RangeError unless the fractions are above 0 and their sum is below 1
   */
  async splitProportionately(fractions: readonly number[], options: ConsumeOptions = {}): Promise<Dataset<R>[]> {
    checkFractions(fractions);
    const blocks = await this.#made(options);
    const cut = await cutBlocks(blocks, bordersOf(fractions, rowsIn(blocks)));
    return cut.map((own, i) => this.#stored(`splitProportionately(${i + 1} of ${cut.length})`, own));
  }

  /**
   * Two datasets: the first rows to train with, and the last to test with.
   *
   * @throws RangeError for a `testSize` that is neither a part nor a number of rows; TypeError for a wrong option
   * @example
   * const [train, test] = await rows.trainTestSplit({ testSize: 0.2, shuffle: true, seed: 1, stratify: "label" });
   */
  async trainTestSplit(options: TrainTestSplitOptions<R>): Promise<[train: Dataset<R>, test: Dataset<R>]> {
    const { signal, ...given } = options;
    const read = readOptions(given, { of: "trainTestSplit", options: TRAIN_TEST });
    const { testSize, shuffle, seed, stratify } = read;
    const rows = shuffle ? this.randomShuffle({ seed }) : this;
    if (stratify === undefined) {
      const blocks = await rows.#made({ signal });
      const total = rowsIn(blocks);
      const [train, test] = await cutBlocks(blocks, [total - testRows(testSize, total)]);
      return [this.#stored("trainTestSplit(train)", train as BlockRef[]), this.#stored("trainTestSplit(test)", test as BlockRef[])];
    }
    if (!(testSize !== undefined && testSize > 0 && testSize < 1))
      throw new RangeError(`trainTestSplit with stratify takes as testSize a number between 0 and 1: received ${String(testSize)}`);
    const kept = this.#stored(`materialize(${rows.#plan.name})`, await rows.#made({ signal }));
    const part = (isTest: boolean): Dataset<R> => {
      const name = `trainTestSplit(${isTest ? "test" : "train"})`;
      const after = { kind: "stratum", name, keys: [stratify], testSize, isTest } as const;
      return kept.#exchange({ name, partitioning: { kind: "hash", keys: [stratify], use: "group by" }, after });
    };
    return [part(false), part(true)];
  }

  /**
   * Splits the rows into two streaming datasets: most rows for training, and about the part `testSize` for tests. Nothing runs yet, and each side runs the steps
   * before it. A row is always on the same side if the steps before give the same rows in the same order. A split by the hash of a column needs no order.
   *
   * @throws RangeError for a `testSize` that is not between 0 and 1, TypeError for a wrong option, DataError for an iterable, which can be read only once
   * @example
   * const [train, test] = clicks.streamingTrainTestSplit({ testSize: 0.1, type: "hash", hashColumn: "userId" });
   */
  streamingTrainTestSplit(options: StreamingTrainTestSplitOptions<R>): [train: Dataset<R>, test: Dataset<R>] {
    const { train, test } = trainTestSteps(options as StreamingTrainTestSplitOptions);
    if (isReadOnce(this.#plan))
      throw new DataError("Cannot split: an iterable can be read once, and each side reads it", {
        hint: "keep its rows first: (await dataset.materialize()).streamingTrainTestSplit(options)",
      });
    // Chance goes by the numbers of rows, which are the same in each run only in order.
    const rows = train.kind === "sample" ? this.withSettings({ preserveOrder: true }) : this;
    return [rows.#transform<R>(train), rows.#transform<R>(test)];
  }

  /**
   * Splits the rows into `n` streams for other tasks or actors, which take them as arguments. One actor runs the pipeline, once for each epoch.
   *
   * Without `equal` each block goes to the consumer that asks next.
   *
   * @example
   * const parts = await dataset.streamingSplit(2, { equal: true });
   * await Promise.all(trainers.map((trainer, i) => trainer.train.remote(parts[i])));
   *
   * @throws TypeError, RangeError unless `n` is a whole number from 1, and for wrong options
   */
  async streamingSplit(n: number, options: StreamingSplitOptions = {}): Promise<DataIterator<R>[]> {
    requireParts("streamingSplit", n);
    const read = readSplitOptions(n, options);
    await startSession();
    const settings = resolveSettings(this.#settings);
    const { labelSelector } = settings;
    const cpus = await usableCpus(settings);
    const plan = await portablePlan(await alignedPlan(physicalPlan(this.#plan), cpus), cpus);
    // On the node of whoever splits, where its labels allow that: the death of another node then takes no epoch with it.
    const schedulingStrategy = { nodeId: getRuntimeContext().nodeId, soft: true };
    const actorClass = remote(SplitCoordinator, { numCpus: 0, maxConcurrency: 4 * n, labelSelector, schedulingStrategy });
    const coordinator = actorClass.remote({ plan, settings, name: this.#name, splits: n, ...read });
    await ready(coordinator);
    return Array.from({ length: n }, (_, i) => new DataIterator<R>(coordinator, i));
  }

  /** All blocks, in the object store. */
  async #made(options: ConsumeOptions): Promise<readonly BlockRef[]> {
    if (this.#plan.kind === "stored") return this.#plan.blocks.map(keptBlock);
    const blocks: BlockRef[] = [];
    try {
      for await (const block of this.#run(options)) blocks.push(block);
    } catch (error) {
      for (const block of blocks) block.release();
      throw error;
    }
    return blocks;
  }

  #stored(name: string, blocks: readonly BlockRef[]): Dataset<R> {
    return this.#derived<R>({ kind: "stored", name, blocks });
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Writing

  /**
   * Writes CSV files (RFC 4180) into a folder, a file a task. A null is an empty field and an empty text is `""`. Each file appears whole or not at all.
   *
   * @example
   * const { files } = await rides.writeCsv("out/", { compression: "gzip", partitionBy: ["city"] });
   */
  writeCsv(folder: string, options: WriteCsvOptions = {}): Promise<WriteResult> {
    return this.#write("writeCsv", folder, csvWrite(options));
  }

  /** Writes files of JSON lines into a folder, a file a task. NaN and the infinities are null there. */
  writeJson(folder: string, options: WriteJsonOptions = {}): Promise<WriteResult> {
    return this.#write("writeJson", folder, jsonWrite(options));
  }

  /** Writes Parquet files into a folder, a file a task. */
  writeParquet(folder: string, options: WriteParquetOptions = {}): Promise<WriteResult> {
    return this.#write("writeParquet", folder, parquetWrite(options));
  }

  /**
   * Writes the rows to a sink of the user's. Returns the result of `write` for each task.
   *
   * @throws TypeError for an invalid sink
   * @example
   * await rides.writeDatasink({
   *   async write(batches, { taskId }) {
   *     for await (const { id } of batches) await upload(taskId, id);
   *   },
   * });
   */
  async writeDatasink<T, F extends BatchFormat = "columns">(
    sink: Datasink<R, T, F>,
    options: TransformOptions & ConsumeOptions = {},
  ): Promise<readonly T[]> {
    checkSink(sink as Datasink<never>);
    const { signal, ...others } = options;
    const { name = "writeDatasink", batchFormat = "columns" } = sink;
    const transform = { kind: "sink", name, batchFormat, sink: sink as SinkTransform["sink"] } as const;
    const written = this.#transform(transform, others);
    return writeToDatasink(sink as Datasink<never, T>, () => written.#run({ signal }, this));
  }

  /**
   * Writes a column of numbers, booleans or tensors as `.npy` files into a folder, a file a task, whose first dimension are the rows.
   *
   * @throws DataError for values that are no numbers, for nulls, and for tensors of different shapes in one file
   */
  writeNumpy(folder: string, options: WriteNumpyOptions): Promise<WriteResult> {
    return this.#write("writeNumpy", folder, numpyWrite(options));
  }

  /**
   * Writes each row's image as a file of its own into a folder, named in the order of the rows. Needs the package `sharp`.
   *
   * @throws DataError for values that are no images, and where `sharp` is not installed
   */
  writeImages(folder: string, options: WriteImagesOptions): Promise<WriteResult> {
    return this.#write("writeImages", folder, imagesWrite(options));
  }

  /**
   * Runs a statement for each row, in one transaction of one connection: all rows are written, or none. The rows come through this process.
   *
   * @param sql - such as `INSERT INTO rides VALUES (?, ?)`, with the driver's marks for values
   * @param connect - makes a connection: `DatabaseSync` of `node:sqlite`, better-sqlite3, a connected `Client` of pg, `PGlite`, or mysql2/promise
   * @throws TypeError for wrong arguments; DataError with the message of the driver
   * @example
   * await rides.writeSql("INSERT INTO rides VALUES ($1, $2)", connect, { columns: ["id", "km"] });
   */
  async writeSql(
    sql: string,
    connect: SqlConnect,
    options: WriteSqlOptions<keyof R & string> = {},
  ): Promise<{ readonly rowCount: number }> {
    checkSql("writeSql", sql, connect);
    const columns = readWriteSql(options);
    return { rowCount: await writeBySql(sql, connect, this.#blocks({ signal: options.signal }), columns) };
  }

  /**
   * Writes TensorFlow's records into a folder, a file a task: a `tf.train.Example` a row, a feature a column. Floats have 32 bits there, and a null is a feature without a value.
   *
   * @throws DataError for columns that are neither texts, bytes, numbers, booleans nor lists and tensors of them
   */
  writeTfrecords(folder: string, options: WriteRecordsOptions = {}): Promise<WriteResult> {
    return this.#write("writeTfrecords", folder, tfrecordsWrite(options));
  }

  /**
   * Writes shards of WebDataset into a folder, a tar archive a task: a file for each column of a row, named by `__key__` and the column. Rows without that column get keys that no other shard has. A null is
   * a file that is left out.
   *
   * @throws DataError for keys and columns that name no file, and for values that their extension does not stand for
   * @example
   * await photos.renameColumns({ image: "jpg", label: "cls" }).writeWebdataset("shards/", { maxRowsPerFile: 10_000 });
   */
  writeWebdataset(folder: string, options: WriteRecordsOptions = {}): Promise<WriteResult> {
    return this.#write("writeWebdataset", folder, webdatasetWrite(options));
  }

  // -------------------------------------------------------------------------------------------------------------------

  /** The plan as it was written, and the operators that run. */
  explain(): string {
    return explain(this.#plan, physicalPlan(this.#plan), this.#name);
  }

  /** Returns the operators' statistics from the last run of this dataset, or from the run that materialized it; undefined before any run. */
  stats(): Promise<DataStatistics | undefined> {
    return Promise.resolve(this.#lastRun === undefined ? undefined : new DataStatistics(this.#lastRun));
  }

  // -------------------------------------------------------------------------------------------------------------------

  #rowTransform<U extends AnyRow>(
    kind: "map" | "flatMap" | "filter",
    fn: UserFunction | UserClass,
    options: AnyTransformOptions & { readonly onError?: unknown } = {},
  ): Dataset<U> {
    requireFunction(kind, fn);
    const { onError, others } = splitOnError(kind, options, kind === "map" ? ON_ERROR : ["raise", "skip"]);
    return this.#transform({ kind, name: nameOf(kind, fn), fn: fn as UserFunction, ...(onError && { onError }) }, others);
  }

  #transform<U extends AnyRow>(transform: Transform, given: AnyTransformOptions = {}): Dataset<U> {
    const { compute, options } = readCompute(transform, given);
    return this.#derived<U>({ kind: "map", name: transform.name, input: this.#plan, transform, options, compute });
  }

  /** A dataset that is made of this one. */
  #derived<U extends AnyRow>(plan: LogicalPlan, settings = this.#settings): Dataset<U> {
    const derived = new Dataset<U>(plan, settings);
    derived.#name = this.#name;
    return derived;
  }

  #exchange<U extends AnyRow>(step: ExchangeStep): Dataset<U> {
    return this.#derived<U>({ kind: "exchange", input: this.#plan, ...step });
  }

  async #write(name: string, folder: string, { checkpoint: options, ...write }: WritePlan): Promise<WriteResult> {
    if (typeof folder !== "string" || folder === "")
      throw new TypeError(`Cannot call ${name}: it takes the path of a folder: received ${JSON.stringify(folder)}`);
    if (options === undefined) return this.#writeFiles(name, folder, write);
    const { extension, format, partitionBy } = write;
    const described = { name, extension, format, partitionBy };
    await startSession();
    await using checkpoint = await WriteCheckpoint.open({ options, plan: this.#plan, folder, extension, write: described });
    const signal = AbortSignal.any([checkpoint.lost, ...(write.signal === undefined ? [] : [write.signal])]);
    const remaining = this.#derived<R>(checkpoint.remaining(this.#plan));
    return await remaining.#writeFiles(name, folder, { ...write, signal }, { checkpoint, owner: this });
  }

  /** @param resumed - the checkpoint, and the dataset whose write it is */
  #writeFiles(
    name: string,
    folder: string,
    { mode, signal, filenameProvider, tasks, ...plan }: Omit<WritePlan, "checkpoint">,
    resumed?: { readonly checkpoint: WriteCheckpoint; readonly owner: Dataset },
  ): Promise<WriteResult> {
    const { checkpoint, owner = this } = resumed ?? {};
    const idsPlace = checkpoint?.idsPlace;
    const writeInto = (stagingFolder: string) => ({ kind: "write", name, stagingFolder, ...plan, idsPlace }) as const;
    const writeEmpty = (stagingFolder: string, fields: readonly Field[]) => writeRowless(fields, writeInto(stagingFolder));
    const runInto = (stagingFolder: string): AsyncIterable<BlockRef> => {
      const transform = writeInto(stagingFolder);
      return this.#derived({ kind: "map", name, input: this.#plan, transform, ...tasks }).#run({ signal }, owner);
    };
    const widen = (stagingFolder: string, files: readonly NarrowFile[], all: readonly Field[]): AsyncIterable<BlockRef> =>
      run(widenPlan(files, all, writeInto(stagingFolder)), {
        settings: { ...resolveSettings(this.#settings), maxErroredBlocks: 0 },
        signal,
        name: this.#name,
      });
    const { extension, format } = plan;
    return writeDataset({ folder, mode, extension, format, filenameProvider, checkpoint, run: runInto, writeEmpty, widen });
  }

  /** @param owner - the dataset whose last run it is */
  #run(options: ConsumeOptions, owner: Dataset<any> = this): AsyncGenerator<BlockRef, void, undefined> {
    return this.#runPlan(physicalPlan(this.#plan), options, owner);
  }

  async *#runPlan(plan: PhysicalPlan, { signal }: ConsumeOptions, owner: Dataset<any>): AsyncGenerator<BlockRef, void, undefined> {
    const startedMs = performance.now();
    let last: RunState | undefined;
    const settings = resolveSettings(this.#settings);
    try {
      yield* run(plan, {
        settings,
        signal,
        name: owner.#name,
        onBegin: (begun) => {
          last = { ...begun, name: owner.#name, startedMs, endedMs: undefined };
          owner.#lastRun = last;
        },
      });
    } finally {
      if (last !== undefined) last.endedMs = performance.now();
    }
  }

  /** @param owner - as of `#run` */
  async *#blocks(options: ConsumeOptions, owner: Dataset<any> = this): AsyncGenerator<Block, void, undefined> {
    for await (const stored of this.#run(options, owner)) {
      let block: Block;
      try {
        block = await get(stored.ref);
      } finally {
        // Views of the block's memory keep it from now on.
        stored.release();
      }
      yield block;
    }
  }
}

/** Tells groups which datasets they give. */
interface Datasets extends DatasetKind {
  readonly dataset: Dataset<this["row"] extends infer R extends AnyRow ? R : never>;
}

/** Groups of rows with equal keys, as `groupBy` gives them. Each method gives a dataset of the results. */
export class GroupedDataset<R extends AnyRow, K extends keyof R & string> extends Groups<R, K, Datasets> {}
