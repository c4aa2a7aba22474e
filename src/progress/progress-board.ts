/**
 * Shows long work of libraries: on a terminal some lines each, drawn in place, and on other outputs, on request, a line every few seconds.
 * Each piece of work ends with a summary line.
 *
 * Each library provides the text: Data shows a line per operator, Train a line per rank, Tune a table, `shoal/util` a bar. Work that ends
 * at once shows nothing, except for bars. While lines are drawn, the program's output appears above them: its writes pass through the
 * board, which erases the lines first.
 */
import { PROGRESS_AFTER_MS, PROGRESS_DRAWN_EVERY_MS, PROGRESS_LINE_EVERY_MS } from "./limits.ts";

/** The part of an output stream that the board uses, such as `process.stderr`. */
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
  /** Calls `call` at an interval. @returns a function that stops the calls */
  every(ms: number, call: () => void): () => void;
}

/** Work that shows its progress. */
export interface ShownWork {
  /** The current state of the work, as lines without line feeds. */
  lines(nowMs: number): readonly string[];
  /** The final line: the outcome of the work, and its duration in milliseconds. Undefined if a plain line has already reported it. */
  summary(outcome: WorkOutcome, ms: number): string | undefined;
  /** Work that is over sooner is not shown. Default: half a second. */
  readonly afterMs?: number;
  /** Where there is no terminal, the line to print now, if any. Default: all lines as one, every five seconds. */
  plainLine?(nowMs: number): string | undefined;
}

export type WorkOutcome = "done" | "stopped" | "failed";

interface Shown {
  readonly work: ShownWork;
  readonly startedMs: number;
  /** Time of the last plain line. */
  toldMs: number;
  isShown: boolean;
}

const COLUMNS_DEFAULT = 100;
const ROWS_DEFAULT = 24;

export class ProgressBoard {
  readonly #place: ProgressPlace;
  readonly #shown = new Set<Shown>();
  #drawnLines = 0;
  #drawnAtMs = Number.NEGATIVE_INFINITY;
  /** Whether the program has ended its last line: only then lines can be drawn below. */
  #isAtLineStart = true;
  #release: (() => void) | undefined;

  constructor(place: ProgressPlace) {
    this.#place = place;
  }

  /** Shows work. @returns a function that ends the display with an outcome */
  begin(work: ShownWork): (outcome: WorkOutcome) => void {
    const startedMs = this.#place.nowMs();
    const shown: Shown = { work, startedMs, toldMs: startedMs, isShown: work.afterMs === 0 };
    this.#shown.add(shown);
    this.#release ??= this.#hold();
    return (outcome) => this.#end(shown, outcome);
  }

  /** Shows changes without waiting for the timer. */
  refresh(): void {
    if (!this.#isTerminal || this.#place.nowMs() - this.#drawnAtMs >= PROGRESS_DRAWN_EVERY_MS) this.#update();
  }

  #end(shown: Shown, outcome: WorkOutcome): void {
    if (!this.#shown.delete(shown)) return;
    this.#hide();
    const summary = shown.isShown ? shown.work.summary(outcome, this.#place.nowMs() - shown.startedMs) : undefined;
    if (summary !== undefined) this.#write(`${summary}\n`);
    if (this.#shown.size > 0) return;
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
    for (const shown of this.#shown) {
      if (now - shown.startedMs < (shown.work.afterMs ?? PROGRESS_AFTER_MS)) continue;
      shown.isShown = true;
      const line = this.#isTerminal ? undefined : plainLineOf(shown, now);
      if (line !== undefined) this.#write(`${line}\n`);
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
    const lines = [...this.#shown].filter(({ isShown }) => isShown).flatMap(({ work }) => work.lines(now));
    this.#hide();
    // A line that wraps, or that has left the screen, could not be taken away.
    const kept = lines.slice(0, Math.max(1, rows - 1)).map((line) => `${line.slice(0, columns - 1)}\n`);
    if (kept.length > 0) this.#write(kept.join(""));
    this.#drawnLines = kept.length;
    this.#drawnAtMs = now;
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
}

function plainLineOf(shown: Shown, nowMs: number): string | undefined {
  const { work, startedMs, toldMs } = shown;
  if (work.plainLine !== undefined) return work.plainLine(nowMs);
  if (nowMs - toldMs < PROGRESS_LINE_EVERY_MS) return undefined;
  shown.toldMs = nowMs;
  return `shoal: ${secondsText(nowMs - startedMs)}: ${work.lines(nowMs).join(" | ")}`;
}

/** A time in seconds, with two decimals. */
export function secondsText(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

/**
 * Reports each text before it is written to a stream, until the returned function is called. Others that do the same meanwhile keep their
 * place.
 */
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
