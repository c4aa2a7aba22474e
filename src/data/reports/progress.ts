/** Progress of a pipeline's run: a line for each operator, and a summary of the result at the end. `progress/progress-board.ts` draws both. */
import { secondsText, type ShownWork } from "../../progress/progress-board.ts";
import type { ErroredBlocks } from "../engine/tasks/errored-blocks.ts";
import type { Operator } from "../engine/operators/operator.ts";
import { bytesText, counted, countText, reportOf } from "./statistics.ts";

export interface ShownRun {
  /** The dataset's name. Default: none. */
  readonly name?: string | undefined;
  readonly operators: readonly Operator[];
  readonly errored: ErroredBlocks;
}

export function shownRun({ name: dataset, operators, errored }: ShownRun): ShownWork {
  const ofDataset = dataset === undefined ? "" : `${dataset}: `;
  return {
    lines: (nowMs) => operators.map((operator) => `${ofDataset}${lineOf(operator, nowMs)}`),
    summary(outcome, ms) {
      const last = operators.at(-1);
      if (last === undefined) return `shoal: ${ofDataset}${outcome} after ${secondsText(ms)}`;
      const { name, rows, bytes } = reportOf(last);
      const given = `${counted(rows, "row")}, ${bytesText(bytes)}, ${rateText(rows, ms)}`;
      const leftOut = errored.count === 0 ? "" : `; ${counted(errored.count, "block")} left out because of errors`;
      return `shoal: ${ofDataset}${name} ${outcome} after ${secondsText(ms)}: ${given}${leftOut}`;
    },
  };
}

/** Returns the line of one operator: the share that is done, where the whole is known, and rows, bytes, rate, queue, workers. */
function lineOf(operator: Operator, now: number): string {
  const { name, rows, bytes, queuedBlocks, workers } = reportOf(operator);
  const { startedMs } = operator.statistics;
  const rate = rateText(rows, startedMs === undefined ? 0 : now - startedMs);
  const done = operator.share === undefined ? "" : `${Math.floor(100 * operator.share)} %, `;
  return `${name}: ${done}${counted(rows, "row")}, ${bytesText(bytes)}, ${rate}, ${queuedBlocks} queued, ${workers} working`;
}

function rateText(rows: number, ms: number): string {
  return `${countText(ms > 0 ? Math.round((1000 * rows) / ms) : 0)} rows/s`;
}
