/**
 * Layers that remember: LSTM and GRU over sequences `[rows, steps, inputs]`.
 *
 * States are `[rows, hidden]`, zeros at first.
 * A caller that keeps a state over updates detaches it.
 */
import { Layer } from "./layer.ts";
import { currentRandom, type Random } from "./random.ts";
import { describeShape } from "./tape.ts";
import { type CellWeights, type LstmState, stack, type Tensor, zeros } from "./tensor.ts";

export interface RecurrentOptions {
  /** Where the first weights come from. Default: the stream of `withRandom`. */
  readonly random?: Random;
}

/** The weights of one layer, by PyTorch's names, with its first values. */
abstract class Recurrent extends Layer implements CellWeights {
  readonly weightIh: Tensor;
  readonly weightHh: Tensor;
  readonly biasIh: Tensor;
  readonly biasHh: Tensor;
  protected readonly hidden: number;

  constructor(sizes: { inputs: number; hidden: number; gates: number }, { random = currentRandom() }: RecurrentOptions) {
    super();
    const { inputs, hidden, gates } = sizes;
    const limit = 1 / Math.sqrt(hidden);
    const uniform = (numbers: Float32Array): void => numbers.forEach((_, at) => (numbers[at] = (2 * random.uniform() - 1) * limit));
    this.hidden = hidden;
    this.weightIh = this.parameter("weight_ih_l0", [inputs, gates * hidden], uniform, [1, 0]);
    this.weightHh = this.parameter("weight_hh_l0", [hidden, gates * hidden], uniform, [1, 0]);
    this.biasIh = this.parameter("bias_ih_l0", [gates * hidden], uniform);
    this.biasHh = this.parameter("bias_hh_l0", [gates * hidden], uniform);
  }

  /** The inputs of each step. */
  protected steps(x: Tensor): Tensor[] {
    if (x.shape.length !== 3)
      throw new RangeError(`Cannot run a recurrent layer: its input is [rows, steps, inputs]: received shape ${describeShape(x.shape)}.`);
    const [rows, count, inputs] = x.shape as [number, number, number];
    return Array.from({ length: count }, (_, at) => x.slice({ axis: 1, start: at, end: at + 1 }).reshape([rows, inputs]));
  }
}

/** Long short-term memory: Hochreiter and Schmidhuber 1997, with PyTorch's gates. */
export class Lstm extends Recurrent {
  constructor(inputs: number, hidden: number, options: RecurrentOptions = {}) {
    super({ inputs, hidden, gates: 4 }, options);
  }

  initialState(rows: number): LstmState {
    return { h: zeros([rows, this.hidden]), c: zeros([rows, this.hidden]) };
  }

  /** Outputs of all steps, `[rows, steps, hidden]`, and the state behind the last. */
  forward(x: Tensor, state?: LstmState): { output: Tensor; state: LstmState } {
    const steps = this.steps(x);
    let now = state ?? this.initialState(x.shape[0] as number);
    const outputs = steps.map((step) => {
      now = step.lstmCell(now, this);
      return now.h;
    });
    return { output: stack(outputs, { axis: 1 }), state: now };
  }
}

/** The gated recurrent unit: Cho and others, arXiv:1406.1078, with PyTorch's gates. */
export class Gru extends Recurrent {
  constructor(inputs: number, hidden: number, options: RecurrentOptions = {}) {
    super({ inputs, hidden, gates: 3 }, options);
  }

  initialState(rows: number): Tensor {
    return zeros([rows, this.hidden]);
  }

  /** Outputs of all steps, `[rows, steps, hidden]`, and the state behind the last. */
  forward(x: Tensor, state?: Tensor): { output: Tensor; state: Tensor } {
    const steps = this.steps(x);
    let now = state ?? this.initialState(x.shape[0] as number);
    const outputs = steps.map((step) => {
      now = step.gruCell(now, this);
      return now;
    });
    return { output: stack(outputs, { axis: 1 }), state: now };
  }
}
