/**
 * A model of the world: the change of the observation and the reward, from an observation and an action.
 *
 * Inputs and outputs are normalized by all real steps. A part of the steps validates: training ends once their error has not fallen for some epochs, and the best weights are kept. Models of an ensemble
 * differ by their first weights, and by the steps that validate.
 */
import {
  Adam,
  type AdamState,
  backward,
  Layer,
  Mlp,
  noGrad,
  Random,
  type RandomState,
  scope,
  type Tensor,
  tensor,
  withRandom,
} from "../../tensor/index.ts";
import { gather } from "../learners/learner.ts";
import type { StepColumns } from "./real-steps.ts";

/** All values of `dynamicsModel`. */
export interface DynamicsValues {
  readonly ensembleSize: number;
  readonly fcnetHiddens: readonly number[];
  readonly lr: number;
  readonly trainEpochs: number;
  readonly batchSize: number;
  readonly validSplitRatio: number;
  readonly normalizeData: boolean;
}

/** Epochs without a smaller error of validation before training ends. */
const PATIENCE = 5;
/** Deviations are at least this: a number that never changes is no reason to divide by 0. */
const DEVIATION_MIN = 1e-6;

/** Means and deviations of the columns of a matrix. */
export interface Scale {
  readonly mean: Float32Array;
  readonly deviation: Float32Array;
}

export function scaleOf(rows: Float32Array, width: number, isNormalized: boolean): Scale {
  const count = rows.length / width;
  const mean = new Float32Array(width);
  const deviation = new Float32Array(width).fill(1);
  if (!isNormalized || count === 0) return { mean, deviation };
  for (let column = 0; column < width; column += 1) {
    let [sum, squares] = [0, 0];
    for (let row = 0; row < count; row += 1) sum += rows[row * width + column] as number;
    for (let row = 0; row < count; row += 1) squares += ((rows[row * width + column] as number) - sum / count) ** 2;
    mean[column] = sum / count;
    deviation[column] = Math.max(DEVIATION_MIN, Math.sqrt(squares / count));
  }
  return { mean, deviation };
}

function normalized(rows: Float32Array, { mean, deviation }: Scale): Float32Array {
  return rows.map((value, at) => (value - (mean[at % mean.length] as number)) / (deviation[at % mean.length] as number));
}

export class DynamicsModel extends Layer {
  readonly #layers: Mlp;
  readonly #optimizer: Adam;
  readonly #random: Random;
  readonly #values: DynamicsValues;
  readonly #sizes: { readonly inputs: number; readonly outputs: number };

  constructor(sizes: { readonly inputs: number; readonly outputs: number }, values: DynamicsValues, random: Random) {
    super();
    this.#random = random;
    this.#values = values;
    this.#sizes = sizes;
    const widths = [sizes.inputs, ...values.fcnetHiddens, sizes.outputs];
    this.#layers = this.add(
      "layers",
      withRandom(random, () => new Mlp(widths, { activation: "relu", initializer: "uniform" })),
    );
    this.#optimizer = new Adam(this, { lr: values.lr });
  }

  /** Trains by all steps. @returns the error of validation */
  async train(steps: StepColumns, scales: { inputs: Scale; outputs: Scale }, breathe: () => Promise<void>): Promise<number> {
    const { trainEpochs, batchSize, validSplitRatio } = this.#values;
    const data = { rows: steps.rows, inputs: normalized(steps.inputs, scales.inputs), outputs: normalized(steps.outputs, scales.outputs) };
    const order = this.#random.shuffle(Int32Array.from({ length: steps.rows }, (_, row) => row));
    const validRows = Math.min(steps.rows - 1, Math.floor(steps.rows * validSplitRatio));
    const [valid, train] = [order.subarray(0, validRows), order.slice(validRows)];
    let best = { error: Infinity, weights: this.parameters.data.slice(), epoch: 0 };
    for (let epoch = 0; epoch < trainEpochs && epoch - best.epoch <= PATIENCE; epoch += 1) {
      this.#random.shuffle(train);
      for (let at = 0; at < train.length; at += batchSize) {
        const chosen = train.subarray(at, at + batchSize);
        scope(() => this.#step(data, chosen));
      }
      await breathe();
      const error = scope(() => noGrad(() => this.#loss(data, validRows === 0 ? train : valid).item()));
      if (error < best.error) best = { error, weights: this.parameters.data.slice(), epoch };
    }
    this.parameters.data.set(best.weights);
    return best.error;
  }

  #step(data: StepColumns, chosen: Int32Array): void {
    this.#optimizer.zeroGrad();
    const loss = this.#loss(data, chosen);
    backward(loss);
    this.#optimizer.step();
  }

  #loss({ inputs, outputs }: StepColumns, chosen: Int32Array): Tensor {
    const column = (from: Float32Array, width: number): Tensor => {
      const into = new Float32Array(chosen.length * width);
      gather(from, chosen, { into, width });
      return tensor(into, { shape: [chosen.length, width] });
    };
    return this.#layers.forward(column(inputs, this.#sizes.inputs)).mseLoss(column(outputs, this.#sizes.outputs));
  }

  /** Predicts rows with the change of the observation, and the reward as the last number. */
  predict(inputs: Float32Array, scales: { inputs: Scale; outputs: Scale }): Float32Array {
    const shape = [inputs.length / this.#sizes.inputs, this.#sizes.inputs];
    const outputs = scope(() => noGrad(() => this.#layers.forward(tensor(normalized(inputs, scales.inputs), { shape })).toArray()));
    const { mean, deviation } = scales.outputs;
    return outputs.map((value, at) => value * (deviation[at % mean.length] as number) + (mean[at % mean.length] as number));
  }

  getState(): { step: number; random: RandomState; arrays: Readonly<Record<"weights" | "expAvg" | "expAvgSq", Float32Array>> } {
    const { step, expAvg, expAvgSq } = this.#optimizer.getState();
    return { step, random: this.#random.getState(), arrays: { weights: this.parameters.data.slice(), expAvg, expAvgSq } };
  }

  /** @throws RangeError where the state is of another network */
  setState({
    step,
    random,
    arrays,
  }: {
    step: number;
    random: RandomState;
    arrays: Readonly<Record<string, Float32Array | undefined>>;
  }): void {
    const { weights, expAvg, expAvgSq } = arrays;
    if (weights?.length !== this.parameters.size)
      throw new RangeError(`a model of the world has ${this.parameters.size} numbers: received ${weights?.length ?? "none"}`);
    this.#optimizer.setState({ step, expAvg, expAvgSq } as AdamState);
    this.parameters.data.set(weights);
    this.#random.setState(random);
  }
}
