import { expect, test } from "vitest";
import { CartPole } from "./cart-pole.ts";
import { makeEnv, makeVectorEnv } from "../make-env.ts";

test("equal seeds give equal episodes, environment i those of seed + i", async () => {
  const one = await makeVectorEnv("CartPole-v1", { numEnvs: 3 });
  const other = await makeVectorEnv("CartPole-v1", { numEnvs: 2 });
  const first = (await one.reset({ seed: 5 })).observations.slice();
  expect((await other.reset({ seed: 6 })).observations).toEqual(first.slice(4));
  const env = await makeEnv("CartPole-v1");
  expect((await env.reset({ seed: 5 })).observation).toEqual(first.slice(0, 4));
});

test("the next step after an episode begins another one: its reward is 0 and its action ignored", () => {
  const env = new CartPole({ maxEpisodeSteps: 2 }, { numEnvs: 1 });
  env.reset({ seed: 1 });
  env.step([1]);
  expect(env.step([1])).toMatchObject({ truncateds: Uint8Array.of(1), rewards: Float64Array.of(1) });
  const ended = env.getState().states;
  expect(env.step([0])).toMatchObject({ truncateds: Uint8Array.of(0), rewards: Float64Array.of(0) });
  expect(env.getState().states).not.toEqual(ended);
  expect(env.getState().steps).toEqual([0]);
});

test("in the same step, the last observation is finalObservation", () => {
  const [one, other] = [new CartPole({ maxEpisodeSteps: 2 }, { autoresetMode: "sameStep" }), new CartPole({ maxEpisodeSteps: 2 })];
  for (const env of [one, other]) env.reset({ seed: 1 });
  for (const env of [one, other]) env.step([1]);
  const expected = other.step([1]).observations.slice();
  const { infos, observations, truncateds, rewards } = one.step([1]);
  expect(infos[0]).toEqual({ finalObservation: expected, finalInfo: {} });
  expect([truncateds[0], rewards[0]]).toEqual([1, 1]);
  expect(observations).not.toEqual(expected);
  expect(one.getState().steps).toEqual([0]);
});

test("without autoreset, a masked reset begins the chosen episodes alone", () => {
  const env = new CartPole({ maxEpisodeSteps: 1 }, { numEnvs: 2, autoresetMode: "disabled" });
  env.reset({ seed: 1 });
  const before = env.step([1, 0]).observations.slice();
  const { observations } = env.reset({ mask: Uint8Array.of(0, 1) });
  expect(observations.slice(0, 4)).toEqual(before.slice(0, 4));
  expect(observations.slice(4)).not.toEqual(before.slice(4));
  expect(env.getState()).toMatchObject({ steps: [1, 0], ended: [1, 0] });
});

test("a state that was set goes on as the one that it was taken from", () => {
  const [one, other] = [new CartPole({ maxEpisodeSteps: 7 }, { numEnvs: 2 }), new CartPole({ maxEpisodeSteps: 7 }, { numEnvs: 2 })];
  one.reset({ seed: 3 });
  for (let step = 0; step < 10; step += 1) one.step([step % 2, 1]);
  other.setState(JSON.parse(JSON.stringify(one.getState())));
  for (let step = 0; step < 20; step += 1) expect(other.step([1, step % 2]).observations).toEqual(one.step([1, step % 2]).observations);
});

test.each<[() => unknown, string]>([
  [() => new CartPole({}, { numEnvs: 0 }), "Cannot make CartPole: numEnvs is a whole number from 1 to 65536: received 0"],
  [() => new CartPole({}, { autoresetMode: "later" as "disabled" }), 'autoresetMode is nextStep, sameStep, disabled: received "later"'],
  [() => new CartPole({ maxEpisodeSteps: 0 }), "maxEpisodeSteps is a number from 1: received 0"],
  [() => new CartPole().step([0]), "Cannot step CartPole: it was not reset. Call reset() first"],
  [() => new CartPole().reset({ seed: 0.5 }), "Cannot reset CartPole: the seed is a whole number: received 0.5"],
  [() => new CartPole().reset({ options: { low: 1, high: 0 } }), "Cannot reset with low and high: two numbers are needed"],
  [() => reset(new CartPole()).step([2]), "Cannot step CartPole: the action of environment 0 is a whole number from 0 to 1: received 2"],
])("%s is refused", (use, reason) => {
  expect(use).toThrow(reason);
});

function reset(env: CartPole): CartPole {
  env.reset({ seed: 1, options: { low: -0.01, high: 0.01 } });
  return env;
}
