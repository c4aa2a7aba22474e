/**
 * Learners that see each batch in several epochs, and then never again.
 *
 * Adds advantages to the batch, cuts it into minibatches in a random order, and lets the optimizer step; a last minibatch that is short begins again at the front. A subclass
 * says the loss, and how advantages are estimated. Minibatches of a recurrent module are chunks of sequences (`Chunks`), and the loss sees their real steps alone.
 */
import { Adam, backward, noGrad, Random, type RandomState, scope, type Tensor, tensor } from "../../tensor/index.ts";
import type { BatchDistribution, LikelihoodDistribution } from "../distributions/action-distribution.ts";
import { RLError } from "../errors.ts";
import { BREATH_MS, FAILURES_IN_A_ROW_MAX, FORWARD_ROWS_MAX } from "../limits.ts";
import type { BuiltModule } from "../modules/module-spec.ts";
import type { ModuleInput, ModuleOutput, RLModule } from "../modules/rl-module.ts";
import { Chunks } from "../sequences/chunks.ts";
import { estimateAdvantages, joinMoments, momentsOf, standardize } from "../sequences/advantages.ts";
import type { Fragment } from "../sequences/fragment.ts";
import type { NumericArray } from "../spaces/dtype.ts";
import { TorchDiedError, type TorchNetwork, type TorchOutputs } from "../torch/torch-network.ts";
import { type Schedule, scheduled } from "./schedule.ts";
import {
  gather,
  Learner,
  type LearnerConfig,
  type LearnerResult,
  type LearnerSetup,
  type LearnerState,
  type ModuleGradient,
} from "./learner.ts";

/** Values of the configuration that these learners use. */
export interface OnPolicyConfig extends LearnerConfig {
  readonly lr: Schedule;
  readonly entropyCoeff: Schedule;
  /** Only where advantages are GAE's. */
  readonly lambda?: number;
  /** Default: the whole batch. */
  readonly minibatchSize?: number | undefined;
  /** Default: 1. */
  readonly numEpochs?: number;
}

/** @throws RangeError where a minibatch would be larger than the batch */
export function checkMinibatches(
  name: string,
  { minibatchSize = 0, trainBatchSizePerLearner }: { minibatchSize: number | undefined; trainBatchSizePerLearner: number },
): void {
  if (minibatchSize > trainBatchSizePerLearner)
    throw new RangeError(
      `Cannot build ${name}: minibatchSize is at most trainBatchSizePerLearner, ${trainBatchSizePerLearner}: received ${minibatchSize}`,
    );
}

/** The learners of a group, which make the same calls in the same order. */
export interface Partners {
  /** Adds up the numbers of all, in place. */
  allreduce(numbers: Float32Array): Promise<unknown>;
  /** The numbers of each. */
  allgather(numbers: Float64Array): Promise<Float64Array[]>;
}

/** Columns of a batch that a learner computes before its first update. */
export interface Estimates {
  readonly advantages: Float32Array;
  readonly valueTargets: Float32Array;
  /** In place of those with which the actions were drawn. */
  readonly actionLogp?: Float32Array;
  readonly actionDistInputs?: Float32Array;
}

/** The outputs of a module for a fragment. */
interface Evaluated {
  /** A value for each observation: a sequence has one more than rows. */
  readonly values: Float32Array;
  /** The numbers of the distributions, row by row. */
  readonly inputs: Float32Array;
}

/** The rows of a minibatch. */
export interface LossBatch {
  readonly rows: number;
  /** `[rows, size]`. */
  readonly obs: Tensor;
  /** In the policy's range. */
  readonly actions: NumericArray;
  /** `[rows]`, like the columns below. */
  readonly actionLogp: Tensor;
  readonly advantages: Tensor;
  readonly valueTargets: Tensor;
  /** The numbers of the distribution from which the actions were drawn. */
  readonly actionDistInputs: Tensor;
}

export interface LossContext<Config = OnPolicyConfig> {
  readonly moduleId: string;
  readonly batch: LossBatch;
  readonly output: ModuleOutput;
  /** The distribution of the module's output. */
  readonly distribution: BatchDistribution;
  /** The distribution from which the actions were drawn. */
  readonly config: Config;
  /** Adds a number to `result.learners`; the mean over the updates of an iteration is shown. */
  log(name: string, value: Tensor | number): void;
}

/** A loss by outputs that were computed in PyTorch. */
interface OutputLoss {
  readonly loss: number;
  readonly gradients: TorchOutputs;
}

/** A batch with one row a step. */
interface TrainBatch {
  readonly rows: number;
  readonly obs: Float32Array;
  readonly fragment: Fragment;
  readonly estimates: Required<Estimates>;
}

export abstract class OnPolicyLearner<Config extends OnPolicyConfig = OnPolicyConfig> extends Learner<Config> {
  readonly optimizer: Adam;
  /** The coefficient of this iteration. */
  entropyCoeff = 0;
  /** Learners of other processes that learn from other shards of the same batches. */
  partners: Partners | undefined;
  /** The network in PyTorch that makes the steps; `undefined` where the kernels of this process do. */
  torch: TorchNetwork | undefined;
  readonly #shuffle: Random;

  constructor(setup: LearnerSetup<Config>) {
    super(setup);
    this.optimizer = new Adam(setup.built.module, { lr: 0, maxGradNorm: setup.config.gradClip ?? null });
    this.#shuffle = new Random(setup.seed, "minibatches");
  }

  /** The loss of a minibatch: one number. */
  abstract computeLoss(context: LossContext<Config>): Tensor;

  /** Estimates advantages and value targets, with the weights before the update. Default: GAE. */
  protected estimate(fragment: Fragment): Estimates {
    const { gamma, lambda = 1 } = this.config;
    return estimateAdvantages(fragment, this.evaluate(fragment).values, { gamma, lambda });
  }

  /** Whether the advantages of a batch get mean 0 and deviation 1. */
  protected get standardizesAdvantages(): boolean {
    return false;
  }

  /** Takes the learning rate and the coefficients that hold after so many environment steps. */
  beginAt(envSteps: number): void {
    this.optimizer.lr = scheduled(this.config.lr, envSteps);
    this.entropyCoeff = scheduled(this.config.entropyCoeff, envSteps);
  }

  /** Adapts numbers after the updates of an iteration. */
  protected adapt(_result: LearnerResult): void {}

  /** The numbers that `adapt` changes. */
  protected get adapted(): Record<string, number> {
    return {};
  }

  protected set adapted(_numbers: Readonly<Record<string, number>>) {}

  /** Learns from a batch. */
  async update(fragment: Fragment, signal?: AbortSignal): Promise<void> {
    const { partners } = this;
    const batch = this.#prepare(fragment);
    if (this.standardizesAdvantages) await standardizeTogether(batch.estimates.advantages, partners);
    const chunks = this.#chunksOf(fragment);
    const count = chunks?.count ?? batch.rows;
    const wanted = this.config.minibatchSize ?? batch.rows;
    // As many chunks as have the wanted steps on average.
    const size = Math.max(1, Math.min(chunks === undefined ? wanted : Math.round((wanted * count) / batch.rows), count));
    // All learners make equally many steps; the short shards begin again at the front.
    const own = Float64Array.of(Math.ceil(count / size));
    const minibatches = Math.max(...(partners === undefined ? [own] : await partners.allgather(own)).map((each) => each[0] as number));
    const choose = (): Iterable<Int32Array> => this.#minibatches({ count, size, minibatches });
    this.clear();
    if (this.torch === undefined) await this.#learnHere(batch, choose(), { chunks, signal });
    else await this.#learnInTorch(this.torch, batch, { choose, signal });
    this.adapt(await this.#agreedResult());
    this.note("learningRate", this.optimizer.lr);
  }

  /** Rows of a batch, or chunks, in another order each epoch. The array is the same each time. */
  *#minibatches({ count, size, minibatches }: { count: number; size: number; minibatches: number }): Generator<Int32Array> {
    const order = Int32Array.from({ length: count }, (_, index) => index);
    const chosen = new Int32Array(size);
    for (let epoch = 0; epoch < (this.config.numEpochs ?? 1); epoch += 1) {
      this.#shuffle.shuffle(order);
      for (let index = 0; index < minibatches; index += 1) {
        for (let at = 0; at < size; at += 1) chosen[at] = order[(index * size + at) % count] as number;
        yield chosen;
      }
    }
  }

  async #learnHere(
    batch: TrainBatch,
    minibatches: Iterable<Int32Array>,
    { chunks, signal }: { chunks: Chunks | undefined; signal: AbortSignal | undefined },
  ): Promise<void> {
    const { partners } = this;
    let breathedAt = performance.now();
    for (const chosen of minibatches) {
      if (partners === undefined) scope(() => this.#step(batch, chosen, chunks));
      else await this.#stepTogether(batch, chosen, { chunks, partners });
      if (performance.now() - breathedAt < BREATH_MS) continue;
      await new Promise((resolve) => void setImmediate(resolve));
      signal?.throwIfAborted();
      breathedAt = performance.now();
    }
  }

  /** Makes all steps in PyTorch. Where its process ends, another one makes them again from the numbers before the update. */
  async #learnInTorch(
    torch: TorchNetwork,
    batch: TrainBatch,
    { choose, signal }: { choose: () => Iterable<Int32Array>; signal: AbortSignal | undefined },
  ): Promise<void> {
    const shuffle = this.#shuffle.getState();
    for (let failures = 1; ; failures += 1)
      try {
        return await this.#stepInTorch(torch, batch, { minibatches: choose(), signal });
      } catch (error) {
        if (!(error instanceof TorchDiedError) || failures >= FAILURES_IN_A_ROW_MAX) throw error;
        this.#shuffle.setState(shuffle);
        this.clear();
      }
  }

  /** Computes losses here, from outputs of PyTorch; a call there makes a step, and computes the next outputs. */
  async #stepInTorch(
    torch: TorchNetwork,
    batch: TrainBatch,
    { minibatches, signal }: { minibatches: Iterable<Int32Array>; signal: AbortSignal | undefined },
  ): Promise<void> {
    const { optimizer, built } = this;
    const { size } = built.encoder;
    await torch.begin(optimizer);
    let before: OutputLoss | undefined;
    const take = (norm = Number.NaN): void => {
      if (before === undefined || !Number.isFinite(this.stepped(norm))) return;
      this.log("totalLoss", before.loss);
      this.log("gradientsNorm", norm);
    };
    for (const chosen of minibatches) {
      signal?.throwIfAborted();
      const obs = new Float32Array(chosen.length * size);
      gather(batch.obs, chosen, { into: obs, width: size });
      const { outputs, norm } = await torch.advance({ obs, gradients: before?.gradients }, optimizer);
      take(norm);
      before = scope(() => this.#lossOfOutputs(batch, chosen, outputs as TorchOutputs));
    }
    take((await torch.advance({ obs: undefined, gradients: before?.gradients }, optimizer)).norm);
    await torch.end(optimizer);
  }

  /** The loss of outputs that were computed in PyTorch, and its gradients by them. */
  #lossOfOutputs(batch: TrainBatch, chosen: Int32Array, outputs: TorchOutputs): OutputLoss {
    const rows = minibatch(batch, chosen, this.built);
    const shape = [rows.rows, this.built.distribution.inputSize];
    const actionDistInputs = tensor(outputs.actionDistInputs, { shape, requiresGrad: true });
    const vfPreds = tensor(outputs.vfPreds, { shape: [rows.rows], requiresGrad: true });
    const loss = this.#lossIn(rows, { actionDistInputs, vfPreds });
    backward(loss);
    const gradientOf = ({ grad, size }: Tensor): Float32Array => grad ?? new Float32Array(size);
    return { loss: loss.item(), gradients: { actionDistInputs: gradientOf(actionDistInputs), vfPreds: gradientOf(vfPreds) } };
  }

  /** The chunks of a fragment; `undefined` where the module remembers nothing. */
  #chunksOf(fragment: Fragment): Chunks | undefined {
    const { memory, encoder } = this.built;
    return memory.size === 0 ? undefined : new Chunks(fragment, { obsSize: encoder.size, memory });
  }

  /** The gradient of a whole fragment, with the coefficients that hold after so many environment steps. */
  gradientOf(fragment: Fragment, envSteps: number): ModuleGradient {
    const batch = this.#prepare(fragment);
    const chunks = this.#chunksOf(fragment);
    const all = Int32Array.from({ length: chunks?.count ?? batch.rows }, (_, index) => index);
    this.clear();
    this.beginAt(envSteps);
    scope(() => {
      const loss = this.#lossOf(batch, all, chunks);
      this.optimizer.zeroGrad();
      backward(loss);
      this.log("totalLoss", loss);
    });
    return { gradient: this.optimizer.parameters.gradients.slice(), result: this.result ?? {} };
  }

  /** Makes a step by a gradient that a runner has computed. @throws RangeError where it is of another network */
  apply({ gradient, result }: ModuleGradient): void {
    const { parameters } = this.optimizer;
    if (gradient.length !== parameters.size)
      throw new RangeError(`Cannot learn: the module has ${parameters.size} numbers: received a gradient of ${gradient.length}`);
    parameters.gradients.set(gradient);
    const norm = this.follow(this.optimizer);
    for (const [name, value] of Object.entries(result)) this.log(name, value);
    if (Number.isFinite(norm)) this.log("gradientsNorm", norm);
    this.note("learningRate", this.optimizer.lr);
  }

  /** @param chosen - rows of the batch, or chunks */
  #step(batch: TrainBatch, chosen: Int32Array, chunks: Chunks | undefined): void {
    const loss = this.#lossOf(batch, chosen, chunks);
    const norm = this.descend(loss, this.optimizer);
    if (!Number.isFinite(norm)) return;
    this.log("totalLoss", loss);
    this.log("gradientsNorm", norm);
  }

  /** Steps by the mean gradient over the rows of all learners. */
  async #stepTogether(
    batch: TrainBatch,
    chosen: Int32Array,
    { chunks, partners }: { chunks: Chunks | undefined; partners: Partners },
  ): Promise<void> {
    const { parameters } = this.optimizer;
    const rows = chunks?.minibatch(chosen).rows.length ?? chosen.length;
    const shared = new Float32Array(parameters.size + 1);
    const loss = scope(() => {
      const made = this.#lossOf(batch, chosen, chunks);
      this.optimizer.zeroGrad();
      backward(made);
      return made.item();
    });
    for (const [at, gradient] of parameters.gradients.entries()) shared[at] = gradient * rows;
    shared[parameters.size] = rows;
    await partners.allreduce(shared);
    const all = shared[parameters.size] as number;
    const { gradients } = parameters;
    for (let at = 0; at < parameters.size; at += 1) gradients[at] = (shared[at] as number) / all;
    const norm = this.follow(this.optimizer);
    if (!Number.isFinite(norm)) return;
    this.log("totalLoss", loss);
    this.log("gradientsNorm", norm);
  }

  /** The result of an update, with the means over all learners of the numbers by which coefficients are adapted. */
  async #agreedResult(): Promise<LearnerResult> {
    const { partners, result = {} } = this;
    if (partners === undefined) return result;
    const all = await partners.allgather(Float64Array.of(result["meanKl"] ?? Number.NaN));
    const known = all.map((each) => each[0] as number).filter(Number.isFinite);
    return { ...result, ...(known.length === 0 ? {} : { meanKl: known.reduce((sum, value) => sum + value, 0) / known.length }) };
  }

  #lossOf(batch: TrainBatch, chosen: Int32Array, chunks: Chunks | undefined): Tensor {
    const { module } = this.built;
    const pass = chunks?.minibatch(chosen);
    const rows = minibatch(batch, pass?.rows ?? chosen, this.built);
    return this.#lossIn(
      rows,
      pass === undefined ? module.forwardTrain({ obs: rows.obs }) : pass.run((input) => module.forwardTrain(input)),
    );
  }

  #lossIn(rows: LossBatch, output: ModuleOutput): Tensor {
    const { distribution } = this.built;
    const { actionDistInputs } = checkedOutput(output);
    return this.computeLoss({
      moduleId: this.moduleId,
      batch: rows,
      output,
      distribution: (distribution as LikelihoodDistribution).of(actionDistInputs),
      config: this.config,
      log: (name, value) => this.log(name, value),
    });
  }

  #prepare(fragment: Fragment): TrainBatch {
    const { actionLogp, actionDistInputs, rows } = fragment;
    const estimates = { actionLogp, actionDistInputs, ...this.estimate(fragment) };
    return { rows, obs: observationsOfSteps(fragment, this.built.encoder.size), fragment, estimates };
  }

  /** Runs a module over a fragment without gradients. Default: the module that learns. */
  protected evaluate(fragment: Fragment, module: RLModule = this.built.module): Evaluated {
    const chunks = this.#chunksOf(fragment);
    const forward = (input: ModuleInput): ModuleOutput => module.forwardTrain(input);
    const { size } = this.built.encoder;
    const { inputSize } = this.built.distribution;
    const count = fragment.obs.length / size;
    const values = new Float32Array(count);
    const inputs = new Float32Array(count * inputSize);
    const take = (output: ModuleOutput, at: number): void => {
      const { actionDistInputs, vfPreds } = checkedOutput(output);
      values.set(vfPreds.toArray(), at);
      inputs.set(actionDistInputs.toArray(), at * inputSize);
    };
    if (chunks !== undefined) chunks.evaluate(forward, take);
    else
      for (let from = 0; from < count; from += FORWARD_ROWS_MAX) {
        const rows = Math.min(FORWARD_ROWS_MAX, count - from);
        const part = fragment.obs.subarray(from * size, (from + rows) * size);
        scope(() => noGrad(() => take(forward({ obs: tensor(part, { shape: [rows, size] }) }), from)));
      }
    return { values, inputs: rowsOfSteps(inputs, fragment, inputSize) };
  }

  /** The log-probabilities of a fragment's actions under distributions with these numbers. */
  protected logpOf({ actions, rows }: Fragment, inputs: Float32Array): Float32Array {
    const { distribution } = this.built;
    const shape = [rows, distribution.inputSize];
    return scope(() => noGrad(() => (distribution as LikelihoodDistribution).of(tensor(inputs, { shape })).logp(actions).toArray()));
  }

  getState(): LearnerState {
    const { step, expAvg, expAvgSq } = this.optimizer.getState();
    return { data: { shuffle: this.#shuffle.getState(), step, adapted: this.adapted }, arrays: { expAvg, expAvgSq } };
  }

  setState({ data, arrays }: LearnerState): void {
    const { shuffle, step, adapted } = data as { shuffle: RandomState; step: number; adapted: Record<string, number> };
    this.#shuffle.setState(shuffle);
    this.adapted = adapted;
    this.optimizer.setState({ step, ...arrays } as ReturnType<Adam["getState"]>);
  }
}

/** Gives the advantages of all learners together mean 0 and deviation 1. */
async function standardizeTogether(advantages: Float32Array, partners: Partners | undefined): Promise<void> {
  const own = momentsOf(advantages);
  standardize(advantages, partners === undefined ? own : joinMoments(await partners.allgather(own)));
}

/** @throws RLError where a class of one's own has left an output out */
function checkedOutput({ actionDistInputs, vfPreds }: ModuleOutput): { readonly actionDistInputs: Tensor; readonly vfPreds: Tensor } {
  if (actionDistInputs === undefined) throw new RLError("Cannot learn: forward() of the module returned no actionDistInputs");
  if (vfPreds === undefined) throw new RLError("Cannot learn: forward() of the module returned no vfPreds");
  return { actionDistInputs, vfPreds };
}

/** The observations on which actions were taken: without those behind the sequences. */
function observationsOfSteps(fragment: Fragment, size: number): Float32Array {
  return rowsOfSteps(fragment.obs, fragment, size);
}

/** The rows of a column that has one more a sequence, without these. */
function rowsOfSteps(column: Float32Array, { rows, sequences }: Fragment, size: number): Float32Array {
  const kept = new Float32Array(rows * size);
  for (let index = 0; index < sequences.length / 3; index += 1) {
    const start = sequences[3 * index] as number;
    const length = sequences[3 * index + 1] as number;
    kept.set(column.subarray((start + index) * size, (start + index + length) * size), start * size);
  }
  return kept;
}

function minibatch({ obs, fragment, estimates }: TrainBatch, chosen: Int32Array, { encoder, distribution }: BuiltModule): LossBatch {
  const rows = chosen.length;
  const width = fragment.actions.length / fragment.rows;
  const actions = distribution.actions.allocate(rows) as NumericArray;
  gather(fragment.actions, chosen, { into: actions, width });
  const columns = (from: Float32Array, size: number): Tensor => {
    const into = new Float32Array(rows * size);
    gather(from, chosen, { into, width: size });
    return tensor(into, { shape: size === 1 ? [rows] : [rows, size] });
  };
  const matrix = (from: Float32Array, size: number): Tensor => columns(from, size).reshape([rows, size]);
  return {
    rows,
    obs: matrix(obs, encoder.size),
    actions,
    actionLogp: columns(estimates.actionLogp, 1),
    advantages: columns(estimates.advantages, 1),
    valueTargets: columns(estimates.valueTargets, 1),
    actionDistInputs: matrix(estimates.actionDistInputs, distribution.inputSize),
  };
}
