/** Rows for `readOptions` that searchers and schedulers share: metric, mode, seed, ranges of numbers, and points that the user gives. */
import { custom, isPlainObject, number, type Option } from "../../core/internal.ts";
import type { Mode } from "../trials/trial.ts";

/** Options of all searchers with a model. */
export interface ModelSearchOptions {
  /** Default: the metric of `tuneConfig`. */
  metric?: string | readonly string[] | undefined;
  /** Default: the mode of `tuneConfig`. */
  mode?: Mode | readonly Mode[] | undefined;
  /** Default: another sequence in each run. */
  seed?: number | undefined;
  /** Configurations to try first. Missing values are drawn. */
  pointsToEvaluate?: readonly Readonly<Record<string, unknown>>[] | undefined;
  /** Known results of the first of `pointsToEvaluate`, which are then not run. For several metrics, a list for each. */
  evaluatedRewards?: readonly (number | readonly number[])[] | undefined;
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
const isMode = (value: unknown): value is Mode => value === "min" || value === "max";

function listOrOne<T>(allowed: string, is: (value: unknown) => value is T): Option<T | readonly T[] | undefined> {
  return custom<T | readonly T[] | undefined>(allowed, undefined, (value) =>
    is(value) || (Array.isArray(value) && value.length > 0 && value.every(is)) ? "ok" : "wrong type",
  );
}

function listOf<T>(allowed: string, is: (value: unknown) => boolean): Option<readonly T[] | undefined> {
  return custom<readonly T[] | undefined>(allowed, undefined, (value) => (Array.isArray(value) && value.every(is) ? "ok" : "wrong type"));
}

/** A seed of a generator. */
export function seed(): Option<number | undefined> {
  return number<number | undefined>("a whole number from 0 is needed", undefined, (value) => Number.isSafeInteger(value) && value >= 0);
}

/** A finite number that is at least `least`. */
export function numberFrom<T extends number | undefined>(least: number, fallback: T): Option<number | T> {
  return number(`a number from ${least} is needed`, fallback, (value) => value >= least && value < Number.POSITIVE_INFINITY);
}

/** A finite number that is greater than `bound`. */
export function numberAbove<T extends number | undefined>(bound: number, fallback: T): Option<number | T> {
  return number(`a number above ${bound} is needed`, fallback, (value) => value > bound && value < Number.POSITIVE_INFINITY);
}

/** The metric and the mode of a scheduler or of a searcher for one metric. */
export const oneMetric = {
  metric: custom<string | undefined>("the name of a metric is needed", undefined, (value) => (isText(value) ? "ok" : "wrong type")),
  mode: custom<Mode | undefined>('"min" or "max" is needed', undefined, (value) => (isMode(value) ? "ok" : "wrong type")),
};

export const modelSearchOptions = {
  metric: listOrOne("the name of a metric, or a list of names, is needed", isText),
  mode: listOrOne('"min" or "max", or a list of these, is needed', isMode),
  seed: seed(),
  pointsToEvaluate: listOf<Readonly<Record<string, unknown>>>("a list of configurations is needed", isPlainObject),
  evaluatedRewards: listOf<number | readonly number[]>(
    "a list of numbers is needed",
    (value) => typeof value === "number" || (Array.isArray(value) && value.every((each) => typeof each === "number")),
  ),
};
