/**
 * The exchanges behind `sort`, `randomShuffle`, `groupBy(...).aggregate` and `mapGroups`: how their rows come together, and what becomes of them there.
 *
 * Options and arguments are checked here, where the user wrote them.
 * `Dataset` and `Groups` put the step behind a plan.
 */
import { custom, oneOf, readOptions } from "../core/internal.ts";
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
}

const DIRECTIONS = custom<boolean | readonly boolean[]>("a boolean, or a boolean for each key, is needed", false, (value) =>
  typeof value === "boolean" || (Array.isArray(value) && value.every((one) => typeof one === "boolean")) ? "ok" : "wrong type",
);

const FORMAT = { batchFormat: oneOf(["columns", "rows", "arrow"], "columns") };

/** @throws TypeError, RangeError */
export function sortStep(keys: string | readonly string[], options: SortOptions): ExchangeStep {
  const columns = namesOf("sort", keys);
  const { descending } = readOptions(options, { of: "sort", options: { descending: DIRECTIONS } });
  if (Array.isArray(descending) && descending.length !== columns.length)
    throw new RangeError(`sort takes a direction for each of its ${columns.length} keys: received ${descending.length}`);
  const sortKeys = columns.map((column, i) => ({
    column,
    descending: Array.isArray(descending) ? descending[i] === true : descending === true,
  }));
  const name = `sort(${sortKeys.map((key) => (key.descending ? `${key.column} descending` : key.column)).join(", ")})`;
  return { name, partitioning: { kind: "range", keys: sortKeys }, after: { kind: "sortRows", name, keys: sortKeys } };
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
  if (columns.length === 0) throw new TypeError(`${method} takes a column, or several: received none`);
  return columns;
}

/**
 * The step that gives a row for each group of equal keys, or a single row for all rows where there are no keys.
 *
 * @throws TypeError for what is no aggregate, DataError for the name of a key
 */
export function aggregateStep(keys: readonly string[], aggregates: Readonly<Record<string, Aggregate>>): ExchangeStep {
  checkAggregates(aggregates, keys);
  const named = Object.entries(aggregates);
  const list = named.map(([name]) => name).join(", ");
  const name = keys.length === 0 ? `aggregate(${list})` : `groupBy(${keys.join(", ")}).aggregate(${list})`;
  return {
    name,
    before: { kind: "partialAggregate", name: "partialAggregate", keys, aggregates: named },
    partitioning: { kind: "hash", keys, use: "group by" },
    ...(keys.length === 0 ? { partitions: 1 } : {}),
    after: { kind: "mergeAggregates", name, keys, aggregates: named },
  };
}

/** @throws TypeError for what is no function */
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
