/**
 * Adam: one call of a kernel for all parameters of a module.
 *
 * Decides the bias corrections and the clipping of gradients, and owns both moments.
 * A gradient that is not finite changes nothing.
 */
import { type Block, memory } from "./memory.ts";
import type { Layer } from "./layer.ts";
import type { Parameters } from "./parameters.ts";
import { zeroedBlock } from "./tape.ts";

export interface AdamOptions {
  /** Default: 0.001. May be changed between steps. */
  readonly lr?: number;
  /** Default: 0.9 and 0.999. */
  readonly betas?: readonly [number, number];
  /** Default: 1e-8. */
  readonly eps?: number;
  /** Default: 0. */
  readonly weightDecay?: number;
  /** Gradients whose norm over all parameters is larger are made as long as this. Default: none. */
  readonly maxGradNorm?: number | null;
}

/** The state with which {@link Adam} goes on as if it had not stopped. */
export interface AdamState {
  readonly step: number;
  /** Moments, in the order of the parameters. */
  readonly expAvg: Float32Array;
  readonly expAvgSq: Float32Array;
}

/**
 * The optimizer of Kingma and Ba, arXiv:1412.6980, as PyTorch computes it.
 *
 * @example
 * ```ts
 * const optimizer = new Adam(network, { lr: 3e-4, maxGradNorm: 0.5 });
 * optimizer.zeroGrad();
 * backward(network.forward(x).square().mean());
 * optimizer.step();
 * ```
 */
export class Adam {
  readonly parameters: Parameters;
  lr: number;
  maxGradNorm: number | null;
  readonly #betas: readonly [number, number];
  readonly #eps: number;
  readonly #weightDecay: number;
  readonly #first: Block;
  readonly #second: Block;
  #step = 0;

  /** @throws RangeError when an option is impossible */
  constructor(of: Layer | Parameters, options: AdamOptions = {}) {
    const { lr = 1e-3, betas = [0.9, 0.999], eps = 1e-8, weightDecay = 0, maxGradNorm = null } = options;
    if (
      !(lr >= 0) ||
      !betas.every((beta) => beta >= 0 && beta < 1) ||
      !(eps >= 0) ||
      !(weightDecay >= 0) ||
      !(maxGradNorm === null || maxGradNorm > 0)
    )
      throw new RangeError(
        `Cannot make an optimizer: an option is impossible: received ${JSON.stringify({ lr, betas, eps, weightDecay, maxGradNorm })}. ` +
          "Numbers are from 0 on, betas below 1, maxGradNorm above 0.",
      );
    this.parameters = "parameters" in of ? of.parameters : of;
    this.lr = lr;
    this.maxGradNorm = maxGradNorm;
    this.#betas = betas;
    this.#eps = eps;
    this.#weightDecay = weightDecay;
    this.#first = zeroedBlock(this.parameters.size);
    this.#second = zeroedBlock(this.parameters.size);
  }

  zeroGrad(): void {
    this.parameters.zeroGrad();
  }

  /**
   * Changes the parameters by their gradients, and gives the norm of these before clipping.
   *
   * A norm that is not finite says that nothing was changed.
   */
  step(): number {
    const { parameters, maxGradNorm } = this;
    const gradients = parameters.gradientsPlace();
    const norm = Math.sqrt(sumSquares(gradients, parameters.size));
    if (!Number.isFinite(norm)) return norm;
    this.#step += 1;
    const scale = maxGradNorm === null ? 1 : Math.min(1, maxGradNorm / (norm + 1e-6));
    const [beta1, beta2] = this.#betas;
    const { i32, f32, words, build } = memory;
    i32[words] = parameters.place();
    i32[words + 1] = gradients;
    i32[words + 2] = this.#first.offset;
    i32[words + 3] = this.#second.offset;
    i32[words + 4] = parameters.size;
    f32[words + 5] = 1 - beta1;
    f32[words + 6] = beta2;
    f32[words + 7] = 1 - beta2;
    f32[words + 8] = this.lr / (1 - beta1 ** this.#step);
    f32[words + 9] = 1 / Math.sqrt(1 - beta2 ** this.#step);
    f32[words + 10] = this.#eps;
    f32[words + 11] = scale;
    f32[words + 12] = this.#weightDecay;
    f32[words + 13] = 1;
    build.kernels.adam();
    return norm;
  }

  getState(): AdamState {
    const { size } = this.parameters;
    return {
      step: this.#step,
      expAvg: memory.view(this.#first.offset, size).slice(),
      expAvgSq: memory.view(this.#second.offset, size).slice(),
    };
  }

  /** @throws RangeError when the state belongs to other parameters */
  setState({ step, expAvg, expAvgSq }: AdamState): void {
    const { size } = this.parameters;
    if (!Number.isSafeInteger(step) || step < 0 || expAvg.length !== size || expAvgSq.length !== size)
      throw new RangeError(
        `Cannot set an optimizer's state: there are ${size} parameters: received moments of ${expAvg.length} and ${expAvgSq.length} at step ${step}.`,
      );
    this.#step = step;
    memory.view(this.#first.offset, size).set(expAvg);
    memory.view(this.#second.offset, size).set(expAvgSq);
  }
}

const doubles = new Float64Array(1);
const halves = new Uint32Array(doubles.buffer);

function sumSquares(offset: number, count: number): number {
  const { i32, words, build } = memory;
  i32[words] = offset;
  i32[words + 1] = count;
  build.kernels.sumSquares();
  halves[0] = i32[words + 2] as number;
  halves[1] = i32[words + 3] as number;
  return doubles[0] as number;
}
