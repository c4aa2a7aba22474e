/**
 * The objective of a scheduler: a metric with its direction, and the attribute of results that counts progress.
 *
 * Scores are larger for better results in either mode. Each scheduler owns an `Objective`. The names of Ray's automatic keys are accepted,
 * too, with their units: `time_total_s` is in seconds.
 */
import { metricAt } from "../../runs/checkpoints/kept-checkpoints.ts";
import type { Metrics, Mode, TrialResult } from "../trials/trial.ts";

/** Ray's names for keys that Tune adds, and the divisors that convert our units. */
const NAMES_OF_RAY: Readonly<Record<string, { readonly name: string; readonly divisor: number }>> = {
  training_iteration: { name: "trainingIteration", divisor: 1 },
  time_total_s: { name: "timeTotalMs", divisor: 1000 },
  time_this_iter_s: { name: "timeThisIterMs", divisor: 1000 },
};

/** A minute, in the unit of the attribute that a scheduler counts by; 60 of whatever else it counts by. */
export function minuteOf(timeAttr: string): number {
  return timeAttr === "timeTotalMs" || timeAttr === "timestampMs" ? 60_000 : 60;
}

export class Objective {
  readonly #scheduler: string;
  readonly #timeAttr: string;
  #metric: string | undefined;
  #mode: Mode | undefined;

  constructor(scheduler: string, given: { metric: string | undefined; mode: Mode | undefined; timeAttr: string }) {
    this.#scheduler = scheduler;
    this.#timeAttr = given.timeAttr;
    this.#metric = given.metric;
    this.#mode = given.mode;
  }

  get metric(): string {
    return this.#metric as string;
  }

  get mode(): Mode {
    return this.#mode as Mode;
  }

  get timeAttr(): string {
    return this.#timeAttr;
  }

  /** Takes over a metric and a mode if there is none. @throws TypeError if one is still missing */
  set(metric: string | undefined, mode: Mode | undefined): void {
    this.#metric ??= metric;
    this.#mode ??= mode;
    if (this.#metric === undefined || this.#mode === undefined) {
      const missing = this.#metric === undefined ? "metric" : "mode";
      throw new TypeError(`Cannot schedule with ${this.#scheduler}: it needs a ${missing}: set tuneConfig.${missing}`);
    }
  }

  /** The metric, larger for better; undefined where the result lacks it. */
  scoreOf(result: TrialResult): number | undefined {
    const value = metricAt(result as unknown as Metrics, this.metric);
    return typeof value === "number" ? (this.#mode === "max" ? value : -value) : undefined;
  }

  /** The progress that a result shows; undefined where the result lacks it. */
  timeOf(result: TrialResult): number | undefined {
    const values = result as Record<string, unknown>;
    const own = values[this.#timeAttr];
    if (typeof own === "number") return own;
    const known = NAMES_OF_RAY[this.#timeAttr];
    const value = known === undefined ? undefined : values[known.name];
    return typeof value === "number" ? value / (known?.divisor ?? 1) : undefined;
  }

  /** @throws Error that names the missing key of a result */
  require(trialId: string, result: TrialResult): { score: number; time: number } {
    const score = this.scoreOf(result);
    const time = this.timeOf(result);
    if (score !== undefined && time !== undefined) return { score, time };
    const missing = score === undefined ? this.#metric : this.#timeAttr;
    const names = Object.keys(result).join(", ");
    throw new Error(
      `Cannot schedule trial ${trialId}: ${this.#scheduler} decides by ${JSON.stringify(missing)}, a number in each result: the result has ${names}`,
    );
  }
}
