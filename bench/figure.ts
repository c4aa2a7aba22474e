/**
 * A line of the benchmark: name, unit, bars, and measurement.
 *
 * A figure is measured in one of two places. "driver" figures run inside a driver that has just called `init()` in a separate process
 * (`round.ts` here, `ray/round.py` on the other side): rates and latencies. "harness" figures are watched from outside, because a process
 * cannot time its own start or weigh the daemons around it. Invariant: each `figures/NAME.ts` exports one `figure` whose `name` is NAME,
 * and Ray's side knows the same name.
 */
import type { Subject } from "./subject.ts";

/** The requirement on a result: a ratio to Ray in the same run, a value of our own, or only that it runs to its end. */
export type Bar =
  | { readonly kind: "ratio"; readonly atLeast: number }
  | { readonly kind: "value"; readonly atMost: number }
  | { readonly kind: "runs" };

export type Details = Record<string, number | string>;

/** Result of one round of one side. The samples are in the figure's unit. */
export interface Measurement {
  readonly samples: readonly number[];
  readonly details?: Details;
}

/** How long a round may measure. Both sides get the same plan. */
export interface Plan {
  readonly quick: boolean;
  readonly warmUpMs: number;
  readonly windowMs: number;
  readonly windows: number;
  /** Rows of the tables of Data. Default: as many as suit `quick`. */
  readonly rows?: number;
}

interface FigureFacts {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly higherIsBetter: boolean;
  readonly goal: Bar | null;
  readonly floor: Bar | null;
  /** Upper limit of rounds, for figures whose one round is long enough to be its own average. */
  readonly roundsMax?: number;
  /**
   * Time limit for a round of one side in each mode, the start and the end of the runtime included. A round past the limit is stopped and
   * has failed. Default: `subject.ts` decides.
   */
  readonly limitMs?: number;
  /** A program of others that has to be installed. */
  readonly program?: "wrk";
  /** Printed under the table: where the two sides cannot do the very same thing, this says how they differ. */
  readonly note?: string;
}

export interface DriverFigure extends FigureFacts {
  readonly where: "driver";
  /** The driver is one of a cluster of two nodes (`two-nodes.ts`). Default: it has one for itself. */
  readonly nodes?: 2;
  /**
   * Ray Serve has faster settings for it (`ray-modes.ts`): Ray is measured with its defaults and with these, and both are told. "held": the bars are ratios to the better of
   * them; "told": to the defaults, as with all other figures.
   */
  readonly fastMode?: "held" | "told";
  run(plan: Plan): Promise<Measurement>;
}

export interface HarnessFigure extends FigureFacts {
  readonly where: "harness";
  observe(subject: Subject, plan: Plan): Promise<Measurement>;
}

export type Figure = DriverFigure | HarnessFigure;

export function ratioAtLeast(atLeast: number): Bar {
  return { kind: "ratio", atLeast };
}

export function valueAtMost(atMost: number): Bar {
  return { kind: "value", atMost };
}

export const RUNS: Bar = { kind: "runs" };

/** A full round measures 2 s, as one repetition of `ray microbenchmark` does; the median over rounds replaces its four repetitions. */
export const FULL_PLAN: Plan = { quick: false, warmUpMs: 1000, windowMs: 500, windows: 4 };
export const QUICK_PLAN: Plan = { quick: true, warmUpMs: 400, windowMs: 300, windows: 2 };
