/**
 * Learners: turn a batch into updates of a module.
 *
 * A subclass says the loss. The base adds advantages to the batch, cuts it into minibatches in a random order, and lets the optimizer step; a last minibatch that is short begins again at the front. A gradient that is not
 * finite changes nothing and is counted; several in a row end the run with the name of the module.
 */
import { Adam, backward, noGrad, Random, type RandomState, scope, type Tensor, tensor } from "../../tensor/index.ts";
import type { BatchDistribution } from "../distributions/action-distribution.ts";
import { RLError } from "../errors.ts";
import { BREATH_MS, FORWARD_ROWS_MAX, SKIPPED_UPDATES_MAX } from "../limits.ts";
import type { BuiltModule } from "../modules/module-spec.ts";
import type { ModuleOutput } from "../modules/rl-module.ts";
import { estimateAdvantages, standardize } from "../sequences/advantages.ts";
import type { Fragment } from "../sequences/fragment.ts";
import type { NumericArray } from "../spaces/dtype.ts";

/** Values of the configuration that every learner uses. */
export interface LearnerConfig {
  readonly gamma: number;
  readonly lambda: number;
  readonly minibatchSize: number | undefined;
  readonly numEpochs: number;
  readonly gradClip: number | undefined;
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

export interface LossContext<Config = LearnerConfig> {
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

export interface LearnerState {
  readonly shuffle: RandomState;
  readonly step: number;
  readonly expAvg: Float32Array;
  readonly expAvgSq: Float32Array;
  /** Numbers that a subclass adapts. */
  readonly adapted: Readonly<Record<string, number>>;
}

/** Means over the updates of an iteration, by name. */
export type LearnerResult = Readonly<Record<string, number>>;

export interface LearnerSetup<Config> {
  readonly moduleId: string;
  readonly built: BuiltModule;
  readonly config: Config;
  readonly lr: number;
  readonly seed: number;
}

/** A batch with one row a step. */
interface TrainBatch {
  readonly rows: number;
  readonly obs: Float32Array;
  readonly fragment: Fragment;
  readonly advantages: Float32Array;
  readonly valueTargets: Float32Array;
}

export abstract class Learner<Config extends LearnerConfig = LearnerConfig> {
  readonly moduleId: string;
  readonly built: BuiltModule;
  readonly config: Config;
  readonly optimizer: Adam;
  readonly #shuffle: Random;
  readonly #logged = new Map<string, { sum: number; count: number }>();
  #skipped = 0;

  constructor({ moduleId, built, config, lr, seed }: LearnerSetup<Config>) {
    this.moduleId = moduleId;
    this.built = built;
    this.config = config;
    this.optimizer = new Adam(built.module, { lr, maxGradNorm: config.gradClip ?? null });
    this.#shuffle = new Random(seed, "minibatches");
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
  async update(fragment: Fragment, signal?: AbortSignal): Promise<LearnerResult> {
    const batch = this.#prepare(fragment);
    const size = Math.min(this.config.minibatchSize ?? batch.rows, batch.rows);
    const minibatches = Math.ceil(batch.rows / size);
    const order = Int32Array.from({ length: batch.rows }, (_, row) => row);
    const chosen = new Int32Array(size);
    this.#logged.clear();
    let breathedAt = performance.now();
    for (let epoch = 0; epoch < this.config.numEpochs; epoch += 1) {
      this.#shuffle.shuffle(order);
      for (let index = 0; index < minibatches; index += 1) {
        for (let at = 0; at < size; at += 1) chosen[at] = order[(index * size + at) % batch.rows] as number;
        scope(() => this.#step(batch, chosen));
        if (performance.now() - breathedAt < BREATH_MS) continue;
        await new Promise((resolve) => void setImmediate(resolve));
        signal?.throwIfAborted();
        breathedAt = performance.now();
      }
    }
    const result = Object.fromEntries(Array.from(this.#logged, ([name, { sum, count }]) => [name, sum / count]));
    this.adapt(result);
    return { ...result, learningRate: this.optimizer.lr };
  }

  #step(batch: TrainBatch, chosen: Int32Array): void {
    const { module, distribution } = this.built;
    const rows = minibatch(batch, chosen, this.built);
    const output = module.forwardTrain({ obs: rows.obs });
    if (output.actionDistInputs === undefined) throw new RLError("Cannot learn: forward() of the module returned no actionDistInputs");
    const loss = this.computeLoss({
      moduleId: this.moduleId,
      batch: rows,
      output,
      distribution: distribution.of(output.actionDistInputs),
      config: this.config,
      log: (name, value) => this.#log(name, typeof value === "number" ? value : value.item()),
    });
    this.optimizer.zeroGrad();
    backward(loss);
    const norm = this.optimizer.step();
    this.#countSkipped(norm);
    if (!Number.isFinite(norm)) return;
    this.#log("totalLoss", loss.item());
    this.#log("gradientsNorm", norm);
  }

  #countSkipped(norm: number): void {
    this.#skipped = Number.isFinite(norm) ? 0 : this.#skipped + 1;
    if (this.#skipped >= SKIPPED_UPDATES_MAX)
      throw new RLError(
        `Cannot learn: the gradients of module ${this.moduleId} were not finite in ${this.#skipped} updates in a row. Lower lr, set gradClip, or look for NaN in observations and rewards`,
      );
  }

  #log(name: string, value: number): void {
    if (!Number.isFinite(value)) return;
    const logged = this.#logged.get(name);
    if (logged === undefined) this.#logged.set(name, { sum: value, count: 1 });
    else {
      logged.sum += value;
      logged.count += 1;
    }
  }

  /** Adds advantages and value targets, computed with the weights that sampled. */
  #prepare(fragment: Fragment): TrainBatch {
    const { advantages, valueTargets } = estimateAdvantages(fragment, this.#values(fragment.obs), this.config);
    standardize(advantages);
    return { rows: fragment.rows, obs: observationsOfSteps(fragment, this.built.encoder.size), fragment, advantages, valueTargets };
  }

  #values(obs: Float32Array): Float32Array {
    const { module, encoder } = this.built;
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
    return { shuffle: this.#shuffle.getState(), adapted: this.adapted, ...this.optimizer.getState() };
  }

  setState({ shuffle, adapted, ...optimizer }: LearnerState): void {
    this.#shuffle.setState(shuffle);
    this.adapted = adapted;
    this.optimizer.setState(optimizer);
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

function gather(from: NumericArray, chosen: Int32Array, { into, width }: { into: NumericArray; width: number }): void {
  let at = 0;
  for (const row of chosen) for (let element = row * width; element < (row + 1) * width; element += 1) into[at++] = from[element] as number;
}

/** A class of learners, of one's own or an algorithm's. */
// oxlint-disable-next-line no-explicit-any -- each algorithm has values of its own
export type LearnerClass = new (setup: LearnerSetup<any>) => Learner<any>;
