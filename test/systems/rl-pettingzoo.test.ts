/** Games of PettingZoo: agents that move at once or in turn, masks, training, and faults. */
import { join } from "node:path";
import { init, shutdown } from "shoal";
import { type EnvironmentError, makeMultiAgent, makeMultiAgentEnv, makeVectorEnv, pettingZoo, PPOConfig } from "shoal/rl";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installed } from "./installed.ts";

const venv = installed("pettingzoo-1.27.0", (place) => [
  ["python3", "-m", "venv", place],
  [join(place, "bin", "python3"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pettingzoo[classic]==1.27.0"],
]);
const runtimeEnv = { python: venv, envVars: { PYTHONPATH: import.meta.dirname } };
const zoo = (id: string) => pettingZoo(id, { runtimeEnv });

beforeAll(() => init({ numCpus: 4, logToDriver: false }));
afterAll(() => shutdown());

test("tic-tac-toe is played in turns, with masks, to the rewards and ends of both players", async () => {
  const game = await makeMultiAgentEnv(zoo("classic/tictactoe_v3"));
  expect(game.possibleAgents).toEqual(["player_1", "player_2"]);
  const { observations } = await game.reset({ seed: 1 });
  expect(Object.keys(observations)).toEqual(["player_1"]);
  const first = observations["player_1"] as { observations: Int8Array; actionMask: Int8Array };
  expect([first.observations.length, Array.from(first.actionMask)]).toEqual([18, Array(9).fill(1)]);
  const moves = [0, 3, 1, 4];
  for (const [turn, field] of moves.entries()) {
    const mover = `player_${(turn % 2) + 1}`;
    const other = `player_${2 - (turn % 2)}`;
    const step = await game.step({ [mover]: field });
    expect(Object.keys(step.observations)).toEqual([other]);
    expect(step.terminateds["__all__"]).toBe(false);
    expect((step.observations[other] as typeof first).actionMask[field]).toBe(0);
  }
  // The third in a row: both players get their last observation and reward.
  const last = await game.step({ player_1: 2 });
  expect(last.rewards).toEqual({ player_1: 1, player_2: -1 });
  expect(last.terminateds).toMatchObject({ player_1: true, player_2: true, __all__: true });
  expect(Object.keys(last.observations).toSorted()).toEqual(["player_1", "player_2"]);
  await game.reset({ seed: 1 });
  await expect(game.step({ player_2: 0 })).rejects.toThrow("player_1 moves next");
  await game.close?.();
});

test("rock, paper, scissors is played at once, and is cut after its rounds", async () => {
  const game = await makeMultiAgentEnv(pettingZoo("classic/rps_v2", { runtimeEnv, kwargs: { max_cycles: 3 } }));
  await game.reset({ seed: 1 });
  const steps = [await game.step({ player_0: 0, player_1: 2 }), await game.step({ player_0: 0, player_1: 1 })];
  steps.push(await game.step({ player_0: 1, player_1: 1 }));
  expect(steps.map(({ rewards }) => [rewards["player_0"], rewards["player_1"]])).toEqual([
    [1, -1],
    [-1, 1],
    [0, 0],
  ]);
  expect(steps.map(({ truncateds }) => truncateds?.["__all__"])).toEqual([false, false, true]);
  await game.close?.();
});

test.each([0, 1])("self-play learns to take free fields alone, with %i runners", async (numEnvRunners) => {
  await using algorithm = await new PPOConfig()
    .environment(zoo("classic/tictactoe_v3"))
    .envRunners({ numEnvRunners, numEnvsPerEnvRunner: 2 })
    .training({ trainBatchSizePerLearner: 100, minibatchSize: 50, numEpochs: 1 })
    .rlModule({ modelConfig: { fcnetHiddens: [8] } })
    .evaluation({ evaluationDuration: 2 })
    .debugging({ seed: 1 })
    .buildAlgo();
  const { envRunners } = await algorithm.train();
  // Masks are obeyed: no game ends with a forbidden move, and none is shorter than five.
  expect(envRunners.episodeLenMean).toBeGreaterThanOrEqual(5);
  expect(envRunners.episodeReturnMean).toBeCloseTo(0, 10);
  expect((await algorithm.evaluate()).envRunners.numEpisodes).toBe(2);
});

test.each<[string, () => Promise<unknown>, string]>([
  ["an unknown game", () => makeMultiAgentEnv(zoo("classic/none_v0")), "No module named"],
  ["a module without a game", () => makeMultiAgentEnv(zoo("json")), "parallel_env() or env()"],
  ["an option that the game does not have", () => makeMultiAgentEnv(zoo("classic/rps_v2"), { rounds: 1 }), "rounds"],
  ["a vector of games", () => makeVectorEnv(zoo("classic/rps_v2")), "Use makeMultiAgentEnv()"],
  ["copies of games", () => makeMultiAgentEnv(makeMultiAgent(zoo("classic/rps_v2") as never)), "has several agents already"],
])("%s is refused", async (_, run, text) => {
  const error = (await run().catch((thrown: unknown) => thrown)) as EnvironmentError;
  expect(error.message).toContain(text);
});

test("agents that die, come late, or report beyond their end keep their own ends", async () => {
  const game = await makeMultiAgentEnv(zoo("rl_games"));
  expect(Object.keys((await game.reset()).observations)).toEqual(["a", "b"]);
  const first = await game.step({ a: 0, b: 0 });
  expect(first.terminateds).toMatchObject({ a: true, b: false, __all__: false });
  const second = await game.step({ b: 0 });
  expect(Object.keys(second.observations).toSorted()).toEqual(["b", "c"]);
  const last = await game.step({ b: 0, c: 0 });
  expect(last.terminateds).toMatchObject({ c: true, __all__: false });
  expect(last.truncateds).toMatchObject({ b: true, c: false, __all__: true });
  await game.close?.();
});

test.each(["gymnasium", "", "a b", "classic/../os", 3])("the id %j is checked", (id) => {
  if (id === "gymnasium") expect(pettingZoo(id).name).toBe(id);
  else expect(() => pettingZoo(id as string)).toThrow('an id such as "classic/tictactoe_v3", or a module, is needed');
});
