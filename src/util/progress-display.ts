/**
 * Draws progress bars: in place at the end of a terminal, or as plain lines at every tenth elsewhere.
 *
 * Decides how a bar looks and how often it is drawn. Owns what is drawn at the moment; other output is put above it by `hide` and `show`. No clock
 * and no stream of its own: both are given.
 */

/** What is needed of an output stream; `process.stderr` is one. */
interface ProgressOutput {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

export interface BarState {
  readonly description: string;
  readonly unit: string;
  /** Undefined: nobody knows how much there is. */
  readonly total: number | undefined;
  readonly count: number;
  readonly startedMs: number;
}

const BAR_WIDTH = 24;
/** Redrawing more often than this is not seen. */
const REDRAW_MS = 50;
const PLAIN_STEP = 0.1;
/** Without a total, and for very slow work, a plain line comes after this time. */
const PLAIN_EVERY_MS = 10_000;
const COLUMNS_DEFAULT = 100;

export class ProgressDisplay {
  readonly #output: ProgressOutput;
  readonly #nowMs: () => number;
  readonly #bars = new Map<string, BarState>();
  /** What was printed last of each bar where there is no terminal. */
  readonly #printed = new Map<string, { step: number; atMs: number }>();
  #drawnLines = 0;
  #drawnAtMs = Number.NEGATIVE_INFINITY;

  constructor(output: ProgressOutput, nowMs: () => number) {
    this.#output = output;
    this.#nowMs = nowMs;
  }

  update(id: string, bar: BarState): void {
    this.#bars.set(id, bar);
    if (this.#output.isTTY !== true) this.#printStep(id, bar);
    else if (this.#nowMs() - this.#drawnAtMs >= REDRAW_MS) this.#redraw();
  }

  /** The bar has ended: it stays as an ordinary line. */
  close(id: string): void {
    const bar = this.#bars.get(id);
    if (bar === undefined) return;
    this.#bars.delete(id);
    this.hide();
    const printed = this.#printed.get(id);
    this.#printed.delete(id);
    if (this.#output.isTTY === true || printed === undefined || stepOf(bar) !== 1 / PLAIN_STEP || printed.step !== 1 / PLAIN_STEP)
      this.#output.write(`${this.#lineOf(bar)}\n`);
    this.show();
  }

  /** Clears what is drawn, so that other lines can be printed. */
  hide(): void {
    if (this.#drawnLines > 0) this.#output.write(`\u001b[${this.#drawnLines}A\u001b[J`);
    this.#drawnLines = 0;
  }

  show(): void {
    if (this.#output.isTTY === true) this.#redraw();
  }

  #redraw(): void {
    this.hide();
    const lines = Array.from(this.#bars.values(), (bar) => `${this.#lineOf(bar)}\n`);
    if (lines.length > 0) this.#output.write(lines.join(""));
    this.#drawnLines = lines.length;
    this.#drawnAtMs = this.#nowMs();
  }

  #printStep(id: string, bar: BarState): void {
    const now = this.#nowMs();
    const printed = this.#printed.get(id) ?? { step: 0, atMs: bar.startedMs };
    const step = stepOf(bar);
    if (step <= printed.step && now - printed.atMs < PLAIN_EVERY_MS) return;
    this.#printed.set(id, { step, atMs: now });
    this.#output.write(`${this.#lineOf(bar)}\n`);
  }

  #lineOf({ description, unit, total, count, startedMs }: BarState): string {
    const seconds = Math.max(0.001, (this.#nowMs() - startedMs) / 1000);
    const perSecond = count / seconds;
    const rate = `${perSecond >= 100 ? Math.round(perSecond) : perSecond.toFixed(1)} ${unit}/s`;
    const title = description === "" ? "" : `${description}: `;
    if (total === undefined) return this.#cut(`${title}${count} ${unit} [${duration(seconds)}, ${rate}]`);
    const fraction = total === 0 ? 1 : Math.min(1, count / total);
    const filled = Math.floor(fraction * BAR_WIDTH);
    const bar = `${"█".repeat(filled)}${"░".repeat(BAR_WIDTH - filled)}`;
    const left = count > 0 && count < total ? `, ${duration((total - count) / perSecond)} left` : "";
    return this.#cut(
      `${title}${String(Math.floor(fraction * 100)).padStart(3)} % ${bar} ${count}/${total} [${duration(seconds)}${left}, ${rate}]`,
    );
  }

  /** A line that wraps could not be redrawn in place. */
  #cut(line: string): string {
    return this.#output.isTTY === true ? line.slice(0, (this.#output.columns ?? COLUMNS_DEFAULT) - 1) : line;
  }
}

function stepOf({ total, count }: BarState): number {
  return total === undefined || total === 0 ? 0 : Math.floor(Math.min(1, count / total) / PLAIN_STEP + 1e-9);
}

function duration(seconds: number): string {
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  const two = (value: number): string => String(value).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${two(minutes)}:${two(whole % 60)}`;
}
