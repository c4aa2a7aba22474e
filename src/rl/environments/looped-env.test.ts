import { expect, test } from "vitest";
import { Box } from "../spaces/box.ts";
import { Dict } from "../spaces/composite.ts";
import { Discrete } from "../spaces/discrete.ts";
import type { AutoresetMode, Env, EnvContext, VectorEnv } from "./env.ts";
import { makeEnv, makeVectorEnv } from "./make-env.ts";
import { type EnvClass, registerEnv } from "./registry.ts";

/** Counts its steps up to a length; environment `i` counts to `length + i`. */
class Counter implements Env<Float32Array, number> {
  readonly observationSpace: Box = new Box({ low: 0, high: 100, shape: [1] });
  readonly actionSpace: Discrete = new Discrete(2);
  protected at = 0;
  readonly #length: number;

  constructor({ length = 2 }: { length?: number }, { vectorIndex }: EnvContext) {
    this.#length = length + vectorIndex;
  }

  reset(): { observation: Float32Array } {
    this.at = 0;
    return { observation: Float32Array.of(0) };
  }

  step(action: number): ReturnType<Env<Float32Array>["step"]> {
    this.at += 1;
    return {
      observation: Float32Array.of(this.at),
      reward: action,
      terminated: this.at >= this.#length,
      truncated: false,
      info: { at: this.at },
    };
  }
}

class LateCounter extends Counter {
  override async step(action: number): Promise<Awaited<ReturnType<Counter["step"]>>> {
    return await super.step(action);
  }
}

/** Steps both environments with action 1, and lists the observations, rewards and ends of each step. Gymnasium's `SyncVectorEnv` gives the same over the same counter. */
async function played(env: VectorEnv, steps: number): Promise<unknown[]> {
  await env.reset({ seed: 1 });
  const rows: unknown[] = [];
  for (let step = 0; step < steps; step += 1) {
    const { observations, rewards, terminateds } = await env.step(Int32Array.of(1, 1));
    rows.push([Array.from(observations as number[]), Array.from(rewards), Array.from(terminateds)]);
  }
  return rows;
}

const NEXT_STEP = [
  [
    [1, 1],
    [1, 1],
    [0, 0],
  ],
  [
    [2, 2],
    [1, 1],
    [1, 0],
  ],
  [
    [0, 3],
    [0, 1],
    [0, 1],
  ],
  [
    [1, 0],
    [1, 0],
    [0, 0],
  ],
];
const SAME_STEP = [
  [
    [1, 1],
    [1, 1],
    [0, 0],
  ],
  [
    [0, 2],
    [1, 1],
    [1, 0],
  ],
  [
    [1, 0],
    [1, 1],
    [0, 1],
  ],
  [
    [0, 1],
    [1, 1],
    [1, 0],
  ],
];

test.each<[string, EnvClass, AutoresetMode, unknown]>([
  ["an environment", Counter, "nextStep", NEXT_STEP],
  ["an environment of promises", LateCounter, "nextStep", NEXT_STEP],
  ["an environment", Counter, "sameStep", SAME_STEP],
  ["an environment of promises", LateCounter, "sameStep", SAME_STEP],
])("%s (%o) begins episodes anew in mode %s", async (_, envClass, autoresetMode, expected) => {
  expect(await played(await makeVectorEnv(envClass, { numEnvs: 2, autoresetMode }), 4)).toEqual(expected);
});

test("in the same step, the ended episode's observation and info are in infos", async () => {
  const env = await makeVectorEnv(Counter, { numEnvs: 2, autoresetMode: "sameStep" });
  await env.reset();
  await env.step(Int32Array.of(0, 0));
  const { infos } = await env.step(Int32Array.of(0, 0));
  expect(infos).toEqual([{ finalObservation: Float32Array.of(2), finalInfo: { at: 2 } }, { at: 2 }]);
});

test("the last observation stays where an environment writes the next one into the same arrays", async () => {
  class Reusing implements Env<{ at: Float32Array }, number> {
    readonly observationSpace = new Dict<{ at: Box }>({ at: new Box({ low: 0, high: 9, shape: [1] }) });
    readonly actionSpace: Discrete = new Discrete(2);
    readonly #observation = { at: new Float32Array(1) };

    reset(): { observation: { at: Float32Array } } {
      this.#observation.at[0] = 0;
      return { observation: this.#observation };
    }

    step(): ReturnType<Env<{ at: Float32Array }>["step"]> {
      this.#observation.at[0] = 7;
      return { observation: this.#observation, reward: 0, terminated: true, truncated: false };
    }
  }
  const env = await makeVectorEnv(Reusing, { autoresetMode: "sameStep" });
  await env.reset();
  const { observations, infos } = await env.step(Int32Array.of(0));
  expect(observations).toEqual([{ at: Float32Array.of(0) }]);
  expect(infos[0]?.["finalObservation"]).toEqual({ at: Float32Array.of(7) });
});

test("without autoreset a step after the end is refused, and a masked reset goes on", async () => {
  const env = await makeVectorEnv(Counter, { numEnvs: 2, autoresetMode: "disabled" });
  await env.reset();
  for (let step = 0; step < 2; step += 1) await env.step(Int32Array.of(0, 0));
  expect(() => env.step(Int32Array.of(0, 0))).toThrow("Cannot step Counter: the episode of environment 0 has ended. Reset it first");
  await env.reset({ mask: Uint8Array.of(1, 0) });
  expect((await env.step(Int32Array.of(0, 0))).observations).toEqual(Float32Array.of(1, 3));
});

test("a registered name has its time limit, alone and in a vector", async () => {
  registerEnv("short-counter", Counter, { maxEpisodeSteps: 2 });
  const env = await makeEnv("short-counter", { length: 50 });
  await env.reset();
  expect(await env.step(1)).toMatchObject({ terminated: false, truncated: false });
  expect(await env.step(1)).toMatchObject({ terminated: false, truncated: true });
  const vector = await makeVectorEnv("short-counter", { numEnvs: 2, envConfig: { length: 50 } });
  await vector.reset();
  await vector.step(Int32Array.of(0, 0));
  expect((await vector.step(Int32Array.of(0, 0))).truncateds).toEqual(Uint8Array.of(1, 1));
});

test("values of spaces without a flat form are lists", async () => {
  class Maze extends Counter {
    override readonly observationSpace = new Dict({ at: new Discrete(9) }) as never;
    override reset(): never {
      return { observation: { at: 3 } } as never;
    }
  }
  const env = await makeVectorEnv(Maze, { numEnvs: 2 });
  expect((await env.reset()).observations).toEqual([{ at: 3 }, { at: 3 }]);
});

/** A counter with one member exchanged. */
function broken(members: object): EnvClass {
  const made = class Broken extends Counter {};
  Object.assign(made.prototype, members);
  return made;
}

const step = (fields: object) => () => ({ observation: [1], reward: 0, terminated: false, truncated: false, ...fields });

test.each<[string, EnvClass, string]>([
  [
    "reset that throws",
    broken({
      reset: () => {
        throw new Error("no world");
      },
    }),
    "Cannot reset Broken: it threw no world",
  ],
  [
    "step that throws",
    broken({
      step: () => {
        throw new Error("no floor");
      },
    }),
    "Cannot step Broken: it threw no floor",
  ],
  [
    "step that rejects",
    broken({
      step: async () => {
        throw new Error("no net");
      },
    }),
    "Cannot step Broken: it threw no net",
  ],
  ["a tuple", broken({ reset: () => [[0], {}] }), "Cannot use Broken: reset() returns an object such as { observation }: received "],
  [
    "a wrong shape",
    broken({ step: step({ observation: [1, 2] }) }),
    "Cannot use Broken: the observation of step() is not in the observation space: float32 numbers of the shape [1]",
  ],
  ["NaN", broken({ step: step({ observation: [Number.NaN] }) }), "element 0 is a number from 0 to 100: received NaN"],
  [
    "an observation out of bounds",
    broken({ reset: () => ({ observation: [101] }) }),
    "the observation of reset() is not in the observation space: element 0",
  ],
  [
    "a reward of NaN",
    broken({ step: step({ reward: Number.NaN }) }),
    "Cannot use Broken: the reward of step() is a finite number: received NaN",
  ],
  ["a reward in words", broken({ step: step({ reward: "much" }) }), 'the reward of step() is a finite number: received "much"'],
  [
    "a missing flag",
    broken({ step: step({ truncated: undefined }) }),
    "Cannot use Broken: truncated of step() is true or false: received undefined",
  ],
  [
    "no object",
    broken({ step: () => undefined }),
    "step() returns an object such as { observation, reward, terminated, truncated }: received undefined",
  ],
])("%s is an error that names the class and the value", async (_, envClass, reason) => {
  const run = async (): Promise<void> => {
    const env = await makeVectorEnv(envClass, { numEnvs: 2 });
    await env.reset();
    await env.step(Int32Array.of(0, 0));
  };
  await expect(run()).rejects.toThrow(reason);
  await expect(run()).rejects.toMatchObject({ code: "RL_ENVIRONMENT" });
});

class Throwing {
  constructor() {
    throw new Error("no display");
  }
}
class Spaceless {
  reset(): void {}
  step(): void {}
}
class Fixed extends Counter {
  numEnvs = 3;
}

test.each<[unknown, string]>([
  ["CartPole-v0", 'Cannot find an environment: there is no id "CartPole-v0": did you mean CartPole-v1?'],
  ["CratPole-v1", "did you mean CartPole-v1?"],
  ["Pong", "there are CartPole-v1"],
  [5, 'an id such as "CartPole-v1", or a class, is needed: received 5'],
  [Throwing, "Cannot construct Throwing: it threw no display"],
  [
    Spaceless,
    "Cannot use Spaceless as an environment: observationSpace is a space of shoal/rl, such as new Discrete(2): received undefined",
  ],
  [class Empty {}, "Cannot use Empty as an environment: it needs a method reset(): received undefined"],
  [Fixed, "Cannot use Fixed: 1 environments are needed, as the second argument says: numEnvs is 3"],
])("makeVectorEnv(%o) is refused", async (source, reason) => {
  await expect(makeVectorEnv(source as EnvClass)).rejects.toThrow(reason);
});

test.each<[() => unknown, string]>([
  [() => registerEnv("", Counter), 'Cannot register an environment: a name is needed: received ""'],
  [() => registerEnv("x", {} as never), "Cannot register x: a class is needed: received {}"],
  [() => registerEnv("x", Counter, { maxEpisodeSteps: 0 }), "maxEpisodeSteps is a whole number from 1: received 0"],
])("%s is refused", (use, reason) => {
  expect(use).toThrow(reason);
});
