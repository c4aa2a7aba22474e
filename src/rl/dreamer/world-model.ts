/**
 * DreamerV3's model of the world: a recurrent state, and a stochastic one of several variables with classes.
 *
 * The recurrent state `h` comes from the state and the action before. The posterior gives the distribution of the stochastic state `z` from `h` and the observation, the prior from `h` alone. Heads
 * predict the observation, the reward that came with it, and whether the episode goes on. Distributions have a percent of equal probability mixed in.
 */
import { type CellWeights, Gru, Layer, LayerNorm, Linear, type Tensor } from "../../tensor/index.ts";
import type { DreamerSize } from "./sizes.ts";

/** Points of the scale on which rewards and values are two-hot, in symlog. */
export const SUPPORT: Float32Array = Float32Array.from({ length: 255 }, (_, at) => -20 + (40 * at) / 254);

/** The share of equal probabilities in each distribution. */
const UNIFORM_SHARE = 0.01;

/** `sign(x) log(|x| + 1)`. */
export function symlog(x: Tensor): Tensor {
  const size = x.abs();
  return size
    .add(1)
    .log()
    .mul(x.div(size.maximum(1e-12)));
}

/** The inverse of `symlog`. */
export function symexp(value: number): number {
  return Math.sign(value) * Math.expm1(Math.abs(value));
}

/** Layers with normalized rows, and a last one without. */
export class Head extends Layer {
  readonly #hidden: readonly { readonly linear: Linear; readonly norm: LayerNorm }[];
  readonly #last: Linear | undefined;

  /** @param outputs - numbers of the last layer, which begins with zeros where `startsAtZero`; 0: there is none */
  constructor(inputs: number, outputs: number, { size, startsAtZero = false }: { size: DreamerSize; startsAtZero?: boolean }) {
    super();
    this.#hidden = Array.from({ length: size.layers }, (_, index) => ({
      linear: this.add(`linear${index}`, new Linear(index === 0 ? inputs : size.units, size.units, { bias: false })),
      norm: this.add(`norm${index}`, new LayerNorm(size.units)),
    }));
    if (outputs > 0) this.#last = this.add("last", new Linear(size.units, outputs, { initializer: startsAtZero ? "zeros" : "uniform" }));
  }

  forward(x: Tensor): Tensor {
    const features = this.#hidden.reduce((input, { linear, norm }) => norm.forward(linear.forward(input)).silu(), x);
    return this.#last?.forward(features) ?? features;
  }
}

/** Log-probabilities `[rows, classes]` of logits, with the equal share. */
export function mixedLogp(logits: Tensor): Tensor {
  const classes = logits.shape.at(-1) as number;
  return logits
    .softmax()
    .mul(1 - UNIFORM_SHARE)
    .add(UNIFORM_SHARE / classes)
    .log();
}

export class WorldModel extends Layer {
  readonly size: DreamerSize;
  readonly encoder: Head;
  readonly decoder: Head;
  readonly reward: Head;
  readonly goesOn: Head;
  readonly #before: Head;
  readonly #gru: Gru;
  readonly #posterior: Head;
  readonly #prior: Head;

  constructor({ obsSize, actionSize, size }: { readonly obsSize: number; readonly actionSize: number; readonly size: DreamerSize }) {
    super();
    const { units, recurrent, variables } = size;
    const stochastic = variables ** 2;
    const state = recurrent + stochastic;
    this.size = size;
    this.encoder = this.add("encoder", new Head(obsSize, 0, { size }));
    this.#before = this.add("before", new Head(stochastic + actionSize, 0, { size }));
    this.#gru = this.add("gru", new Gru(units, recurrent));
    this.#posterior = this.add("posterior", new Head(recurrent + units, stochastic, { size }));
    this.#prior = this.add("prior", new Head(recurrent, stochastic, { size }));
    this.decoder = this.add("decoder", new Head(state, obsSize, { size }));
    this.reward = this.add("reward", new Head(state, SUPPORT.length, { size, startsAtZero: true }));
    this.goesOn = this.add("continue", new Head(state, 1, { size }));
  }

  /** The next recurrent state. Each is `[rows, size]`; `zAndAction` has the stochastic state and the action side by side. */
  step(h: Tensor, zAndAction: Tensor): Tensor {
    return this.#before.forward(zAndAction).gruCell(h, this.#gru satisfies CellWeights);
  }

  /** Log-probabilities of the stochastic state behind an observation: `[rows x variables, classes]`. */
  posterior(hAndFeatures: Tensor): Tensor {
    return mixedLogp(this.#posterior.forward(hAndFeatures).reshape([-1, this.size.variables]));
  }

  /** Log-probabilities without the observation. */
  prior(h: Tensor): Tensor {
    return mixedLogp(this.#prior.forward(h).reshape([-1, this.size.variables]));
  }
}
