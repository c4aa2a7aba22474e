/**
 * The exchanges behind `sort`, `randomShuffle`, `dropDuplicates`, `groupBy(...).aggregate` and `mapGroups`: how their rows come together, and what becomes of them there.
 *
 * Options and arguments are checked here, where the user wrote them.
 * `Dataset` and `Groups` put the step behind a plan.
 */
import { count, custom, oneOf, readOptions } from "../core/internal.ts";
import { type Aggregate, checkAggregates } from "./aggregates/aggregate.ts";
import { nameOf, requireFunction, requireNames, seedOf } from "./arguments.ts";
import type { BatchFormat } from "./blocks/batch.ts";
import type { ExchangePlan } from "./plan/logical-plan.ts";

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
