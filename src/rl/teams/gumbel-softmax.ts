/**
 * Choices with gradients: the Gumbel-softmax of arXiv:1611.01144, at a temperature of 1.
 *
 * Noise of the Gumbel distribution makes the largest number of a row a draw of the categorical distribution, and the softmax takes the place of the largest.
 */
import { type Random, type Tensor, tensor } from "../../tensor/index.ts";

/** Relaxed draws, `[rows, choices]`, of the categorical distributions of the logits. */
export function gumbelSoftmax(logits: Tensor, random: Random): Tensor {
  const noise = Float32Array.from({ length: logits.size }, () => -Math.log(-Math.log(Math.max(random.uniform(), Number.MIN_VALUE))));
  return logits.add(tensor(noise, { shape: logits.shape })).softmax();
}

/** Choices as rows with a single 1. */
export function oneHot(choices: ArrayLike<number>, count: number): Tensor {
  const rows = new Float32Array(choices.length * count);
  for (let row = 0; row < choices.length; row += 1) rows[row * count + (choices[row] as number)] = 1;
  return tensor(rows, { shape: [choices.length, count] });
}
