/**
 * What follows a run and writes down what it reports: files, TensorBoard, MLflow, Weights & Biases, or a user's own.
 *
 * What trackers write need not outlive a power cut: the state of a run is in its log, and ten thousand trials must not wait for the disk forty thousand times. A tracker is opened for each run, or trial. It is called from a queue (`tracking.ts`), never by the loop that reports: it may be slow, and what it throws ends the tracker and not the run.
 */
import type { Metrics } from "./metrics.ts";

/** A run, or a trial of one, as a tracker is told of it. */
export interface TrackedRunInfo {
  /** Unlike that of any other run. */
  readonly id: string;
  /** For people. */
  readonly name: string;
  /** The run that a trial belongs to; for others the run itself. */
  readonly experimentName: string;
  /** Its folder in the run's storage, which is there. */
  readonly folder: string;
  readonly config: Metrics;
  /** Whether it goes on after an interruption: its files are there already. */
  readonly isResumed: boolean;
}

export interface Tracker {
  readonly name: string;
  open(run: TrackedRunInfo): TrackedRun | Promise<TrackedRun>;
}

export interface TrackedRun {
  /** What was reported since the last call, in order. The next call comes when this one has ended. */
  log(results: readonly Metrics[]): void | Promise<void>;
  close(state: "finished" | "failed"): void | Promise<void>;
}

export function isTracker(value: unknown): value is Tracker {
  return typeof value === "object" && value !== null && typeof (value as Partial<Tracker>).open === "function";
}
