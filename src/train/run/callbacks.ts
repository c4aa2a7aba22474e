/** Callbacks of users, called in the program that called `fit`. */
import type { Checkpoint } from "../../runs/checkpoints/checkpoint.ts";
import type { Metrics } from "../../runs/metrics/metrics.ts";

/** A report of all ranks. */
export interface ReportNews {
  readonly runName: string;
  /** Reported metrics, by rank. */
  readonly metrics: readonly Metrics[];
  readonly checkpoint: Checkpoint | undefined;
}

/** A callback of `runConfig`. An error that a callback throws ends the run, whatever `maxFailures` says. */
export interface TrainCallback {
  /** All ranks have reported, and the checkpoint is stored; the ranks wait meanwhile. */
  afterReport?(news: ReportNews): void | Promise<void>;
  /** The ranks of an attempt have failed; the next attempt waits. `workerFailures`: by rank. */
  afterException?(news: { readonly runName: string; readonly workerFailures: ReadonlyMap<number, Error> }): void | Promise<void>;
}
