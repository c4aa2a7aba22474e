/**
 * The state of one trial that has not ended, and the summary that remains afterwards.
 *
 * The machine writes it, everything else sees the read-only `Trial`. A trial that has ended is a `FinishedTrial`: plain data of at most about two kilobytes, as an
 * experiment may have ten thousands of them.
 */
import { type KeptCheckpoint, KeptCheckpoints, type KeptCheckpointsConfig } from "../../runs/checkpoints/kept-checkpoints.ts";
import { Aggregates, type MetricAggregate } from "../results/aggregates.ts";
import type { Config, Metrics, Trial, TrialPlace, TrialResources, TrialResult, TrialStatus } from "./trial.ts";
import type { TrialCheckpoint, TrialFailure } from "../experiment/trial-events.ts";

/** A trial that has ended. */
export interface FinishedTrial {
  readonly id: string;
  readonly index: number;
  readonly name: string;
  readonly dirname: string;
  readonly status: "terminated" | "errored";
  readonly config: Config;
  readonly resources: TrialResources;
  readonly metrics: Metrics | undefined;
  readonly iteration: number;
  /** The time of the last report. Logs of earlier versions have none. */
  readonly timeThisIterMs?: number;
  readonly timeTotalMs: number;
  readonly timestampMs: number;
  /** Where it ran last. */
  readonly place?: TrialPlace | undefined;
  readonly failures: number;
  readonly failure: TrialFailure | undefined;
  /** Checkpoints that are still kept, in the order of their creation. */
  readonly checkpoints: readonly TrialCheckpoint[];
  readonly nextCheckpoint: number;
  readonly aggregates: Readonly<Record<string, MetricAggregate>>;
}

/** A trial of a run that may not have ended. */
export interface KnownTrial extends Omit<FinishedTrial, "status"> {
  readonly status: TrialStatus;
}

export interface SavedTrial extends Omit<FinishedTrial, "status"> {
  readonly status: TrialStatus;
  /** Automatic keys of the last result. The trial itself may have gone back to a checkpoint since. */
  readonly lastResult: Pick<TrialResult, "trainingIteration" | "timeThisIterMs" | "timeTotalMs" | "timestampMs" | "done"> | null;
  readonly start: TrialCheckpoint | null;
  readonly hasBegunFromStart?: boolean;
  readonly awaitedDonor: string | null;
  readonly savesWhenAsked?: boolean;
  readonly isSaving: boolean;
  readonly isReleasing: boolean;
  /** Where the trial has ended, and its process is not free yet. */
  readonly hasEnded: boolean;
}

/** A report, as it becomes a result. `place` is known with the first one of an attempt. */
export interface TrialReport {
  readonly metrics: Metrics;
  readonly elapsedMs: number;
  readonly timestampMs: number;
  readonly place?: TrialPlace | undefined;
}

interface NewTrial {
  readonly id: string;
  readonly index: number;
  readonly name: string;
  readonly dirname: string;
  readonly config: Config;
  readonly resources: TrialResources;
}

export class LiveTrial implements Trial {
  readonly id: string;
  readonly index: number;
  readonly name: string;
  readonly dirname: string;
  status: TrialStatus = "pending";
  config: Config;
  resources: TrialResources;
  lastResult: TrialResult | undefined;
  /** Where the trial runs, or ran last. */
  place: TrialPlace | undefined;
  failures = 0;
  failure: TrialFailure | undefined;
  /** How far the present attempt is: reports, and milliseconds of running. */
  iteration = 0;
  timeTotalMs = 0;
  /** A donor's checkpoint from which the next attempt starts, instead of the trial's own newest one. */
  start: TrialCheckpoint | undefined;
  /** Whether an attempt has begun from `start`: a checkpoint that the trial saves from then on is newer. */
  hasBegunFromStart = false;
  /** The donor whose checkpoint is being saved: the trial cannot begin before. */
  awaitedDonor: string | undefined;
  /** Whether the process saves a checkpoint when it is asked to. Undefined before the first report, and where logs of earlier versions do not tell. */
  savesWhenAsked: boolean | undefined;
  isSaving = false;
  /** While its report is being answered: whether it would save if it were asked now. */
  canBeAsked = false;
  /** Whether the trial was told to leave its process and has not yet. Its status already shows the next state. */
  isReleasing = false;
  nextCheckpoint = 0;
  aggregates = new Aggregates();
  readonly #kept: KeptCheckpoints;
  readonly #checkpoints = new Map<string, TrialCheckpoint>();

  constructor({ id, index, name, dirname, config, resources }: NewTrial, keep: KeptCheckpointsConfig) {
    this.id = id;
    this.index = index;
    this.name = name;
    this.dirname = dirname;
    this.config = config;
    this.resources = resources;
    this.#kept = new KeptCheckpoints(keep);
  }

  static restore(saved: SavedTrial, keep: KeptCheckpointsConfig): LiveTrial {
    const trial = new LiveTrial(saved, keep);
    trial.status = saved.status;
    trial.place = saved.place;
    trial.failures = saved.failures;
    trial.failure = saved.failure ?? undefined;
    trial.iteration = saved.iteration;
    trial.timeTotalMs = saved.timeTotalMs;
    trial.start = saved.start ?? undefined;
    // Missing where an earlier version wrote it.
    trial.hasBegunFromStart = saved.hasBegunFromStart ?? saved.status === "running";
    trial.awaitedDonor = saved.awaitedDonor ?? undefined;
    trial.savesWhenAsked = saved.savesWhenAsked;
    trial.isSaving = saved.isSaving;
    trial.isReleasing = saved.isReleasing;
    trial.nextCheckpoint = saved.nextCheckpoint;
    trial.aggregates = new Aggregates(saved.aggregates);
    if (saved.metrics !== undefined && saved.lastResult !== null)
      trial.lastResult = { ...saved.metrics, ...saved.lastResult, ...placeOf(saved), trialId: saved.id, config: saved.config };
    for (const checkpoint of saved.checkpoints) trial.keep(checkpoint);
    return trial;
  }

  /** Whether the trial continues from its previous checkpoint, not from a donor's. */
  get goesOnFromItself(): boolean {
    return this.awaitedDonor === undefined && (this.start === undefined || this.hasBegunFromStart);
  }

  get hasCheckpoint(): boolean {
    return this.isSaving || this.canBeAsked || this.newestCheckpoint !== undefined;
  }

  get newestCheckpoint(): TrialCheckpoint | undefined {
    const { newest } = this.#kept;
    return newest && this.#checkpoints.get(newest.path);
  }

  get checkpointToStartFrom(): TrialCheckpoint | undefined {
    return this.start ?? this.newestCheckpoint;
  }

  /** Takes a report. The result says `done: false`; the end of the trial is known later. */
  record({ metrics, elapsedMs, timestampMs, place }: TrialReport, tuned: readonly string[]): TrialResult {
    if (place !== undefined) this.place = place;
    this.iteration += 1;
    this.timeTotalMs += elapsedMs;
    this.aggregates.add(metrics, tuned);
    this.lastResult = { ...metrics, ...automatic(this, { timestampMs, elapsedMs, done: false }) };
    return this.lastResult;
  }

  /** The result that `record` would return. Changes nothing. */
  preview({ metrics, elapsedMs, timestampMs, place = this.place }: TrialReport): TrialResult {
    const next = { id: this.id, config: this.config, iteration: this.iteration + 1, timeTotalMs: this.timeTotalMs + elapsedMs, place };
    return { ...metrics, ...automatic(next, { timestampMs, elapsedMs, done: false }) };
  }

  /** @returns paths that are not kept any more */
  keep(checkpoint: TrialCheckpoint): string[] {
    this.#checkpoints.set(checkpoint.path, checkpoint);
    return this.#forget(this.#kept.register({ path: checkpoint.path, metrics: checkpoint.metrics }));
  }

  /** Marks a checkpoint as in use by a trial that continues from it. */
  use(path: string): void {
    this.#kept.use(path);
  }

  /** @returns paths that are not kept any more */
  release(path: string): string[] {
    return this.#forget(this.#kept.release(path));
  }

  /** Goes back to where the next attempt begins. */
  rewind(): void {
    const from = this.checkpointToStartFrom;
    this.iteration = from?.iteration ?? 0;
    this.timeTotalMs = from?.timeTotalMs ?? 0;
  }

  save(): SavedTrial {
    const { lastResult } = this;
    let last: SavedTrial["lastResult"] = null;
    if (lastResult !== undefined) {
      const { trainingIteration, timeThisIterMs, timeTotalMs, timestampMs, done } = lastResult;
      last = { trainingIteration, timeThisIterMs, timeTotalMs, timestampMs, done };
    }
    return {
      ...this.finished("terminated"),
      status: this.status,
      iteration: this.iteration,
      timeTotalMs: this.timeTotalMs,
      aggregates: this.aggregates.save(),
      lastResult: last,
      start: this.start ?? null,
      hasBegunFromStart: this.hasBegunFromStart,
      awaitedDonor: this.awaitedDonor ?? null,
      ...(this.savesWhenAsked !== undefined && { savesWhenAsked: this.savesWhenAsked }),
      isSaving: this.isSaving,
      isReleasing: this.isReleasing,
      hasEnded: this.status === "terminated" || this.status === "errored",
    };
  }

  finished(status: "terminated" | "errored"): FinishedTrial {
    const { id, index, name, dirname, config, resources, lastResult, place, failures, failure, nextCheckpoint } = this;
    return {
      id,
      index,
      name,
      dirname,
      status,
      config,
      resources,
      metrics: lastResult && reportedMetrics(lastResult),
      // A paused trial that is ended had gone back to its checkpoint.
      iteration: lastResult?.trainingIteration ?? 0,
      timeThisIterMs: lastResult?.timeThisIterMs ?? 0,
      timeTotalMs: lastResult?.timeTotalMs ?? 0,
      timestampMs: lastResult?.timestampMs ?? 0,
      place,
      failures,
      failure,
      checkpoints: this.#kept.all.map(({ path }) => this.#checkpoints.get(path) as TrialCheckpoint),
      nextCheckpoint,
      // The aggregates of a single report say no more than its metrics.
      aggregates: this.aggregates.isWorthKeeping ? this.aggregates.save() : {},
    };
  }

  #forget(surplus: readonly KeptCheckpoint[]): string[] {
    for (const { path } of surplus) this.#checkpoints.delete(path);
    return surplus.map(({ path }) => path);
  }
}

function automatic(
  trial: Pick<LiveTrial, "id" | "iteration" | "timeTotalMs" | "config" | "place">,
  { timestampMs, elapsedMs, done }: { timestampMs: number; elapsedMs: number; done: boolean },
): TrialResult<{}> {
  const { id, iteration, timeTotalMs, config } = trial;
  return {
    trialId: id,
    trainingIteration: iteration,
    timeThisIterMs: elapsedMs,
    timeTotalMs,
    timestampMs,
    done,
    ...placeOf(trial),
    config,
  };
}

/** The keys that tell where a trial runs. Before its first report there are none; logs of earlier versions have none at all. */
function placeOf({ place }: { readonly place?: TrialPlace | null | undefined }): TrialPlace {
  return { ...(place as TrialPlace) };
}

const AUTOMATIC: ReadonlySet<string> = new Set([
  "trialId",
  "trainingIteration",
  "timeThisIterMs",
  "timeTotalMs",
  "timestampMs",
  "done",
  "pid",
  "hostname",
  "nodeIp",
  "config",
]);

/** The trial's own metrics, without the automatic keys. */
function reportedMetrics(result: TrialResult): Metrics {
  return Object.fromEntries(Object.entries(result).filter(([name]) => !AUTOMATIC.has(name))) as Metrics;
}

/** The last result of a trial, whole. */
export function resultOf(trial: KnownTrial): TrialResult | undefined {
  const { id, metrics, iteration, timeThisIterMs = 0, timeTotalMs, timestampMs, config } = trial;
  if (metrics === undefined || metrics === null) return undefined;
  const done = trial.status === "terminated" || trial.status === "errored";
  const automaticKeys = { trialId: id, trainingIteration: iteration, timeThisIterMs, timeTotalMs, timestampMs, done };
  return { ...metrics, ...automaticKeys, ...placeOf(trial), config };
}
