/**
 * Options of the display of a running experiment: `progressReporter` and `verbose` of `runConfig`, checked and with their defaults.
 *
 * The tuner reads them before anything runs, so that a wrong column is refused at once.
 * `trial-table.ts` draws the table by them. `ResultLines` prints the results that `verbose: 3` asks for.
 */
import { count, custom, flag, isPlainObject, number, type Option, readOptions, TIMER_MS_MAX } from "../../core/internal.ts";
import type { Metrics } from "../../runs/metrics/metrics.ts";
import { durationText, metricsLine } from "../../runs/metrics/progress-lines.ts";
import type { TuneCallback } from "./callbacks.ts";
import { RESULT_LINE_METRICS, TABLE_ROWS } from "../limits.ts";
import type { Trial, TrialResult } from "../trials/trial.ts";

/** Columns of the table: names, nested ones by their paths with slashes (`eval/loss`), or an object of names and headings. */
export type TableColumns = readonly string[] | Readonly<Record<string, string>>;

/** Options of the table of trials, as of Ray's `CLIReporter`. */
export interface ProgressReporter {
  /** Metrics that are columns. Default: the tuned ones, `trainingIteration` and `timeTotalMs`. */
  metricColumns?: TableColumns | undefined;
  /** Parameters that are columns. Default: the first six. */
  parameterColumns?: TableColumns | undefined;
  /** Trials that are rows, at most; with 0 there is only the line with the numbers of trials. Default: 20. */
  maxProgressRows?: number | undefined;
  /** How often the table is made anew. Default: 500 on a terminal, 5,000 elsewhere. */
  reportIntervalMs?: number | undefined;
  /** Whether the best trial comes first. Otherwise those that run do. Default: true. */
  sortByMetric?: boolean | undefined;
}

/** How much is shown: nothing, a line with the numbers of trials, the table, or the table and each result. */
export type Verbosity = 0 | 1 | 2 | 3;

/** Headings by the names of columns. */
type Headings = ReadonlyMap<string, string>;

export interface ResolvedReporter {
  readonly metricColumns: Headings | undefined;
  readonly parameterColumns: Headings | undefined;
  readonly maxProgressRows: number;
  readonly reportIntervalMs: number | undefined;
  readonly sortByMetric: boolean;
}

const HEADINGS: Readonly<Record<string, string>> = { trainingIteration: "iteration", timeTotalMs: "time", timeThisIterMs: "last step" };

function columns(): Option<Headings | undefined> {
  const isList = (value: unknown): value is string[] => Array.isArray(value) && value.every((name) => typeof name === "string");
  return {
    ...custom<Headings | undefined>("a list of names, or an object of names and headings, is needed", undefined, (value) =>
      isList(value) || (isPlainObject(value) && isList(Object.values(value))) ? "ok" : "wrong type",
    ),
    meaning: (value) => {
      if (value === undefined) return undefined;
      if (isList(value)) return headingsOf(value.map(programName));
      return new Map(Object.entries(value as Record<string, string>).map(([name, heading]) => [programName(name), heading]));
    },
  };
}

/** Headings of columns that were given none. */
export function headingsOf(names: readonly string[]): Headings {
  return new Map(names.map((name) => [name, HEADINGS[name] ?? name]));
}

/** Ray's names are taken as they are in `stop` and in schedulers. */
function programName(name: string): string {
  return name === "training_iteration" ? "trainingIteration" : name === "time_total_s" ? "timeTotalMs" : name;
}

/** @throws TypeError, RangeError that name the option */
export function readReporter(given: unknown): ResolvedReporter {
  return readOptions<ResolvedReporter>(given, {
    of: "progressReporter",
    otherNames: {
      maxReportFrequency: "it is reportIntervalMs, in milliseconds",
      max_report_frequency: "it is reportIntervalMs, in milliseconds",
      metric: "trials are sorted by metric and mode of tuneConfig",
      mode: "trials are sorted by metric and mode of tuneConfig",
    },
    options: {
      metricColumns: columns(),
      parameterColumns: columns(),
      maxProgressRows: count({ min: 0 }, TABLE_ROWS),
      reportIntervalMs: number<number | undefined>(
        `a number of milliseconds above 0 and up to ${TIMER_MS_MAX} is needed`,
        undefined,
        (value) => value > 0 && value <= TIMER_MS_MAX,
      ),
      sortByMetric: flag(true),
    },
  });
}

/** Prints a line for each result and each trial that fails. */
export class ResultLines implements TuneCallback {
  readonly #first: readonly string[];
  readonly #print: (line: string) => void;

  /** @param first - metrics that come first in a line */
  constructor(first: readonly string[], print: (line: string) => void) {
    this.#first = first;
    this.#print = print;
  }

  onTrialResult({ trial, result }: { readonly trial: Trial; readonly result: TrialResult }): void {
    const metrics = metricsLine(result as unknown as Metrics, { first: this.#first, max: RESULT_LINE_METRICS });
    const end = result.done ? ", its last" : "";
    this.#print(`trial ${trial.id}: iteration ${result.trainingIteration}, ${durationText(result.timeTotalMs)}${end}: ${metrics}`);
  }

  onTrialError({ error }: { readonly error: Error }): void {
    this.#print(error.message);
  }
}
