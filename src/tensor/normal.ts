/**
 * Normal distributions, plain and squashed into an interval.
 *
 * Rows are independent, and so are the numbers of a row: log-probabilities and entropies are sums over a row, `[rows]`.
 * A sample is plain numbers; `rsample` is a tensor through which gradients flow.
 */
import { currentRandom, type Random } from "./random.ts";
import { isSameShape, shapesDiffer } from "./shapes.ts";
import { noGrad } from "./tape.ts";
import { type NestedNumbers, Tensor, tensor } from "./tensor.ts";

const LOG_TWO_PI = Math.log(2 * Math.PI);
const LOG_TWO = Math.log(2);
/** The largest float32 below 1: its arc tangent is finite. */
const BELOW_ONE = 1 - 2 ** -24;

/**
 * Independent normal numbers: means `[rows, n]`, and logarithms of the deviations in the same shape, or `[n]` for all rows.
 *
 * @example
 * ```ts
 * const policy = new Normal(mean, logStd.clamp(-20, 2));
 * const actions = policy.sample(random);
 * const logp = policy.logp(actions);
 * ```
 */
export class Normal {
  readonly mean: Tensor;
  readonly logStd: Tensor;

  constructor(mean: Tensor, logStd: Tensor) {
    if (mean.shape.length !== 2 || !(isSameShape(mean.shape, logStd.shape) || isSameShape(mean.shape.slice(1), logStd.shape)))
      throw shapesDiffer("make a Normal", mean.shape, logStd.shape, "Means are [rows, n]; log deviations are the same, or [n].");
    this.mean = mean;
    this.logStd = logStd;
  }

  /** A draw, as a flat list. */
  sample(random: Random = currentRandom()): Float32Array {
    return noGrad(() => this.rsample(random).toArray());
  }

  /** A draw with gradients for mean and deviation. */
  rsample(random: Random = currentRandom()): Tensor {
    const noise = Float32Array.from({ length: this.mean.size }, () => random.normal());
    return this.mean.add(this.logStd.exp().mul(tensor(noise, { shape: this.mean.shape })));
  }

  mode(): Float32Array {
    return this.mean.toArray();
  }

  logp(values: Tensor | NestedNumbers): Tensor {
    const distance = valuesOf(values, this.mean).sub(this.mean).div(this.logStd.exp());
    return distance
      .square()
      .mul(-0.5)
      .sub(this.logStd)
      .sub(LOG_TWO_PI / 2)
      .sum({ axis: -1 });
  }

  entropy(): Tensor {
    return this.logStd
      .add(this.mean.detach().mul(0))
      .add(0.5 + LOG_TWO_PI / 2)
      .sum({ axis: -1 });
  }

  /** The divergence of another distribution from this one. */
  kl(other: Normal): Tensor {
    const difference = this.mean.sub(other.mean).square().add(this.logStd.mul(2).exp());
    const ratio = difference.div(other.logStd.mul(2).exp()).mul(0.5);
    return other.logStd.sub(this.logStd).add(ratio).sub(0.5).sum({ axis: -1 });
  }
}

export interface SquashedNormalOptions {
  /** Default: -1. */
  readonly low?: number;
  /** Default: 1. */
  readonly high?: number;
}

/** The hyperbolic tangent of a normal distribution, stretched to an interval: arXiv:1801.01290, appendix C. */
export class SquashedNormal {
  readonly base: Normal;
  readonly #scale: number;
  readonly #middle: number;

  constructor(mean: Tensor, logStd: Tensor, { low = -1, high = 1 }: SquashedNormalOptions = {}) {
    if (!(low < high) || !Number.isFinite(high - low))
      throw new RangeError(`Cannot make a SquashedNormal: the lower limit is below the upper: received ${low} and ${high}.`);
    this.base = new Normal(mean, logStd);
    this.#scale = (high - low) / 2;
    this.#middle = (high + low) / 2;
  }

  sample(random: Random = currentRandom()): Float32Array {
    return noGrad(() => this.rsample(random).value.toArray());
  }

  /** A draw with gradients, and its log-probability, which is exact near the limits, too. */
  rsample(random: Random = currentRandom()): { value: Tensor; logp: Tensor } {
    const before = this.base.rsample(random);
    return { value: this.#squash(before), logp: this.base.logp(before).sub(this.#stretch(before)) };
  }

  mode(): Float32Array {
    return noGrad(() => this.#squash(this.base.mean).toArray());
  }

  /** Values at or beyond a limit count as the number next to it. */
  logp(values: Tensor | NestedNumbers): Tensor {
    const unit = valuesOf(values, this.base.mean)
      .sub(this.#middle)
      .mul(1 / this.#scale)
      .clamp(-BELOW_ONE, BELOW_ONE);
    const before = unit.add(1).log().sub(unit.neg().add(1).log()).mul(0.5);
    return this.base.logp(before).sub(this.#stretch(before));
  }

  /** An estimate from one draw, with gradients: there is no closed form. */
  entropy(random: Random = currentRandom()): Tensor {
    return this.rsample(random).logp.neg();
  }

  /** The divergence of another distribution with the same limits: squashing does not change it. */
  kl(other: SquashedNormal): Tensor {
    return this.base.kl(other.base);
  }

  #squash(before: Tensor): Tensor {
    return before.tanh().mul(this.#scale).add(this.#middle);
  }

  /** log |dy/du| = log scale + 2 (log 2 - u - softplus(-2u)), which does not round to log 0. */
  #stretch(before: Tensor): Tensor {
    const slope = before.add(before.mul(-2).softplus()).sub(LOG_TWO).mul(-2);
    return slope.add(Math.log(this.#scale)).sum({ axis: -1 });
  }
}

function valuesOf(values: Tensor | NestedNumbers, mean: Tensor): Tensor {
  const given = values instanceof Tensor ? values : tensor(values, { shape: mean.shape });
  if (!isSameShape(given.shape, mean.shape))
    throw shapesDiffer("take log-probabilities", mean.shape, given.shape, "Give one value a mean.");
  return given;
}
