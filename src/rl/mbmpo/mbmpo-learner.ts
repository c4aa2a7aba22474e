/**
 * The learner of MBMPO: models of the world are the tasks of a meta-policy, which adapts to each by one step.
 *
 * A meta-step plays imagined episodes in each model, adapts the policy to it by the gradient of `mean(ratio A)`, and plays again. Then the optimizer steps by the clipped loss of PPO on the second episodes, whose gradients at the
 * adapted weights count as those of the weights before (first order: no second derivatives).
 */
import { Adam, type AdamState, backward, noGrad, Random, type RandomState, scope, type Tensor, tensor } from "../../tensor/index.ts";
import type { LikelihoodDistribution } from "../distributions/action-distribution.ts";
import { RLError } from "../errors.ts";
import { Learner, type LearnerConfig, type LearnerSetup, type LearnerState } from "../learners/learner.ts";
import { BREATH_MS } from "../limits.ts";
import { standardize, estimateAdvantages } from "../sequences/advantages.ts";
import { type Fragment, SEQUENCE_END } from "../sequences/fragment.ts";
import { columnLayout } from "../spaces/columns.ts";
import { Discrete } from "../spaces/discrete.ts";
import type { NumericArray } from "../spaces/dtype.ts";
import { DynamicsModel, type DynamicsValues, type Scale, scaleOf } from "./dynamics-model.ts";
import { baselineOf } from "./linear-baseline.ts";
import type { MBMPOTraining } from "./mbmpo-options.ts";
import { RealSteps } from "./real-steps.ts";

type Values = MBMPOTraining & LearnerConfig;

/** Imagined episodes, one after another. */
interface Rollout {
  readonly rows: number;
  readonly obs: Float32Array;
  readonly actions: NumericArray;
  readonly logp: Float32Array;
  /** The numbers of the distributions from which actions were drawn. */
  readonly inputs: Float32Array;
  readonly advantages: Float32Array;
  readonly returnMean: number;
}

/** A task: the episodes of each adaptation, and those behind the last one. */
interface Task {
  readonly before: readonly Rollout[];
  readonly after: Rollout;
}

export class MBMPOLearner extends Learner<Values> {
  readonly #optimizer: Adam;
  readonly #models: readonly DynamicsModel[];
  readonly #steps: RealSteps;
  readonly #random: Random;
  readonly #actionSize: number;
  #klCoeff: number;

  constructor(setup: LearnerSetup<Values>) {
    super(setup);
    const { built, config, seed } = setup;
    if (built.maskedChoices.length > 0)
      throw new RLError("Cannot build MBMPO: its models of the world know no action masks. Leave actionMask out of observations");
    const { actionSpace, encoder } = built;
    this.#actionSize = actionSpace instanceof Discrete ? actionSpace.n : (built.distribution.actions.size ?? 1);
    const values = config.dynamicsModel as DynamicsValues;
    const sizes = { inputs: encoder.size + this.#actionSize, outputs: encoder.size + 1 };
    this.#models = Array.from(
      { length: values.ensembleSize },
      (_, index) => new DynamicsModel(sizes, values, new Random(seed, "model of the world", index)),
    );
    this.#steps = new RealSteps({ capacity: config.realStepsMax, obsSize: encoder.size, actionSize: this.#actionSize });
    this.#random = new Random(seed, "imagination");
    this.#optimizer = new Adam(built.module, { lr: config.lr, maxGradNorm: config.gradClip ?? null });
    this.#klCoeff = config.klCoeff;
  }

  /** Trains the models by real steps, and the policy by imagined ones. */
  async update(fragment: Fragment, signal?: AbortSignal): Promise<void> {
    let breathedAt = performance.now();
    const breathe = async (): Promise<void> => {
      if (performance.now() - breathedAt < BREATH_MS) return;
      await new Promise((resolve) => void setImmediate(resolve));
      signal?.throwIfAborted();
      breathedAt = performance.now();
    };
    this.#steps.add(fragment, this.#actionsOf(fragment.actions, fragment.rows));
    const { columns } = this.#steps;
    const { normalizeData } = this.config.dynamicsModel as DynamicsValues;
    const obsSize = this.built.encoder.size;
    const scales = {
      inputs: scaleOf(columns.inputs, obsSize + this.#actionSize, normalizeData),
      outputs: scaleOf(columns.outputs, obsSize + 1, normalizeData),
    };
    for (const model of this.#models) this.log("dynamicsLoss", await model.train(columns, scales, breathe));
    for (let step = 0; step < this.config.numMamlSteps; step += 1) {
      const tasks: Task[] = [];
      for (const model of this.#models) {
        tasks.push(this.#play(model, scales));
        await breathe();
      }
      let divergence = 0;
      for (let each = 0; each < this.config.mamlOptimizerSteps; each += 1) {
        divergence = this.#metaStep(tasks);
        await breathe();
      }
      this.#adaptKl(divergence);
    }
    this.note("learningRate", this.#optimizer.lr);
  }

  /** Actions as models take them: one-hot choices, or the numbers that the environment gets. */
  #actionsOf(actions: NumericArray, rows: number): Float32Array {
    const { actionSpace } = this.built;
    if (actionSpace instanceof Discrete) {
      const choices = new Float32Array(rows * this.#actionSize);
      for (let row = 0; row < rows; row += 1) choices[row * this.#actionSize + (actions[row] as number)] = 1;
      return choices;
    }
    const given = columnLayout(actionSpace).allocate(rows);
    this.built.distribution.toEnvironment(actions, given);
    return Float32Array.from(given as NumericArray);
  }

  /** Plays in a model, adapts to it, and plays again. The weights are as before then. */
  #play(model: DynamicsModel, scales: { inputs: Scale; outputs: Scale }): Task {
    const { parameters } = this.built.module;
    const weights = parameters.data.slice();
    const before = Array.from({ length: this.config.innerAdaptationSteps }, () => {
      const rollout = this.#imagine(model, scales);
      this.#adapt(rollout);
      return rollout;
    });
    const after = this.#imagine(model, scales);
    parameters.data.set(weights);
    this.log("imaginedReturnMean", (before[0] ?? after).returnMean);
    this.log("adaptedReturnMean", after.returnMean);
    return { before, after };
  }

  #imagine(model: DynamicsModel, scales: { inputs: Scale; outputs: Scale }): Rollout {
    const { horizon: steps, numImaginedEpisodes: count, gamma, lambda } = this.config;
    const { encoder, distribution } = this.built;
    const width = encoder.size;
    const rows = count * steps;
    const obs = new Float32Array(count * (steps + 1) * width);
    const { starts } = this.#steps;
    for (let episode = 0; episode < count; episode += 1)
      obs.set(starts[this.#random.integer(starts.length)] as Float32Array, episode * (steps + 1) * width);
    const actions = distribution.actions.allocate(rows) as NumericArray;
    const actionWidth = actions.length / rows;
    const [inputs, logp, rewards] = [new Float32Array(rows * distribution.inputSize), new Float32Array(rows), new Float32Array(rows)];
    const now = new Float32Array(count * width);
    const drawn = distribution.actions.allocate(count) as NumericArray;
    for (let step = 0; step < steps; step += 1) {
      for (let episode = 0; episode < count; episode += 1) {
        const at = (episode * (steps + 1) + step) * width;
        now.set(obs.subarray(at, at + width), episode * width);
      }
      const numbers = scope(() => noGrad(() => this.#numbersOf(now).toArray()));
      for (let episode = 0; episode < count; episode += 1) {
        const row = episode * steps + step;
        logp[row] = distribution.sample({ inputs: numbers, row: episode, actions: drawn }, this.#random);
        inputs.set(
          numbers.subarray(episode * distribution.inputSize, (episode + 1) * distribution.inputSize),
          row * distribution.inputSize,
        );
        actions.set(drawn.subarray(episode * actionWidth, (episode + 1) * actionWidth), row * actionWidth);
      }
      const outputs = model.predict(sideBySide(now, this.#actionsOf(drawn, count), count), scales);
      for (let episode = 0; episode < count; episode += 1) {
        const next = (episode * (steps + 1) + step + 1) * width;
        for (let at = 0; at < width; at += 1)
          obs[next + at] = (now[episode * width + at] as number) + (outputs[episode * (width + 1) + at] as number);
        rewards[episode * steps + step] = outputs[episode * (width + 1) + width] as number;
      }
    }
    const values = baselineOf({ count, steps, obs, rewards }, gamma);
    const sequences = Int32Array.from(
      { length: 3 * count },
      (_, at) => [Math.floor(at / 3) * steps, steps, SEQUENCE_END.TERMINATED][at % 3] as number,
    );
    const { advantages } = estimateAdvantages({ rows, rewards, sequences }, values, { gamma, lambda });
    standardize(advantages);
    const seen = new Float32Array(rows * width);
    for (let episode = 0; episode < count; episode += 1) {
      const from = episode * (steps + 1) * width;
      seen.set(obs.subarray(from, from + steps * width), episode * steps * width);
    }
    return { rows, obs: seen, actions, logp, inputs, advantages, returnMean: rewards.reduce((sum, each) => sum + each, 0) / count };
  }

  /** The numbers of the action distributions for observations. */
  #numbersOf(obs: Float32Array): Tensor {
    const { module, encoder } = this.built;
    const { actionDistInputs } = module.forwardTrain({ obs: tensor(obs, { shape: [obs.length / encoder.size, encoder.size] }) });
    if (actionDistInputs === undefined) throw new RLError("Cannot learn: forward() of the module returned no actionDistInputs");
    return actionDistInputs;
  }

  /** Changes the weights by one step of the inner loss. */
  #adapt(rollout: Rollout): void {
    const { parameters } = this.built.module;
    const { innerLr } = this.config;
    parameters.zeroGrad();
    scope(() => backward(this.#ratios(rollout).ratio.mul(tensor(rollout.advantages)).mean().neg()));
    const { data, gradients } = parameters;
    for (let at = 0; at < data.length; at += 1) data[at] = (data[at] as number) - innerLr * (gradients[at] as number);
  }

  #ratios({ obs, actions, logp, inputs, rows }: Rollout): { ratio: Tensor; kl: Tensor; entropy: Tensor } {
    const distribution = (this.built.distribution as LikelihoodDistribution).of(this.#numbersOf(obs));
    const ratio = distribution.logp(actions).sub(tensor(logp)).exp();
    const kl = distribution.klFrom(tensor(inputs, { shape: [rows, inputs.length / rows] }));
    return { ratio, kl: kl.mean(), entropy: distribution.entropy().mean() };
  }

  /** Lets the optimizer step by the mean of the tasks' gradients, each taken behind its adaptation. @returns the mean divergence from the policies that played */
  #metaStep(tasks: readonly Task[]): number {
    const { parameters } = this.built.module;
    const weights = parameters.data.slice();
    const sum = new Float32Array(parameters.size);
    let divergence = 0;
    for (const { before, after } of tasks) {
      parameters.data.set(weights);
      for (const rollout of before) this.#adapt(rollout);
      parameters.zeroGrad();
      divergence += scope(() => {
        const { loss, kl } = this.#outerLoss(after);
        backward(loss);
        return kl.item() / tasks.length;
      });
      const { gradients } = parameters;
      for (let at = 0; at < sum.length; at += 1) sum[at] = (sum[at] as number) + (gradients[at] as number) / tasks.length;
    }
    parameters.data.set(weights);
    parameters.gradients.set(sum);
    const norm = this.follow(this.#optimizer);
    if (Number.isFinite(norm)) this.log("gradientsNorm", norm);
    return divergence;
  }

  #outerLoss(rollout: Rollout): { loss: Tensor; kl: Tensor } {
    const { clipParam, entropyCoeff } = this.config;
    const { ratio, kl, entropy } = this.#ratios(rollout);
    const advantages = tensor(rollout.advantages);
    const policyLoss = ratio
      .mul(advantages)
      .minimum(ratio.clamp(1 - clipParam, 1 + clipParam).mul(advantages))
      .mean()
      .neg();
    this.log("policyLoss", policyLoss);
    this.log("meanKl", kl);
    this.log("entropy", entropy);
    return { loss: policyLoss.add(kl.mul(this.#klCoeff)).sub(entropy.mul(entropyCoeff)), kl };
  }

  /** As PPO: the coefficient grows where policies move too far, and falls where they hardly move. */
  #adaptKl(divergence: number): void {
    if (divergence > 2 * this.config.klTarget) this.#klCoeff *= 1.5;
    else if (divergence < 0.5 * this.config.klTarget) this.#klCoeff *= 0.5;
  }

  getState(): LearnerState {
    const { step, expAvg, expAvgSq } = this.#optimizer.getState();
    const arrays: Record<string, Float32Array> = { expAvg, expAvgSq };
    const steps: Record<string, number> = { policy: step };
    const streams: RandomState[] = [this.#random.getState()];
    for (const [index, model] of this.#models.entries()) {
      const state = model.getState();
      steps[`model${index}`] = state.step;
      streams.push(state.random);
      for (const [name, data] of Object.entries(state.arrays)) arrays[`model${index}.${name}`] = data;
    }
    const real = this.#steps.getState();
    for (const [name, data] of Object.entries(real.arrays)) arrays[`steps.${name}`] = data;
    return { data: { steps, streams, real: real.numbers, klCoeff: this.#klCoeff }, arrays };
  }

  setState({ data, arrays }: LearnerState): void {
    const { steps, streams, real, klCoeff } = data as {
      steps: Record<string, number>;
      streams: readonly RandomState[];
      real: Record<string, number>;
      klCoeff: number;
    };
    const partsOf = (prefix: string): Record<string, Float32Array> =>
      Object.fromEntries(
        Object.entries(arrays).flatMap(([name, numbers]) => (name.startsWith(prefix) ? [[name.slice(prefix.length), numbers]] : [])),
      );
    for (const [index, model] of this.#models.entries())
      model.setState({
        step: steps[`model${index}`] as number,
        random: streams[index + 1] as RandomState,
        arrays: partsOf(`model${index}.`),
      });
    this.#optimizer.setState({ step: steps["policy"], expAvg: arrays["expAvg"], expAvgSq: arrays["expAvgSq"] } as AdamState);
    this.#steps.setState(real, partsOf("steps."));
    this.#random.setState(streams[0] as RandomState);
    this.#klCoeff = klCoeff;
  }
}

/** Rows of observations with rows of actions beside them. */
function sideBySide(obs: Float32Array, actions: Float32Array, rows: number): Float32Array {
  const [left, right] = [obs.length / rows, actions.length / rows];
  const joined = new Float32Array(rows * (left + right));
  for (let row = 0; row < rows; row += 1) {
    joined.set(obs.subarray(row * left, (row + 1) * left), row * (left + right));
    joined.set(actions.subarray(row * right, (row + 1) * right), row * (left + right) + left);
  }
  return joined;
}
