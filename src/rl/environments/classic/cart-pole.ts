/**
 * CartPole-v1: a pole stands on a cart that is pushed to the left or to the right. Gymnasium's, step for step.
 *
 * Each step earns 1, also the last one; with `suttonBartoReward` each earns 0 and the fall -1. An episode ends when the cart leaves the track or the pole leans by more than 12 degrees, and is truncated
 * after 500 steps. The equations are those of Barto, Sutton and Anderson, 1983, without friction.
 */
import type { Random } from "../../../tensor/index.ts";
import { Box } from "../../spaces/box.ts";
import type { ColumnData } from "../../spaces/columns.ts";
import { Discrete } from "../../spaces/discrete.ts";
import { BatchedEnv, type BatchedOptions, resetBounds } from "./batched-env.ts";
import type { Info, VectorContext } from "../env.ts";

const GRAVITY = 9.8;
const CART_MASS = 1;
const POLE_MASS = 0.1;
const TOTAL_MASS = POLE_MASS + CART_MASS;
/** Half of the pole's length. */
const LENGTH = 0.5;
const POLE_MASS_LENGTH = POLE_MASS * LENGTH;
const FORCE = 10;
const SECONDS_PER_STEP = 0.02;
const ANGLE_MAX = (12 * 2 * Math.PI) / 360;
const POSITION_MAX = 2.4;

/** Bounds of observations: twice those of an episode. */
export const OBSERVED: { readonly position: number; readonly angle: number } = { position: POSITION_MAX * 2, angle: ANGLE_MAX * 2 };

export interface CartPoleOptions extends BatchedOptions {
  readonly suttonBartoReward?: boolean | undefined;
}

export class CartPole extends BatchedEnv {
  readonly observationSpace: Box = new Box({
    low: [-OBSERVED.position, -Infinity, -OBSERVED.angle, -Infinity],
    high: [OBSERVED.position, Infinity, OBSERVED.angle, Infinity],
  });
  readonly actionSpace: Discrete = new Discrete(2);
  readonly #isSuttonBarto: boolean;

  /** @param observation - numbers of an observation, for classes that show less */
  constructor({ suttonBartoReward = false, ...options }: CartPoleOptions = {}, context: VectorContext = {}, observation = 4) {
    super({ state: 4, observation, stepsMax: 500 }, options, context);
    this.#isSuttonBarto = suttonBartoReward;
  }

  protected override checkOptions(options: Info): void {
    resetBounds(options, -0.05, 0.05);
  }

  protected begin(index: number, random: Random, options: Info): void {
    const [low, high] = resetBounds(options, -0.05, 0.05);
    for (let at = 4 * index; at < 4 * index + 4; at += 1) this.states[at] = low + (high - low) * random.uniform();
  }

  protected advance(actions: ColumnData): void {
    const { numEnvs, states, rewards, terminateds } = this;
    const isSuttonBarto = this.#isSuttonBarto;
    for (let index = 0; index < numEnvs; index += 1) {
      const action = this.choiceAction(actions, index, 2);
      const at = 4 * index;
      const x = states[at] as number;
      const speed = states[at + 1] as number;
      const angle = states[at + 2] as number;
      const turn = states[at + 3] as number;
      const cosine = Math.cos(angle);
      const sine = Math.sin(angle);
      const pushed = ((action === 1 ? FORCE : -FORCE) + POLE_MASS_LENGTH * (turn * turn) * sine) / TOTAL_MASS;
      const turnChange = (GRAVITY * sine - cosine * pushed) / (LENGTH * (4 / 3 - (POLE_MASS * (cosine * cosine)) / TOTAL_MASS));
      const nextX = x + SECONDS_PER_STEP * speed;
      const nextAngle = angle + SECONDS_PER_STEP * turn;
      states[at] = nextX;
      states[at + 1] = speed + SECONDS_PER_STEP * (pushed - (POLE_MASS_LENGTH * turnChange * cosine) / TOTAL_MASS);
      states[at + 2] = nextAngle;
      states[at + 3] = turn + SECONDS_PER_STEP * turnChange;
      const isOver = nextX < -POSITION_MAX || nextX > POSITION_MAX || nextAngle < -ANGLE_MAX || nextAngle > ANGLE_MAX;
      terminateds[index] = isOver ? 1 : 0;
      rewards[index] = isSuttonBarto ? (isOver ? -1 : 0) : 1;
    }
  }

  protected show(observations: Float32Array, first: number, end: number): void {
    const { states } = this;
    for (let at = 4 * first; at < 4 * end; at += 1) observations[at] = states[at] as number;
  }
}
