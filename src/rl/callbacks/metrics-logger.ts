/**
 * Numbers that callbacks log, on their way from runners to results.
 *
 * A runner collects the values of a `sample` call, and the algorithm reduces them, runner by runner. `window` keeps the last values over iterations, `ema` an exponential average;
 * without either a number is that of one iteration. Names and values are bounded, so a callback that logs without end does not fill the memory.
 */
import { describeValue, nearNames } from "../../core/internal.ts";
import { LOGGED_NAMES_MAX, LOGGED_VALUES_MAX } from "../limits.ts";

export interface LogOptions {
  /** How values become one. Default: `"mean"`. */
  readonly reduce?: "mean" | "sum" | "min" | "max" | undefined;
  /** Reduces the last so many values, those of earlier iterations too. */
  readonly window?: number | undefined;
  /** Each value moves the result by this part of the difference: from above 0 to 1. */
  readonly ema?: number | undefined;
}

export interface MetricsLogger {
  /** Adds a value to a number of `envRunners` in the next result. @throws TypeError, RangeError for values, names or options that make no sense */
  logValue(name: string, value: number, options?: LogOptions): void;
}

/** The values of one name. */
export interface LoggedValues {
  readonly name: string;
  readonly options: LogOptions;
  readonly values: readonly number[];
}

const REDUCTIONS = ["mean", "sum", "min", "max"] as const;
const OPTIONS: readonly string[] = ["reduce", "window", "ema"];

/** Names that results have themselves. */
const TAKEN: readonly string[] = [
  "episodeReturnMean",
  "episodeReturnMin",
  "episodeReturnMax",
  "episodeLenMean",
  "numEpisodes",
  "numEnvStepsDropped",
  "numEpisodesLifetime",
  "numEnvStepsSampled",
  "numEnvStepsSampledLifetime",
  "agentEpisodeReturnsMean",
  "moduleEpisodeReturnsMean",
  "__proto__",
];

/** Collects values until they are taken. */
export class ValueLog implements MetricsLogger {
  readonly #values = new Map<string, { readonly options: LogOptions; values: number[] }>();

  logValue(name: string, value: number, options: LogOptions = {}): void {
    if (typeof name !== "string" || name === "" || TAKEN.includes(name))
      throw new RangeError(`Cannot log a value: a name is needed that results do not have: received ${describeValue(name)}`);
    if (typeof value !== "number" || !Number.isFinite(value))
      throw new TypeError(`Cannot log ${name}: a finite number is needed: received ${describeValue(value)}`);
    const known = this.#values.get(name);
    if (known === undefined) {
      if (this.#values.size >= LOGGED_NAMES_MAX)
        throw new RangeError(`Cannot log ${name}: there are ${LOGGED_NAMES_MAX} names at most. Take names from a fixed list`);
      this.#values.set(name, { options: checkedOptions(name, options), values: [value] });
      return;
    }
    checkedOptions(name, options);
    known.values.push(value);
    if (known.values.length >= 2 * LOGGED_VALUES_MAX) known.values = condensed(known);
  }

  /** The values since the last call. */
  take(): LoggedValues[] {
    const taken = Array.from(this.#values, ([name, { options, values }]) => ({ name, options, values }));
    this.#values.clear();
    return taken;
  }
}

/** Fewer values with the same result, or for a mean without a window nearly the same. */
function condensed({ options: { reduce = "mean", window, ema }, values }: { options: LogOptions; values: number[] }): number[] {
  if (window !== undefined || ema !== undefined || reduce === "mean") return values.slice(-LOGGED_VALUES_MAX);
  return [reduced(reduce, values)];
}

function checkedOptions(name: string, options: LogOptions): LogOptions {
  const unknown = Object.keys(options).find((option) => !OPTIONS.includes(option));
  if (unknown !== undefined) {
    const near = nearNames(unknown, OPTIONS);
    throw new TypeError(
      `Cannot log ${name}: there is no option ${describeValue(unknown)}: ${near.length > 0 ? `did you mean ${near.join(" or ")}?` : `there are ${OPTIONS.join(", ")}`}`,
    );
  }
  const { reduce = "mean", window, ema } = options;
  if (!REDUCTIONS.includes(reduce))
    throw new RangeError(`Cannot log ${name}: reduce is one of ${REDUCTIONS.join(", ")}: received ${describeValue(reduce)}`);
  if (window !== undefined && !(Number.isSafeInteger(window) && window >= 1 && window <= LOGGED_VALUES_MAX))
    throw new RangeError(`Cannot log ${name}: window is a whole number from 1 to ${LOGGED_VALUES_MAX}: received ${describeValue(window)}`);
  if (ema !== undefined && !(typeof ema === "number" && ema > 0 && ema <= 1))
    throw new RangeError(`Cannot log ${name}: ema is a number above 0 and up to 1: received ${describeValue(ema)}`);
  if (ema !== undefined && (window !== undefined || reduce !== "mean"))
    throw new RangeError(`Cannot log ${name}: ema is a mean without a window: received ${describeValue(options)}`);
  return options;
}

function reduced(reduce: NonNullable<LogOptions["reduce"]>, values: readonly number[]): number {
  const sum = (): number => values.reduce((total, value) => total + value, 0);
  if (reduce === "mean") return sum() / values.length;
  if (reduce === "sum") return sum();
  return values.reduce((best, value) => (reduce === "min" ? Math.min(best, value) : Math.max(best, value)));
}

/** A number of the results, in JSON. */
interface Kept {
  readonly options: LogOptions;
  readonly values: readonly number[];
  readonly average?: number | undefined;
}

/** The state of {@link LoggedMetrics}. */
export type LoggedState = readonly (readonly [string, Kept])[];

/** The logged numbers of an algorithm over its iterations. */
export class LoggedMetrics {
  #kept = new Map<string, Kept>();

  add(logged: readonly LoggedValues[]): void {
    for (const { name, options, values } of logged) {
      const known = this.#kept.get(name);
      if (known === undefined && this.#kept.size >= LOGGED_NAMES_MAX) continue;
      const { window = LOGGED_VALUES_MAX, ema } = options;
      const average =
        ema === undefined
          ? undefined
          : values.reduce((before, value) => before + ema * (value - before), known?.average ?? (values[0] as number));
      this.#kept.set(name, { options, values: ema === undefined ? [...(known?.values ?? []), ...values].slice(-window) : [], average });
    }
  }

  /** Returns the numbers of an iteration, and forgets those that belong to it alone. */
  take(): Record<string, number> {
    const numbers: Record<string, number> = {};
    for (const [name, { options, values, average }] of this.#kept) {
      numbers[name] = average ?? reduced(options.reduce ?? "mean", values);
      if (options.window === undefined && options.ema === undefined) this.#kept.delete(name);
    }
    return numbers;
  }

  getState(): LoggedState {
    return Array.from(this.#kept);
  }

  setState(state: LoggedState): void {
    this.#kept = new Map(state);
  }
}
