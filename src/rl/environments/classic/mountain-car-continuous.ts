/**
 * MountainCarContinuous-v0: the car of MountainCar with a motor of variable force. Gymnasium's, step for step.
 *
 * Reaching the flag earns 100; each step costs a tenth of the squared force.
 * Gymnasium keeps this state in float32, so the steps here round as it does. Episodes are truncated after 999 steps.
 */
import type { Random } from "../../../tensor/index.ts";
import { Box } from "../../spaces/box.ts";
import type { ColumnData } from "../../spaces/columns.ts";
import type { Info, VectorContext } from "../env.ts";
import { BatchedEnv, resetBounds } from "./batched-env.ts";
import { type MountainCarOptions, VALLEY } from "./mountain-car.ts";

const { fround } = Math;
const POWER = 0.0015;
const GOAL = 0.45;
/** The limits as float32, in which they are compared. */
const LIMITS = { speed: fround(VALLEY.speed), low: fround(VALLEY.left), high: fround(VALLEY.right), goal: fround(GOAL) };

export class MountainCarContinuous extends BatchedEnv {
  readonly observationSpace: Box = new Box({ low: [VALLEY.left, -VALLEY.speed], high: [VALLEY.right, VALLEY.speed] });
  readonly actionSpace: Box = new Box({ low: -1, high: 1, shape: [1] });
  readonly #goalVelocity: number;

  constructor({ goalVelocity = 0, ...options }: MountainCarOptions = {}, context: VectorContext = {}) {
    super({ state: 2, observation: 2, stepsMax: 999 }, options, context);
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
      const action = fround(this.numberAction(actions, index));
      const force = Math.min(1, Math.max(-1, action));
      const from = states[2 * index] as number;
      const push = fround(fround(force * fround(POWER)) - fround(VALLEY.gravity * Math.cos(fround(3 * from))));
      let speed = Math.min(LIMITS.speed, Math.max(-LIMITS.speed, fround((states[2 * index + 1] as number) + push)));
      const position = Math.min(LIMITS.high, Math.max(LIMITS.low, fround(from + speed)));
      if (position === LIMITS.low && speed < 0) speed = 0;
      states[2 * index] = position;
      states[2 * index + 1] = speed;
      const isThere = position >= LIMITS.goal && speed >= this.#goalVelocity;
      terminateds[index] = isThere ? 1 : 0;
      rewards[index] = (isThere ? 100 : 0) - action ** 2 * 0.1;
    }
  }

  protected show(observations: Float32Array, first: number, end: number): void {
    for (let at = 2 * first; at < 2 * end; at += 1) observations[at] = this.states[at] as number;
  }
}
