/**
 * The options of `join` and `joinAsof`, and the rows that they give.
 *
 * `readJoin` and `readJoinAsof` check them where the user wrote them, and make the step of the plan.
 * Types alone derive the columns of the joined row, and the nullable ones among them, from the type of the join.
 */
import { count, custom, describeValue, flag, oneOf, readOptions } from "../../core/internal.ts";
import { type Join, JOIN_TYPES, type JoinType } from "../engine/tables/join.ts";
import { ASOF_STRATEGIES, type AsofStrategy, type JoinAsof } from "../engine/tables/join-asof.ts";
import type { AnyRow } from "../row-types.ts";

export interface JoinOptions<
  K extends string,
  RK extends string = K,
  T extends JoinType = JoinType,
  LS extends string = string,
  RS extends string = string,
> {
  /** The key column of both sides, or several. With `rightOn` those of this side alone. */
  on: K | readonly K[];
  /** The key columns of the other side, in the order of `on`, where they have other names. Default: those of `on`. */
  rightOn?: RK | readonly RK[] | undefined;
  /**
   * The rows of the result. `inner`: rows with a partner; `left`, `right`, `full`: also the rows of this side, the other side, or both sides without one.
   * `leftSemi`, `rightSemi`: rows of one side that have a partner; `leftAnti`, `rightAnti`: rows of one side that have none. Default: `"inner"`.
   */
  type?: T | undefined;
  /** Behind the names of this side's columns that the other side has too. Default: nothing. */
  leftSuffix?: LS | undefined;
  /** Behind the names of the other side's columns that this side has too. Default: nothing. */
  rightSuffix?: RS | undefined;
  /** How many tasks join at most. Default: as many as suit the bytes. */
  partitions?: number | undefined;
}

type Renamed<R, Other, Suffix extends string> = { [P in keyof R as P extends keyof Other & string ? `${P}${Suffix}` : P]: R[P] };
type OrNull<R> = { [P in keyof R]: R[P] | null };

/** The columns of this side beside its keys, and those of the other side. */
type LeftPart<R, S, K, RK, LS extends string> = Renamed<Omit<R, K & keyof R>, Omit<S, RK & keyof S>, LS>;
type RightPart<R, S, RK, RS extends string> = Renamed<Omit<S, RK & keyof S>, R, RS>;

/** The row of a join. */
export type JoinedRow<R, S, K extends string, RK extends string, T extends JoinType, LS extends string, RS extends string> = T extends
  | "leftSemi"
  | "leftAnti"
  ? R & AnyRow
  : T extends "rightSemi" | "rightAnti"
    ? S & AnyRow
    : Pick<R, K & keyof R> &
        (T extends "right" | "full" ? OrNull<LeftPart<R, S, K, RK, LS>> : LeftPart<R, S, K, RK, LS>) &
        (T extends "left" | "full" ? OrNull<RightPart<R, S, RK, RS>> : RightPart<R, S, RK, RS>);

const KEYS = custom<string | readonly string[] | undefined>("the name of a column, or several, is needed", undefined, (value) =>
  typeof value === "string" || (Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === "string"))
    ? "ok"
    : "wrong type",
);
const SUFFIX = custom<string>("a text is needed", "", (value) => (typeof value === "string" ? "ok" : "wrong type"));
const JOIN = {
  on: KEYS,
  rightOn: KEYS,
  type: oneOf(JOIN_TYPES, "inner"),
  leftSuffix: SUFFIX,
  rightSuffix: SUFFIX,
  partitions: count({ min: 1 }, undefined),
};

/** Names of these options in pandas, Polars and Ray, each with a hint. */
const OTHER_NAMES = {
  how: "it is type",
  joinType: "it is type",
  join_type: "it is type",
  leftOn: "it is on",
  left_on: "it is on",
  numPartitions: "it is partitions",
  num_partitions: "it is partitions",
};

/** @throws TypeError or RangeError for a missing or wrong option */
export function readJoin(options: unknown): Join & { readonly partitions: number | undefined } {
  const { on, rightOn, type, leftSuffix, rightSuffix, partitions } = readOptions(options, {
    of: "join",
    otherNames: OTHER_NAMES,
    options: JOIN,
  });
  if (on === undefined)
    throw new TypeError(`Cannot join: the option on is needed, the column that both sides share: received ${describeValue(options)}`);
  const leftKeys = listOf(on);
  const rightKeys = listOf(rightOn ?? on);
  if (leftKeys.length !== rightKeys.length)
    throw new TypeError(`Cannot join: on and rightOn name as many columns each: received ${leftKeys.length} and ${rightKeys.length}`);
  const keys = leftKeys.map((key, i) => (key === rightKeys[i] ? key : `${key} = ${rightKeys[i]}`)).join(", ");
  return { kind: "join", name: `join(${type}, ${keys})`, type, leftKeys, rightKeys, leftSuffix, rightSuffix, partitions };
}

/** The options of `joinAsof`. */
export interface JoinAsofOptions<
  O extends string,
  RO extends string = O,
  K extends string = string,
  RK extends string = K,
  LS extends string = string,
  RS extends string = string,
> {
  /** The column whose values are compared: of numbers or of times. With `rightOn` that of this side alone. */
  on: O;
  /** The column of the other side, if it has another name. It stays in the result then. Default: that of `on`. */
  rightOn?: RO | undefined;
  /** Columns whose values have to be equal, one or several. A null equals none. Default: none. */
  by?: K | readonly K[] | undefined;
  /** The columns of the other side, in the order of `by`, where they have other names. Default: those of `by`. */
  rightBy?: RK | readonly RK[] | undefined;
  /** `backward`: the last row at or before the value; `forward`: the first at or after it; `nearest`: the nearer of both, of equal distances the earlier. Default: `"backward"`. */
  strategy?: AsofStrategy | undefined;
  /** The largest distance of a partner, in the unit of the column; of times in milliseconds. Default: any. */
  tolerance?: number | bigint | undefined;
  /** Whether a row of an equal value is a partner. Default: true. */
  allowExactMatches?: boolean | undefined;
  /** Behind the names of this side's columns that the other side has too. Default: nothing. */
  leftSuffix?: LS | undefined;
  /** Behind the names of the other side's columns that this side has too. Default: nothing. */
  rightSuffix?: RS | undefined;
  /** How many tasks join at most; needs `by`. Default: as many as suit the bytes. */
  partitions?: number | undefined;
}

/** The row of an as-of join: that of a left join, where the other side's `on` of the same name is left out. */
export type JoinedAsofRow<R, S, O, RO, K extends string, RK extends string, LS extends string, RS extends string> = JoinedRow<
  R,
  O extends RO ? Omit<S, RO & keyof S> : S,
  K,
  RK,
  "left",
  LS,
  RS
>;

const COLUMN = custom<string | undefined>("the name of a column is needed", undefined, (value) =>
  typeof value === "string" ? "ok" : "wrong type",
);
const JOIN_ASOF = {
  on: COLUMN,
  rightOn: COLUMN,
  by: KEYS,
  rightBy: KEYS,
  strategy: oneOf(ASOF_STRATEGIES, "backward"),
  tolerance: custom<number | bigint | undefined>("a number from 0 is needed; of times it is in milliseconds", undefined, (value) => {
    if (typeof value !== "number" && typeof value !== "bigint") return "wrong type";
    return value >= 0 ? "ok" : "out of range";
  }),
  allowExactMatches: flag(true),
  leftSuffix: SUFFIX,
  rightSuffix: SUFFIX,
  partitions: count({ min: 1 }, undefined),
};

/** Names of these options in pandas and Polars, each with a hint. */
const ASOF_OTHER_NAMES = {
  direction: "it is strategy",
  leftOn: "it is on",
  left_on: "it is on",
  right_on: "it is rightOn",
  leftBy: "it is by",
  left_by: "it is by",
  by_left: "it is by",
  right_by: "it is rightBy",
  by_right: "it is rightBy",
  allow_exact_matches: "it is allowExactMatches",
  suffix: "it is rightSuffix",
};

/** @throws TypeError or RangeError for a missing or wrong option */
export function readJoinAsof(options: unknown): JoinAsof & { readonly partitions: number | undefined } {
  const { on, rightOn, by, rightBy, strategy, tolerance, allowExactMatches, leftSuffix, rightSuffix, partitions } = readOptions(options, {
    of: "joinAsof",
    otherNames: ASOF_OTHER_NAMES,
    options: JOIN_ASOF,
  });
  if (on === undefined)
    throw new TypeError(`Cannot joinAsof: the option on is needed, the column that is compared: received ${describeValue(options)}`);
  const leftKeys = listOf(by ?? []);
  const rightKeys = listOf(rightBy ?? by ?? []);
  if (leftKeys.length !== rightKeys.length)
    throw new TypeError(`Cannot joinAsof: by and rightBy name as many columns each: received ${leftKeys.length} and ${rightKeys.length}`);
  if (leftKeys.length === 0 && partitions !== undefined)
    throw new RangeError(`Cannot joinAsof: without the option by all rows are one partition: received ${partitions} as partitions`);
  const rightKey = rightOn ?? on;
  if (leftKeys.includes(on) || rightKeys.includes(rightKey))
    throw new TypeError(`Cannot joinAsof: the column of on is none of by: received ${describeValue(options)}`);
  const keys = [on === rightKey ? on : `${on} ~ ${rightKey}`, ...leftKeys].join(", ");
  const name = `joinAsof(${strategy}, ${keys})`;
  const equal = { kind: "join", name, type: "left", leftKeys, rightKeys, leftSuffix, rightSuffix } as const;
  return { kind: "joinAsof", name, equal, leftOn: on, rightOn: rightKey, strategy, tolerance, allowExactMatches, partitions };
}

function listOf(keys: string | readonly string[]): readonly string[] {
  return typeof keys === "string" ? [keys] : keys;
}
