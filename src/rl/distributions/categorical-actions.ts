/**
 * Choices: `Discrete` is one categorical distribution, `MultiDiscrete` one for each number.
 *
 * A draw inverts the cumulative probabilities with one uniform number, in float64.
 * Batches use `Categorical` of `shoal/tensor`, so that gradients flow.
 */
import { Categorical, type Random, type Tensor } from "../../tensor/index.ts";
import { type ColumnData, columnLayout, type ColumnLayout } from "../spaces/columns.ts";
import { Discrete } from "../spaces/discrete.ts";
import type { MultiDiscrete } from "../spaces/multi-discrete.ts";
import type { BatchDistribution, Draw, LikelihoodDistribution } from "./action-distribution.ts";

export class CategoricalActions implements LikelihoodDistribution {
  readonly inputSize: number;
  readonly actions: ColumnLayout;
  readonly #counts: readonly number[];
  readonly #start: number;

  constructor(space: Discrete | MultiDiscrete) {
    this.#counts = space instanceof Discrete ? [space.n] : space.counts;
    this.#start = space instanceof Discrete ? space.start : 0;
    this.inputSize = this.#counts.reduce((sum, count) => sum + count, 0);
    this.actions = columnLayout(space);
  }

  sample({ inputs, row, actions }: Draw, random: Random): number {
    let from = row * this.inputSize;
    let logp = 0;
    for (let part = 0; part < this.#counts.length; part += 1) {
      const count = this.#counts[part] as number;
      const most = inputs[from + largest(inputs, from, count)] as number;
      let total = 0;
      for (let at = from; at < from + count; at += 1) total += Math.exp((inputs[at] as number) - most);
      let left = random.uniform() * total;
      let chosen = 0;
      for (; chosen < count - 1; chosen += 1) {
        left -= Math.exp((inputs[from + chosen] as number) - most);
        if (left < 0) break;
      }
      actions[row * this.#counts.length + part] = chosen;
      logp += (inputs[from + chosen] as number) - most - Math.log(total);
      from += count;
    }
    return logp;
  }

  choose({ inputs, row, actions }: Draw): void {
    let from = row * this.inputSize;
    for (const [part, count] of this.#counts.entries()) {
      actions[row * this.#counts.length + part] = largest(inputs, from, count);
      from += count;
    }
  }

  toEnvironment(actions: ColumnData, into: ColumnData): void {
    for (let at = 0; at < actions.length; at += 1) into[at] = (actions[at] as number) + this.#start;
  }

  fromEnvironment(actions: ColumnData, into: ColumnData): void {
    for (let at = 0; at < actions.length; at += 1) into[at] = (actions[at] as number) - this.#start;
  }

  of(inputs: Tensor): BatchDistribution {
    const parts = partsOf(inputs, this.#counts);
    const total = (one: (part: Categorical, index: number) => Tensor): Tensor => parts.map(one).reduce((sum, value) => sum.add(value));
    const width = parts.length;
    return {
      logp: (actions) => total((part, index) => part.logp(width === 1 ? (actions as Int32Array) : everyNth(actions, width, index))),
      entropy: () => total((part) => part.entropy()),
      klFrom: (earlier) => {
        const before = partsOf(earlier, this.#counts);
        return total((part, index) => (before[index] as Categorical).kl(part));
      },
    };
  }
}

function partsOf(inputs: Tensor, counts: readonly number[]): Categorical[] {
  if (counts.length === 1) return [new Categorical(inputs)];
  let start = 0;
  return counts.map((count) => {
    start += count;
    return new Categorical(inputs.slice({ axis: 1, start: start - count, end: start }));
  });
}

function everyNth(column: ColumnData, width: number, index: number): Int32Array {
  return Int32Array.from({ length: column.length / width }, (_, row) => column[row * width + index] as number);
}

function largest(numbers: Float32Array, from: number, count: number): number {
  let best = 0;
  for (let at = 1; at < count; at += 1) if ((numbers[from + at] as number) > (numbers[from + best] as number)) best = at;
  return best;
}
