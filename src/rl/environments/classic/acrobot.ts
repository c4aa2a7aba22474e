/**
 * Acrobot-v1: two links hang from each other, a motor turns the joint between them, and the tip has to swing above a line. Gymnasium's, step for step.
 *
 * The observation has cosine and sine of both angles and both angular speeds. Each step earns -1, the one that reaches the line 0.
 * The equations are those of Sutton and Barto's book, integrated by the fourth-order Runge-Kutta method. Episodes are truncated after 500 steps.
 */
import type { Random } from "../../../tensor/index.ts";
import { Box } from "../../spaces/box.ts";
import type { ColumnData } from "../../spaces/columns.ts";
import { Discrete } from "../../spaces/discrete.ts";
import type { Info, VectorContext } from "../env.ts";
import { BatchedEnv, type BatchedOptions, resetBounds } from "./batched-env.ts";

const SECONDS_PER_STEP = 0.2;
const SPEED_MAX_FIRST = 4 * Math.PI;
const SPEED_MAX_SECOND = 9 * Math.PI;
/** From a link's joint to its centre of mass. Links have the length, the mass and the moment of inertia 1. */
const CENTRE = 0.5;
const INERTIA = 1;
const GRAVITY = 9.8;

/** Both angles and both angular speeds, or their changes. */
type Motion = [number, number, number, number];

export class Acrobot extends BatchedEnv {
  readonly observationSpace: Box = new Box({
    low: [-1, -1, -1, -1, -SPEED_MAX_FIRST, -SPEED_MAX_SECOND],
    high: [1, 1, 1, 1, SPEED_MAX_FIRST, SPEED_MAX_SECOND],
  });
  readonly actionSpace: Discrete = new Discrete(3);

  constructor(options: BatchedOptions = {}, context: VectorContext = {}) {
    super({ state: 4, observation: 6, stepsMax: 500 }, options, context);
  }

  protected override checkOptions(options: Info): void {
    resetBounds(options, -0.1, 0.1);
  }

  protected begin(index: number, random: Random, options: Info): void {
    const [low, high] = resetBounds(options, -0.1, 0.1);
    for (let at = 4 * index; at < 4 * index + 4; at += 1) this.states[at] = Math.fround(low + (high - low) * random.uniform());
  }

  protected advance(actions: ColumnData): void {
    const { numEnvs, states, rewards, terminateds } = this;
    for (let index = 0; index < numEnvs; index += 1) {
      const torque = this.choiceAction(actions, index, 3) - 1;
      const at = 4 * index;
      const start: Motion = [states[at] as number, states[at + 1] as number, states[at + 2] as number, states[at + 3] as number];
      const [first, second, firstSpeed, secondSpeed] = integrated(start, torque);
      const [upper, lower] = [wrapped(first), wrapped(second)];
      states[at] = upper;
      states[at + 1] = lower;
      states[at + 2] = bounded(firstSpeed, SPEED_MAX_FIRST);
      states[at + 3] = bounded(secondSpeed, SPEED_MAX_SECOND);
      const isAbove = -Math.cos(upper) - Math.cos(lower + upper) > 1;
      terminateds[index] = isAbove ? 1 : 0;
      rewards[index] = isAbove ? 0 : -1;
    }
  }

  protected show(observations: Float32Array, first: number, end: number): void {
    for (let index = first; index < end; index += 1) {
      for (let link = 0; link < 2; link += 1) {
        const angle = this.states[4 * index + link] as number;
        observations[6 * index + 2 * link] = Math.cos(angle);
        observations[6 * index + 2 * link + 1] = Math.sin(angle);
        observations[6 * index + 4 + link] = this.states[4 * index + 2 + link] as number;
      }
    }
  }
}

/** One step of Runge and Kutta's method. */
function integrated(start: Motion, torque: number): Motion {
  const half = SECONDS_PER_STEP / 2;
  const one = changes(start, torque);
  const two = changes(moved(start, one, half), torque);
  const three = changes(moved(start, two, half), torque);
  const four = changes(moved(start, three, SECONDS_PER_STEP), torque);
  const next = (at: number): number => {
    const sum = (one[at] as number) + 2 * (two[at] as number) + 2 * (three[at] as number) + (four[at] as number);
    return (start[at] as number) + (SECONDS_PER_STEP / 6) * sum;
  };
  return [next(0), next(1), next(2), next(3)];
}

function moved(start: Motion, change: Motion, seconds: number): Motion {
  return [start[0] + seconds * change[0], start[1] + seconds * change[1], start[2] + seconds * change[2], start[3] + seconds * change[3]];
}

/** The time derivatives of a motion. */
function changes([first, second, firstSpeed, secondSpeed]: Motion, torque: number): Motion {
  const cosine = Math.cos(second);
  const sine = Math.sin(second);
  const d1 = CENTRE ** 2 + (1 + CENTRE ** 2 + 2 * CENTRE * cosine) + 2 * INERTIA;
  const d2 = CENTRE ** 2 + CENTRE * cosine + INERTIA;
  const phi2 = CENTRE * GRAVITY * Math.cos(first + second - Math.PI / 2);
  const phi1 =
    -CENTRE * secondSpeed ** 2 * sine -
    2 * CENTRE * secondSpeed * firstSpeed * sine +
    (CENTRE + 1) * GRAVITY * Math.cos(first - Math.PI / 2) +
    phi2;
  const secondChange = (torque + (d2 / d1) * phi1 - CENTRE * firstSpeed ** 2 * sine - phi2) / (CENTRE ** 2 + INERTIA - d2 ** 2 / d1);
  return [firstSpeed, secondSpeed, -(d2 * secondChange + phi1) / d1, secondChange];
}

/** The same angle from -pi to pi. */
function wrapped(angle: number): number {
  let turned = angle;
  while (turned > Math.PI) turned -= 2 * Math.PI;
  while (turned < -Math.PI) turned += 2 * Math.PI;
  return turned;
}

function bounded(value: number, limit: number): number {
  return Math.min(limit, Math.max(-limit, value));
}
