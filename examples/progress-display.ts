/**
 * Shows how far each of several tasks is: bars that are redrawn in place in a terminal, plain lines elsewhere.
 */
/** Needed members of an output stream; `process.stdout` is one. */
export interface Output {
  isTTY?: boolean;
  /** Rows of the terminal; 0 where it does not know. */
  rows?: number;
  write(text: string): unknown;
}

const BAR_WIDTH = 30;
/** Redrawing more often than this is not seen. */
const REDRAW_MS = 50;
/** Without a terminal each task prints a line whenever it has passed another of these. */
const PLAIN_STEP = 0.25;
const ROWS_DEFAULT = 24;

export class ProgressDisplay {
  readonly #tasks: number;
  readonly #output: Output;
  readonly #stepsPrinted: number[];
  #drawnAt = 0;
  #drawn = false;

  constructor(tasks: number, output: Output = process.stdout) {
    this.#tasks = tasks;
    this.#output = output;
    this.#stepsPrinted = Array.from({ length: tasks }, () => 0);
  }

  /** `fractions` holds the finished part of each task, from 0 to 1. */
  show(fractions: readonly number[]): void {
    if (this.#output.isTTY) this.#redraw(fractions);
    else this.#printPassedSteps(fractions);
  }

  #redraw(fractions: readonly number[]): void {
    const now = performance.now();
    const done = fractions.every((fraction) => fraction >= 1);
    if (this.#drawn && !done && now - this.#drawnAt < REDRAW_MS) return;
    // A terminal with fewer rows than tasks scrolls, and what has scrolled away cannot be redrawn: show as many as fit.
    const rows = Math.min(this.#tasks, Math.max(1, (this.#output.rows || ROWS_DEFAULT) - 2));
    const lines = fractions.slice(0, rows).map((fraction, task) => `\u001b[2K${barLine(task, fraction)}\n`);
    this.#output.write(`${this.#drawn ? `\u001b[${rows}A` : ""}${lines.join("")}`);
    this.#drawn = true;
    this.#drawnAt = now;
  }

  #printPassedSteps(fractions: readonly number[]): void {
    for (const [task, fraction] of fractions.entries()) {
      const steps = Math.floor(fraction / PLAIN_STEP);
      if (steps <= (this.#stepsPrinted[task] ?? 0)) continue;
      this.#stepsPrinted[task] = steps;
      this.#output.write(`task ${task + 1}: ${percent(steps * PLAIN_STEP)}\n`);
    }
  }
}

function barLine(task: number, fraction: number): string {
  const filled = Math.round(fraction * BAR_WIDTH);
  return `task ${String(task + 1).padStart(2)}  ${"█".repeat(filled)}${"░".repeat(BAR_WIDTH - filled)} ${percent(fraction).padStart(5)}`;
}

function percent(fraction: number): string {
  return `${Math.floor(fraction * 100)} %`;
}
