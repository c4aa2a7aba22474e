/**
 * The interfaces of environments, for classes without a base class.
 *
 * `Env` is one world with one agent. `VectorEnv` steps several worlds at once, with observations side by side in flat arrays.
 * All names are those of Gymnasium; results are objects instead of tuples. `reset` and `step` of both may return promises.
 */
import type { ColumnData } from "../spaces/columns.ts";
import type { Space } from "../spaces/space.ts";

/** Facts besides the observation, as the environment likes. */
export type Info = Readonly<Record<string, unknown>>;

export interface ResetOptions {
  /** Makes the random draws repeatable. Without a seed an environment goes on with the random numbers it has. */
  readonly seed?: number | undefined;
  readonly options?: Info | undefined;
}

export interface ResetResult<Observation = unknown> {
  readonly observation: Observation;
  readonly info?: Info | undefined;
}

export interface StepResult<Observation = unknown> extends ResetResult<Observation> {
  readonly reward: number;
  /** The episode has ended for good: nothing can be earned after it. */
  readonly terminated: boolean;
  /** The episode was cut, for example by a time limit. */
  readonly truncated: boolean;
}

/** A world with a single agent. Any class with these members fits. */
export interface Env<Observation = unknown, Action = unknown> {
  readonly observationSpace: Space<Observation>;
  readonly actionSpace: Space<Action>;
  reset(options?: ResetOptions): ResetResult<Observation> | Promise<ResetResult<Observation>>;
  step(action: Action): StepResult<Observation> | Promise<StepResult<Observation>>;
  render?(): unknown;
  close?(): void | Promise<void>;
  /** The state as values of JSON. With it a restored run goes on inside of the episode. */
  getState?(): unknown;
  setState?(state: never): void;
}

/** The place of an environment in its algorithm: the second argument of the constructor. */
export interface EnvContext {
  /** 0 in the algorithm's own process, from 1 in runners. */
  readonly workerIndex: number;
  /** The place in the runner. */
  readonly vectorIndex: number;
  /** Environments in the runner. */
  readonly numEnvs: number;
}

/**
 * The start of the next episode. `"nextStep"`: the next step begins it, ignores its action and earns 0. `"sameStep"`: the last step begins it, and the last observation is
 * `infos[i].finalObservation`. `"disabled"`: the caller resets the environment.
 */
export type AutoresetMode = "nextStep" | "sameStep" | "disabled";

/** The place of a vector class, and the mode that is asked for. */
export type VectorContext = Partial<EnvContext> & { readonly autoresetMode?: AutoresetMode | undefined };

export const AUTORESET_MODES: readonly AutoresetMode[] = ["nextStep", "sameStep", "disabled"];

export interface VectorResetOptions extends ResetOptions {
  /** The environments to reset: those whose entry is not 0. Default: all. */
  readonly mask?: Uint8Array | undefined;
}

export interface VectorResetResult {
  readonly observations: ColumnData;
  /** Facts beside the observations, by environment. */
  readonly infos: readonly Info[];
}

/** The arrays belong to the environment and hold until its next step. */
export interface VectorStepResult extends VectorResetResult {
  readonly rewards: Float64Array;
  readonly terminateds: Uint8Array;
  readonly truncateds: Uint8Array;
}

/** Several worlds that are stepped together. The spaces are those of one. Environment `i` is seeded with `seed + i`. */
export interface VectorEnv {
  readonly numEnvs: number;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly autoresetMode: AutoresetMode;
  /** The environments where they are stepped one by one, such as those of a class that is an `Env`. */
  readonly envs?: readonly Env[];
  reset(options?: VectorResetOptions): VectorResetResult | Promise<VectorResetResult>;
  step(actions: ColumnData): VectorStepResult | Promise<VectorStepResult>;
  close?(): void | Promise<void>;
  getState?(): unknown;
  setState?(state: never): void;
}

/** The shared empty info. */
export const NO_INFO: Info = Object.freeze({});
