/**
 * Estimates of a policy's return from episodes that another policy recorded: importance sampling, step by step, as in RLlib.
 *
 * The reward of step `t` counts `gamma^t` times the product of the ratios of probabilities up to `t`. The weighted form divides these products by their mean over
 * all episodes that have a step `t`: a little bias, and far less variance. No environment is stepped.
 */
import { number, type OptionSet, readOptions } from "../../core/internal.ts";
import { noGrad, scope, tensor } from "../../tensor/index.ts";
import type { Policy } from "../algorithms/policy.ts";
import type { LikelihoodDistribution } from "../distributions/action-distribution.ts";
import { SquashedActions, squashedNormal } from "../distributions/bounded-actions.ts";
import { EpsilonGreedyActions } from "../distributions/epsilon-greedy-actions.ts";
import { RLError } from "../errors.ts";
import { FORWARD_ROWS_MAX } from "../limits.ts";
import { OFFLINE_DATA } from "../config/option-tables.ts";
import type { BuiltModule } from "../modules/module-spec.ts";
import { actionInputs } from "../modules/rl-module.ts";
import type { Fragment } from "../sequences/fragment.ts";
import type { NumericArray } from "../spaces/dtype.ts";
import { episodeFragment } from "./episodes/episode-fragment.ts";
import { readEpisodes } from "./episodes/read-episodes.ts";

export interface EstimateOptions {
  /** Files or folders of recorded episodes, which have `actionLogp`. */
  readonly input: string | readonly string[];
  /** The discount of rewards. Default: 0.99. */
  readonly gamma?: number | undefined;
  /** Whether a row is an episode, or a step. Default: as the columns say. */
  readonly inputReadEpisodes?: boolean | undefined;
  /** Whether numbers of actions are those of the policy, from -1 to 1. Default: false. */
  readonly actionsInInputNormalized?: boolean | undefined;
}

/** Means over the episodes, of discounted returns. */
export interface PolicyEstimate {
  /** The mean of the recorded episodes. */
  readonly vBehavior: number;
  readonly vBehaviorStd: number;
  /** The estimate for the given policy. */
  readonly vTarget: number;
  readonly vTargetStd: number;
  /** `vTarget - vBehavior`. */
  readonly vDelta: number;
  readonly numEpisodes: number;
}

const { input, inputReadEpisodes, actionsInInputNormalized } = OFFLINE_DATA.options;

const ESTIMATE = {
  of: "an estimate",
  options: {
    input,
    inputReadEpisodes,
    actionsInInputNormalized,
    gamma: number("a number from 0 to 1 is needed", 0.99, (value) => value >= 0 && value <= 1),
  },
} satisfies OptionSet<object>;

/**
 * Estimates the return of a policy by importance sampling.
 *
 * @throws RLError where the episodes do not fit the policy, or have no probabilities of their actions
 */
export async function importanceSampling(policy: Policy, options: EstimateOptions): Promise<PolicyEstimate> {
  return await estimate(policy, options, false);
}

/** The same with ratios that are divided by their mean at each step. */
export async function weightedImportanceSampling(policy: Policy, options: EstimateOptions): Promise<PolicyEstimate> {
  return await estimate(policy, options, true);
}

async function estimate(policy: Policy, given: EstimateOptions, isWeighted: boolean): Promise<PolicyEstimate> {
  const { gamma, ...options } = readOptions(given, ESTIMATE);
  if (options.input === undefined) throw new TypeError("Cannot estimate a policy: it needs recorded episodes: { input } is missing");
  const { built } = policy;
  checkPolicy(built);
  const episodes = await readEpisodes(options.input, built, options);
  const unknown = episodes.find(({ actionLogp }) => actionLogp.some(Number.isNaN));
  if (unknown !== undefined)
    throw new RLError(
      `Cannot estimate a policy: episode ${unknown.epsId} has no probability of step ${unknown.actionLogp.findIndex(Number.isNaN)}, as actionLogp is missing there. Record episodes by a policy that draws its actions`,
    );
  return estimateOf(episodeFragment(episodes, built, { isLearning: false }), built, { gamma, isWeighted });
}

/** @throws RLError for policies without probabilities, or with a memory */
function checkPolicy({ distribution, memory }: BuiltModule): void {
  const hasLikelihood =
    distribution instanceof SquashedActions || ("of" in distribution && !(distribution instanceof EpsilonGreedyActions));
  if (memory.size > 0) throw new RLError("Cannot estimate a policy: its module has an initialState, and recorded steps have no states");
  if (!hasLikelihood)
    throw new RLError(
      "Cannot estimate a policy: it takes the best action, which has no probability. Estimate one of PPO, SAC, BC, MARWIL, CQL or IQL",
    );
}

/** Estimates from episodes in memory. */
export function estimateOf(
  fragment: Fragment,
  built: BuiltModule,
  { gamma, isWeighted }: { gamma: number; isWeighted: boolean },
): PolicyEstimate {
  const { sequences, rewards, actionLogp } = fragment;
  const logp = likelihoods(fragment, built);
  const episodes = Array.from({ length: sequences.length / 3 }, (_, index) => {
    const start = sequences[3 * index] as number;
    let log = 0;
    return Array.from({ length: sequences[3 * index + 1] as number }, (_none, t) => {
      log += (logp[start + t] as number) - (actionLogp[start + t] as number);
      return { reward: gamma ** t * (rewards[start + t] as number), ratio: Math.exp(log) };
    });
  });
  const [sums, counts]: [number[], number[]] = [[], []];
  for (const steps of episodes)
    for (const [t, { ratio }] of steps.entries()) {
      sums[t] = (sums[t] ?? 0) + ratio;
      counts[t] = (counts[t] ?? 0) + 1;
    }
  const weightOf = (ratio: number, t: number): number => {
    const sum = sums[t] as number;
    // Where all products are 0, no episode is one of this policy.
    return isWeighted && sum > 0 ? (ratio * (counts[t] as number)) / sum : ratio;
  };
  const behavior = statistics(episodes.map((steps) => steps.reduce((sum, { reward }) => sum + reward, 0)));
  const target = statistics(episodes.map((steps) => steps.reduce((sum, { reward, ratio }, t) => sum + weightOf(ratio, t) * reward, 0)));
  return {
    vBehavior: behavior.mean,
    vBehaviorStd: behavior.deviation,
    vTarget: target.mean,
    vTargetStd: target.deviation,
    vDelta: target.mean - behavior.mean,
    numEpisodes: episodes.length,
  };
}

/** The log-probabilities of the recorded actions under the policy, by row. */
function likelihoods({ rows, obs, actions, sequences }: Fragment, { module, encoder, distribution }: BuiltModule): Float32Array {
  const { size } = encoder;
  const width = actions.length / rows;
  const seen = new Float32Array(rows * size);
  for (let index = 0; index < sequences.length / 3; index += 1) {
    const start = sequences[3 * index] as number;
    const end = start + (sequences[3 * index + 1] as number);
    seen.set(obs.subarray((start + index) * size, (end + index) * size), start * size);
  }
  const found = new Float32Array(rows);
  for (let from = 0; from < rows; from += FORWARD_ROWS_MAX) {
    const end = Math.min(rows, from + FORWARD_ROWS_MAX);
    const chosen = actions.slice(from * width, end * width) as NumericArray;
    scope(() =>
      noGrad(() => {
        const count = end - from;
        const inputs = actionInputs(module.forward({ obs: tensor(seen.slice(from * size, end * size), { shape: [count, size] }) }));
        const logp =
          distribution instanceof SquashedActions
            ? squashedNormal(inputs).logp(tensor(chosen, { shape: [count, width] }))
            : (distribution as LikelihoodDistribution).of(inputs).logp(chosen);
        found.set(logp.toArray(), from);
      }),
    );
  }
  return found;
}

function statistics(values: readonly number[]): { mean: number; deviation: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, deviation: Math.sqrt(squares / values.length) };
}
