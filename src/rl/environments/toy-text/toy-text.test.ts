import { expect, test } from "vitest";
import { camelCased, recordedTables } from "../../../../test/oracles/gymnasium-trajectories.ts";
import { makeEnv, makeVectorEnv } from "../make-env.ts";
import { classOf, findEnv } from "../registry.ts";
import { FrozenLake } from "./frozen-lake.ts";
import { Taxi } from "./taxi.ts";
import type { TableEnv } from "./transition-table.ts";

const context = { workerIndex: 0, vectorIndex: 0, numEnvs: 1 };

test.each(recordedTables())("$id with $kwargs has Gymnasium's outcomes, starts, masks and limit", (recorded) => {
  const spec = findEnv(recorded.id);
  const env = new (classOf(spec))(camelCased(recorded.kwargs), context) as unknown as TableEnv;
  expect(env.table.length).toBe(recorded.table.length);
  for (const [state, actions] of recorded.table.entries())
    for (const [action, outcomes] of actions.entries()) {
      const made = env.table[state]?.[action] ?? [];
      expect(made.map(([, ...rest]) => rest)).toEqual(outcomes.map(([, ...rest]) => rest));
      for (const [index, [probability]] of outcomes.entries()) expect(made[index]?.[0]).toBeCloseTo(probability, 12);
    }
  expect(spec.maxEpisodeSteps ?? null).toBe(recorded.limit);
  const starts = new Set<number>();
  for (let seed = 0; seed < 3000; seed += 1) starts.add(env.reset({ seed }).observation);
  expect(Array.from(starts).sort((a, b) => a - b)).toEqual(recorded.starts);
  if (recorded.masks === null) return;
  for (const state of starts) {
    env.setState({ ...env.getState(), state });
    const { observation, info } = env.step(0);
    expect(Array.from(info?.["actionMask"] as Int8Array)).toEqual(recorded.masks[observation]);
  }
});

test("outcomes are drawn as often as their probabilities say", () => {
  const env = new FrozenLake({ successRate: 0.6 });
  env.reset({ seed: 1 });
  const counts = new Map<number, number>();
  for (let draw = 0; draw < 10_000; draw += 1) {
    env.setState({ ...env.getState(), state: 6 });
    const { observation } = env.step(1);
    counts.set(observation, (counts.get(observation) ?? 0) + 1);
  }
  expect((counts.get(10) ?? 0) / 10_000).toBeCloseTo(0.6, 1);
  expect((counts.get(5) ?? 0) / 10_000).toBeCloseTo(0.2, 1);
});

test("a fickle passenger changes the destination once, with the first move of the ride", () => {
  const env = new Taxi({ ficklePassenger: true, fickleProbability: 1 });
  env.reset({ seed: 1 });
  // In the taxi at the first stop, on the way to the second.
  env.setState({ ...env.getState(), state: 17 });
  const first = env.step(0).observation % 4;
  expect(first).not.toBe(1);
  expect(env.step(0).observation % 4).toBe(first);
  const faithful = new Taxi();
  faithful.reset({ seed: 1 });
  faithful.setState({ ...faithful.getState(), state: 17 });
  expect(faithful.step(0).observation % 4).toBe(1);
});

test("equal seeds give equal steps, one world or several, and a state goes on", async () => {
  const env = await makeEnv("FrozenLake-v1");
  const several = await makeVectorEnv("FrozenLake-v1", { numEnvs: 2 });
  await env.reset({ seed: 4 });
  await several.reset({ seed: 3 });
  const seen: unknown[] = [];
  for (let step = 0; step < 3; step += 1) {
    const { observation } = await env.step(1);
    expect((await several.step(Int32Array.of(1, 1))).observations[1]).toBe(observation);
    seen.push(observation);
  }
  const state = JSON.parse(JSON.stringify(env.getState?.())) as never;
  const next = await env.step(2);
  env.setState?.(state);
  expect(await env.step(2)).toEqual(next);
});

test.each<[() => unknown, string]>([
  [() => new FrozenLake({ mapName: "5x5" as "4x4" }), 'mapName is 4x4 or 8x8: received "5x5"'],
  [() => new FrozenLake({ desc: ["FF", "FG"] }), "one S at least"],
  [() => new FrozenLake({ successRate: 2 }), "successRate is a number from 0 to 1: received 2"],
  [() => new Taxi().step(0), "Cannot step Taxi: it was not reset"],
  [() => (findEnv("Taxi-v3"), 0), "did you mean Taxi-v4?"],
])("%s is refused", (use, reason) => {
  expect(use).toThrow(reason);
});

test("an action that is none is refused", () => {
  const env = new Taxi();
  env.reset();
  expect(() => env.step(6)).toThrow("the action is a whole number from 0 to 5: received 6");
});
