/**
 * The exchanges behind `sort`, `randomShuffle`, `dropDuplicates`, and the methods of groups: how their rows come together, and what becomes of them there.
 *
 * Options and arguments are checked here, where the user wrote them.
 * `Dataset` and `Groups` put the step behind a plan.
 */
import { count, custom, describeValue, isPlainObject, number, oneOf, readOptions } from "../../core/internal.ts";
import { type Aggregate, checkAggregates } from "../aggregates/aggregate.ts";
import { nameOf, requireFunction, requireNames, seedOf } from "../arguments.ts";
import type { BatchFormat } from "../blocks/batch.ts";
import { pivotName, pivotPlace, type PivotValue } from "../engine/tables/pivot-rows.ts";
import { PIVOT_COLUMNS_MAX } from "../limits.ts";
import type { ExchangePlan } from "../plan/logical-plan.ts";

/** An exchange without its input. */
export type ExchangeStep = Omit<ExchangePlan, "kind" | "input">;

/** The options of `sort`. */
export interface SortOptions {
  /** The largest values first, for all keys or for each. Default: false. */
  descending?: boolean | readonly boolean[] | undefined;
  /**
   * Values of the first key that separate the output blocks. `[10, 20]` gives three blocks: rows below 10, rows from 10 to below 20, and the others; with
   * `descending` rows above 20, rows above 10, and the others. Empty blocks are left out, and blocks above 128 MiB are cut. Default: found by samples, by bytes.
   */
  boundaries?: readonly (number | bigint | string | Date)[] | undefined;
}

const DIRECTIONS = custom<boolean | readonly boolean[]>("a boolean, or a boolean for each key, is needed", false, (value) =>
  typeof value === "boolean" || (Array.isArray(value) && value.every((one) => typeof one === "boolean")) ? "ok" : "wrong type",
);

const BOUNDARIES = custom<SortOptions["boundaries"]>(
  "an array of one or more numbers, bigints, texts or dates of one kind is needed",
  undefined,
  (value) => {
    if (!Array.isArray(value) || value.length === 0) return "wrong type";
    const kinds = new Set(value.map(boundaryKind));
    return kinds.size === 1 && !kinds.has(undefined) ? "ok" : "wrong type";
  },
);

function boundaryKind(value: unknown): string | undefined {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : "date";
  if (typeof value === "number") return Number.isNaN(value) ? undefined : "number";
  return typeof value === "bigint" || typeof value === "string" ? typeof value : undefined;
}

const FORMAT = { batchFormat: oneOf(["columns", "rows", "arrow"], "columns") };

/** @throws TypeError, RangeError */
export function sortStep(keys: string | readonly string[], options: SortOptions): ExchangeStep {
  const columns = namesOf("sort", keys);
  const { descending, boundaries } = readOptions(options, { of: "sort", options: { descending: DIRECTIONS, boundaries: BOUNDARIES } });
  if (Array.isArray(descending) && descending.length !== columns.length)
    throw new RangeError(`Cannot call sort: it takes a direction for each of its ${columns.length} keys: received ${descending.length}`);
  const sortKeys = columns.map((column, i) => ({
    column,
    descending: Array.isArray(descending) ? descending[i] === true : descending === true,
  }));
  const listed = sortKeys.map((key) => (key.descending ? `${key.column} descending` : key.column)).join(", ");
  if (boundaries === undefined) {
    const name = `sort(${listed})`;
    return { name, partitioning: { kind: "range", keys: sortKeys }, after: { kind: "sortRows", name, keys: sortKeys } };
  }
  const distinct = [...new Map(boundaries.map((value) => [value instanceof Date ? value.getTime() : value, value])).values()];
  const name = `sort(${listed} in ${distinct.length + 1} ranges)`;
  return {
    name,
    // Rows with one value of the first key stay together, so ranges of that key alone keep the order of all keys.
    partitioning: { kind: "range", keys: sortKeys.slice(0, 1), boundaries: distinct },
    partitions: distinct.length + 1,
    after: { kind: "sortRows", name, keys: sortKeys },
  };
}

/** @throws TypeError */
export function shuffleStep(options: { seed?: number | undefined }): ExchangeStep {
  const seed = seedOf("randomShuffle", options);
  return { name: "randomShuffle", partitioning: { kind: "random", seed }, after: { kind: "orderByHidden", name: "randomShuffle" } };
}

/** List of the names of one column or several. @throws TypeError for a value that is not a name, and for an empty list */
export function namesOf(method: string, keys: string | readonly string[]): readonly string[] {
  const columns = typeof keys === "string" ? [keys] : keys;
  requireNames(method, columns);
  if (columns.length === 0) throw new TypeError(`Cannot call ${method}: it takes a column, or several: received none`);
  return columns;
}

/**
 * Makes the step that gives a row for each group of equal keys, or a single row for all rows if there are no keys.
 *
 * @param use - the verb of errors about unusable keys. Default: `group by`
 * @throws TypeError for an invalid aggregate, DataError for a result with the name of a key
 */
export function aggregateStep(keys: readonly string[], aggregates: Readonly<Record<string, Aggregate>>, use?: string): ExchangeStep {
  checkAggregates(aggregates, keys);
  const named = Object.entries(aggregates);
  const list = named.map(([name]) => name).join(", ");
  const name = keys.length === 0 ? `aggregate(${list})` : `groupBy(${keys.join(", ")}).aggregate(${list})`;
  return {
    name,
    before: { kind: "partialAggregate", name: "partialAggregate", keys, aggregates: named, ...(use === undefined ? {} : { use }) },
    partitioning: { kind: "hash", keys, use: "group by" },
    ...(keys.length === 0 ? { partitions: 1 } : {}),
    after: { kind: "mergeAggregates", name, keys, aggregates: named },
  };
}

/** The options of `dropDuplicates`. */
export interface DropDuplicatesOptions {
  /** The row of equal ones that stays, in the order of the rows. Default: `"first"`. */
  keep?: "first" | "last" | undefined;
}

/** @throws TypeError, RangeError */
export function distinctStep(keys: string | readonly string[] | undefined, options: DropDuplicatesOptions): ExchangeStep {
  const columns = keys === undefined ? [] : namesOf("dropDuplicates", keys);
  const { keep } = readOptions(options, { of: "dropDuplicates", options: { keep: oneOf(["first", "last"], "first") } });
  const name = `dropDuplicates(${columns.join(", ")})`;
  return {
    name,
    before: { kind: "distinctInBlock", name, keys: columns, keep },
    partitioning: { kind: "hash", keys: columns, use: "drop duplicates by" },
    after: { kind: "distinctRows", name, keys: columns, keep },
  };
}

/** The step that brings the rows of each group together, as they are. */
export function groupRowsStep(keys: readonly string[]): ExchangeStep {
  const name = `groupBy(${keys.join(", ")})`;
  return { name, partitioning: { kind: "hash", keys, use: "group by" }, after: { kind: "groupRows", name, keys } };
}

/** The options of `pivot`. */
export interface PivotOptions<V extends PivotValue = PivotValue, A = Aggregate | Readonly<Record<string, Aggregate>>> {
  /** The values that become columns, in this order. Rows with other values give none. At most 10,000. */
  columns: readonly V[];
  /** The aggregate of the rows of a group and a value, or several by names: the columns are named `name_value` then. */
  aggregate: A;
}

/**
 * The step that gives a row for each group, with a column for each value of another column.
 *
 * @throws TypeError, RangeError for wrong arguments
 */
export function pivotStep(keys: readonly string[], on: unknown, options: PivotOptions): ExchangeStep {
  if (typeof on !== "string")
    throw new TypeError(`Cannot call pivot: it takes the name of the column that becomes columns: received ${describeValue(on)}`);
  if (keys.includes(on))
    throw new TypeError(`Cannot call pivot: the column that becomes columns is none of groupBy: received ${describeValue(on)}`);
  const { columns, aggregate } = readOptions(options, { of: "pivot", otherNames: PIVOT_OTHER_NAMES, options: PIVOT });
  if (columns === undefined || aggregate === undefined)
    throw new TypeError(`Cannot call pivot: it takes the options columns and aggregate: received ${describeValue(options)}`);
  const hasNames = !("kind" in aggregate && typeof aggregate.kind === "string");
  const aggregates = hasNames ? (aggregate as Readonly<Record<string, Aggregate>>) : { value: aggregate as Aggregate };
  checkAggregates(aggregates, [...keys, on]);
  const named = Object.entries(aggregates);
  const names = [...keys, ...named.flatMap(([own]) => columns.map((value) => pivotName(own, value, hasNames)))];
  const twice = names.find((own, i) => names.indexOf(own) !== i);
  if (twice !== undefined) throw new RangeError(`Cannot call pivot: two columns would have one name: received ${JSON.stringify(twice)}`);
  const name = `groupBy(${keys.join(", ")}).pivot(${on})`;
  return {
    name,
    before: { kind: "partialAggregate", name: "partialAggregate", keys: [...keys, on], aggregates: named },
    partitioning: { kind: "hash", keys, use: "group by" },
    after: { kind: "pivotAggregates", name, keys, on, values: columns, aggregates: named, hasNames },
  };
}

const PIVOT = {
  columns: custom<readonly PivotValue[] | undefined>(
    `an array of texts, numbers, booleans or null is needed, of 1 to ${PIVOT_COLUMNS_MAX} different ones`,
    undefined,
    (value) => {
      if (!Array.isArray(value) || !value.every(isPivotValue)) return "wrong type";
      const isFit = value.length > 0 && value.length <= PIVOT_COLUMNS_MAX && new Set(value.map(pivotPlace)).size === value.length;
      return isFit ? "ok" : "out of range";
    },
  ),
  aggregate: custom<Aggregate | Readonly<Record<string, Aggregate>> | undefined>(
    "an aggregate such as data.sum(column) is needed, or an object of several",
    undefined,
    (value) => (isPlainObject(value) ? "ok" : "wrong type"),
  ),
};

/** Names of these options in pandas and Polars, each with a hint. */
const PIVOT_OTHER_NAMES = {
  values: "it is aggregate, such as data.sum(column)",
  aggfunc: "it is aggregate, such as data.sum(column)",
  aggregateFunction: "it is aggregate, such as data.sum(column)",
  aggregate_function: "it is aggregate, such as data.sum(column)",
  index: "it is the argument of groupBy",
  on_columns: "it is columns",
};

function isPivotValue(value: unknown): boolean {
  return (
    value === null || typeof value === "string" || typeof value === "number" || typeof value === "bigint" || typeof value === "boolean"
  );
}

/** The options of `sample` of groups. */
export interface GroupSampleOptions {
  /** The number of rows for each group; a smaller group gives all its rows. */
  rows?: number | undefined;
  /** In place of `rows`: the part of each group, from 0 to 1, rounded to whole rows. */
  fraction?: number | undefined;
  /** The same seed gives the same rows. Default: at random. */
  seed?: number | undefined;
}

const GROUP_SAMPLE = {
  rows: count({ min: 1 }, undefined),
  fraction: number("a number from 0 to 1 is needed", undefined, (value) => value >= 0 && value <= 1),
};

/** @throws TypeError, RangeError for wrong options, and unless there is one of `rows` and `fraction` */
export function groupSampleStep(keys: readonly string[], { seed: givenSeed, ...given }: GroupSampleOptions): ExchangeStep {
  const { rows, fraction } = readOptions(given, {
    of: "sample",
    otherNames: { n: "it is rows", frac: "it is fraction", random_state: "it is seed" },
    options: GROUP_SAMPLE,
  });
  if ((rows === undefined) === (fraction === undefined))
    throw new TypeError(`Cannot call sample: it takes one of the options rows and fraction: received ${describeValue(given)}`);
  const seed = seedOf("sample", { seed: givenSeed });
  const name = `groupBy(${keys.join(", ")}).sample(${rows ?? fraction})`;
  return {
    name,
    before: { kind: "numbered", name, step: { kind: "drawInBlock", name, keys, rows, fraction, seed } },
    partitioning: { kind: "hash", keys, use: "group by" },
    after: { kind: "sampleGroups", name, keys, rows, fraction },
  };
}

/** The options of `groupBy`. */
export interface GroupByOptions {
  /** Number of partitions of the groups, with a task each. Default: chosen by the bytes. */
  numPartitions?: number | undefined;
}

/** @throws TypeError, RangeError. @returns the partitions of each step of the groups, where they are given */
export function groupPartitions(options: GroupByOptions): { readonly partitions?: number } {
  const { numPartitions } = readOptions(options, { of: "groupBy", options: { numPartitions: count({ min: 1 }, undefined) } });
  return numPartitions === undefined ? {} : { partitions: numPartitions };
}

/** Makes the step of `mapGroups`. @throws TypeError for an invalid function */
export function mapGroupsStep(
  keys: readonly string[],
  fn: (group: never) => unknown,
  options: { batchFormat?: BatchFormat | undefined },
): ExchangeStep {
  requireFunction("mapGroups", fn);
  const { batchFormat } = readOptions(options, { of: "mapGroups", options: FORMAT });
  const name = `groupBy(${keys.join(", ")}).${nameOf("mapGroups", fn)}`;
  return { name, partitioning: { kind: "hash", keys, use: "group by" }, after: { kind: "mapGroups", name, keys, fn, batchFormat } };
}
