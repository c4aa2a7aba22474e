/**
 * Trackers record the reports of a run: in files, TensorBoard, MLflow, Weights & Biases, Comet, Aim, or a user's own store.
 *
 * Tracked data need not survive a power cut: the state of a run is in its log, and ten thousand trials must not wait for the disk forty thousand times. Each run or trial
 * opens its trackers. A queue (`tracking.ts`) calls them, never the reporting loop: a tracker may be slow, and an error that it throws ends the tracker and not the run.
 */
import type { Metrics } from "../metrics/metrics.ts";

/** A run, or a trial of a run, as trackers see it. */
export interface TrackedRunInfo {
  /** Unique among all runs. */
  readonly id: string;
  /** Display name. */
  readonly name: string;
  /** The run that a trial belongs to; for others the run itself. */
  readonly experimentName: string;
  /** The folder of the run or trial, which exists. */
  readonly folder: string;
  readonly config: Metrics;
  /** Whether the run continues after an interruption: its files exist already. */
  readonly isResumed: boolean;
}

export interface Tracker {
  readonly name: string;
  open(run: TrackedRunInfo): TrackedRun | Promise<TrackedRun>;
  /**
   * Called before a run that was interrupted goes on, with the last results that its log has, in order: writes those that its file lacks.
   * Trackers without it keep no file that could be compared.
   */
  catchUp?(run: TrackedRunInfo, results: readonly Metrics[]): Promise<void>;
}

export interface TrackedRun {
  /**
   * Records the results since the last call, in order. Calls do not overlap. One that fails with a `StorageError` is repeated with the same
   * results and later ones.
   */
  log(results: readonly Metrics[]): void | Promise<void>;
  /** Ends it. A call that fails with a `StorageError` may be repeated. */
  close(state: "finished" | "failed"): void | Promise<void>;
}

export function isTracker(value: unknown): value is Tracker {
  return typeof value === "object" && value !== null && typeof (value as Partial<Tracker>).open === "function";
}
