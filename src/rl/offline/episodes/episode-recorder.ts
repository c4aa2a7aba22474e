/**
 * Collects the steps of a vector of environments as whole episodes, for the files that `output` writes.
 *
 * An episode belongs to the recording from its reset to its end. One that a checkpoint goes on with, or that nobody plays to its end, is left out. Observations, actions and rewards are
 * those of the environment: connectors, clipped rewards and normalized actions do not reach the files.
 */
import type { ActionDistribution, Exploration } from "../../distributions/action-distribution.ts";
import { DeterministicActions } from "../../distributions/bounded-actions.ts";
import { EpsilonGreedyActions } from "../../distributions/epsilon-greedy-actions.ts";
import type { VectorEnv, VectorStepResult } from "../../environments/env.ts";
import type { BuiltModule } from "../../modules/module-spec.ts";
import { type ColumnData, columnLayout, type ColumnLayout } from "../../spaces/columns.ts";
import { Discrete } from "../../spaces/discrete.ts";
import type { NumericArray } from "../../spaces/dtype.ts";
import { toStored } from "./stored-values.ts";

/** An episode from its reset to its end, in the environment's terms. Values have the form of files. */
export interface RecordedEpisode {
  /** Unique among all recordings. */
  readonly epsId: string;
  /** The observations, the one after the last action too: a list longer by one than `actions`. */
  readonly obs: readonly unknown[];
  readonly actions: readonly unknown[];
  readonly rewards: readonly number[];
  /** The logarithm of the probability, or density, of each action. NaN where it is not known. */
  readonly actionLogp: readonly number[];
  readonly terminated: boolean;
  readonly truncated: boolean;
}

/** The choice of actions behind a step, a row an environment. */
interface ActedStep {
  /** In the policy's range. */
  readonly actions: NumericArray;
  /** In the environment's range. */
  readonly envActions: ColumnData;
  readonly logp: Float32Array | undefined;
  readonly explore: boolean;
  readonly exploration?: Exploration | undefined;
}

interface OpenEpisode {
  readonly obs: unknown[];
  readonly actions: unknown[];
  readonly rewards: number[];
  readonly actionLogp: number[];
}

/** A draw further than this from the action that the environment got was cut at the bounds. Rounding to float32 is far below. */
const CUT_DISTANCE = 1e-3;

export class EpisodeRecorder {
  readonly #env: VectorEnv;
  readonly #built: BuiltModule;
  readonly #observations: ColumnLayout;
  readonly #actions: ColumnLayout;
  readonly #open: (OpenEpisode | undefined)[];
  #over: RecordedEpisode[] = [];

  constructor(env: VectorEnv, built: BuiltModule, numEnvs: number) {
    this.#env = env;
    this.#built = built;
    this.#observations = columnLayout(env.observationSpace);
    this.#actions = columnLayout(env.actionSpace);
    this.#open = Array.from({ length: numEnvs }, () => undefined);
  }

  /** All environments were reset. */
  begin(observations: ColumnData): void {
    for (let env = 0; env < this.#open.length; env += 1) this.#begin(env, observations);
  }

  #begin(env: number, observations: ColumnData): void {
    const first = toStored(this.#env.observationSpace, this.#observations.read(observations, env));
    this.#open[env] = { obs: [first], actions: [], rewards: [], actionLogp: [] };
  }

  /**
   * Takes a step of all environments.
   *
   * @param ended - environments that this step only reset
   * @param isDone - environments whose steps count no more
   */
  take(result: VectorStepResult, acted: ActedStep, { ended, isDone }: { ended: Uint8Array; isDone?: (env: number) => boolean }): void {
    const isNextStep = this.#env.autoresetMode === "nextStep";
    const logp = this.#logpOf(acted);
    for (let env = 0; env < this.#open.length; env += 1) {
      if (isDone?.(env) === true) this.#open[env] = undefined;
      else if (ended[env] !== 0) this.#begin(env, result.observations);
      else this.#step(env, result, { acted, logp: logp[env] as number, isNextStep });
    }
  }

  #step(
    env: number,
    { observations, rewards, terminateds, truncateds, infos }: VectorStepResult,
    { acted, logp, isNextStep }: { acted: ActedStep; logp: number; isNextStep: boolean },
  ): void {
    const terminated = terminateds[env] !== 0;
    const isOver = terminated || truncateds[env] !== 0;
    const open = this.#open[env];
    if (open !== undefined) {
      const next = isOver && !isNextStep ? infos[env]?.["finalObservation"] : this.#observations.read(observations, env);
      open.actions.push(toStored(this.#env.actionSpace, this.#actions.read(acted.envActions, env)));
      open.rewards.push(rewards[env] as number);
      open.actionLogp.push(logp);
      open.obs.push(toStored(this.#env.observationSpace, next));
      if (isOver) {
        // Where both are set, the world has ended.
        this.#over.push({ epsId: crypto.randomUUID(), ...open, terminated, truncated: !terminated });
        this.#open[env] = undefined;
      }
    }
    if (isOver && !isNextStep) this.#begin(env, observations);
  }

  /** The log-probabilities of a step's actions. That of a draw that was cut at the bounds is another than the cut action's. */
  #logpOf({ actions, envActions, logp, explore, exploration }: ActedStep): Float64Array {
    const rows = this.#open.length;
    const { actionSpace, distribution } = this.#built;
    // The best choice is certain. The density of a best number is none.
    if (!explore) return new Float64Array(rows).fill(actionSpace instanceof Discrete ? 0 : Number.NaN);
    if (logp === undefined || !hasLogp(distribution, exploration)) return new Float64Array(rows).fill(Number.NaN);
    const back = distribution.actions.allocate(rows) as NumericArray;
    distribution.fromEnvironment(envActions, back);
    const width = actions.length / rows;
    return Float64Array.from({ length: rows }, (_, row) => {
      for (let at = row * width; at < (row + 1) * width; at += 1)
        if (Math.abs((back[at] as number) - (actions[at] as number)) > CUT_DISTANCE) return Number.NaN;
      return logp[row] as number;
    });
  }

  /** The episodes that have ended since the last call. */
  finished(): RecordedEpisode[] {
    const over = this.#over;
    this.#over = [];
    return over;
  }
}

/** Whether the numbers of a draw's log-probability are those of the action alone: not with epsilon, with added noise, or with noise that is kept from step to step. */
function hasLogp(distribution: ActionDistribution, { correlation = 0 }: Exploration = {}): boolean {
  return !(distribution instanceof EpsilonGreedyActions || distribution instanceof DeterministicActions) && correlation === 0;
}
