/**
 * Layers beside the linear ones: normalization, embeddings, noise, convolution.
 *
 * Names of parameters are PyTorch's, and each declares how its layout differs there.
 * Noise comes from a stream of the layer's own, which can be saved.
 */
import type { ConvolutionOptions } from "./convolution.ts";
import { checkedInitializer, initializeBias, initializeWeight } from "./initializers.ts";
import { Layer } from "./layer.ts";
import type { LinearOptions } from "./linear.ts";
import { currentRandom, Random } from "./random.ts";
import { type Indices, type Tensor, tensor } from "./tensor.ts";

/** Rows of mean 0 and variance 1, then scaled and moved by parameters: Ba and others, arXiv:1607.06450. */
export class LayerNorm extends Layer {
  readonly weight: Tensor;
  readonly bias: Tensor;
  readonly #eps: number;

  constructor(size: number, { eps = 1e-5 }: { readonly eps?: number } = {}) {
    super();
    this.#eps = eps;
    this.weight = this.parameter("weight", [size], (numbers) => numbers.fill(1));
    this.bias = this.parameter("bias", [size]);
  }

  forward(x: Tensor): Tensor {
    return x.layerNorm(this.weight, this.bias, { eps: this.#eps });
  }
}

/** A row of numbers for each of `count` things. */
export class Embedding extends Layer {
  readonly weight: Tensor;

  constructor(count: number, size: number, { random = currentRandom() }: { readonly random?: Random } = {}) {
    super();
    this.weight = this.parameter("weight", [count, size], (numbers) => {
      for (let at = 0; at < numbers.length; at++) numbers[at] = random.normal();
    });
  }

  /** The rows of the indices. */
  forward(index: Indices): Tensor {
    return this.weight.rows(index);
  }
}

export interface NoisyLinearOptions {
  /** The first deviation of weights, before the division by sqrt(inputs). Default: 0.5. */
  readonly sigma0?: number;
  /** Default: the stream of `withRandom`. */
  readonly random?: Random;
}

/** A linear layer whose weights have learnt noise, factorized: Fortunato and others, arXiv:1706.10295. */
export class NoisyLinear extends Layer {
  readonly weightMu: Tensor;
  readonly weightSigma: Tensor;
  readonly biasMu: Tensor;
  readonly biasSigma: Tensor;
  /** The stream of the noise. */
  readonly noise: Random;
  readonly #inputs: number;
  readonly #outputs: number;

  constructor(inputs: number, outputs: number, { sigma0 = 0.5, random = currentRandom() }: NoisyLinearOptions = {}) {
    super();
    const limit = 1 / Math.sqrt(inputs);
    const uniform = (numbers: Float32Array): void => numbers.forEach((_, at) => (numbers[at] = (2 * random.uniform() - 1) * limit));
    const sigma = (numbers: Float32Array): Float32Array => numbers.fill(sigma0 * limit);
    this.#inputs = inputs;
    this.#outputs = outputs;
    this.weightMu = this.parameter("weight_mu", [inputs, outputs], uniform, [1, 0]);
    this.weightSigma = this.parameter("weight_sigma", [inputs, outputs], sigma, [1, 0]);
    this.biasMu = this.parameter("bias_mu", [outputs], uniform);
    this.biasSigma = this.parameter("bias_sigma", [outputs], sigma);
    this.noise = new Random(random.integer(2 ** 32));
  }

  /** Each call has new noise. Without noise the weights are their means, for greedy choices. */
  forward(x: Tensor, { noisy = true }: { readonly noisy?: boolean } = {}): Tensor {
    if (!noisy) return x.linear(this.weightMu, this.biasMu);
    const [inputs, outputs] = [this.#draw(this.#inputs), this.#draw(this.#outputs)];
    const weight = this.weightMu.add(this.weightSigma.mul(inputs.reshape([-1, 1])).mul(outputs));
    return x.linear(weight, this.biasMu.add(this.biasSigma.mul(outputs)));
  }

  #draw(count: number): Tensor {
    return tensor(
      Float32Array.from({ length: count }, () => {
        const value = this.noise.normal();
        return Math.sign(value) * Math.sqrt(Math.abs(value));
      }),
    );
  }
}

export interface Conv2dOptions extends ConvolutionOptions, LinearOptions {}

/** Convolves images `[count, height, width, channels]`. The weight is `[height, width, inputs, outputs]`. */
export class Conv2d extends Layer {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  readonly #options: ConvolutionOptions;

  /** @param kernel the side of a square, or height and width */
  constructor(inputs: number, outputs: number, kernel: number | readonly [number, number], options: Conv2dOptions = {}) {
    super();
    const [height, width] = typeof kernel === "number" ? [kernel, kernel] : kernel;
    const { stride = 1, padding = 0, bias = true, gain = 1, random = currentRandom() } = options;
    const initializer = checkedInitializer(options.initializer ?? "uniform");
    const fan = { inputs: height * width * inputs, outputs, gain, random };
    this.#options = { stride, padding };
    const fill = (numbers: Float32Array): void => initializeWeight(numbers, initializer, fan);
    this.weight = this.parameter("weight", [height, width, inputs, outputs], fill, [3, 2, 0, 1]);
    this.bias = bias ? this.parameter("bias", [outputs], (numbers) => initializeBias(numbers, initializer, fan)) : null;
  }

  forward(x: Tensor): Tensor {
    return x.conv2d(this.weight, this.bias, this.#options);
  }
}
