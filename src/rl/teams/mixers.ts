/**
 * Mixers compute the value of a joint action from the values of the single ones.
 *
 * QMIX (arXiv:1803.11485) mixes them by a network whose weights are made from the state of the game. The absolute values of these weights are taken, so the team's value never falls when an
 * agent's grows. Value decomposition (arXiv:1706.05296) is their sum.
 */
import { Layer, Linear, Mlp, type Tensor } from "../../tensor/index.ts";

export interface Mixer extends Layer {
  /** The team's values `[rows, 1]` from those of agents `[rows, agents]` and the states `[rows, size]`. */
  mix(values: Tensor, states: Tensor): Tensor;
}

/** The sum of the agents' values. It has no parameters. */
export class SumMixer extends Layer implements Mixer {
  mix(values: Tensor): Tensor {
    return values.sum({ axis: 1, keepDims: true });
  }
}

export class MonotonicMixer extends Layer implements Mixer {
  readonly #agents: number;
  readonly #width: number;
  readonly #weights: Linear;
  readonly #biases: Linear;
  readonly #lastWeights: Linear;
  readonly #lastBias: Mlp;

  /** @param width - numbers of the hidden layer */
  constructor({ agents, stateSize, width }: { readonly agents: number; readonly stateSize: number; readonly width: number }) {
    super();
    this.#agents = agents;
    this.#width = width;
    this.#weights = this.add("hyper_w_1", new Linear(stateSize, agents * width));
    this.#lastWeights = this.add("hyper_w_final", new Linear(stateSize, width));
    this.#biases = this.add("hyper_b_1", new Linear(stateSize, width));
    this.#lastBias = this.add("V", new Mlp([stateSize, width, 1], { activation: "relu" }));
  }

  mix(values: Tensor, states: Tensor): Tensor {
    const [agents, width] = [this.#agents, this.#width];
    const weights = this.#weights.forward(states).abs().reshape([-1, agents, width]);
    const mixed = values.reshape([-1, agents, 1]).mul(weights).sum({ axis: 1 });
    const hidden = mixed.add(this.#biases.forward(states)).elu();
    const sums = hidden.mul(this.#lastWeights.forward(states).abs()).sum({ axis: 1, keepDims: true });
    return sums.add(this.#lastBias.forward(states));
  }
}
