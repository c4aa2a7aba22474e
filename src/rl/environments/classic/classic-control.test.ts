import { expect, test } from "vitest";
import { compareTrajectories, recordedTrajectories } from "../../../../test/oracles/gymnasium-trajectories.ts";
import { makeEnv, makeVectorEnv } from "../make-env.ts";
import { Acrobot } from "./acrobot.ts";
import { MountainCar } from "./mountain-car.ts";
import { MountainCarContinuous } from "./mountain-car-continuous.ts";
import { Pendulum } from "./pendulum.ts";

test.each(recordedTrajectories())("$id with $kwargs moves as Gymnasium's, over $steps.length steps", async (trajectory) => {
  await compareTrajectories(trajectory);
});

test.each(["MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1"])(
  "%s repeats with its seed, one world or several",
  async (id) => {
    const several = await makeVectorEnv(id, { numEnvs: 2 });
    const single = await makeEnv(id);
    const first = (await several.reset({ seed: 4 })).observations;
    const { observation } = await single.reset({ seed: 5 });
    expect(Array.from(first.slice(first.length / 2) as Float32Array)).toEqual(Array.from(observation as Float32Array));
    expect(single.observationSpace.contains(observation)).toBe(true);
  },
);

test("Pendulum begins within the angle and speed that reset is given, in either spelling", () => {
  for (const options of [
    { xInit: 0.1, yInit: 0 },
    { x_init: 0.1, y_init: 0 },
  ]) {
    const env = new Pendulum({}, { numEnvs: 50 });
    env.reset({ seed: 1, options });
    const { states } = env.getState();
    for (let index = 0; index < 50; index += 1) {
      expect(Math.abs(states[2 * index] as number)).toBeLessThanOrEqual(0.1);
      expect(states[2 * index + 1]).toBeCloseTo(0, 12);
    }
  }
});

test.each<[() => unknown, string]>([
  [() => new Pendulum().reset({ options: { xInit: "far" } }), 'Cannot reset with xInit: a finite number is needed: received "far"'],
  [() => started(new Pendulum()).step([Number.NaN]), "Cannot step Pendulum: the action of environment 0 is a finite number: received NaN"],
  [
    () => started(new MountainCarContinuous()).step(["left"]),
    'Cannot step MountainCarContinuous: the action of environment 0 is a finite number: received "left"',
  ],
  [() => started(new MountainCar()).step([3]), "the action of environment 0 is a whole number from 0 to 2: received 3"],
  [() => started(new Acrobot()).step([0.5]), "the action of environment 0 is a whole number from 0 to 2: received 0.5"],
  [() => new Acrobot().reset({ options: { low: 1, high: 0 } }), "Cannot reset with low and high: two numbers are needed"],
])("%s is refused", (use, reason) => {
  expect(use).toThrow(reason);
});

function started<E extends { reset(options: { seed: number }): unknown }>(env: E): E {
  env.reset({ seed: 1 });
  return env;
}
