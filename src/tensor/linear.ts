/**
 * Linear layers, and networks of them.
 *
 * Weights are `[in, out]`.
 * An `Mlp` has its layers at even names, as PyTorch's `nn.Sequential` of layers and activations has them.
 */
import { checkedInitializer, type Initializer, initializeBias, initializeWeight } from "./initializers.ts";
import { Layer } from "./layer.ts";
import { currentRandom, type Random } from "./random.ts";
import type { Tensor } from "./tensor.ts";

/** PyTorch's weights are `[out, in]`. */
const TRANSPOSED = [1, 0];

export interface LinearOptions {
  /** Default: true. */
  readonly bias?: boolean;
  /** Default: `uniform`. */
  readonly initializer?: Initializer;
  /** Multiplies the first weights. Default: 1. */
  readonly gain?: number;
  /** Where the first weights come from. Default: the stream of `withRandom`. */
  readonly random?: Random;
}

/** `x weight + bias` on the last axis. */
export class Linear extends Layer {
  readonly weight: Tensor;
  readonly bias: Tensor | null;

  constructor(inputs: number, outputs: number, options: LinearOptions = {}) {
    super();
    const { bias = true, gain = 1, random = currentRandom() } = options;
    const initializer = checkedInitializer(options.initializer ?? "uniform");
    const fan = { inputs, outputs, gain, random };
    this.weight = this.parameter("weight", [inputs, outputs], (numbers) => initializeWeight(numbers, initializer, fan), TRANSPOSED);
    this.bias = bias ? this.parameter("bias", [outputs], (numbers) => initializeBias(numbers, initializer, fan)) : null;
  }

  forward(x: Tensor): Tensor {
    return x.linear(this.weight, this.bias);
  }
}

const ACTIVATIONS = ["linear", "tanh", "relu", "elu", "silu", "sigmoid", "softplus"] as const;
export type Activation = (typeof ACTIVATIONS)[number];

/** @throws RangeError when there is no activation of that name */
function activate(x: Tensor, activation: Activation): Tensor {
  return activation === "linear" ? x : x[activation]();
}

export interface MlpOptions extends LinearOptions {
  /** Between layers. Default: `tanh`. */
  readonly activation?: Activation;
  /** Behind the last layer. Default: `linear`, which is none. */
  readonly outputActivation?: Activation;
  /** Multiplies the first weights of the last layer. Default: 1; with an output activation that of the others, which is sqrt(2) for `orthogonal`. */
  readonly gain?: number;
}

/**
 * Linear layers with activations between them.
 *
 * @example
 * ```ts
 * const network = new Mlp([4, 64, 64, 2], { activation: "tanh" });
 * network.forward(tensor([[0.1, 0, 0.2, 0]])); // [1, 2]
 * ```
 */
export class Mlp extends Layer {
  readonly #layers: readonly Linear[];
  readonly #activation: Activation;
  readonly #outputActivation: Activation;

  /** @throws RangeError when there are less than two sizes */
  constructor(sizes: readonly number[], options: MlpOptions = {}) {
    super();
    if (sizes.length < 2 || !sizes.every((size) => Number.isInteger(size) && size > 0))
      throw new RangeError(`Cannot make an Mlp: it has two sizes or more, whole numbers from 1 on: received ${JSON.stringify(sizes)}.`);
    const { activation = "tanh", outputActivation = "linear", gain, ...rest } = options;
    this.#activation = checkedActivation(activation);
    this.#outputActivation = checkedActivation(outputActivation);
    const hiddenGain = rest.initializer === "orthogonal" ? Math.SQRT2 : 1;
    const lastGain = gain ?? (outputActivation === "linear" ? 1 : hiddenGain);
    const last = sizes.length - 2;
    this.#layers = sizes
      .slice(1)
      .map((size, index) =>
        this.add(String(2 * index), new Linear(sizes[index] as number, size, { ...rest, gain: index === last ? lastGain : hiddenGain })),
      );
  }

  forward(x: Tensor): Tensor {
    const last = this.#layers.length - 1;
    return this.#layers.reduce(
      (input, layer, index) => activate(layer.forward(input), index === last ? this.#outputActivation : this.#activation),
      x,
    );
  }
}

function checkedActivation(activation: Activation): Activation {
  if (!ACTIVATIONS.includes(activation))
    throw new RangeError(
      `Cannot make an Mlp: there is no such activation: received ${JSON.stringify(activation)}. There are ${ACTIVATIONS.join(", ")}.`,
    );
  return activation;
}
