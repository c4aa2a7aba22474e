/**
 * Learners that see each batch in several epochs, and then never again.
 *
 * Adds advantages to the batch, cuts it into minibatches in a random order, and lets the optimizer step; a last minibatch that is short begins again at the front. A subclass
 * says the loss. Minibatches of a recurrent module are chunks of sequences (`Chunks`), and the loss sees their real steps alone.
 */
import { Adam, noGrad, Random, type RandomState, scope, type Tensor, tensor } from "../../tensor/index.ts";
import type { BatchDistribution, LikelihoodDistribution } from "../distributions/action-distribution.ts";
import { RLError } from "../errors.ts";
import { BREATH_MS, FORWARD_ROWS_MAX } from "../limits.ts";
import type { BuiltModule } from "../modules/module-spec.ts";
import type { ModuleOutput } from "../modules/rl-module.ts";
import { Chunks } from "../sequences/chunks.ts";
import { estimateAdvantages, standardize } from "../sequences/advantages.ts";
import type { Fragment } from "../sequences/fragment.ts";
import type { NumericArray } from "../spaces/dtype.ts";
import { gather, Learner, type LearnerConfig, type LearnerResult, type LearnerSetup, type LearnerState } from "./learner.ts";

/** Values of the configuration that these learners use. */
interface OnPolicyConfig extends LearnerConfig {
  readonly lambda: number;
  readonly minibatchSize: number | undefined;
  readonly numEpochs: number;
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

/** A batch with one row a step. */
interface TrainBatch {
  readonly rows: number;
  readonly obs: Float32Array;
  readonly fragment: Fragment;
  readonly advantages: Float32Array;
  readonly valueTargets: Float32Array;
}

export abstract class OnPolicyLearner<Config extends OnPolicyConfig = OnPolicyConfig> extends Learner<Config> {
  readonly optimizer: Adam;
  readonly #shuffle: Random;

  constructor(setup: LearnerSetup<Config>) {
    super(setup);
    this.optimizer = new Adam(setup.built.module, { lr: 0, maxGradNorm: setup.config.gradClip ?? null });
    this.#shuffle = new Random(setup.seed, "minibatches");
  }

  /** The loss of a minibatch: one number. */
  abstract computeLoss(context: LossContext<Config>): Tensor;

  /** Adapts numbers after the updates of an iteration. */
  protected adapt(_result: LearnerResult): void {}

  /** The numbers that `adapt` changes. */
  protected get adapted(): Record<string, number> {
    return {};
  }

  protected set adapted(_numbers: Readonly<Record<string, number>>) {}

  /** Learns from a batch. */
  async update(fragment: Fragment, signal?: AbortSignal): Promise<void> {
    const batch = this.#prepare(fragment);
    const chunks = this.#chunksOf(fragment);
    const count = chunks?.count ?? batch.rows;
    const wanted = this.config.minibatchSize ?? batch.rows;
    // As many chunks as have the wanted steps on average.
    const size = Math.max(1, Math.min(chunks === undefined ? wanted : Math.round((wanted * count) / batch.rows), count));
    const minibatches = Math.ceil(count / size);
    const order = Int32Array.from({ length: count }, (_, index) => index);
    const chosen = new Int32Array(size);
    this.clear();
    let breathedAt = performance.now();
    for (let epoch = 0; epoch < this.config.numEpochs; epoch += 1) {
      this.#shuffle.shuffle(order);
      for (let index = 0; index < minibatches; index += 1) {
        for (let at = 0; at < size; at += 1) chosen[at] = order[(index * size + at) % count] as number;
        scope(() => this.#step(batch, chosen, chunks));
        if (performance.now() - breathedAt < BREATH_MS) continue;
        await new Promise((resolve) => void setImmediate(resolve));
        signal?.throwIfAborted();
        breathedAt = performance.now();
      }
    }
    this.adapt(this.result ?? {});
    this.note("learningRate", this.optimizer.lr);
  }

  /** The chunks of a fragment; `undefined` where the module remembers nothing. */
  #chunksOf(fragment: Fragment): Chunks | undefined {
    const { memory, encoder } = this.built;
    return memory.size === 0 ? undefined : new Chunks(fragment, { obsSize: encoder.size, memory });
  }

  /** @param chosen - rows of the batch, or chunks */
  #step(batch: TrainBatch, chosen: Int32Array, chunks: Chunks | undefined): void {
    const { module, distribution } = this.built;
    const pass = chunks?.minibatch(chosen);
    const rows = minibatch(batch, pass?.rows ?? chosen, this.built);
    const output = pass === undefined ? module.forwardTrain({ obs: rows.obs }) : pass.run((input) => module.forwardTrain(input));
    if (output.actionDistInputs === undefined) throw new RLError("Cannot learn: forward() of the module returned no actionDistInputs");
    const loss = this.computeLoss({
      moduleId: this.moduleId,
      batch: rows,
      output,
      distribution: (distribution as LikelihoodDistribution).of(output.actionDistInputs),
      config: this.config,
      log: (name, value) => this.log(name, value),
    });
    const norm = this.descend(loss, this.optimizer);
    if (!Number.isFinite(norm)) return;
    this.log("totalLoss", loss);
    this.log("gradientsNorm", norm);
  }

  /** Adds advantages and value targets, computed with the weights that sampled. */
  #prepare(fragment: Fragment): TrainBatch {
    const { advantages, valueTargets } = estimateAdvantages(fragment, this.#values(fragment), this.config);
    standardize(advantages);
    return { rows: fragment.rows, obs: observationsOfSteps(fragment, this.built.encoder.size), fragment, advantages, valueTargets };
  }

  #values(fragment: Fragment): Float32Array {
    const { module, encoder } = this.built;
    const { obs } = fragment;
    const chunks = this.#chunksOf(fragment);
    if (chunks !== undefined) return chunks.values((input) => module.forwardTrain(input));
    const rows = obs.length / encoder.size;
    const values = new Float32Array(rows);
    for (let from = 0; from < rows; from += FORWARD_ROWS_MAX) {
      const end = Math.min(rows, from + FORWARD_ROWS_MAX);
      const part = obs.subarray(from * encoder.size, end * encoder.size);
      const { length } = values.subarray(from, end);
      scope(() =>
        noGrad(() => {
          const { vfPreds } = module.forwardTrain({ obs: tensor(part, { shape: [length, encoder.size] }) });
          if (vfPreds === undefined) throw new RLError("Cannot learn: forward() of the module returned no vfPreds");
          values.set(vfPreds.toArray(), from);
        }),
      );
    }
    return values;
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

/** The observations on which actions were taken: without those behind the sequences. */
function observationsOfSteps({ obs, rows, sequences }: Fragment, size: number): Float32Array {
  const kept = new Float32Array(rows * size);
  for (let index = 0; index < sequences.length / 3; index += 1) {
    const start = sequences[3 * index] as number;
    const length = sequences[3 * index + 1] as number;
    kept.set(obs.subarray((start + index) * size, (start + index + length) * size), start * size);
  }
  return kept;
}

function minibatch(
  { obs, fragment, advantages, valueTargets }: TrainBatch,
  chosen: Int32Array,
  { encoder, distribution }: BuiltModule,
): LossBatch {
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
    actionLogp: columns(fragment.actionLogp, 1),
    advantages: columns(advantages, 1),
    valueTargets: columns(valueTargets, 1),
    actionDistInputs: matrix(fragment.actionDistInputs, distribution.inputSize),
  };
}
