/**
 * The view of a trial and the trial's results for searchers, schedulers, stoppers and callbacks.
 *
 * A trial is one run of the trainable with one configuration. It is pending until resources are free for it, then running. A scheduler may pause it: it
 * keeps its checkpoint, holds no resources, and is pending again when the scheduler chooses it. Its final status is terminated or errored.
 * The machine of `trial-machine.ts` owns trials and is the only writer of them; everything else reads.
 */
import type { JsonValue } from "../../runs/metrics/metrics.ts";

export type { JsonValue, Metrics } from "../../runs/metrics/metrics.ts";

/** Configuration of a trial: a value for each place of the space. */
export type Config = Record<string, unknown>;

/** Whether less or more of a metric is better. */
export type Mode = "min" | "max";

export type TrialStatus = "pending" | "running" | "paused" | "terminated" | "errored";

/** Reported metrics, with the keys that Tune adds. `trainingIteration` counts reports from 1, over pauses and restarts. */
export type TrialResult<M extends object = Readonly<Record<string, unknown>>> = M & {
  readonly trialId: string;
  readonly trainingIteration: number;
  /** Milliseconds of running since the last result. */
  readonly timeThisIterMs: number;
  /** Milliseconds of running since the trial began; pauses do not count. */
  readonly timeTotalMs: number;
  /** When it was reported, in milliseconds since 1970. */
  readonly timestampMs: number;
  /** Whether the result is the trial's last. */
  readonly done: boolean;
  /** The process that reported it; of a trainer, the driver. */
  readonly pid: number;
  /** The name of that process's machine. */
  readonly hostname: string;
  /** The address of that machine in the cluster's network; `127.0.0.1` where it is the whole cluster. */
  readonly nodeIp: string;
  /** The trial's configuration at the time of the report. */
  readonly config: Config;
};

/** Where a trial runs, as its results have it. */
export type TrialPlace = Pick<TrialResult, "pid" | "hostname" | "nodeIp">;

/** Resources by name, as in a bundle of a placement group: `CPU`, `GPU`, or a custom resource. */
export type TrialBundle = Readonly<Record<string, number>>;

/**
 * Resources of a running trial: one bundle for an actor, several for a group of workers. The first bundle is for the trial's own process.
 */
export interface TrialResources {
  readonly bundles: readonly TrialBundle[];
  readonly strategy: "PACK" | "SPREAD" | "STRICT_PACK" | "STRICT_SPREAD";
}

/** Read-only view of a trial. The same object represents the trial all its life, and shows its present state. */
export interface Trial {
  readonly id: string;
  /** Counts the trials of the experiment from 0. */
  readonly index: number;
  /** For people: the trainable's name and the id, unless `tuneConfig.trialNameCreator` says otherwise. */
  readonly name: string;
  readonly status: TrialStatus;
  readonly config: Config;
  readonly resources: TrialResources;
  readonly lastResult: TrialResult | undefined;
  /**
   * Whether a trial could continue from a checkpoint of this one. That holds if one exists, if one is being saved, or if the trial's report
   * is still open and an action may ask for one.
   */
  readonly hasCheckpoint: boolean;
}

/** How a built-in searcher or scheduler is made again when a run is restored: by name, since nothing that is read from a run's folder is executed. */
export interface Definition {
  /** Name for `createSearcher` or `createScheduler`. */
  readonly type: string;
  readonly options: JsonValue;
}
