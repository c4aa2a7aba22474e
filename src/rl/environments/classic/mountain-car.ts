/**
 * MountainCar-v0: a car too weak for the hill has to swing up. Gymnasium's, step for step.
 *
 * The observation has the position and the speed; the actions are left, none and right. Each step earns -1 until the flag is reached.
 * Episodes are truncated after 200 steps.
 */
import type { Random } from "../../../tensor/index.ts";
import { Box } from "../../spaces/box.ts";
import type { ColumnData } from "../../spaces/columns.ts";
import { Discrete } from "../../spaces/discrete.ts";
import type { Info, VectorContext } from "../env.ts";
import { BatchedEnv, type BatchedOptions, resetBounds } from "./batched-env.ts";

/** The valley of both MountainCars: its ends, the greatest speed, and the pull of the slope. */
export const VALLEY = { left: -1.2, right: 0.6, speed: 0.07, gravity: 0.0025 };
const FORCE = 0.001;
const GOAL = 0.5;

export interface MountainCarOptions extends BatchedOptions {
  /** The least speed at the flag. Default: 0. */
  readonly goalVelocity?: number | undefined;
}

export class MountainCar extends BatchedEnv {
  readonly observationSpace: Box = new Box({ low: [VALLEY.left, -VALLEY.speed], high: [VALLEY.right, VALLEY.speed] });
  readonly actionSpace: Discrete = new Discrete(3);
  readonly #goalVelocity: number;

  constructor({ goalVelocity = 0, ...options }: MountainCarOptions = {}, context: VectorContext = {}) {
    super({ state: 2, observation: 2, stepsMax: 200 }, options, context);
    this.#goalVelocity = goalVelocity;
  }

  protected override checkOptions(options: Info): void {
    resetBounds(options, -0.6, -0.4);
  }

  protected begin(index: number, random: Random, options: Info): void {
    const [low, high] = resetBounds(options, -0.6, -0.4);
    this.states[2 * index] = low + (high - low) * random.uniform();
    this.states[2 * index + 1] = 0;
  }

  protected advance(actions: ColumnData): void {
    const { numEnvs, states, rewards, terminateds } = this;
    for (let index = 0; index < numEnvs; index += 1) {
      const action = this.choiceAction(actions, index, 3);
      const from = states[2 * index] as number;
      const pushed = (states[2 * index + 1] as number) + ((action - 1) * FORCE + Math.cos(3 * from) * -VALLEY.gravity);
      let speed = Math.min(VALLEY.speed, Math.max(-VALLEY.speed, pushed));
      const position = Math.min(VALLEY.right, Math.max(VALLEY.left, from + speed));
      if (position === VALLEY.left && speed < 0) speed = 0;
      states[2 * index] = position;
      states[2 * index + 1] = speed;
      terminateds[index] = position >= GOAL && speed >= this.#goalVelocity ? 1 : 0;
      rewards[index] = -1;
    }
  }

  protected show(observations: Float32Array, first: number, end: number): void {
    for (let at = 2 * first; at < 2 * end; at += 1) observations[at] = this.states[at] as number;
  }
}
