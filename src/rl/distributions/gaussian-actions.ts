/**
 * Numbers: the components of a `Box` are normal distributions with means and log deviations of the network.
 *
 * The first half of a network's numbers are means, the second log deviations, which are held between -20 and 2. With `isNormalized` actions from -1 to 1 span the bounds; draws beyond are cut at the
 * bounds of the environment, and their log-probability stays that of the draw.
 */
import { type Random, type Tensor, tensor } from "../../tensor/index.ts";
import { LOG_DEVIATION_MAX, LOG_DEVIATION_MIN } from "../limits.ts";
import { Box } from "../spaces/box.ts";
import { type ColumnData, columnLayout, type ColumnLayout } from "../spaces/columns.ts";
import type { BatchDistribution, Draw, LikelihoodDistribution } from "./action-distribution.ts";

const HALF_LOG_2_PI = 0.5 * Math.log(2 * Math.PI);

export class GaussianActions implements LikelihoodDistribution {
  readonly inputSize: number;
  readonly actions: ColumnLayout;
  readonly #size: number;
  readonly #low: Float64Array;
  readonly #high: Float64Array;
  readonly #isNormalized: boolean;
  readonly #isClipped: boolean;

  constructor(space: Box, { isNormalized, isClipped }: { isNormalized: boolean; isClipped: boolean }) {
    this.#size = space.size;
    this.#low = space.low;
    this.#high = space.high;
    this.#isNormalized = isNormalized;
    this.#isClipped = isClipped;
    this.inputSize = 2 * space.size;
    this.actions = columnLayout(new Box({ low: -Infinity, high: Infinity, shape: [space.size] }));
  }

  sample({ inputs, row, actions }: Draw, random: Random): number {
    const size = this.#size;
    let logp = 0;
    for (let at = 0; at < size; at += 1) {
      const mean = inputs[row * 2 * size + at] as number;
      const log = clamped(inputs[row * 2 * size + size + at] as number, LOG_DEVIATION_MIN, LOG_DEVIATION_MAX);
      const action = Math.fround(mean + Math.exp(log) * random.normal());
      actions[row * size + at] = action;
      // The action that is kept, which float32 has rounded.
      logp -= 0.5 * ((action - mean) / Math.exp(log)) ** 2 + log + HALF_LOG_2_PI;
    }
    return logp;
  }

  choose({ inputs, row, actions }: Draw): void {
    for (let at = 0; at < this.#size; at += 1) actions[row * this.#size + at] = inputs[row * 2 * this.#size + at];
  }

  toEnvironment(actions: ColumnData, into: ColumnData): void {
    for (let at = 0; at < actions.length; at += 1) {
      const low = this.#low[at % this.#size] as number;
      const high = this.#high[at % this.#size] as number;
      const action = actions[at] as number;
      const isBounded = Number.isFinite(low) && Number.isFinite(high);
      if (this.#isNormalized && isBounded) into[at] = clamped(low + ((action + 1) * (high - low)) / 2, low, high);
      else into[at] = this.#isClipped ? clamped(action, low, high) : action;
    }
  }

  fromEnvironment(actions: ColumnData, into: ColumnData): void {
    for (let at = 0; at < actions.length; at += 1) {
      const low = this.#low[at % this.#size] as number;
      const high = this.#high[at % this.#size] as number;
      const action = actions[at] as number;
      const isScaled = this.#isNormalized && Number.isFinite(low) && Number.isFinite(high) && low < high;
      into[at] = isScaled ? (2 * (action - low)) / (high - low) - 1 : action;
    }
  }

  of(inputs: Tensor): BatchDistribution {
    const { mean, log } = this.#split(inputs);
    const rows = inputs.shape[0] as number;
    return {
      logp: (actions) => {
        const drawn = tensor(actions as Float32Array, { shape: [rows, this.#size] });
        const scaled = drawn.sub(mean).mul(log.neg().exp());
        return scaled.square().mul(-0.5).sub(log).sub(HALF_LOG_2_PI).sum({ axis: 1 });
      },
      entropy: () => log.add(0.5 + HALF_LOG_2_PI).sum({ axis: 1 }),
      klFrom: (earlier) => {
        const before = this.#split(earlier);
        const variance = log.mul(-2).exp();
        const distance = before.log.mul(2).exp().add(before.mean.sub(mean).square()).mul(variance).mul(0.5);
        return log.sub(before.log).add(distance).sub(0.5).sum({ axis: 1 });
      },
    };
  }

  #split(inputs: Tensor): { mean: Tensor; log: Tensor } {
    const size = this.#size;
    const mean = inputs.slice({ axis: 1, start: 0, end: size });
    const log = inputs.slice({ axis: 1, start: size, end: 2 * size }).clamp(LOG_DEVIATION_MIN, LOG_DEVIATION_MAX);
    return { mean, log };
  }
}

function clamped(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
