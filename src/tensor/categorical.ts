/**
 * The categorical distribution: one of n, a row.
 *
 * Decides how forbidden choices are kept out: their logits are lowered by a large finite number.
 * So their probabilities are 0, and entropies stay numbers.
 */
import { memory } from "./memory.ts";
import { currentRandom, type Random } from "./random.ts";
import { describeShape, place } from "./tape.ts";
import { type Indices, type Tensor, tensor } from "./tensor.ts";

/** Far below the logits of networks; minus infinity would make NaN of 0 x infinity in entropies. */
const FORBIDDEN = -1e9;

export interface CategoricalOptions {
  /** A number for each logit: 0 forbids the choice. */
  readonly mask?: ArrayLike<number> | null;
}

/**
 * Choices by their unscaled log-probabilities, `[rows, n]`.
 *
 * @example
 * ```ts
 * const policy = new Categorical(network.forward(observations), { mask: Uint8Array.of(1, 0, 1) });
 * const actions = policy.sample(random);
 * const logp = policy.logp(actions);
 * ```
 */
export class Categorical {
  /** The logits; forbidden choices are lowered. */
  readonly logits: Tensor;
  #logp: Tensor | undefined;

  /** @throws RangeError when the mask has another size, or forbids all choices of a row */
  constructor(logits: Tensor, { mask }: CategoricalOptions = {}) {
    if (logits.shape.length !== 2 || logits.shape[1] === 0)
      throw new RangeError(`Cannot make a Categorical: logits are [rows, n]: received shape ${describeShape(logits.shape)}.`);
    this.logits = mask == null ? logits : logits.add(lowered(logits, mask));
  }

  /** Draws a choice for each row. */
  sample(random: Random = currentRandom()): Int32Array {
    return this.#choose((numbers, from, count) => {
      const most = largest(numbers, from, count);
      let total = 0;
      for (let i = 0; i < count; i++) total += Math.exp((numbers[from + i] as number) - (numbers[from + most] as number));
      let left = random.uniform() * total;
      for (let i = 0; i < count; i++) {
        left -= Math.exp((numbers[from + i] as number) - (numbers[from + most] as number));
        if (left < 0) return i;
      }
      return most;
    });
  }

  /** The likeliest choice of each row. */
  mode(): Int32Array {
    return this.#choose(largest);
  }

  /** Log-probabilities of choices, `[rows]`. */
  logp(choices: Indices): Tensor {
    return this.#logProbabilities().gather(choices);
  }

  /** `[rows]`. */
  entropy(): Tensor {
    const logp = this.#logProbabilities();
    return logp.exp().mul(logp).sum({ axis: -1 }).neg();
  }

  /** The divergence of another distribution from this one, `[rows]`. */
  kl(other: Categorical): Tensor {
    const logp = this.#logProbabilities();
    return logp.exp().mul(logp.sub(other.#logProbabilities())).sum({ axis: -1 });
  }

  #logProbabilities(): Tensor {
    this.#logp ??= this.logits.logSoftmax();
    return this.#logp;
  }

  #choose(choice: (numbers: Float32Array, from: number, count: number) => number): Int32Array {
    const [rows, count] = this.logits.shape as [number, number];
    const from = place(this.logits) / 4;
    const chosen = new Int32Array(rows);
    for (let row = 0; row < rows; row++) chosen[row] = choice(memory.f32, from + row * count, count);
    return chosen;
  }
}

function largest(numbers: Float32Array, from: number, count: number): number {
  let best = 0;
  for (let i = 1; i < count; i++) if ((numbers[from + i] as number) > (numbers[from + best] as number)) best = i;
  return best;
}

function lowered(logits: Tensor, mask: ArrayLike<number>): Tensor {
  const [rows, count] = logits.shape as [number, number];
  if (mask.length !== rows * count)
    throw new RangeError(
      `Cannot make a Categorical: the mask has one number a logit: received ${mask.length} numbers for shape ${describeShape(logits.shape)}.`,
    );
  const change = new Float32Array(mask.length);
  for (let row = 0; row < rows; row++) {
    let allowed = 0;
    for (let at = row * count; at < (row + 1) * count; at++) {
      if (mask[at] === 0) change[at] = FORBIDDEN;
      else allowed += 1;
    }
    if (allowed === 0) throw new RangeError(`Cannot make a Categorical: each row allows a choice: received a mask of zeros in row ${row}.`);
  }
  return tensor(change, { shape: logits.shape });
}
