/**
 * Shows what runs do: on a terminal a line an operator, drawn in place, and elsewhere, where it is asked for, a line every few seconds. Each run ends with a line of what it gave.
 *
 * Runs that end at once show nothing. While lines are drawn, what the program prints on the terminal goes above them: its writes pass through here, which takes the lines away
 * first. No clock, no timer and no stream of its own: they are given.
 */
import type { ErroredBlocks } from "./engine/errored-blocks.ts";
import type { Operator } from "./engine/operator.ts";
import { PROGRESS_AFTER_MS, PROGRESS_DRAWN_EVERY_MS, PROGRESS_LINE_EVERY_MS } from "./limits.ts";
import { bytesText, counted, countText, reportOf, seconds } from "./statistics.ts";

/** What is needed of an output stream; `process.stderr` is one. */
export interface ProgressStream {
  isTTY?: boolean;
  columns?: number;
  rows?: number;
  write(...args: never[]): boolean;
}

/** Where progress is shown. */
interface ProgressPlace {
  /** Where lines are drawn. */
  readonly output: ProgressStream;
  /** Streams that may show their text on the same terminal, `output` too. */
  readonly streams: readonly ProgressStream[];
  nowMs(): number;
  /** Calls again and again until what it gives is called. */
  every(ms: number, call: () => void): () => void;
}

/** A run that is shown. */
interface ShownRun {
  readonly operators: readonly Operator[];
  readonly errored: ErroredBlocks;
  readonly startedMs: number;
  /** Of its last plain line. */
  toldMs: number;
  isShown: boolean;
}

export type RunOutcome = "done" | "stopped" | "failed";

const COLUMNS_DEFAULT = 100;
const ROWS_DEFAULT = 24;

export class ProgressBoard {
  readonly #place: ProgressPlace;
  readonly #runs = new Set<ShownRun>();
  #drawnLines = 0;
  /** Whether the program has ended its last line: only then lines can be drawn below. */
  #isAtLineStart = true;
  #release: (() => void) | undefined;

  constructor(place: ProgressPlace) {
    this.#place = place;
  }

  /** Shows a run, until what it gives is called. */
  begin({ operators, errored }: Pick<ShownRun, "operators" | "errored">): (outcome: RunOutcome) => void {
    const startedMs = this.#place.nowMs();
    const run: ShownRun = { operators, errored, startedMs, toldMs: startedMs, isShown: false };
    this.#runs.add(run);
    this.#release ??= this.#hold();
    return (outcome) => this.#end(run, outcome);
  }

  #end(run: ShownRun, outcome: RunOutcome): void {
    if (!this.#runs.delete(run)) return;
    this.#hide();
    if (run.isShown) this.#write(`${this.#summary(run, outcome)}\n`);
    if (this.#runs.size > 0) return;
    this.#release?.();
    this.#release = undefined;
  }

  get #isTerminal(): boolean {
    return this.#place.output.isTTY === true;
  }

  #hold(): () => void {
    const releases = [this.#place.every(PROGRESS_DRAWN_EVERY_MS, () => this.#update())];
    if (this.#isTerminal)
      for (const stream of this.#place.streams) if (stream.isTTY === true) releases.push(passWrites(stream, (text) => this.#onWrite(text)));
    return () => {
      for (const release of releases) release();
    };
  }

  #update(): void {
    const now = this.#place.nowMs();
    for (const run of this.#runs) {
      if (now - run.startedMs < PROGRESS_AFTER_MS) continue;
      run.isShown = true;
      if (this.#isTerminal || now - run.toldMs < PROGRESS_LINE_EVERY_MS) continue;
      run.toldMs = now;
      this.#write(`shoal: ${seconds(now - run.startedMs)}: ${run.operators.map((operator) => lineOf(operator, now)).join(" | ")}\n`);
    }
    if (this.#isTerminal) this.#draw(now);
  }

  // -------------------------------------------------------------------------------------------------------------------
  // A terminal

  /** The program prints: the lines make room, and are drawn again at the next turn of the timer. */
  #onWrite(text: string): void {
    this.#hide();
    this.#isAtLineStart = text === "" ? this.#isAtLineStart : text.endsWith("\n");
  }

  #draw(now: number): void {
    if (!this.#isAtLineStart) return;
    const { columns = COLUMNS_DEFAULT, rows = ROWS_DEFAULT } = this.#place.output;
    const shown = [...this.#runs].filter(({ isShown }) => isShown);
    const lines = shown.flatMap(({ operators }) => operators.map((operator) => lineOf(operator, now)));
    this.#hide();
    // A line that wraps, or that has left the screen, could not be taken away.
    const kept = lines.slice(0, Math.max(1, rows - 1)).map((line) => `${line.slice(0, columns - 1)}\n`);
    if (kept.length > 0) this.#write(kept.join(""));
    this.#drawnLines = kept.length;
  }

  #hide(): void {
    if (this.#drawnLines === 0) return;
    const lines = this.#drawnLines;
    this.#drawnLines = 0;
    this.#write(`\u001b[${lines}A\u001b[J`);
  }

  #write(text: string): void {
    const isAtLineStart = this.#isAtLineStart;
    (this.#place.output.write as (text: string) => boolean)(text);
    this.#isAtLineStart = isAtLineStart;
  }

  #summary({ operators, errored, startedMs }: ShownRun, outcome: RunOutcome): string {
    const last = operators.at(-1);
    const ms = this.#place.nowMs() - startedMs;
    if (last === undefined) return `shoal: ${outcome} after ${seconds(ms)}`;
    const { name, rows, bytes } = reportOf(last);
    const given = `${counted(rows, "row")}, ${bytesText(bytes)}, ${rateText(rows, ms)}`;
    const leftOut = errored.count === 0 ? "" : `; ${counted(errored.count, "block")} left out because of errors`;
    return `shoal: ${name} ${outcome} after ${seconds(ms)}: ${given}${leftOut}`;
  }
}

/** One operator: rows, bytes, rate, queue, workers. */
function lineOf(operator: Operator, now: number): string {
  const { name, rows, bytes, queuedBlocks, workers } = reportOf(operator);
  const { startedMs } = operator.statistics;
  const rate = rateText(rows, startedMs === undefined ? 0 : now - startedMs);
  return `${name}: ${counted(rows, "row")}, ${bytesText(bytes)}, ${rate}, ${queuedBlocks} queued, ${workers} working`;
}

function rateText(rows: number, ms: number): string {
  return `${countText(ms > 0 ? Math.round((1000 * rows) / ms) : 0)} rows/s`;
}

/** Tells of each text before it is written to a stream, until what it gives is called. Others that do the same meanwhile keep their place. */
function passWrites(stream: ProgressStream, before: (text: string) => void): () => void {
  const hadOwn = Object.hasOwn(stream, "write");
  const { write } = stream;
  let isOn = true;
  const passing = (...args: readonly unknown[]): boolean => {
    if (isOn) before(typeof args[0] === "string" ? args[0] : new TextDecoder().decode(args[0] as Uint8Array));
    return Reflect.apply(write, stream, args) as boolean;
  };
  stream.write = passing;
  return () => {
    isOn = false;
    if (stream.write !== passing) return;
    if (hadOwn) stream.write = write;
    else delete (stream as { write?: unknown }).write;
  };
}

// ---------------------------------------------------------------------------------------------------------------------
// This process

let board: ProgressBoard | undefined;

/** The board of this process, on stderr. */
export function processBoard(): ProgressBoard {
  board ??= new ProgressBoard({
    output: process.stderr,
    streams: [process.stdout, process.stderr],
    nowMs: () => performance.now(),
    every: (ms, call) => {
      const timer = setInterval(call, ms);
      timer.unref();
      return () => clearInterval(timer);
    },
  });
  return board;
}

/** Whether runs are shown. Default: on a terminal. `SHOAL_PROGRESS=0` ends it everywhere. */
export function showsProgress(setting: boolean | undefined): boolean {
  return process.env["SHOAL_PROGRESS"] !== "0" && (setting ?? process.stderr.isTTY);
}
