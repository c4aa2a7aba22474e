/**
 * The table of trials on a terminal while an experiment runs: how many there are in each state, and the best ones with their parameters and metrics.
 *
 * Silent where stderr is no terminal, and with `SHOAL_PROGRESS=0`; problems are told in any case. `tableLines` is pure.
 */
import { metricAt } from "../runs/kept-checkpoints.ts";
import { flatMetrics } from "../runs/metrics.ts";
import { ConfigCodec } from "./config-codec.ts";
import { TABLE_EVERY_MS, TABLE_ROWS } from "./limits.ts";
import { resultOf } from "./live-trial.ts";
import type { Metrics, Mode, Trial, TrialResult } from "./trial.ts";
import type { TrialMachine } from "./trial-machine.ts";

export interface TableFacts {
  readonly name: string;
  readonly metrics: readonly string[];
  readonly modes: readonly Mode[];
}

/** A trial, as the table has it. */
export interface TableTrial {
  readonly id: string;
  readonly status: string;
  readonly config: Trial["config"];
  readonly result: TrialResult | undefined;
}

export interface TableState extends TableFacts {
  readonly elapsedMs: number;
  readonly width: number;
  readonly trials: readonly TableTrial[];
  readonly counts: Readonly<Record<string, number>>;
}

export class TrialTable {
  readonly #machine: TrialMachine;
  readonly #facts: TableFacts;
  readonly #isLive: boolean = process.stderr.isTTY === true && process.env.SHOAL_PROGRESS !== "0";
  readonly #since = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #hasChanged = true;
  #drawn = 0;

  constructor(machine: TrialMachine, facts: TableFacts) {
    this.#machine = machine;
    this.#facts = facts;
  }

  begin(): void {
    if (!this.#isLive) return;
    this.#timer = setInterval(() => this.#draw(), TABLE_EVERY_MS);
    this.#timer.unref();
  }

  changed(): void {
    this.#hasChanged = true;
  }

  /** A line that stays, above the table. */
  say(text: string): void {
    this.#erase();
    process.stderr.write(`${text}\n`);
    this.#hasChanged = true;
  }

  /** The last table stays. */
  end(): void {
    clearInterval(this.#timer);
    if (this.#timer === undefined) return;
    this.#hasChanged = true;
    this.#draw();
    this.#timer = undefined;
  }

  #draw(): void {
    if (!this.#hasChanged) return;
    this.#hasChanged = false;
    this.#erase();
    const lines = tableLines(this.#state());
    process.stderr.write(lines.map((line) => `${line}\n`).join(""));
    this.#drawn = lines.length;
  }

  #erase(): void {
    if (this.#drawn > 0) process.stderr.write(`\u001b[${this.#drawn}A\u001b[0J`);
    this.#drawn = 0;
  }

  #state(): TableState {
    const { liveTrials, finishedTrials } = this.#machine;
    const counts: Record<string, number> = {};
    const trials: TableTrial[] = [];
    for (const { id, status, config, lastResult } of liveTrials.values()) trials.push({ id, status, config, result: lastResult });
    for (const trial of finishedTrials) trials.push({ id: trial.id, status: trial.status, config: trial.config, result: resultOf(trial) });
    for (const { status } of trials) counts[status] = (counts[status] ?? 0) + 1;
    return { ...this.#facts, counts, trials, elapsedMs: performance.now() - this.#since, width: process.stderr.columns ?? 100 };
  }
}

/** The lines of the table: the best trials first, those that run before those that wait where there is no metric. */
export function tableLines({ name, metrics, modes, elapsedMs, width, trials, counts }: TableState): string[] {
  const states = Object.entries(counts).map(([status, count]) => `${count} ${status}`);
  const head = `${name}: ${trials.length} trials (${states.join(", ")}), ${seconds(elapsedMs)}`;
  const shown = ranked(trials, metrics[0], modes[0]).slice(0, TABLE_ROWS);
  const parameters = [...new Set(shown.flatMap(({ config }) => [...flatMetrics(ConfigCodec.shown(config)).keys()]))].slice(0, 6);
  const columns = ["trial", "status", ...parameters, "iteration", "seconds", ...metrics];
  const rows = shown.map(({ id, status, config, result }) => {
    const flat = flatMetrics(ConfigCodec.shown(config));
    const reported = metrics.map((metric) => text(result && metricAt(result as unknown as Metrics, metric)));
    const progress = result === undefined ? ["", ""] : [String(result.trainingIteration), (result.timeTotalMs / 1000).toFixed(1)];
    return [id, status, ...parameters.map((parameter) => text(flat.get(parameter))), ...progress, ...reported];
  });
  const widths = columns.map((column, i) => Math.max(column.length, ...rows.map((row) => (row[i] as string).length)));
  const line = (cells: readonly string[]): string => cells.map((cell, i) => cell.padEnd(widths[i] as number)).join("  ");
  const left = trials.length - shown.length;
  return [head, line(columns), ...rows.map(line), ...(left > 0 ? [`… and ${left} more`] : [])].map((row) => row.trimEnd().slice(0, width - 1));
}

function ranked(trials: readonly TableTrial[], metric: string | undefined, mode: Mode | undefined): TableTrial[] {
  const order = ["running", "pending", "paused", "errored", "terminated"];
  const scoreOf = ({ result }: TableTrial): number => {
    const value = metric === undefined || result === undefined ? undefined : metricAt(result as unknown as Metrics, metric);
    return typeof value === "number" && !Number.isNaN(value) ? (mode === "max" ? -value : value) : Number.POSITIVE_INFINITY;
  };
  const scored = trials.map((trial) => ({ trial, score: scoreOf(trial) }));
  scored.sort((a, b) => (a.score === b.score ? order.indexOf(a.trial.status) - order.indexOf(b.trial.status) : a.score - b.score));
  return scored.map(({ trial }) => trial);
}

function text(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(5)));
  return (typeof value === "string" ? value : JSON.stringify(value)).slice(0, 24);
}

function seconds(ms: number): string {
  const total = Math.round(ms / 1000);
  return total < 60 ? `${total} s` : `${Math.floor(total / 60)} min ${total % 60} s`;
}
