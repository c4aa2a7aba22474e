/**
 * Pendulum-v1: a motor swings a pendulum up and holds it there. Gymnasium's, step for step.
 *
 * The observation has the cosine and sine of the angle and the angular speed. A step costs the squared angle, a tenth of the squared speed and a thousandth of the squared torque.
 * Episodes are truncated after 200 steps.
 */
import type { Random } from "../../../tensor/index.ts";
import { Box } from "../../spaces/box.ts";
import type { ColumnData } from "../../spaces/columns.ts";
import type { Info, VectorContext } from "../env.ts";
import { BatchedEnv, type BatchedOptions, resetNumber } from "./batched-env.ts";

const SPEED_MAX = 8;
const TORQUE_MAX = 2;
const SECONDS_PER_STEP = 0.05;
/** Gymnasium weighs the torque in float32. */
const TORQUE_COST = Math.fround(0.001);

interface PendulumOptions extends BatchedOptions {
  /** Gravity. Default: 10. */
  readonly g?: number | undefined;
}

export class Pendulum extends BatchedEnv {
  readonly observationSpace: Box = new Box({ low: [-1, -1, -SPEED_MAX], high: [1, 1, SPEED_MAX] });
  readonly actionSpace: Box = new Box({ low: -TORQUE_MAX, high: TORQUE_MAX, shape: [1] });
  readonly #gravity: number;

  constructor({ g = 10, ...options }: PendulumOptions = {}, context: VectorContext = {}) {
    super({ state: 2, observation: 3, stepsMax: 200 }, options, context);
    this.#gravity = g;
  }

  protected override checkOptions(options: Info): void {
    resetNumber(options, ["xInit", "x_init"], Math.PI);
    resetNumber(options, ["yInit", "y_init"], 1);
  }

  protected begin(index: number, random: Random, options: Info): void {
    const angle = resetNumber(options, ["xInit", "x_init"], Math.PI);
    const speed = resetNumber(options, ["yInit", "y_init"], 1);
    this.states[2 * index] = angle * (2 * random.uniform() - 1);
    this.states[2 * index + 1] = speed * (2 * random.uniform() - 1);
  }

  protected advance(actions: ColumnData): void {
    const { numEnvs, states, rewards } = this;
    for (let index = 0; index < numEnvs; index += 1) {
      const torque = Math.min(TORQUE_MAX, Math.max(-TORQUE_MAX, Math.fround(this.numberAction(actions, index))));
      const angle = states[2 * index] as number;
      const speed = states[2 * index + 1] as number;
      const turned = (angle + Math.PI) % (2 * Math.PI);
      const fromTop = (turned < 0 ? turned + 2 * Math.PI : turned) - Math.PI;
      rewards[index] = -(fromTop ** 2 + 0.1 * speed ** 2 + Math.fround(TORQUE_COST * Math.fround(torque * torque)));
      const faster = speed + (((3 * this.#gravity) / 2) * Math.sin(angle) + Math.fround(3 * torque)) * SECONDS_PER_STEP;
      const next = Math.min(SPEED_MAX, Math.max(-SPEED_MAX, faster));
      states[2 * index] = angle + next * SECONDS_PER_STEP;
      states[2 * index + 1] = next;
    }
  }

  protected show(observations: Float32Array, first: number, end: number): void {
    for (let index = first; index < end; index += 1) {
      const angle = this.states[2 * index] as number;
      observations[3 * index] = Math.cos(angle);
      observations[3 * index + 1] = Math.sin(angle);
      observations[3 * index + 2] = this.states[2 * index + 1] as number;
    }
  }
}
