/**
 * Progress bars as work that the board of the process shows (`progress/progress-board.ts`).
 *
 * Decides how a bar looks and, without a terminal, when it is worth a line: at every tenth, and now and then if the total is unknown. The
 * board decides when it is drawn, and keeps it below the program's output. Has neither a clock nor a stream.
 */
import type { ShownWork, WorkOutcome } from "../progress/progress-board.ts";

interface BarFacts {
  readonly description: string;
  readonly unit: string;
  /** Undefined if the total is unknown. */
  readonly total: number | undefined;
}

const BAR_WIDTH = 24;
/** Plain lines of a bar with a total. */
const PLAIN_STEPS = 10;
/** Without a total, and for very slow work, a plain line appears after this time. */
const PLAIN_EVERY_MS = 10_000;

export class ShownBar implements ShownWork {
  /** A bar was requested, so it is shown from the beginning. */
  readonly afterMs = 0;
  readonly #facts: BarFacts;
  readonly #startedMs: number;
  #count = 0;
  /** The last plain line. */
  #told: { readonly step: number; readonly atMs: number };

  constructor(facts: BarFacts, startedMs: number) {
    this.#facts = facts;
    this.#startedMs = startedMs;
    this.#told = { step: 0, atMs: startedMs };
  }

  add(count: number): void {
    this.#count += count;
  }

  lines(nowMs: number): readonly string[] {
    return [this.#line(nowMs)];
  }

  plainLine(nowMs: number): string | undefined {
    const step = this.#step();
    if (step <= this.#told.step && nowMs - this.#told.atMs < PLAIN_EVERY_MS) return undefined;
    this.#told = { step, atMs: nowMs };
    return this.#line(nowMs);
  }

  /** A full bar that was printed as a plain line needs no other. */
  summary(_outcome: WorkOutcome, ms: number): string | undefined {
    return this.#told.step === PLAIN_STEPS ? undefined : this.#line(this.#startedMs + ms);
  }

  #step(): number {
    const { total } = this.#facts;
    return total === undefined || total === 0 ? 0 : Math.floor(Math.min(1, this.#count / total) * PLAIN_STEPS + 1e-9);
  }

  #line(nowMs: number): string {
    const { description, unit, total } = this.#facts;
    const count = this.#count;
    const seconds = Math.max(0.001, (nowMs - this.#startedMs) / 1000);
    const perSecond = count / seconds;
    const rate = `${perSecond >= 100 ? Math.round(perSecond) : perSecond.toFixed(1)} ${unit}/s`;
    const title = description === "" ? "" : `${description}: `;
    if (total === undefined) return `${title}${count} ${unit} [${duration(seconds)}, ${rate}]`;
    const fraction = total === 0 ? 1 : Math.min(1, count / total);
    const filled = Math.floor(fraction * BAR_WIDTH);
    const bar = `${"█".repeat(filled)}${"░".repeat(BAR_WIDTH - filled)}`;
    const left = count > 0 && count < total ? `, ${duration((total - count) / perSecond)} left` : "";
    return `${title}${String(Math.floor(fraction * 100)).padStart(3)} % ${bar} ${count}/${total} [${duration(seconds)}${left}, ${rate}]`;
  }
}

function duration(seconds: number): string {
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  const two = (value: number): string => String(value).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${two(minutes)}:${two(whole % 60)}`;
}
