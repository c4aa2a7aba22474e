/**
 * The network of Q-learning: a value for each action, or a distribution of returns for each.
 *
 * Duelling (arXiv:1511.06581): one head says the value of the observation, another the advantage of each action, of which the mean is taken away. With several atoms
 * (arXiv:1707.06887) both heads give logits for each atom of the support. Noisy heads (arXiv:1706.10295) explore by themselves.
 */
import { Layer, Mlp, NoisyLinear, type Random, type Tensor, tensor } from "../../tensor/index.ts";
import { ObservationLayers } from "./observation-layers.ts";
import type { ModuleSetup } from "./model-config.ts";
import { type ModuleInput, type ModuleOutput, RLModule } from "./rl-module.ts";

/** The part of the training's options that shapes the network. */
interface QOptions {
  readonly dueling: boolean;
  readonly numAtoms: number;
  readonly vMin: number;
  readonly vMax: number;
  readonly noisy: boolean;
  readonly sigma0: number;
}

export class QModule extends RLModule {
  readonly #options: QOptions;
  readonly #encoder: ObservationLayers;
  readonly #advantages: Head;
  readonly #value: Head | undefined;
  readonly #support: Float32Array;

  constructor(setup: ModuleSetup) {
    super(setup);
    const { outputSize, modelConfig } = setup;
    const options = modelConfig as unknown as QOptions;
    this.#options = options;
    this.#encoder = this.add("encoder", new ObservationLayers(setup, { fcnetActivation: "tanh", initializer: "uniform" }));
    const head = (outputs: number): Head =>
      new Head([this.#encoder.size, ...(modelConfig.headFcnetHiddens ?? []), outputs * options.numAtoms], options);
    this.#advantages = this.add("advantages", head(outputSize));
    this.#value = options.dueling ? this.add("value", head(1)) : undefined;
    this.#support = supportOf(options);
  }

  /** Gives `qValues`, `[rows, actions]`; with several atoms `qLogits`, too: `[rows, actions, atoms]`. */
  forward({ obs, explore = false }: ModuleInput): ModuleOutput {
    const { numAtoms } = this.#options;
    const { features } = this.#encoder.forward(obs);
    const actions = this.setup.outputSize;
    const advantages = this.#advantages.forward(features, explore).reshape([-1, actions, numAtoms]);
    const value = this.#value?.forward(features, explore).reshape([-1, 1, numAtoms]);
    const logits = value === undefined ? advantages : advantages.sub(advantages.mean({ axis: 1, keepDims: true })).add(value);
    if (numAtoms === 1) return { qValues: logits.reshape([-1, actions]) };
    const qValues = logits.softmax().mul(tensor(this.#support)).sum({ axis: -1 });
    return { qValues, qLogits: logits };
  }

  override forwardTrain(input: ModuleInput): ModuleOutput {
    return this.forward({ ...input, explore: true });
  }

  override get noise(): readonly Random[] {
    return [...this.#advantages.noise, ...(this.#value?.noise ?? [])];
  }
}

/** The returns that the atoms stand for. */
export function supportOf({ numAtoms, vMin, vMax }: Pick<QOptions, "numAtoms" | "vMin" | "vMax">): Float32Array {
  return Float32Array.from({ length: numAtoms }, (_, atom) => vMin + (atom * (vMax - vMin)) / Math.max(1, numAtoms - 1));
}

/** Fully connected layers, all of which may be noisy. */
class Head extends Layer {
  readonly #plain: Mlp | undefined;
  readonly #noisy: readonly NoisyLinear[];

  constructor(sizes: readonly number[], { noisy, sigma0 }: QOptions) {
    super();
    this.#plain = noisy ? undefined : this.add("layers", new Mlp(sizes, { activation: "relu", initializer: "uniform" }));
    this.#noisy = noisy
      ? sizes.slice(1).map((size, index) => this.add(String(2 * index), new NoisyLinear(sizes[index] as number, size, { sigma0 })))
      : [];
  }

  get noise(): readonly Random[] {
    return this.#noisy.map(({ noise }) => noise);
  }

  forward(features: Tensor, noisy: boolean): Tensor {
    if (this.#plain !== undefined) return this.#plain.forward(features);
    const last = this.#noisy.length - 1;
    return this.#noisy.reduce((x, layer, index) => {
      const y = layer.forward(x, { noisy });
      return index === last ? y : y.relu();
    }, features);
  }
}
