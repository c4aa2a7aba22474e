/**
 * Optimizers: Adam, AdamW, RMSProp and gradient descent, as PyTorch computes them.
 *
 * Each step is one call of a kernel for all parameters of a module. The base class owns the moments and decides the clipping of gradients; a gradient that is
 * not finite changes nothing.
 */
import type { Layer } from "./layer.ts";
import { type Block, memory } from "./memory.ts";
import type { Parameters } from "./parameters.ts";
import { zeroedBlock } from "./tape.ts";

export interface OptimizerOptions {
  /** Adam's and AdamW's default is 0.001, that of the others 0.01. May be changed between steps. */
  readonly lr?: number;
  /** Default: 0; AdamW's is 0.01. */
  readonly weightDecay?: number;
  /** Gradients whose norm over all parameters is larger are made as long as this. Default: none. */
  readonly maxGradNorm?: number | null;
}

export interface AdamOptions extends OptimizerOptions {
  /** Default: 0.9 and 0.999. */
  readonly betas?: readonly [number, number];
  /** Default: 1e-8. */
  readonly eps?: number;
}

export interface RMSPropOptions extends OptimizerOptions {
  /** How much of the mean of squares a step keeps. Default: 0.99. */
  readonly alpha?: number;
  /** Default: 1e-8. */
  readonly eps?: number;
}

export interface SGDOptions extends OptimizerOptions {
  /** Default: 0. */
  readonly momentum?: number;
}

/** The state with which an optimizer goes on as if it had not stopped: its moments, in the order of the parameters. */
export type OptimizerState = { readonly step: number; readonly [moment: string]: Float32Array | number };
export type AdamState = { readonly step: number; readonly expAvg: Float32Array; readonly expAvgSq: Float32Array };

/** The part that all optimizers have. */
export abstract class Optimizer<State extends OptimizerState = OptimizerState> {
  readonly parameters: Parameters;
  lr: number;
  maxGradNorm: number | null;
  protected readonly weightDecay: number;
  protected steps = 0;
  readonly #moments: ReadonlyMap<string, Block>;

  /** @throws RangeError when an option is impossible */
  constructor(of: Layer | Parameters, moments: readonly string[], { lr = 1e-3, weightDecay = 0, maxGradNorm = null }: OptimizerOptions) {
    checkOptions({ lr, weightDecay }, (value) => value >= 0, "numbers from 0 on");
    if (maxGradNorm !== null) checkOptions({ maxGradNorm }, (value) => value > 0, "a number above 0, or null");
    this.parameters = "parameters" in of ? of.parameters : of;
    this.lr = lr;
    this.maxGradNorm = maxGradNorm;
    this.weightDecay = weightDecay;
    this.#moments = new Map(moments.map((name) => [name, zeroedBlock(this.parameters.size)]));
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
    const { maxGradNorm } = this;
    const norm = Math.sqrt(sumSquares(this.parameters.gradientsPlace(), this.parameters.size));
    if (!Number.isFinite(norm)) return norm;
    this.steps += 1;
    this.update(maxGradNorm === null ? 1 : Math.min(1, maxGradNorm / (norm + 1e-6)));
    return norm;
  }

  getState(): State {
    const { size } = this.parameters;
    const moments = Array.from(this.#moments, ([name, { offset }]) => [name, memory.view(offset, size).slice()]);
    return { step: this.steps, ...Object.fromEntries(moments) } as State;
  }

  /** @throws RangeError when the state belongs to other parameters, or to another optimizer */
  setState(state: State): void {
    const { size } = this.parameters;
    if (!Number.isSafeInteger(state.step) || state.step < 0)
      throw new RangeError(`Cannot set an optimizer's state: its step is a whole number from 0 on: received ${state.step}.`);
    for (const name of this.#moments.keys()) {
      const moment = state[name];
      if (!(moment instanceof Float32Array) || moment.length !== size)
        throw new RangeError(
          `Cannot set an optimizer's state: ${name} has a number for each of ${size} parameters: received ${moment instanceof Float32Array ? moment.length : "none"}.`,
        );
    }
    this.steps = state.step;
    for (const [name, { offset }] of this.#moments) memory.view(offset, size).set(state[name] as Float32Array);
  }

  /** Calls the kernel. Gradients are multiplied by the factor. */
  protected abstract update(factor: number): void;

  /** Writes the places that all kernels take first. */
  protected writePlaces(...moments: readonly string[]): void {
    const { parameters } = this;
    const gradients = parameters.gradientsPlace();
    const { i32, words } = memory;
    i32[words] = parameters.place();
    i32[words + 1] = gradients;
    moments.forEach((name, index) => {
      i32[words + 2 + index] = this.#moments.get(name)?.offset ?? 0;
    });
    i32[words + 2 + Math.max(1, moments.length)] = parameters.size;
  }
}

/**
 * The optimizer of Kingma and Ba, arXiv:1412.6980.
 *
 * @example
 * ```ts
 * const optimizer = new Adam(network, { lr: 3e-4, maxGradNorm: 0.5 });
 * optimizer.zeroGrad();
 * backward(network.forward(x).square().mean());
 * optimizer.step();
 * ```
 */
export class Adam extends Optimizer<AdamState> {
  readonly #betas: readonly [number, number];
  readonly #eps: number;

  constructor(of: Layer | Parameters, options: AdamOptions = {}) {
    const { betas = [0.9, 0.999], eps = 1e-8 } = options;
    checkOptions({ beta1: betas[0], beta2: betas[1] }, (value) => value >= 0 && value < 1, "numbers from 0 to below 1");
    checkOptions({ eps }, (value) => value >= 0, "a number from 0 on");
    super(of, ["expAvg", "expAvgSq"], options);
    this.#betas = betas;
    this.#eps = eps;
  }

  /** The part of the decay that does not go through the moments. */
  protected get decayApart(): number {
    return 0;
  }

  protected override update(factor: number): void {
    const [beta1, beta2] = this.#betas;
    this.writePlaces("expAvg", "expAvgSq");
    const { f32, words, build } = memory;
    f32[words + 5] = 1 - beta1;
    f32[words + 6] = beta2;
    f32[words + 7] = 1 - beta2;
    f32[words + 8] = this.lr / (1 - beta1 ** this.steps);
    f32[words + 9] = 1 / Math.sqrt(1 - beta2 ** this.steps);
    f32[words + 10] = this.#eps;
    f32[words + 11] = factor;
    f32[words + 12] = this.weightDecay - this.decayApart;
    f32[words + 13] = 1 - this.lr * this.decayApart;
    build.kernels.adam();
  }
}

/** Adam whose weight decay does not go through its moments: Loshchilov and Hutter, arXiv:1711.05101. */
export class AdamW extends Adam {
  constructor(of: Layer | Parameters, options: AdamOptions = {}) {
    super(of, { weightDecay: 0.01, ...options });
  }
  protected override get decayApart(): number {
    return this.weightDecay;
  }
}

/** Divides by the root of a moving mean of squares: Hinton's lecture 6e. */
export class RMSProp extends Optimizer {
  readonly #alpha: number;
  readonly #eps: number;

  constructor(of: Layer | Parameters, options: RMSPropOptions = {}) {
    const { alpha = 0.99, eps = 1e-8 } = options;
    checkOptions({ alpha }, (value) => value >= 0 && value < 1, "a number from 0 to below 1");
    checkOptions({ eps }, (value) => value >= 0, "a number from 0 on");
    super(of, ["squareAvg"], { lr: 0.01, ...options });
    this.#alpha = alpha;
    this.#eps = eps;
  }

  protected override update(factor: number): void {
    this.writePlaces("squareAvg");
    const { f32, words, build } = memory;
    f32[words + 4] = this.#alpha;
    f32[words + 5] = 1 - this.#alpha;
    f32[words + 6] = this.lr;
    f32[words + 7] = this.#eps;
    f32[words + 8] = factor;
    f32[words + 9] = this.weightDecay;
    build.kernels.rmsProp();
  }
}

/** Gradient descent, with momentum if wanted. */
export class SGD extends Optimizer {
  readonly #momentum: number;

  constructor(of: Layer | Parameters, options: SGDOptions = {}) {
    const { momentum = 0 } = options;
    checkOptions({ momentum }, (value) => value >= 0 && value < 1, "a number from 0 to below 1");
    super(of, momentum === 0 ? [] : ["momentumBuffer"], { lr: 0.01, ...options });
    this.#momentum = momentum;
  }

  protected override update(factor: number): void {
    this.writePlaces("momentumBuffer");
    const { f32, words, build } = memory;
    f32[words + 4] = this.#momentum;
    f32[words + 5] = this.lr;
    f32[words + 6] = factor;
    f32[words + 7] = this.weightDecay;
    build.kernels.descend();
  }
}

function checkOptions(options: Record<string, number>, isRight: (value: number) => boolean, wanted: string): void {
  for (const [name, value] of Object.entries(options))
    if (typeof value !== "number" || !isRight(value) || value === Infinity)
      throw new RangeError(`Cannot make an optimizer: ${name} is ${wanted}: received ${String(value)}.`);
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
