/**
 * CartPole whose observation has no speeds, only the position and the angle, as in RLlib 2.60: it needs a memory.
 *
 * RLlib's class has no time limit. Here an episode is truncated after 500 steps, as CartPole-v1's, or after `maxEpisodeSteps`.
 */
import { Box } from "../../spaces/box.ts";
import { CartPole, type CartPoleOptions, OBSERVED } from "../classic/cart-pole.ts";
import type { VectorContext } from "../env.ts";

export class StatelessCartPole extends CartPole {
  override readonly observationSpace: Box = new Box({
    low: [-OBSERVED.position, -OBSERVED.angle],
    high: [OBSERVED.position, OBSERVED.angle],
  });

  constructor(options: CartPoleOptions = {}, context: VectorContext = {}) {
    super(options, context, 2);
  }

  protected override show(observations: Float32Array, first: number, end: number): void {
    const { states } = this;
    for (let index = first; index < end; index += 1) {
      observations[2 * index] = states[4 * index] as number;
      observations[2 * index + 1] = states[4 * index + 2] as number;
    }
  }
}
