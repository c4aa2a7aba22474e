/**
 * The learner of DreamerV3: learns a model of the world from sequences, and to act from steps that the model imagines.
 *
 * World model: squared errors of observations in symlog, two-hot rewards, the end of episodes, and the divergence of prior and posterior, of which less than one nat counts as one. Actor: `-w (A / max(1, S) log pi(a) + entropyScale H)` with
 * `A = R - V`, where `R` are lambda-returns, `S` is the range between the 5th and the 95th percentile of returns, and `w` the probability that the episode has gone on. Critic: two-hot cross-entropy of `R`, and cross-entropy of the mean that a slow copy predicts.
 */
import {
  Adam,
  type AdamState,
  concat,
  noGrad,
  Random,
  type RandomState,
  scope,
  type Tensor,
  tensor,
  TwoHot,
  withRandom,
  zeros,
} from "../../tensor/index.ts";
import type { LikelihoodDistribution } from "../distributions/action-distribution.ts";
import { squashedNormal } from "../distributions/bounded-actions.ts";
import { RLError } from "../errors.ts";
import { Learner, type LearnerConfig, type LearnerSetup, type LearnerState } from "../learners/learner.ts";
import { scheduled } from "../learners/schedule.ts";
import { Discrete } from "../spaces/discrete.ts";
import type { NumericArray } from "../spaces/dtype.ts";
import { oneHot } from "../teams/gumbel-softmax.ts";
import { DreamerModule } from "./dreamer-module.ts";
import type { DreamerV3Training } from "./dreamer-options.ts";
import { lambdaReturns, percentile } from "./returns.ts";
import type { SequenceBatch } from "./sequence-replay.ts";
import { Head, SUPPORT, symexp } from "./world-model.ts";

type Values = DreamerV3Training & LearnerConfig;

/** Divergences below are not lowered further. */
const FREE_NATS = 1;
const PRIOR_WEIGHT = 0.5;
const POSTERIOR_WEIGHT = 0.1;
/** How much of the critic's copy stays in each update. */
const COPY_DECAY = 0.98;

/** States of the model, `[rows, size]`, where imagination begins. */
interface Starts {
  readonly states: Float32Array;
  /** 1 where the episode goes on. */
  readonly goesOn: Float32Array;
}

/** Imagined steps: states and values have one step more than the others. */
interface Dream {
  readonly rows: number;
  readonly states: Float32Array;
  readonly actions: NumericArray;
  readonly rewards: Float32Array;
  readonly discounts: Float32Array;
  readonly values: Float32Array;
  /** The probability that the episode has gone on until each step. */
  readonly weights: Float32Array;
}

export class DreamerV3Learner extends Learner<Values> {
  readonly #module: DreamerModule;
  readonly #critic: Head;
  readonly #copy: Head;
  readonly #optimizers: { readonly world: Adam; readonly actor: Adam; readonly critic: Adam };
  readonly #random: Random;
  /** Moving percentiles of returns; `undefined` before the first. */
  #range: { readonly low: number; readonly high: number } | undefined;

  constructor(setup: LearnerSetup<Values>) {
    super(setup);
    const { built, config, seed } = setup;
    if (!(built.module instanceof DreamerModule))
      throw new RLError("Cannot build DreamerV3: its module is its own, without action masks. Leave actionMask out of observations");
    const module = built.module;
    this.#module = module;
    this.#random = new Random(seed, "imagination");
    const { size } = module.world;
    const make = (): Head =>
      withRandom(
        new Random(seed, "critic"),
        () => new Head(size.recurrent + size.variables ** 2, SUPPORT.length, { size, startsAtZero: true }),
      );
    this.#critic = make();
    this.#copy = make();
    // All parameters of the module lie together before its parts get optimizers.
    void module.parameters;
    this.#optimizers = {
      world: new Adam(module.world, { lr: 0, eps: 1e-8, maxGradNorm: config.worldModelGradClipByGlobalNorm }),
      actor: new Adam(module.actor, { lr: 0, eps: 1e-5, maxGradNorm: config.actorGradClipByGlobalNorm }),
      critic: new Adam(this.#critic, { lr: 0, eps: 1e-5, maxGradNorm: config.criticGradClipByGlobalNorm }),
    };
  }

  /** Learns from sequences, and from imagined steps behind them. */
  update(batch: SequenceBatch, envSteps: number): void {
    const { config } = this;
    const { world, actor, critic } = this.#optimizers;
    world.lr = scheduled(config.worldModelLr, envSteps);
    actor.lr = scheduled(config.actorLr, envSteps);
    critic.lr = scheduled(config.criticLr, envSteps);
    const starts = scope(() => this.#learnWorld(batch));
    const dream = scope(() => noGrad(() => this.#imagine(starts)));
    scope(() => this.#learnToAct(dream));
    const [to, from] = [this.#copy.parameters.data, this.#critic.parameters.data];
    for (let at = 0; at < to.length; at += 1) to[at] = COPY_DECAY * (to[at] as number) + (1 - COPY_DECAY) * (from[at] as number);
    this.note("worldModelLearningRate", world.lr);
    this.note("actorLearningRate", actor.lr);
    this.note("criticLearningRate", critic.lr);
  }

  #learnWorld(batch: SequenceBatch): Starts {
    const { world } = this.#module;
    const { states, posterior, prior, seen } = this.observe(batch);
    const reward = new TwoHot(world.reward.forward(states), SUPPORT).logp(batch.rewards.map(symlogOf)).mean().neg();
    const goesOn = batch.lasts.map((last) => 1 - last);
    const logits = world.goesOn.forward(states).reshape([-1]);
    const goesOnLoss = logits
      .softplus()
      .sub(logits.mul(tensor(goesOn)))
      .mean();
    const decoder = world.decoder.forward(states).sub(seen).square().sum({ axis: 1 }).mul(0.5).mean();
    const dynamics = this.#divergence(posterior.detach(), prior);
    const representation = this.#divergence(posterior, prior.detach());
    const loss = decoder.add(reward).add(goesOnLoss).add(dynamics.mul(PRIOR_WEIGHT)).add(representation.mul(POSTERIOR_WEIGHT));
    this.descend(loss, this.#optimizers.world);
    const losses = { worldModelLoss: loss, decoderLoss: decoder, rewardLoss: reward, continueLoss: goesOnLoss, dynamicsLoss: dynamics };
    for (const [name, value] of Object.entries(losses)) this.log(name, value);
    return { states: states.toArray(), goesOn };
  }

  /** Runs the model over sequences: states `[rows, size]`, and log-probabilities `[rows x variables, classes]`. */
  protected observe({ obs, firsts, count, length }: SequenceBatch): { states: Tensor; posterior: Tensor; prior: Tensor; seen: Tensor } {
    const { world } = this.#module;
    const { recurrent, variables } = world.size;
    const { seen, action } = this.#module.split(tensor(obs, { shape: [count * length, obs.length / (count * length)] }));
    const features = world.encoder.forward(seen);
    let [h, z] = [zeros([count, recurrent]), zeros([count, variables ** 2])];
    const steps = Array.from({ length }, (_, step) => {
      const rows = { axis: 0, start: step * count, end: (step + 1) * count };
      // An episode begins with the state of zeros, and without an action before.
      const kept = tensor(
        firsts.subarray(step * count, (step + 1) * count).map((first) => 1 - first),
        { shape: [count, 1] },
      );
      h = world.step(h.mul(kept), concat([z, action.slice(rows)], { axis: 1 }).mul(kept));
      const logp = world.posterior(concat([h, features.slice(rows)], { axis: 1 }));
      const probabilities = logp.exp();
      // The draw has the gradients of the probabilities.
      z = oneHot(this.#classesOf(logp), variables)
        .add(probabilities.sub(probabilities.detach()))
        .reshape([count, variables ** 2]);
      return { h, z, logp };
    });
    const recurrentStates = concat(steps.map((step) => step.h));
    const states = concat([recurrentStates, concat(steps.map((step) => step.z))], { axis: 1 });
    return { states, posterior: concat(steps.map(({ logp }) => logp)), prior: world.prior(recurrentStates), seen };
  }

  /** The divergence of all variables of a row, of which `FREE_NATS` are free. */
  #divergence(from: Tensor, to: Tensor): Tensor {
    const each = from.exp().mul(from.sub(to)).sum({ axis: 1 });
    return each.reshape([-1, this.#module.world.size.variables]).sum({ axis: 1 }).maximum(FREE_NATS).mean();
  }

  /** A drawn class for each row of log-probabilities. */
  #classesOf(logp: Tensor): Int32Array {
    const [rows, classes] = logp.shape as [number, number];
    const numbers = logp.toArray();
    return Int32Array.from({ length: rows }, (_, row) => {
      let left = this.#random.uniform();
      for (let index = 0; index < classes; index += 1) {
        left -= Math.exp(numbers[row * classes + index] as number);
        if (left < 0) return index;
      }
      return classes - 1;
    });
  }

  #imagine({ states: starts, goesOn }: Starts): Dream {
    const { world } = this.#module;
    const { horizonH: steps, gamma } = this.config;
    const { distribution } = this.built;
    const rows = goesOn.length;
    const size = starts.length / rows;
    const { recurrent, variables } = world.size;
    const states = new Float32Array((steps + 1) * rows * size);
    states.set(starts);
    const actions = distribution.actions.allocate(steps * rows) as NumericArray;
    const width = actions.length / (steps * rows);
    let state = tensor(starts, { shape: [rows, size] });
    for (let step = 0; step < steps; step += 1) {
      const drawn = actions.subarray(step * rows * width, (step + 1) * rows * width);
      const inputs = this.#module.policy(state).toArray();
      for (let row = 0; row < rows; row += 1) distribution.sample({ inputs, row, actions: drawn }, this.#random);
      const h = state.slice({ axis: 1, end: recurrent });
      const next = world.step(h, concat([state.slice({ axis: 1, start: recurrent }), this.#actionTensor(drawn, rows)], { axis: 1 }));
      const z = oneHot(this.#classesOf(world.prior(next)), variables).reshape([rows, variables ** 2]);
      state = concat([next, z], { axis: 1 });
      states.set(state.toArray(), (step + 1) * rows * size);
    }
    const all = tensor(states, { shape: [(steps + 1) * rows, size] });
    const behind = all.slice({ start: rows });
    const rewards = new TwoHot(world.reward.forward(behind), SUPPORT).mode().map(symexp);
    const discounts = world.goesOn.forward(behind).sigmoid().mul(gamma).toArray();
    const values = new TwoHot(this.#critic.forward(all), SUPPORT).mode().map(symexp);
    const weights = new Float32Array(steps * rows);
    weights.set(goesOn);
    for (let at = rows; at < weights.length; at += 1) weights[at] = (weights[at - rows] as number) * (discounts[at - rows] as number);
    return { rows, states, actions, rewards, discounts, values, weights };
  }

  #actionTensor(actions: NumericArray, rows: number): Tensor {
    const { actionSpace } = this.built;
    return actionSpace instanceof Discrete ? oneHot(actions, actionSpace.n) : tensor(actions, { shape: [rows, actions.length / rows] });
  }

  #learnToAct(dream: Dream): void {
    const { gaeLambda, entropyScale, horizonH: steps } = this.config;
    const { rows, values, actions } = dream;
    const returns = lambdaReturns({ ...dream, steps }, gaeLambda);
    const scale = this.#scaleOf(returns);
    const advantages = returns.map((each, at) => (each - (values[at] as number)) / scale);
    const size = dream.states.length / ((steps + 1) * rows);
    const states = tensor(dream.states.subarray(0, steps * rows * size), { shape: [steps * rows, size] });
    const weights = tensor(dream.weights);
    const { logp, entropy } = this.#likelihoods(this.#module.policy(states), actions);
    const gain = logp.mul(tensor(advantages)).add(entropy.mul(entropyScale));
    const policyLoss = gain.mul(weights).mean().neg();
    this.descend(policyLoss, this.#optimizers.actor);
    const value = new TwoHot(this.#critic.forward(states), SUPPORT);
    const before = noGrad(() => new TwoHot(this.#copy.forward(states), SUPPORT).mode());
    const errors = value.logp(returns.map(symlogOf)).add(value.logp(before));
    const vfLoss = errors.mul(weights).mean().neg();
    this.descend(vfLoss, this.#optimizers.critic);
    this.log("policyLoss", policyLoss);
    this.log("vfLoss", vfLoss);
    this.log("entropy", entropy.mean());
    this.log("returnMean", returns.reduce((sum, each) => sum + each, 0) / returns.length);
    this.note("returnScale", scale);
  }

  /** Log-probabilities and entropies, `[rows]`. For numbers the entropy is that before they are squashed. */
  #likelihoods(inputs: Tensor, actions: NumericArray): { logp: Tensor; entropy: Tensor } {
    const { distribution, actionSpace } = this.built;
    if (actionSpace instanceof Discrete) {
      const batch = (distribution as LikelihoodDistribution).of(inputs);
      return { logp: batch.logp(actions), entropy: batch.entropy() };
    }
    const batch = squashedNormal(inputs);
    return { logp: batch.logp(this.#actionTensor(actions, inputs.shape[0] as number)), entropy: batch.base.entropy() };
  }

  /** The number by which advantages are divided: never below 1, so small returns are not blown up. */
  #scaleOf(returns: Float32Array): number {
    const sorted = returns.toSorted();
    const [low, high] = [percentile(sorted, 0.05), percentile(sorted, 0.95)];
    const kept = this.#range === undefined ? 0 : this.config.returnNormalizationDecay;
    const before = this.#range ?? { low: 0, high: 0 };
    this.#range = { low: kept * before.low + (1 - kept) * low, high: kept * before.high + (1 - kept) * high };
    return Math.max(1, this.#range.high - this.#range.low);
  }

  getState(): LearnerState {
    const steps: Record<string, number> = {};
    const arrays: Record<string, Float32Array> = { critic: this.#critic.parameters.data.slice(), copy: this.#copy.parameters.data.slice() };
    for (const [name, optimizer] of Object.entries(this.#optimizers)) {
      const { step, expAvg, expAvgSq } = optimizer.getState();
      steps[name] = step;
      arrays[`${name}.expAvg`] = expAvg;
      arrays[`${name}.expAvgSq`] = expAvgSq;
    }
    return { data: { steps, draws: this.#random.getState(), ...(this.#range === undefined ? {} : { range: { ...this.#range } }) }, arrays };
  }

  setState({ data, arrays }: LearnerState): void {
    const { steps, draws, range } = data as { steps: Record<string, number>; draws: RandomState; range?: { low: number; high: number } };
    for (const [name, { parameters }] of [
      ["critic", this.#critic],
      ["copy", this.#copy],
    ] as const)
      if (arrays[name]?.length !== parameters.size)
        throw new RangeError(`the network ${name} has ${parameters.size} numbers: received ${arrays[name]?.length ?? "none"}`);
    for (const [name, optimizer] of Object.entries(this.#optimizers))
      optimizer.setState({ step: steps[name], expAvg: arrays[`${name}.expAvg`], expAvgSq: arrays[`${name}.expAvgSq`] } as AdamState);
    this.#critic.parameters.data.set(arrays["critic"] as Float32Array);
    this.#copy.parameters.data.set(arrays["copy"] as Float32Array);
    this.#random.setState(draws);
    this.#range = range;
  }
}

function symlogOf(value: number): number {
  return Math.sign(value) * Math.log1p(Math.abs(value));
}
