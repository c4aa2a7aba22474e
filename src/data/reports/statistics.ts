/**
 * The operators' statistics of a run, which `stats()` returns: as properties for programs, as text for readers.
 *
 * Operators count while they work, and a report has the counts so far, so a run may be asked while it goes on. Progress shows the same reports in the same
 * words. The driver counts: it sees every block with its facts, but not the work of tasks on rows that they dropped.
 */
import { secondsText } from "../../progress/progress-board.ts";
import { addUsage, type Usage } from "../blocks/usage.ts";
import type { ErroredBlocks, LeftOut } from "../engine/tasks/errored-blocks.ts";
import type { Operator } from "../engine/operators/operator.ts";

/** A run, under way or over. */
export interface RunState {
  /** The dataset's name. */
  readonly name: string | undefined;
  /** Producers before consumers. */
  readonly operators: readonly Operator[];
  readonly errored: ErroredBlocks;
  readonly startedMs: number;
  endedMs: number | undefined;
}

/** The report of one operator in a run. */
export interface OperatorReport {
  readonly name: string;
  /** Tasks, or calls of actors, that have begun. */
  readonly tasks: number;
  /** Rows of the blocks that the operator gave; of a write those in its files. */
  readonly rows: number;
  readonly bytes: number;
  readonly blocks: number;
  /** Time from the begin of the operator's first task to its last block. */
  readonly durationMs: number;
  /** Wall time of all tasks together, with their waits for files and promises. */
  readonly wallMs: number;
  /** Processor time of the tasks' processes meanwhile. It means little in in-process mode, where all tasks share a process. */
  readonly cpuMs: number;
  /** Largest private memory of a task's process after a block. Undefined if unknown, as in in-process mode. */
  readonly maxMemoryBytes: number | undefined;
  /** Tasks that failed and were left out. */
  readonly erroredBlocks: number;
  /** Rows, records and files that failed, and that `onError` left out or made null. */
  readonly erroredItems: number;
  /** Characters that stand for bytes outside the encoding of a file, as `encodingErrors: "replace"` allows. */
  readonly replacedCharacters: number;
  /** Requests, tokens and cost of a language model; undefined if the operator asks none. */
  readonly usage: Usage | undefined;
  /** Blocks that wait for its tasks now. */
  readonly queuedBlocks: number;
  /** Tasks that are under way now, or actors. */
  readonly workers: number;
}

/** The last run of a dataset. It prints itself. */
export class DataStatistics {
  /** The name of the dataset, if it has one. */
  readonly name: string | undefined;
  /** Producers before consumers. */
  readonly operators: readonly OperatorReport[];
  /** From the first block that was asked for to the end of the run, or until now. */
  readonly durationMs: number;
  /** Tasks and files that failed and were left out, as `maxErroredBlocks` allows. */
  readonly erroredBlocks: number;
  /** Rows, records and files that failed, and that `onError` left out or made null. */
  readonly erroredItems: number;
  /** Characters that stand for bytes outside the encoding of a file, as `encodingErrors: "replace"` allows. */
  readonly replacedCharacters: number;
  /** Requests, tokens and cost of language models in all operators; undefined if none is asked. */
  readonly usage: Usage | undefined;
  /** The first ten of these errors. */
  readonly firstErrors: readonly LeftOut[];

  constructor({ name, operators, errored, startedMs, endedMs = performance.now() }: RunState) {
    this.name = name;
    this.operators = operators.map(reportOf);
    this.durationMs = endedMs - startedMs;
    this.erroredBlocks = errored.count;
    this.erroredItems = errored.items;
    this.replacedCharacters = errored.replaced;
    this.usage = this.operators.map((report) => report.usage).reduce(addUsage, undefined);
    this.firstErrors = [...errored.first];
  }

  toString(): string {
    const lines = [...(this.name === undefined ? [] : [`Dataset ${this.name}`]), ...this.operators.flatMap(linesOf)];
    lines.push(`Run: ${secondsText(this.durationMs)}`);
    if (this.erroredBlocks > 0) lines.push(`Left out because of errors: ${counted(this.erroredBlocks, "block")}`);
    lines.push(...lossLines(this, ""));
    for (const { operator, error } of this.firstErrors) lines.push(`* ${operator}: ${error.message}`);
    return lines.join("\n");
  }
}

Object.defineProperty(DataStatistics.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value(this: DataStatistics): string {
    return this.toString();
  },
});

/** Returns the report of an operator so far. */
export function reportOf({ name, statistics, load }: Operator): OperatorReport {
  const { tasks, rows, bytes, blocks, wallMs, cpuMs, memoryBytes, startedMs, endedMs } = statistics;
  const { erroredBlocks, erroredItems, replacedCharacters, usage } = statistics;
  const maxMemoryBytes = memoryBytes.count === 0 ? undefined : memoryBytes.max;
  const durationMs = startedMs === undefined || endedMs === undefined ? 0 : endedMs - startedMs;
  return {
    name,
    tasks,
    rows,
    bytes,
    blocks,
    durationMs,
    wallMs,
    cpuMs,
    maxMemoryBytes,
    erroredBlocks,
    erroredItems,
    replacedCharacters,
    usage,
    ...load,
  };
}

function linesOf(report: OperatorReport): string[] {
  const { name, tasks, rows, bytes, blocks, durationMs, wallMs, cpuMs, erroredBlocks, queuedBlocks, workers } = report;
  const lines = [`${name}: ${counted(tasks, "task")} in ${secondsText(durationMs)}`];
  lines.push(`* gave ${counted(rows, "row")}, ${bytesText(bytes)}, in ${counted(blocks, "block")}${rateText(rows, durationMs)}`);
  if (wallMs > 0) lines.push(`* worked ${secondsText(wallMs)}, ${secondsText(cpuMs)} of it on a processor`);
  if (erroredBlocks > 0) lines.push(`* left out because of errors: ${counted(erroredBlocks, "block")}`);
  lines.push(...lossLines(report, "* "));
  if (report.usage !== undefined) lines.push(`* ${usageText(report.usage)}`);
  if (queuedBlocks > 0 || workers > 0) lines.push(`* now: ${counted(queuedBlocks, "block")} waiting, ${workers} working`);
  return lines;
}

function lossLines(
  { erroredItems, replacedCharacters }: Pick<OperatorReport, "erroredItems" | "replacedCharacters">,
  mark: string,
): string[] {
  const lines: string[] = [];
  if (erroredItems > 0) lines.push(`${mark}left out, or null, because of errors: ${counted(erroredItems, "item")}`);
  if (replacedCharacters > 0)
    lines.push(`${mark}replaced, as their bytes are outside the encoding: ${counted(replacedCharacters, "character")}`);
  return lines;
}

function usageText({ requests, retries, failures, promptTokens, completionTokens, cost }: Usage): string {
  const asked = `sent ${counted(requests, "request")}, ${countText(retries)} of them again; ${counted(failures, "row")} without an answer`;
  const tokens = `${countText(promptTokens)} tokens of requests and ${countText(completionTokens)} of answers`;
  return `${asked}; ${tokens}${cost === 0 ? "" : `, for ${cost.toFixed(4)}`}`;
}

function rateText(rows: number, durationMs: number): string {
  return rows === 0 || durationMs === 0 ? "" : `, ${countText(Math.round((1000 * rows) / durationMs))} rows/s`;
}

export function counted(count: number, what: string): string {
  return `${countText(count)} ${what}${count === 1 ? "" : "s"}`;
}

/** With commas between the thousands. */
export function countText(count: number): string {
  return count.toLocaleString("en-US");
}

export function bytesText(bytes: number): string {
  return bytes < 2 ** 30 ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : `${(bytes / 2 ** 30).toFixed(2)} GiB`;
}
