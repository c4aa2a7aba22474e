/**
 * Stoppers: decide when a trial, or the whole experiment, has run long enough. `runConfig.stop` takes Ray's forms: an object of bounds, a
 * function, a stopper.
 *
 * A stopper is asked after each result, before the scheduler. Its answers are part of the run's log. Stoppers with state implement `save`
 * and `restore`, else they begin anew in a restored run. The last saved state is restored, and the stopper is asked again for the results
 * since then, whose answers are known.
 */
import { count, describeValue, isPlainObject, nearNames, number, oneOf, readOptions, TIMER_MS_MAX } from "../../core/internal.ts";
import { metricAt } from "../../runs/checkpoints/kept-checkpoints.ts";
import { TuneError } from "../errors.ts";
import { SpentTime } from "../experiment/spent-time.ts";
import type { JsonValue, Metrics, Mode, TrialResult } from "../trials/trial.ts";

export interface Stopper {
  /** Whether the trial that has reported ends with this result. */
  shouldStop(trialId: string, result: TrialResult): boolean | Promise<boolean>;
  /** Whether the whole experiment ends. Asked after each result. */
  stopAll?(): boolean | Promise<boolean>;
  save?(): JsonValue;
  /** Takes the place of all state that there is. */
  restore?(state: JsonValue): void;
}

/** Bounds by metric: a trial ends that reaches one. */
export type StopCriteria = Readonly<Record<string, number | boolean>>;

export type Stop = StopCriteria | ((trialId: string, result: TrialResult) => boolean | Promise<boolean>) | Stopper | readonly Stopper[];

/** Ray's names for keys that every result has. */
const ALIASES: Readonly<Record<string, { readonly name: string; readonly factor: number }>> = {
  training_iteration: { name: "trainingIteration", factor: 1 },
  time_total_s: { name: "timeTotalMs", factor: 1000 },
  time_this_iter_s: { name: "timeThisIterMs", factor: 1000 },
};

/**
 * @param tuned - the metrics that are tuned, with their directions: a bound of one that is minimized is reached downwards
 * @throws TypeError for an invalid condition
 */
export function readStop(stop: unknown, tuned: ReadonlyMap<string, Mode>): Stopper | undefined {
  if (stop === undefined) return undefined;
  if (typeof stop === "function") return new FunctionStopper(stop as (trialId: string, result: TrialResult) => boolean);
  if (Array.isArray(stop)) return new CombinedStopper(...stop.map((one: unknown) => readStop(one, tuned) as Stopper));
  if (typeof (stop as Partial<Stopper>).shouldStop === "function") return stop as Stopper;
  if (!isPlainObject(stop))
    throw new TypeError(
      `Cannot set stop of runConfig: an object such as { trainingIteration: 10 }, a function or a stopper is needed: received ${describeValue(stop)}`,
    );
  return new BoundsStopper(stop as StopCriteria, tuned);
}

interface Bound {
  readonly metric: string;
  readonly bound: number | boolean;
  readonly isDownwards: boolean;
}

/** A trial ends that reaches one of some bounds; flags are reached when they are equal. */
class BoundsStopper implements Stopper {
  readonly #bounds: readonly Bound[];

  constructor(criteria: StopCriteria, tuned: ReadonlyMap<string, Mode>) {
    this.#bounds = Object.entries(criteria).map(([metric, bound]) => {
      if ((typeof bound !== "number" || Number.isNaN(bound)) && typeof bound !== "boolean")
        throw new TypeError(`Cannot set stop of runConfig: ${metric} must be a number or a flag: received ${describeValue(bound)}`);
      const alias = Object.hasOwn(ALIASES, metric) ? ALIASES[metric] : undefined;
      const scaled = alias !== undefined && typeof bound === "number" ? bound * alias.factor : bound;
      return { metric: alias?.name ?? metric, bound: scaled, isDownwards: tuned.get(metric) === "min" };
    });
  }

  shouldStop(_trialId: string, result: TrialResult): boolean {
    const values = this.#bounds.map((each) => ({ ...each, value: metricAt(result as unknown as Metrics, each.metric) }));
    const isReached = values.some(({ bound, isDownwards, value }) => {
      if (typeof bound === "boolean") return value === bound;
      if (typeof value !== "number") return false;
      return isDownwards ? value <= bound : value >= bound;
    });
    if (isReached) return true;
    // A flag may be present only in the report that ends the trial.
    const missing = values.find(({ bound, value }) => typeof bound === "number" && value === undefined);
    if (missing !== undefined) throw missingBound(missing.metric, result);
    return false;
  }
}

/** Refused as in Ray: a trial with a bound that it never reports may run without end. */
function missingBound(metric: string, result: TrialResult): TuneError {
  const has = Object.keys(result);
  const near = nearNames(metric, has);
  return new TuneError(`Cannot stop by ${JSON.stringify(metric)}: the report lacks it`, {
    hint: near.length > 0 ? `Did you mean ${near.join(" or ")} in runConfig.stop?` : `It has ${has.join(", ")}.`,
  });
}

/** Ends trials for which a function returns true. */
export class FunctionStopper implements Stopper {
  readonly #shouldStop: (trialId: string, result: TrialResult) => boolean | Promise<boolean>;

  constructor(shouldStop: (trialId: string, result: TrialResult) => boolean | Promise<boolean>) {
    if (typeof shouldStop !== "function")
      throw new TypeError(`Cannot make a FunctionStopper: a function is needed: received ${describeValue(shouldStop)}`);
    this.#shouldStop = shouldStop;
  }

  shouldStop(trialId: string, result: TrialResult): boolean | Promise<boolean> {
    return this.#shouldStop(trialId, result);
  }
}

/** Ends a trial after a number of iterations. */
export class MaximumIterationStopper implements Stopper {
  readonly #max: number;

  constructor(maxIter: number) {
    if (!Number.isInteger(maxIter) || maxIter < 1)
      throw new RangeError(`Cannot make a MaximumIterationStopper: a whole number from 1 is needed: received ${describeValue(maxIter)}`);
    this.#max = maxIter;
  }

  shouldStop(_trialId: string, result: TrialResult): boolean {
    return result.trainingIteration >= this.#max;
  }
}

/** Ends the experiment a number of milliseconds after its first result. Time without a driver does not count. */
export class TimeoutStopper implements Stopper {
  readonly #timeoutMs: number;
  #spent = new SpentTime();

  constructor(timeoutMs: number) {
    if (!(timeoutMs >= 0 && timeoutMs <= TIMER_MS_MAX))
      throw new RangeError(
        `Cannot make a TimeoutStopper: a number of milliseconds from 0 to ${TIMER_MS_MAX} is needed: received ${describeValue(timeoutMs)}`,
      );
    this.#timeoutMs = timeoutMs;
  }

  shouldStop(_trialId: string, { timestampMs }: TrialResult): boolean {
    this.#spent.see(timestampMs);
    return false;
  }

  stopAll(): boolean {
    return this.#spent.ms >= this.#timeoutMs;
  }

  save(): JsonValue {
    return this.#spent.ms;
  }

  restore(state: JsonValue): void {
    this.#spent = new SpentTime(state as number);
  }
}

export interface TrialPlateauOptions {
  /** The metric to watch. */
  metric: string;
  /** A trial ends when the standard deviation of the last results is at most this. Default: 0.01. */
  std?: number | undefined;
  /** How many results are looked at. Default: 4. */
  numResults?: number | undefined;
  /** Results before the first decision. Default: 4. */
  gracePeriod?: number | undefined;
  /** The trial ends only where the metric is at least, or with `mode: "min"` at most, this. Default: any. */
  metricThreshold?: number | undefined;
  /** Needed with `metricThreshold`. */
  mode?: Mode | undefined;
}

interface TrialPlateauValues {
  readonly metric: string;
  readonly std: number;
  readonly numResults: number;
  readonly gracePeriod: number;
  readonly metricThreshold: number | undefined;
  readonly mode: Mode | undefined;
}

/** Ends a trial whose metric does not change any more. */
export class TrialPlateauStopper implements Stopper {
  readonly #options: TrialPlateauValues;
  readonly #windows = new Map<string, { seen: number; values: number[] }>();

  constructor(options: TrialPlateauOptions) {
    const { metric, ...others } = options ?? {};
    if (typeof metric !== "string")
      throw new TypeError(`Cannot make a TrialPlateauStopper: the name of a metric is needed: received ${describeValue(metric)}`);
    const read = readOptions<Omit<TrialPlateauValues, "metric">>(others, {
      of: "TrialPlateauStopper",
      options: {
        std: number("a number from 0 is needed", 0.01, (value) => value >= 0) as never,
        numResults: count({ min: 1 }, 4) as never,
        gracePeriod: count({ min: 0 }, 4) as never,
        metricThreshold: number<number | undefined>("a number is needed", undefined, Number.isFinite),
        mode: oneOf(["min", "max"], undefined as never) as never,
      },
    });
    if (read.metricThreshold !== undefined && read.mode === undefined)
      throw new TypeError('Cannot make a TrialPlateauStopper: metricThreshold needs mode: "min" or "max"');
    this.#options = { metric, ...read };
  }

  shouldStop(trialId: string, result: TrialResult): boolean {
    const { metric, std, numResults, gracePeriod, metricThreshold, mode } = this.#options;
    const value = metricAt(result as unknown as Metrics, metric);
    if (typeof value !== "number") return false;
    let window = this.#windows.get(trialId);
    if (window === undefined) this.#windows.set(trialId, (window = { seen: 0, values: [] }));
    window.seen += 1;
    window.values = [...window.values.slice(1 - numResults), value].slice(-numResults);
    if (window.seen < gracePeriod || window.values.length < numResults) return false;
    if (metricThreshold !== undefined && (mode === "min" ? value > metricThreshold : value < metricThreshold)) return false;
    return deviationOf(window.values) <= std;
  }

  save(): JsonValue {
    return [...this.#windows].map(([id, { seen, values }]) => [id, seen, values]);
  }

  restore(state: JsonValue): void {
    for (const [id, seen, values] of state as [string, number, number[]][]) this.#windows.set(id, { seen, values });
  }
}

export interface ExperimentPlateauOptions {
  /** The metric to watch. */
  metric: string;
  /** Default: `"min"`. */
  mode?: Mode | undefined;
  /** The experiment ends when the standard deviation of the best values is at most this. Default: 0.001. */
  std?: number | undefined;
  /** How many of the best values are looked at. Default: 10. */
  top?: number | undefined;
  /** How many results in a row must find it so, before the end. Default: 0. */
  patience?: number | undefined;
}

interface ExperimentPlateauValues {
  readonly metric: string;
  readonly mode: Mode;
  readonly std: number;
  readonly top: number;
  readonly patience: number;
}

/** Ends the experiment when its best results are alike. */
export class ExperimentPlateauStopper implements Stopper {
  readonly #options: ExperimentPlateauValues;
  #best: number[] = [];
  #inARow = 0;
  #isOver = false;

  constructor(options: ExperimentPlateauOptions) {
    const { metric, ...others } = options ?? {};
    if (typeof metric !== "string")
      throw new TypeError(`Cannot make an ExperimentPlateauStopper: the name of a metric is needed: received ${describeValue(metric)}`);
    const read = readOptions<Omit<ExperimentPlateauValues, "metric">>(others, {
      of: "ExperimentPlateauStopper",
      options: {
        mode: oneOf(["min", "max"], "min") as never,
        std: number("a number from 0 is needed", 0.001, (value) => value >= 0) as never,
        top: count({ min: 1 }, 10) as never,
        patience: count({ min: 0 }, 0) as never,
      },
    });
    this.#options = { metric, ...read };
  }

  shouldStop(_trialId: string, result: TrialResult): boolean {
    const { metric, mode, std, top, patience } = this.#options;
    const value = metricAt(result as unknown as Metrics, metric);
    if (typeof value !== "number" || Number.isNaN(value)) return this.#isOver;
    this.#best.push(value);
    this.#best.sort((a, b) => (mode === "min" ? a - b : b - a));
    this.#best = this.#best.slice(0, top);
    const isFlat = this.#best.length === top && deviationOf(this.#best) <= std;
    this.#inARow = isFlat ? this.#inARow + 1 : 0;
    this.#isOver ||= isFlat && this.#inARow > patience;
    return this.#isOver;
  }

  stopAll(): boolean {
    return this.#isOver;
  }

  save(): JsonValue {
    return { best: this.#best, inARow: this.#inARow, isOver: this.#isOver };
  }

  restore(state: JsonValue): void {
    const { best, inARow, isOver } = state as { best: number[]; inARow: number; isOver: boolean };
    this.#best = [...best];
    this.#inARow = inARow;
    this.#isOver = isOver;
  }
}

/** Ends a trial, or the experiment, when one of several stoppers does. All of them see each result. */
export class CombinedStopper implements Stopper {
  readonly #stoppers: readonly Stopper[];

  constructor(...stoppers: readonly Stopper[]) {
    for (const stopper of stoppers)
      if (typeof stopper?.shouldStop !== "function") throw new TypeError(`Cannot combine stoppers: received ${describeValue(stopper)}`);
    this.#stoppers = stoppers;
  }

  async shouldStop(trialId: string, result: TrialResult): Promise<boolean> {
    const answers = [];
    for (const stopper of this.#stoppers) answers.push(await stopper.shouldStop(trialId, result));
    return answers.includes(true);
  }

  async stopAll(): Promise<boolean> {
    for (const stopper of this.#stoppers) if ((await stopper.stopAll?.()) === true) return true;
    return false;
  }

  save(): JsonValue {
    return this.#stoppers.map((stopper) => stopper.save?.() ?? null);
  }

  restore(state: JsonValue): void {
    for (const [i, saved] of (state as JsonValue[]).entries()) if (saved !== null) this.#stoppers[i]?.restore?.(saved);
  }
}

/** The standard deviation of a population, as NumPy's default. */
function deviationOf(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}
