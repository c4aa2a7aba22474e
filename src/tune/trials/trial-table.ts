/**
 * The table of trials on a terminal while an experiment runs: how many there are in each state, how long it may take, and the best trials with their parameters and metrics.
 *
 * The board (`progress/progress-board.ts`) decides whether anything is shown.
 * `trialLines` is pure.
 */
import { processBoard, showsProgress, type WorkOutcome } from "../../progress/progress-board.ts";
import { metricAt } from "../../runs/checkpoints/kept-checkpoints.ts";
import { flatMetrics } from "../../runs/metrics/metrics.ts";
import { durationText, tableLines, valueText } from "../../runs/metrics/progress-lines.ts";
import { ConfigCodec } from "../spaces/config-codec.ts";
import { TABLE_EVERY_MS, TABLE_PARAMETERS, TABLE_PRINTED_EVERY_MS } from "../limits.ts";
import { resultOf } from "./live-trial.ts";
import { headingsOf, type ResolvedReporter, type Verbosity } from "../options/progress-reporter.ts";
import type { Metrics, Mode, Trial, TrialResult, TrialStatus } from "./trial.ts";
import type { TrialMachine } from "../experiment/trial-machine.ts";

interface TableFacts {
  readonly name: string;
  readonly metrics: readonly string[];
  readonly modes: readonly Mode[];
  readonly reporter: ResolvedReporter;
}

/** The time that is left follows from the trials that have ended in this session. */
interface SessionFacts {
  /** The number of trials that there will be; Infinity where that is not known. */
  readonly trialsMax: number;
  readonly elapsedMs: number;
  /** Trials that had ended when the session began. */
  readonly endedBefore: number;
}

/** A trial in the table. */
interface TableTrial {
  readonly id: string;
  readonly status: TrialStatus;
  readonly config: Trial["config"];
  readonly result: TrialResult | undefined;
}

export class TrialTable {
  readonly #machine: TrialMachine;
  readonly #facts: TableFacts;
  readonly #verbose: Verbosity | undefined;
  #end: ((outcome: WorkOutcome) => void) | undefined;
  #lines: { readonly drawnMs: number; readonly lines: readonly string[] } | undefined;

  constructor(machine: TrialMachine, facts: TableFacts, verbose?: Verbosity) {
    this.#machine = machine;
    this.#facts = verbose === 1 ? { ...facts, reporter: { ...facts.reporter, maxProgressRows: 0 } } : facts;
    this.#verbose = verbose;
  }

  /** @param trialsMax - how many trials there will be; Infinity where that is not known */
  begin(trialsMax: number): void {
    const isAsked = this.#verbose !== undefined;
    if (this.#verbose === 0 || !showsProgress(isAsked ? true : undefined)) return;
    const since = performance.now();
    const endedBefore = this.#machine.finishedTrials.length;
    let printedMs = since;
    this.#end = processBoard().begin({
      ...(isAsked && { afterMs: 0 }),
      plainLine: (nowMs) => {
        if (nowMs - printedMs < (this.#facts.reporter.reportIntervalMs ?? TABLE_PRINTED_EVERY_MS)) return undefined;
        printedMs = nowMs;
        return `shoal tune: ${this.#current(nowMs, { trialsMax, elapsedMs: nowMs - since, endedBefore }).join("\n")}`;
      },
      lines: (nowMs) => this.#current(nowMs, { trialsMax, elapsedMs: performance.now() - since, endedBefore }),
      summary: (outcome, ms) => {
        const lines = trialLines(this.#trials(), { ...this.#facts, trialsMax, elapsedMs: ms, endedBefore });
        return [`shoal tune: ${outcome} after ${durationText(ms)}: ${lines[0]}`, ...lines.slice(1)].join("\n");
      },
    });
  }

  end(outcome: WorkOutcome): void {
    this.#end?.(outcome);
    this.#end = undefined;
  }

  /** Thousands of trials are not sorted at each drawing. */
  #current(nowMs: number, session: SessionFacts): readonly string[] {
    if (this.#lines === undefined || nowMs - this.#lines.drawnMs >= (this.#facts.reporter.reportIntervalMs ?? TABLE_EVERY_MS))
      this.#lines = { drawnMs: nowMs, lines: trialLines(this.#trials(), { ...this.#facts, ...session }) };
    return this.#lines.lines;
  }

  #trials(): TableTrial[] {
    const { liveTrials, finishedTrials } = this.#machine;
    return [
      ...Array.from(liveTrials.values(), ({ id, status, config, lastResult }) => ({ id, status, config, result: lastResult })),
      ...finishedTrials.map((trial) => ({ id: trial.id, status: trial.status, config: trial.config, result: resultOf(trial) })),
    ];
  }
}

/** A summary line and the table: the best trials first; without a metric, running ones before waiting ones. */
export function trialLines(
  trials: readonly TableTrial[],
  { name, metrics, modes, trialsMax, reporter, elapsedMs, endedBefore }: TableFacts & SessionFacts,
): string[] {
  const counts = Map.groupBy(trials, ({ status }) => status);
  const states = Array.from(counts, ([status, some]) => `${some.length} ${status}`);
  const ended = (counts.get("terminated")?.length ?? 0) + (counts.get("errored")?.length ?? 0);
  const left =
    ended > endedBefore && Number.isFinite(trialsMax) && ended < trialsMax
      ? `, about ${durationText((elapsedMs / (ended - endedBefore)) * (trialsMax - ended))} left`
      : "";
  const head = `${name}: ${trials.length}${Number.isFinite(trialsMax) ? ` of ${trialsMax}` : ""} trials (${states.join(", ")})${left}`;
  const shown = ranked(trials, reporter.sortByMetric ? metrics[0] : undefined, modes[0]).slice(0, reporter.maxProgressRows);
  if (shown.length === 0) return [head];
  const configs = shown.map(({ config }) => flatMetrics(ConfigCodec.shown(config)));
  const metricColumns = reporter.metricColumns ?? headingsOf([...metrics, "trainingIteration", "timeTotalMs"]);
  const parameters = [...new Set(configs.flatMap((config) => [...config.keys()]))].slice(0, TABLE_PARAMETERS);
  const parameterColumns = reporter.parameterColumns ?? new Map(parameters.map((parameter) => [parameter, parameter]));
  const rows = shown.map(({ id, status, result }, i) => [
    id,
    status,
    ...Array.from(metricColumns.keys(), (metric) => cellOf(result, metric)),
    ...Array.from(parameterColumns.keys(), (parameter) => valueText(configs[i]?.get(parameter))),
  ]);
  const more = trials.length - shown.length;
  return [
    head,
    ...tableLines([["trial", "status", ...metricColumns.values(), ...parameterColumns.values()], ...rows]),
    ...(more > 0 ? [`and ${more} more`] : []),
  ];
}

const TIMES: ReadonlySet<string> = new Set(["timeTotalMs", "timeThisIterMs"]);

function cellOf(result: TrialResult | undefined, metric: string): string {
  const value = result && metricAt(result as unknown as Metrics, metric);
  return TIMES.has(metric) && typeof value === "number" ? durationText(value) : valueText(value);
}

const ORDER: readonly TrialStatus[] = ["running", "pending", "paused", "errored", "terminated"];

function ranked(trials: readonly TableTrial[], metric: string | undefined, mode: Mode | undefined): TableTrial[] {
  const scored = trials.map((trial) => {
    const value = metric === undefined || trial.result === undefined ? undefined : metricAt(trial.result as unknown as Metrics, metric);
    const score = typeof value === "number" && !Number.isNaN(value) ? (mode === "max" ? -value : value) : Number.POSITIVE_INFINITY;
    return { trial, score };
  });
  scored.sort((a, b) => (a.score === b.score ? ORDER.indexOf(a.trial.status) - ORDER.indexOf(b.trial.status) : a.score - b.score));
  return scored.map(({ trial }) => trial);
}
