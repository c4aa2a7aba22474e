/**
 * How numbers of a network become actions: a distribution for each kind of action space.
 *
 * A runner draws single rows and gets the log-probability of each draw; a learner asks for log-probabilities, entropies and divergences of whole batches as tensors. Actions are kept in the
 * policy's range, from which `toEnvironment` makes those of the environment: choices from 0 get the space's start, numbers from -1 to 1 the bounds of a `Box`.
 */
import type { Random, Tensor } from "../../tensor/index.ts";
import type { ColumnData, ColumnLayout } from "../spaces/columns.ts";

/** A batch of distributions, one a row. All results have one number a row. */
export interface BatchDistribution {
  logp(actions: ColumnData): Tensor;
  entropy(): Tensor;
  /** The divergence of these distributions from earlier ones, given by their inputs. */
  klFrom(inputs: Tensor): Tensor;
}

export interface Draw {
  /** The numbers of the network, of all rows. */
  readonly inputs: Float32Array;
  /** The row among the inputs, and among the actions. */
  readonly row: number;
  readonly actions: ColumnData;
  /** The state of noise that drifts, in the places of the actions; 0 at the start of an episode. */
  readonly noise?: Float64Array;
}

/** How far draws go astray, beyond the distribution itself. */
export interface Exploration {
  /** The probability of any action instead of the best. Default: 0. */
  readonly epsilon?: number;
  /** Gives each environment an epsilon: that of place `i` among `count` is `base ** (1 + exponent * i / (count - 1))`. */
  readonly epsilons?: { readonly base: number; readonly exponent: number; readonly count: number };
  /** Whether all actions of the space are equally likely. Default: false. */
  readonly isRandom?: boolean;
  /** The correlation of the noise of a squashed policy with that of the step before. Default: 0. */
  readonly correlation?: number;
  /** Noise on the actions of a deterministic policy. Default: none. */
  readonly noise?: {
    readonly type: "GaussianNoise" | "OrnsteinUhlenbeckNoise";
    readonly scale: number;
    readonly stddev: number;
    readonly ouBaseScale: number;
    readonly ouTheta: number;
    readonly ouSigma: number;
  };
}

/** The exploration of the environment at a place among all of the algorithm. */
export function explorationAt(exploration: Exploration | undefined, place: number): Exploration | undefined {
  if (exploration?.epsilons === undefined) return exploration;
  const { base, exponent, count } = exploration.epsilons;
  return { ...exploration, epsilon: base ** (1 + (exponent * place) / Math.max(1, count - 1)) };
}

export interface ActionDistribution {
  /** Numbers of the network for one action. */
  readonly inputSize: number;
  /** Columns of actions in the policy's range. */
  readonly actions: ColumnLayout;
  /** Draws an action. @returns the log-probability */
  sample(draw: Draw, random: Random, exploration?: Exploration): number;
  /** Writes the likeliest action. */
  choose(draw: Draw): void;
  /** Turns actions of the policy into actions of the environment. */
  toEnvironment(actions: ColumnData, into: ColumnData): void;
  /** Turns actions of the environment into those of the policy. */
  fromEnvironment(actions: ColumnData, into: ColumnData): void;
}

/** A distribution whose batches have log-probabilities, which on-policy learners need. */
export interface LikelihoodDistribution extends ActionDistribution {
  of(inputs: Tensor): BatchDistribution;
}

/** Added to the numbers of forbidden choices. No infinity: 0 times infinity is NaN in the entropy. */
export const FORBIDDEN = -1e9;
