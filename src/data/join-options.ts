/**
 * The options of `join`, and the rows that it gives.
 *
 * `readJoin` checks them where the user wrote them, and makes the step of the plan.
 * Types alone derive the columns of the joined row, and the nullable ones among them, from the type of the join.
 */
import { count, custom, describeValue, oneOf, readOptions } from "../core/internal.ts";
import { type Join, JOIN_TYPES, type JoinType } from "./engine/join.ts";
import type { AnyRow } from "./row-types.ts";

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

function listOf(keys: string | readonly string[]): readonly string[] {
  return typeof keys === "string" ? [keys] : keys;
}
