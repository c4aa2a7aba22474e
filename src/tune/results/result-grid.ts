/**
 * The results of an experiment: one for each trial, and how to find the best.
 *
 * Uses the driver's data about each trial: its last metrics and a few aggregates. Histories are read from the trials' files on
 * demand.
 */
import { ArrowData } from "../../core/index.ts";
import { describeValue, flag, oneOf, type OptionSet, readOptions } from "../../core/internal.ts";
import { Checkpoint } from "../../runs/checkpoints/checkpoint.ts";
import { metricAt } from "../../runs/checkpoints/kept-checkpoints.ts";
import { flatMetrics } from "../../runs/metrics/metrics.ts";
import { Result } from "../../runs/result.ts";
import { joinPath } from "../../storage/paths.ts";
import { Aggregates, type Scope, SCOPES } from "./aggregates.ts";
import { ConfigCodec } from "../spaces/config-codec.ts";
import { TuneError } from "../errors.ts";
import { type KnownTrial, resultOf } from "../trials/live-trial.ts";
import { dominates } from "./pareto-front.ts";
import { writeHtmlReport } from "./report.ts";
import type { Config, JsonValue, Metrics, Mode, TrialResult, TrialStatus } from "../trials/trial.ts";
import { trialError } from "../trials/trial-failure.ts";

/** Outcome of a trial. */
export class TrialRun<C extends object = Config, M extends object = Readonly<Record<string, unknown>>> extends Result<TrialResult<M>> {
  declare readonly config: C & Readonly<Record<string, unknown>>;
  readonly trialId: string;
  /** A trial of a run that is only looked at, by `getResults` of a restored Tuner, may not have ended. */
  readonly status: TrialStatus;
  /** How often it reported. */
  readonly iterations: number;

  constructor(trial: KnownTrial, folder: string) {
    const path = joinPath(folder, trial.dirname);
    const bestCheckpoints = trial.checkpoints.map(({ path: at, metrics, iteration }) => ({
      checkpoint: Checkpoint.fromDirectory(at),
      metrics: { trainingIteration: iteration, ...metrics } as unknown as TrialResult<M>,
    }));
    super({
      path,
      config: trial.config,
      metrics: resultOf(trial) as TrialResult<M> | undefined,
      checkpoint: bestCheckpoints.at(-1)?.checkpoint,
      bestCheckpoints,
      error: trial.failure === undefined || trial.failure === null ? undefined : trialError(trial, trial.failure),
    });
    this.trialId = trial.id;
    this.status = trial.status;
    this.iterations = trial.iteration;
  }
}

/** Options of `getBestResult`. */
export interface BestResultOptions {
  /** The value of a trial that counts: its `"last"`, the best of `"all"`, their `"avg"`, `"last-5-avg"` or `"last-10-avg"`. Default: `"last"`. */
  scope?: Scope | undefined;
  /** Whether trials with NaN or an infinity are left out. Without that an infinity counts as such, and NaN is worse than all else. Default: true. */
  filterNanAndInf?: boolean | undefined;
}

interface ResultGridFacts {
  /** The run's folder. */
  readonly path: string;
  readonly trials: readonly KnownTrial[];
  readonly metrics: readonly string[];
  readonly modes: readonly Mode[];
}

export class ResultGrid<C extends object = Config, M extends object = Readonly<Record<string, unknown>>>
  implements Iterable<TrialRun<C, M>>
{
  /** The run's folder: what `Tuner.restore` takes. */
  readonly experimentPath: string;
  readonly #trials: readonly KnownTrial[];
  readonly #metrics: readonly string[];
  readonly #modes: readonly Mode[];

  constructor({ path, trials, metrics, modes }: ResultGridFacts) {
    this.experimentPath = path;
    this.#trials = trials.toSorted((a, b) => a.index - b.index);
    this.#metrics = metrics;
    this.#modes = modes;
  }

  get length(): number {
    return this.#trials.length;
  }

  /** The result of one trial, in the order in which they were suggested. */
  at(index: number): TrialRun<C, M> | undefined {
    const trial = this.#trials.at(index);
    return trial && new TrialRun(trial, this.experimentPath);
  }

  *[Symbol.iterator](): Iterator<TrialRun<C, M>> {
    for (const trial of this.#trials) yield new TrialRun(trial, this.experimentPath);
  }

  /** The errors of the trials that failed. */
  get errors(): Error[] {
    return this.#trials.flatMap((trial) => (trial.failure ? [trialError(trial, trial.failure)] : []));
  }

  get numErrors(): number {
    return this.#trials.filter(({ status }) => status === "errored").length;
  }

  get numTerminated(): number {
    return this.#trials.filter(({ status }) => status === "terminated").length;
  }

  /**
   * The result of the best trial.
   *
   * @param metric - default: that of `tuneConfig`
   * @param mode - default: that of the metric in `tuneConfig`
   * @param options - the scope, or more options
   * @throws TuneError where no trial has a value, saying why; TypeError, RangeError for arguments that are none
   */
  getBestResult(metric?: string, mode?: Mode, options: Scope | BestResultOptions = {}): TrialRun<C, M> {
    const { name, direction } = this.#objective(metric, mode);
    const { scope, filterNanAndInf } = readOptions<BestResultValues>(
      typeof options === "string" ? { scope: options } : options,
      BEST_RESULT,
    );
    let best: { readonly trial: KnownTrial; readonly score: number } | undefined;
    for (const trial of this.#trials) {
      const value = valueOf(trial, { name, mode: direction, scope });
      if (value === undefined || (filterNanAndInf && !Number.isFinite(value))) continue;
      const score = direction === "max" ? value : -value;
      if (best === undefined || score > best.score || (Number.isNaN(best.score) && !Number.isNaN(score))) best = { trial, score };
    }
    if (best === undefined) throw this.#noBest(name, { scope, filterNanAndInf });
    return new TrialRun(best.trial, this.experimentPath);
  }

  /**
   * The results that no other beats in all metrics at once, in the order in which they were suggested.
   *
   * @throws TypeError where `tuneConfig` has no metric
   */
  getParetoFront(): TrialRun<C, M>[] {
    if (this.#metrics.length === 0)
      throw new TypeError("Cannot find the Pareto front: tuneConfig has no metric: give metric: [..] and mode: [..]");
    const scored = this.#trials.flatMap((trial) => {
      const values = this.#metrics.map(
        (name, i) =>
          (valueOf(trial, { name, mode: this.#modes[i] as Mode, scope: "last" }) ?? Number.NaN) * (this.#modes[i] === "max" ? -1 : 1),
      );
      return values.every(Number.isFinite) ? [{ trial, values }] : [];
    });
    return scored
      .filter(({ values }) => !scored.some((other) => dominates(other.values, values)))
      .map(({ trial }) => new TrialRun(trial, this.experimentPath));
  }

  /**
   * Returns the last metrics and the configuration of each trial, as columns: nested names have slashes, those of configurations begin with
   * `config/`. A missing value is null.
   */
  async toColumns(): Promise<Record<string, JsonValue[]>> {
    const columns = new Map<string, JsonValue[]>();
    for (const [row, trial] of this.#trials.entries()) {
      const { config: _, ...metrics } = resultOf(trial) ?? { trialId: trial.id, config: {} };
      const flat = flatMetrics({ ...(metrics as Metrics), status: trial.status, config: ConfigCodec.shown(trial.config) });
      for (const [name, value] of flat) {
        let column = columns.get(name);
        if (column === undefined) columns.set(name, (column = new Array<JsonValue>(this.#trials.length).fill(null)));
        column[row] = value as JsonValue;
      }
    }
    return Object.fromEntries(columns);
  }

  /** The same as an Arrow table: its IPC bytes are what `apache-arrow`'s `tableFromIPC` takes. Columns of mixed types are text. */
  async toArrow(): Promise<ArrowData> {
    const { arrowOfColumns } = await import("./arrow-columns.ts");
    return arrowOfColumns(await this.toColumns());
  }

  /**
   * Writes one HTML file that shows the experiment in any browser, without a network: the best trial, parallel coordinates, learning curves, and how much each parameter matters.
   *
   * @param path - of this machine, or of a storage
   */
  async writeReport(path: string): Promise<void> {
    if (typeof path !== "string" || path === "")
      throw new TypeError(`Cannot write a report: the path of a file is needed, such as "report.html": received ${describeValue(path)}`);
    await writeHtmlReport(path, { trials: this.#trials, folder: this.experimentPath, metrics: this.#metrics, modes: this.#modes });
  }

  #objective(metric: string | undefined, mode: Mode | undefined): { name: string; direction: Mode } {
    const name = metric ?? (this.#metrics.length === 1 ? this.#metrics[0] : undefined);
    if (name === undefined)
      throw new TypeError(
        this.#metrics.length === 0
          ? 'Cannot find the best result: by which metric? Give it here or in tuneConfig: getBestResult("loss", "min")'
          : `Cannot find the best result: there are several metrics, ${this.#metrics.join(", ")}: name one, or use getParetoFront()`,
      );
    const direction = mode ?? this.#modes[this.#metrics.length === 0 ? 0 : this.#metrics.indexOf(name)];
    if (direction !== "min" && direction !== "max")
      throw new TypeError(
        `Cannot find the best result: the mode of ${JSON.stringify(name)} is "min" or "max": received ${describeValue(direction)}`,
      );
    return { name, direction };
  }

  #noBest(name: string, { scope, filterNanAndInf }: BestResultValues): TuneError {
    const count = this.#trials.length;
    const errored = this.numErrors;
    const [first] = this.errors;
    const has = new Set(this.#trials.flatMap(({ metrics }) => Object.keys(metrics ?? {})));
    const reason =
      count === 0
        ? "there are no trials"
        : errored === count
          ? `${count === 1 ? "the trial" : `all ${count} trials`} failed: ${first?.message ?? "without an error"}`
          : scope !== "last" && has.has(name)
            ? `no trial kept its history of ${JSON.stringify(name)}: name it in metric of tuneConfig, or read metricsColumns() of each result`
            : `none of ${count} trials has a ${filterNanAndInf ? "finite " : ""}value of ${JSON.stringify(name)}: they reported ${has.size === 0 ? "nothing" : [...has].slice(0, 10).join(", ")}`;
    return new TuneError(`Cannot find the best result: ${reason}`, first === undefined ? {} : { cause: first });
  }
}

interface BestResultValues {
  readonly scope: Scope;
  readonly filterNanAndInf: boolean;
}

const BEST_RESULT: OptionSet<BestResultValues> = {
  of: "getBestResult",
  options: { scope: oneOf(SCOPES, "last"), filterNanAndInf: flag(true) },
};

/** A metric of a trial that counts in a scope. */
function valueOf(trial: KnownTrial, { name, mode, scope }: { name: string; mode: Mode; scope: Scope }): number | undefined {
  const result = resultOf(trial);
  const last = result && metricAt(result as unknown as Metrics, name);
  // A trial with a single report has no aggregates: every scope then gives the last value.
  if (scope === "last" || Object.keys(trial.aggregates).length === 0) return typeof last === "number" ? last : undefined;
  return new Aggregates(trial.aggregates).value(name, { scope, mode });
}
