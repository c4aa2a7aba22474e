/**
 * `MedianStoppingRule`: stops a trial whose best result is below the median of the others' running means (Golovin et al. 2017, "Vizier").
 *
 * Means run from `gracePeriod` to the trial's present time, over trials that have come as far. With too few of those, a trial may let
 * others run first. The decisions are those of Ray's scheduler of this name. The sums at each of a trial's times are kept, as later trials
 * are compared at earlier times.
 */
import { count, flag, readOptions, text } from "../../core/internal.ts";
import type { Decision, SchedulerView, TrialScheduler } from "../scheduler.ts";
import { definitionOf } from "../spaces/definition.ts";
import { numberFrom, oneMetric } from "../options/shared-options.ts";
import type { Definition, JsonValue, Mode, Trial, TrialResult } from "../trials/trial.ts";
import { firstInOrder } from "./fifo-scheduler.ts";
import { minuteOf, Objective } from "./objective.ts";

export interface MedianStoppingRuleOptions {
  /** The key of results that counts progress. Default: `"timeTotalMs"`. */
  timeAttr?: string;
  /** Default: the metric of `tuneConfig`. */
  metric?: string | undefined;
  /** Default: the mode of `tuneConfig`. */
  mode?: Mode | undefined;
  /** No trial is stopped before. Default: a minute, or 60 where something else than time is counted. */
  gracePeriod?: number | undefined;
  /** So many other trials are needed for a median. Default: 3. */
  minSamplesRequired?: number;
  /** Minimum run time of a trial before it lets others run, while there are too few for a median. Default: 0. */
  minTimeSlice?: number;
  /** Whether trials end; otherwise they are paused once and continue when nothing else has to run. Default: true. */
  hardStop?: boolean;
}

const OPTIONS = {
  ...oneMetric,
  timeAttr: text("timeTotalMs"),
  gracePeriod: numberFrom(0, undefined),
  minSamplesRequired: count({ min: 1 }, 3),
  minTimeSlice: numberFrom(0, 0),
  hardStop: flag(true),
};

/** The results of a trial, in their order. */
interface History {
  readonly times: number[];
  readonly scores: number[];
}

export class MedianStoppingRule implements TrialScheduler {
  readonly definition: Definition | undefined;
  readonly #options: ReturnType<typeof readSettings>;
  readonly #gracePeriod: number;
  readonly #objective: Objective;
  readonly #histories = new Map<string, History>();
  readonly #stopped = new Set<string>();
  readonly #lastPauses = new Map<string, number>();

  /** @throws TypeError, RangeError */
  constructor(options: MedianStoppingRuleOptions = {}) {
    this.#options = readSettings(options);
    this.#gracePeriod = this.#options.gracePeriod ?? minuteOf(this.#options.timeAttr);
    this.definition = definitionOf("median_stopping_rule", options);
    this.#objective = new Objective("MedianStoppingRule", this.#options);
  }

  setSearchProperties(metric: string | undefined, mode: Mode | undefined): void {
    this.#objective.set(metric, mode);
  }

  onTrialAdd(): void {}

  onTrialResult(trial: Trial, result: TrialResult, view: SchedulerView): Decision {
    const time = this.#objective.timeOf(result);
    const score = this.#objective.scoreOf(result);
    if (time === undefined || score === undefined || this.#stopped.has(trial.id)) return "continue";
    this.#remember(trial.id, time, score);
    if (time < this.#gracePeriod) return "continue";
    const means = this.#runningMeans(trial.id, time);
    if (means.length < this.#options.minSamplesRequired) return this.#makeRoom(trial, time, view);
    const best = bestOf((this.#histories.get(trial.id) as History).scores);
    if (best >= medianOf(means)) return "continue";
    this.#stopped.add(trial.id);
    return this.#options.hardStop ? "stop" : "pause";
  }

  onTrialComplete(trial: Trial, result: TrialResult | undefined): void {
    const time = result && this.#objective.timeOf(result);
    const score = result && this.#objective.scoreOf(result);
    if (time !== undefined && score !== undefined) this.#remember(trial.id, time, score);
  }

  onTrialError(): void {}
  onTrialRemove(): void {}

  chooseTrialToRun(view: SchedulerView): string | undefined {
    return firstInOrder(view);
  }

  save(): JsonValue {
    return {
      histories: [...this.#histories].map(([trialId, { times, scores }]) => [trialId, [...times], [...scores]]),
      stopped: [...this.#stopped],
      lastPauses: [...this.#lastPauses],
    };
  }

  restore(state: JsonValue): void {
    const saved = state as unknown as { histories: [string, number[], number[]][]; stopped: string[]; lastPauses: [string, number][] };
    this.#histories.clear();
    this.#stopped.clear();
    this.#lastPauses.clear();
    for (const [trialId, times, scores] of saved.histories) this.#histories.set(trialId, { times: [...times], scores: [...scores] });
    for (const trialId of saved.stopped) this.#stopped.add(trialId);
    for (const [trialId, time] of saved.lastPauses) this.#lastPauses.set(trialId, time);
  }

  #remember(trialId: string, time: number, score: number): void {
    let history = this.#histories.get(trialId);
    if (history === undefined) this.#histories.set(trialId, (history = { times: [], scores: [] }));
    history.times.push(time);
    history.scores.push(score);
  }

  /** Mean scores, from the grace period to `time`, of the other trials that have come as far as `time`. Means that are not finite are left out. */
  #runningMeans(trialId: string, time: number): number[] {
    const means: number[] = [];
    for (const [other, { times, scores }] of this.#histories) {
      if (other === trialId || (times.at(-1) as number) < time) continue;
      const within = scores.filter((_, index) => (times[index] as number) >= this.#gracePeriod && (times[index] as number) <= time);
      const mean = pairwiseSum(within) / within.length;
      if (Number.isFinite(mean)) means.push(mean);
    }
    return means;
  }

  /** Pauses a trial for others that wait, as long as there is no median. */
  #makeRoom(trial: Trial, time: number, view: SchedulerView): Decision {
    const ranLongEnough = time - (this.#lastPauses.get(trial.id) ?? Number.NEGATIVE_INFINITY) > this.#options.minTimeSlice;
    const others = [...view.liveTrials.values()].some(({ status }) => status === "pending" || status === "paused");
    if (!ranLongEnough || !others) return "continue";
    this.#lastPauses.set(trial.id, time);
    return "pause";
  }
}

function readSettings(options: MedianStoppingRuleOptions) {
  return readOptions(options, { of: "a MedianStoppingRule", options: OPTIONS });
}

/** As Python's `max`: a NaN in the first place stays. */
function bestOf(scores: readonly number[]): number {
  let best = scores[0] as number;
  for (const score of scores) if (score > best) best = score;
  return best;
}

function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((first, second) => first - second);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[middle] as number) : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/** A sum in the order of numpy's `mean`, so that ties end as they do there: eight interleaved sums, in halves above 128 values. */
function pairwiseSum(values: readonly number[]): number {
  const total = values.length;
  if (total < 8) return values.reduce((sum, value) => sum + value, 0);
  if (total > 128) {
    const half = Math.floor(total / 2) - (Math.floor(total / 2) % 8);
    return pairwiseSum(values.slice(0, half)) + pairwiseSum(values.slice(half));
  }
  const sums = values.slice(0, 8);
  let index = 8;
  for (; index + 8 <= total; index += 8)
    for (let lane = 0; lane < 8; lane += 1) sums[lane] = (sums[lane] as number) + (values[index + lane] as number);
  const [a, b, c, d, e, f, g, h] = sums as [number, number, number, number, number, number, number, number];
  let sum = a + b + (c + d) + (e + f + (g + h));
  for (; index < total; index += 1) sum += values[index] as number;
  return sum;
}
