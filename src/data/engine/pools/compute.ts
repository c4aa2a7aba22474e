/**
 * Where a transform runs: in tasks, of which so many run at a time, or in a pool of actors. Plain data of the plan, made of the options of users by `../../options/transform-options.ts`.
 */
import type { ActorOptions, MethodOptions } from "../../../core/index.ts";

export interface TaskLimit {
  readonly kind: "tasks";
  /** How many run at a time. */
  readonly concurrency: number;
}

export interface ActorPool {
  readonly kind: "actors";
  readonly min: number;
  /** Undefined: as many as there are CPUs. */
  readonly max: number | undefined;
  readonly initial: number;
  readonly tasksInFlightMax: number;
  readonly numCpus: number;
  readonly constructorArgs: readonly unknown[];
  readonly maxRestarts: number | undefined;
  readonly maxTaskRetries: number | undefined;
  /** Options of the actors, without `numCpus`. */
  readonly actorOptions: Omit<ActorOptions, "methods">;
  /** Options of the actors' calls. */
  readonly callOptions: Pick<MethodOptions, "retryOn" | "retryDelayMs" | "timeoutMs" | "maxTaskRetries">;
}

export type Compute = TaskLimit | ActorPool;
