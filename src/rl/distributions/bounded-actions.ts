/**
 * Numbers between bounds, as SAC, TD3 and DDPG have them: actions of the policy lie between -1 and 1, which span the bounds of the environment.
 *
 * `SquashedActions` are drawn from a normal distribution and squashed by tanh; draws of one episode may be correlated. `DeterministicActions` are the squashed numbers of the network, with noise while exploring: independent, or one that
 * drifts within an episode (Ornstein and Uhlenbeck).
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { type Random, SquashedNormal, type Tensor } from "../../tensor/index.ts";
import { LOG_DEVIATION_MAX, LOG_DEVIATION_MIN } from "../limits.ts";
import { Box } from "../spaces/box.ts";
import { type ColumnData, columnLayout, type ColumnLayout } from "../spaces/columns.ts";
import type { Space } from "../spaces/space.ts";
import type { ActionDistribution, Draw, Exploration } from "./action-distribution.ts";

const HALF_LOG_2_PI = 0.5 * Math.log(2 * Math.PI);

abstract class BoundedActions implements ActionDistribution {
  abstract readonly inputSize: number;
  readonly actions: ColumnLayout;
  protected readonly size: number;
  readonly #low: Float64Array;
  readonly #high: Float64Array;

  /** @throws TypeError for a space that is no `Box` of floats with finite bounds */
  constructor(space: Space) {
    if (!(space instanceof Box) || !space.dtype.startsWith("float") || ![...space.low, ...space.high].every(Number.isFinite))
      throw new TypeError(
        `Cannot make a policy of numbers: the action space is a Box of floats with finite bounds: received ${describeValue(space.toJSON())}. Use DQN for Discrete, PPO for a Box without bounds`,
      );
    this.size = space.size;
    this.#low = space.low;
    this.#high = space.high;
    this.actions = columnLayout(new Box({ low: -1, high: 1, shape: [space.size] }));
  }

  abstract sample(draw: Draw, random: Random, exploration?: Exploration): number;
  abstract choose(draw: Draw): void;

  toEnvironment(actions: ColumnData, into: ColumnData): void {
    for (let at = 0; at < actions.length; at += 1) {
      const low = this.#low[at % this.size] as number;
      const high = this.#high[at % this.size] as number;
      into[at] = Math.min(high, Math.max(low, low + (((actions[at] as number) + 1) * (high - low)) / 2));
    }
  }

  fromEnvironment(actions: ColumnData, into: ColumnData): void {
    for (let at = 0; at < actions.length; at += 1) {
      const low = this.#low[at % this.size] as number;
      const high = this.#high[at % this.size] as number;
      into[at] = high === low ? 0 : (2 * ((actions[at] as number) - low)) / (high - low) - 1;
    }
  }
}

export class SquashedActions extends BoundedActions {
  readonly inputSize: number;

  constructor(space: Space) {
    super(space);
    this.inputSize = 2 * this.size;
  }

  sample({ inputs, row, actions, noise }: Draw, random: Random, { correlation = 0 }: Exploration = {}): number {
    const { size } = this;
    let logp = 0;
    for (let at = 0; at < size; at += 1) {
      const mean = inputs[row * 2 * size + at] as number;
      const log = Math.min(LOG_DEVIATION_MAX, Math.max(LOG_DEVIATION_MIN, inputs[row * 2 * size + size + at] as number));
      const normal = correlation === 0 ? random.normal() : correlated(noise, row * size + at, { random, correlation });
      const before = mean + Math.exp(log) * normal;
      actions[row * size + at] = Math.tanh(before);
      logp -= 0.5 * normal ** 2 + log + HALF_LOG_2_PI + 2 * (Math.LN2 - before - Math.log1p(Math.exp(-2 * before)));
    }
    return logp;
  }

  choose({ inputs, row, actions }: Draw): void {
    for (let at = 0; at < this.size; at += 1) actions[row * this.size + at] = Math.tanh(inputs[row * 2 * this.size + at] as number);
  }
}

/** A normal number that keeps a part of the one before it in the episode. Alone, each is distributed as without correlation. */
function correlated(
  states: Float64Array | undefined,
  at: number,
  { random, correlation }: { random: Random; correlation: number },
): number {
  const fresh = random.normal();
  const before = states?.[at] ?? 0;
  const after = before === 0 ? fresh : correlation * before + Math.sqrt(1 - correlation ** 2) * fresh;
  if (states !== undefined) states[at] = after;
  return after;
}

/** The distribution behind the numbers of a network: means, then log deviations. */
export function squashedNormal(inputs: Tensor): SquashedNormal {
  const size = (inputs.shape[1] as number) / 2;
  const mean = inputs.slice({ axis: 1, start: 0, end: size });
  return new SquashedNormal(mean, inputs.slice({ axis: 1, start: size, end: 2 * size }).clamp(LOG_DEVIATION_MIN, LOG_DEVIATION_MAX));
}

export class DeterministicActions extends BoundedActions {
  readonly inputSize: number;

  constructor(space: Space) {
    super(space);
    this.inputSize = this.size;
  }

  sample(draw: Draw, random: Random, { isRandom = false, noise }: Exploration = {}): number {
    const { row, actions } = draw;
    this.choose(draw);
    for (let at = row * this.size; at < (row + 1) * this.size; at += 1) {
      if (isRandom) actions[at] = 2 * random.uniform() - 1;
      else if (noise !== undefined) {
        const added = noise.type === "GaussianNoise" ? noise.stddev * random.normal() : drift(draw, at, { random, noise });
        actions[at] = Math.min(1, Math.max(-1, (actions[at] as number) + noise.scale * added));
      }
    }
    return 0;
  }

  choose({ inputs, row, actions }: Draw): void {
    for (let at = row * this.size; at < (row + 1) * this.size; at += 1) actions[at] = Math.tanh(inputs[at] as number);
  }
}

type Noise = NonNullable<Exploration["noise"]>;

/** Moves the noise of one number on. The range of actions, which Ray multiplies by, is 2. */
function drift({ noise: states }: Draw, at: number, { random, noise }: { random: Random; noise: Noise }): number {
  if (states === undefined) return 0;
  const before = states[at] as number;
  const after = before - noise.ouTheta * before + noise.ouSigma * random.normal();
  states[at] = after;
  return 2 * noise.ouBaseScale * after;
}
