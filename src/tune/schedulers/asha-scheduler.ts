/**
 * `ASHAScheduler`: asynchronous successive halving (Li et al. 2020). A trial that reaches a rung continues if it is among the best recorded
 * there so far.
 *
 * Rungs are at `gracePeriod`, and each `reductionFactor` times the last, up to `maxT`. A bracket with a higher first rung is more patient;
 * a trial gets one at random, those with more rungs more often. Decisions are those of Ray's scheduler of this name, to the last digit of a
 * percentile.
 */
import { count, flag, readOptions, text } from "../../core/internal.ts";
import { Random, type RandomState } from "../spaces/random.ts";
import type { Decision, SchedulerView, TrialScheduler } from "../scheduler.ts";
import { definitionOf } from "../spaces/definition.ts";
import { numberAbove, oneMetric, seed } from "../options/shared-options.ts";
import type { Definition, JsonValue, Mode, Trial, TrialResult } from "../trials/trial.ts";
import { firstInOrder } from "./fifo-scheduler.ts";
import { Objective } from "./objective.ts";
import { naturalLog } from "./rounding.ts";

export interface ASHASchedulerOptions {
  /** The key of results that counts progress. Default: `"trainingIteration"`. */
  timeAttr?: string;
  /** Default: the metric of `tuneConfig`. */
  metric?: string | undefined;
  /** Default: the mode of `tuneConfig`. */
  mode?: Mode | undefined;
  /** Trials are stopped here. Default: 100. */
  maxT?: number;
  /** No trial is stopped before. Default: 1. */
  gracePeriod?: number;
  /** At each milestone, 1 of this many trials continues. Default: 4. */
  reductionFactor?: number;
  /** Default: 1. */
  brackets?: number;
  /** Whether trials end at `maxT`. Default: true. */
  stopLastTrials?: boolean;
  /** Seed for the choice of brackets. */
  seed?: number | undefined;
}

const OPTIONS = {
  ...oneMetric,
  timeAttr: text("trainingIteration"),
  maxT: numberAbove(0, 100),
  gracePeriod: numberAbove(0, 1),
  reductionFactor: numberAbove(1, 4),
  brackets: count({ min: 1, max: 100 }, 1),
  stopLastTrials: flag(true),
  seed: seed(),
};

/** Milestone of a bracket, with the score that each trial had there. */
interface Rung {
  readonly milestone: number;
  readonly scores: Map<string, number>;
}

export class ASHAScheduler implements TrialScheduler {
  readonly definition: Definition | undefined;
  readonly #options: ReturnType<typeof readSettings>;
  readonly #objective: Objective;
  readonly #random: Random;
  /** Rungs from the highest to the lowest. */
  readonly #brackets: readonly (readonly Rung[])[];
  /** The bracket of each trial that has not ended. */
  readonly #bracketOf = new Map<string, number>();

  /** @throws TypeError, RangeError */
  constructor(options: ASHASchedulerOptions = {}) {
    this.#options = readSettings(options);
    const { maxT, gracePeriod, reductionFactor, brackets } = this.#options;
    if (maxT < gracePeriod)
      throw new RangeError(`Cannot make an ASHAScheduler: gracePeriod is at most maxT: received ${gracePeriod} and ${maxT}`);
    this.definition = definitionOf("asha", options);
    this.#objective = new Objective("ASHAScheduler", this.#options);
    this.#random = new Random(this.#options.seed);
    this.#brackets = Array.from({ length: brackets }, (_, index) => rungsOf({ gracePeriod, maxT, reductionFactor, skipped: index }));
  }

  setSearchProperties(metric: string | undefined, mode: Mode | undefined): void {
    this.#objective.set(metric, mode);
  }

  onTrialAdd(trial: Trial): void {
    const sizes = this.#brackets.map((rungs) => rungs.length);
    const weights = sizes.map((size) => Math.exp(size - Math.max(...sizes)));
    let rest = this.#random.next() * weights.reduce((sum, weight) => sum + weight, 0);
    const chosen = weights.findIndex((weight) => (rest -= weight) < 0);
    this.#bracketOf.set(trial.id, chosen < 0 ? weights.length - 1 : chosen);
  }

  onTrialResult(trial: Trial, result: TrialResult): Decision {
    const time = this.#objective.timeOf(result);
    const score = this.#objective.scoreOf(result);
    if (time === undefined || score === undefined) return "continue";
    const isLast = time >= this.#options.maxT && this.#options.stopLastTrials;
    if (!isLast && this.#record(trial.id, time, score)) return "continue";
    this.#bracketOf.delete(trial.id);
    return "stop";
  }

  onTrialComplete(trial: Trial, result: TrialResult | undefined): void {
    const time = result && this.#objective.timeOf(result);
    const score = result && this.#objective.scoreOf(result);
    if (time !== undefined && score !== undefined && this.#bracketOf.has(trial.id)) this.#record(trial.id, time, score);
    this.#bracketOf.delete(trial.id);
  }

  onTrialError(trial: Trial): void {
    this.#bracketOf.delete(trial.id);
  }

  onTrialRemove(trial: Trial): void {
    this.#bracketOf.delete(trial.id);
  }

  chooseTrialToRun(view: SchedulerView): string | undefined {
    return firstInOrder(view);
  }

  save(): JsonValue {
    return {
      random: this.#random.save(),
      bracketOf: [...this.#bracketOf],
      scores: this.#brackets.map((rungs) => rungs.map(({ scores }) => [...scores])),
    };
  }

  restore(state: JsonValue): void {
    const saved = state as unknown as { random: RandomState; bracketOf: [string, number][]; scores: [string, number][][][] };
    this.#random.restore(saved.random);
    this.#bracketOf.clear();
    for (const [trialId, bracket] of saved.bracketOf) this.#bracketOf.set(trialId, bracket);
    for (const [bracket, rungs] of this.#brackets.entries()) {
      for (const [rung, { scores }] of rungs.entries()) {
        scores.clear();
        for (const [trialId, score] of saved.scores[bracket]?.[rung] ?? []) scores.set(trialId, score);
      }
    }
  }

  /** Records a trial at the highest rung that it has reached and was not recorded at. Returns whether it continues. */
  #record(trialId: string, time: number, score: number): boolean {
    for (const { milestone, scores } of this.#brackets[this.#bracketOf.get(trialId) ?? 0] as readonly Rung[]) {
      if (time < milestone) continue;
      if (scores.has(trialId)) {
        // Without a last stop the decision at this rung is final, and lower rungs do not count any more.
        if (!this.#options.stopLastTrials) return true;
        continue;
      }
      const cutoff = percentile([...scores.values()], (1 - 1 / this.#options.reductionFactor) * 100);
      scores.set(trialId, score);
      return !(cutoff !== undefined && score < cutoff);
    }
    return true;
  }
}

function readSettings(options: ASHASchedulerOptions) {
  return readOptions(options, { of: "an ASHAScheduler", options: OPTIONS });
}

/** The rungs of a bracket that skips the first ones, from the highest to the lowest. */
export function rungsOf(shape: { gracePeriod: number; maxT: number; reductionFactor: number; skipped: number }): Rung[] {
  const { gracePeriod, maxT, reductionFactor, skipped } = shape;
  const rungCount = Math.max(0, Math.trunc(naturalLog(maxT / gracePeriod) / naturalLog(reductionFactor) - skipped + 1));
  return Array.from({ length: rungCount }, (_, index) => ({
    milestone: gracePeriod * reductionFactor ** (rungCount - 1 - index + skipped),
    scores: new Map<string, number>(),
  }));
}

/** A percentile with linear interpolation, as numpy's `nanpercentile` computes it; undefined for no values. */
function percentile(values: readonly number[], percent: number): number | undefined {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort((first, second) => first - second);
  if (sorted.length === 0) return values.length === 0 ? undefined : Number.NaN;
  const place = (sorted.length - 1) * (percent / 100);
  const below = Math.floor(place);
  const low = sorted[below] as number;
  const high = sorted[Math.min(below + 1, sorted.length - 1)] as number;
  const part = place - below;
  return part >= 0.5 ? high - (high - low) * (1 - part) : low + (high - low) * part;
}
