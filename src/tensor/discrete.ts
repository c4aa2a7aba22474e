/**
 * Discrete distributions beside the categorical one: coins, several choices a row, and numbers between two points of a scale.
 *
 * Log-probabilities and entropies are `[rows]`.
 * Samples are plain numbers in the form that spaces have for them.
 */
import { Categorical, type CategoricalOptions } from "./categorical.ts";
import { currentRandom, type Random } from "./random.ts";
import { describeShape } from "./tape.ts";
import { type Indices, type Tensor, tensor } from "./tensor.ts";

/** Independent coins by their logits, `[rows, n]`. */
export class Bernoulli {
  readonly logits: Tensor;

  constructor(logits: Tensor) {
    if (logits.shape.length !== 2)
      throw new RangeError(`Cannot make a Bernoulli: logits are [rows, n]: received shape ${describeShape(logits.shape)}.`);
    this.logits = logits;
  }

  /** 0 or 1 for each logit. */
  sample(random: Random = currentRandom()): Int8Array {
    return Int8Array.from(this.logits.toArray(), (logit) => (random.uniform() * (1 + Math.exp(-logit)) < 1 ? 1 : 0));
  }

  mode(): Int8Array {
    return Int8Array.from(this.logits.toArray(), (logit) => (logit > 0 ? 1 : 0));
  }

  logp(values: Indices): Tensor {
    const given = tensor(Float32Array.from(values), { shape: this.logits.shape });
    return given.mul(this.logits).sub(this.logits.softplus()).sum({ axis: -1 });
  }

  entropy(): Tensor {
    return this.logits.softplus().sub(this.logits.mul(this.logits.sigmoid())).sum({ axis: -1 });
  }

  /** The divergence of another distribution from this one. */
  kl(other: Bernoulli): Tensor {
    const gain = this.logits.sigmoid().mul(this.logits.sub(other.logits));
    return gain.sub(this.logits.softplus()).add(other.logits.softplus()).sum({ axis: -1 });
  }
}

/** Several independent choices a row: logits `[rows, sum of counts]`, one count a choice. */
export class MultiCategorical {
  readonly parts: readonly Categorical[];
  readonly #rows: number;

  constructor(logits: Tensor, counts: readonly number[], { mask }: CategoricalOptions = {}) {
    const [rows, columns] = logits.shape;
    const total = counts.reduce((sum, count) => sum + count, 0);
    if (logits.shape.length !== 2 || columns !== total || !counts.every((count) => Number.isInteger(count) && count > 0) || total === 0)
      throw new RangeError(
        `Cannot make a MultiCategorical: logits are [rows, sum of counts]: received shape ${describeShape(logits.shape)} and counts [${counts.join(", ")}].`,
      );
    if (mask != null && mask.length !== logits.size)
      throw new RangeError(
        `Cannot make a MultiCategorical: the mask has one number a logit: received ${mask.length} numbers for shape ${describeShape(logits.shape)}.`,
      );
    this.#rows = rows as number;
    let start = 0;
    this.parts = counts.map((count) => {
      const from = start;
      start += count;
      const own =
        mask == null
          ? null
          : Float32Array.from(
              { length: this.#rows * count },
              (_, at) => mask[Math.floor(at / count) * total + from + (at % count)] as number,
            );
      return new Categorical(logits.slice({ axis: 1, start: from, end: start }), { mask: own });
    });
  }

  /** The choices of a row stand side by side. */
  sample(random: Random = currentRandom()): Int32Array {
    return this.#joined((part) => part.sample(random));
  }

  mode(): Int32Array {
    return this.#joined((part) => part.mode());
  }

  logp(choices: Indices): Tensor {
    const width = this.parts.length;
    if (choices.length !== this.#rows * width)
      throw new RangeError(
        `Cannot take log-probabilities: there are ${this.#rows} rows of ${width} choices: received ${choices.length} choices.`,
      );
    return this.#sum((part, at) => part.logp(Int32Array.from({ length: this.#rows }, (_, row) => choices[row * width + at] as number)));
  }

  entropy(): Tensor {
    return this.#sum((part) => part.entropy());
  }

  /** The divergence of another distribution from this one. */
  kl(other: MultiCategorical): Tensor {
    if (other.parts.length !== this.parts.length)
      throw new RangeError(`Cannot compare: both have the same counts: received ${this.parts.length} and ${other.parts.length} choices.`);
    return this.#sum((part, at) => part.kl(other.parts[at] as Categorical));
  }

  #sum(f: (part: Categorical, at: number) => Tensor): Tensor {
    return this.parts.map(f).reduce((sum, term) => sum.add(term));
  }

  #joined(f: (part: Categorical) => Int32Array): Int32Array {
    const chosen = this.parts.map(f);
    return Int32Array.from(
      { length: this.#rows * chosen.length },
      (_, at) => chosen[at % chosen.length]?.[Math.floor(at / chosen.length)] as number,
    );
  }
}

/** Numbers as weights of the two nearest points of a scale: DreamerV3, arXiv:2301.04104. Logits are `[rows, points]`. */
export class TwoHot {
  readonly #choice: Categorical;
  readonly #support: Float32Array;

  /** @throws RangeError when the points do not rise, or are not one a logit */
  constructor(logits: Tensor, support: ArrayLike<number>) {
    this.#support = Float32Array.from(support);
    if (
      this.#support.length < 2 ||
      logits.shape.at(-1) !== this.#support.length ||
      !this.#support.every((point, at) => at === 0 || point > (this.#support[at - 1] as number))
    )
      throw new RangeError(
        `Cannot make a TwoHot: there is a point for each logit, and they rise: received ${this.#support.length} points for shape ${describeShape(logits.shape)}.`,
      );
    this.#choice = new Categorical(logits);
  }

  /** The expected number of each row, with gradients. */
  mean(): Tensor {
    return this.#choice.logits.softmax().mul(tensor(this.#support)).sum({ axis: -1 });
  }

  /** The expected numbers. */
  mode(): Float32Array {
    return this.mean().toArray();
  }

  /** A point for each row. */
  sample(random: Random = currentRandom()): Float32Array {
    return Float32Array.from(this.#choice.sample(random), (at) => this.#support[at] as number);
  }

  /** Weighted log-probabilities of the points beside each number; numbers beyond the scale count as its ends. */
  logp(values: ArrayLike<number>): Tensor {
    const [rows, count] = this.#choice.logits.shape as [number, number];
    const weights = new Float32Array(rows * count);
    if (values.length !== rows)
      throw new RangeError(`Cannot take log-probabilities: there is a number for each row, which are ${rows}: received ${values.length}.`);
    for (let row = 0; row < rows; row++) {
      const value = Math.min(Math.max(values[row] as number, this.#support[0] as number), this.#support[count - 1] as number);
      let above = 1;
      while (above < count - 1 && (this.#support[above] as number) < value) above += 1;
      const [low, high] = [this.#support[above - 1] as number, this.#support[above] as number];
      const part = (value - low) / (high - low);
      weights[row * count + above - 1] = 1 - part;
      weights[row * count + above] = part;
    }
    return this.#choice.logits
      .logSoftmax()
      .mul(tensor(weights, { shape: [rows, count] }))
      .sum({ axis: -1 });
  }

  entropy(): Tensor {
    return this.#choice.entropy();
  }

  /** The divergence of another distribution over the same points from this one. */
  kl(other: TwoHot): Tensor {
    return this.#choice.kl(other.#choice);
  }
}
