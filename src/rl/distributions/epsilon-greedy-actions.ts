/**
 * Choices by value: the action of the largest one, or now and then any action.
 *
 * A draw takes one uniform number, and another where the action is any. Batches are those of a categorical distribution over the values, as in Ray.
 */
import type { Random } from "../../tensor/index.ts";
import type { Discrete } from "../spaces/discrete.ts";
import { type Draw, type Exploration, FORBIDDEN } from "./action-distribution.ts";
import { CategoricalActions } from "./categorical-actions.ts";

export class EpsilonGreedyActions extends CategoricalActions {
  readonly #count: number;

  constructor(space: Discrete) {
    super(space);
    this.#count = space.n;
  }

  override sample(draw: Draw, random: Random, { epsilon = 0 }: Exploration = {}): number {
    if (random.uniform() < epsilon) draw.actions[draw.row] = this.#any(draw, random);
    else this.choose(draw);
    return 0;
  }

  /** Any action that no mask forbids. */
  #any({ inputs, row }: Draw, random: Random): number {
    const count = this.#count;
    const isAllowed = (action: number): boolean => (inputs[row * count + action] as number) > FORBIDDEN / 2;
    const allowed = Array.from({ length: count }, (_, action) => action).filter(isAllowed);
    return allowed[random.integer(allowed.length)] as number;
  }
}
