/**
 * The method by which Tune recognizes trainers and RL configurations without importing them.
 *
 * The symbol is a registered one, so that two copies of the package in one process understand each other.
 */
import type { PlacementStrategy } from "../core/index.ts";
import type { Checkpoint } from "./checkpoints/checkpoint.ts";
import type { Metrics } from "./metrics/metrics.ts";

export const TRAINABLE: unique symbol = Symbol.for("shoal.trainable") as never;

/** `R` is the type of the results, where the source knows it. */
export interface TrainableSource<R = unknown> {
  [TRAINABLE](): TrainableDefinition<R>;
}

export type TrainableDefinition<R = unknown> = RunDefinition | ClassDefinition<R>;

/** A trainable that runs in the driver and starts its own processes. */
export interface RunDefinition {
  readonly name: string;
  /** Resources of a run: bundles for a placement group, the controller's first. */
  resources(config: Readonly<Record<string, unknown>>): TrainableResources;
  /** Runs once with the trial's config merged in. Resolves at the end, rejects with the run's error. */
  run(trial: TrainableTrial): Promise<void>;
}

/** A trainable that runs in the process of a trial: a class as Tune takes it. */
export interface ClassDefinition<R = unknown> {
  readonly name: string;
  /** Resources of a trial with this config; the first bundle is for the trial's process. */
  resources(config: Readonly<Record<string, unknown>>): TrainableResources;
  readonly trainable: new () => TrialClass<R>;
  /** Values for `setup`, stored once for all trials. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The domains of the source, by the names under which a trial's config has their values. */
  readonly space: Readonly<Record<string, unknown>>;
}

interface TrialClass<R> {
  setup(config: never, parameters: never): unknown;
  step(): R;
  saveCheckpoint(folder: string): unknown;
  loadCheckpoint(folder: string): unknown;
  cleanup(): unknown;
}

export interface TrainableResources {
  readonly bundles: readonly Readonly<Record<string, number>>[];
  readonly strategy?: PlacementStrategy;
}

/** The view of a trial that trainables get. */
export interface TrainableTrial {
  readonly config: Readonly<Record<string, unknown>>;
  /** Checkpoint to continue from. */
  readonly checkpoint?: Checkpoint | undefined;
  /** The trial's folder in the run's storage. */
  readonly folder: string;
  readonly name: string;
  /** Aborts when the trial has to end at once. */
  readonly signal: AbortSignal;
  /** Resolves when Tune has decided. After `"stop"` the run ends without an error. */
  report(metrics: Metrics, checkpoint?: Checkpoint): Promise<"continue" | "stop">;
}

export function isTrainableSource(value: unknown): value is TrainableSource {
  return (
    ((typeof value === "object" && value !== null) || typeof value === "function") &&
    typeof (value as Partial<TrainableSource>)[TRAINABLE] === "function"
  );
}
