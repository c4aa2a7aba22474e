import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { REPOSITORY } from "../../../../test/house/source-files.ts";
import { makeEnv, makeMultiAgentEnv, makeVectorEnv } from "../make-env.ts";
import type { MultiAgentEnv } from "../multi-agent/multi-agent-env.ts";

interface RecordedGame {
  readonly game: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly episodes: readonly RecordedEpisode[];
}

type ByAgent = Readonly<Record<string, unknown>>;

interface RecordedEpisode {
  readonly first: ByAgent;
  /** Actions, observations, rewards, terminated, truncated. */
  readonly steps: readonly (readonly [ByAgent, ByAgent, Readonly<Record<string, number>>, boolean, boolean])[];
}

/** Recorded by `test/vectors/rl/record_games.py`. */
const GAMES = JSON.parse(readFileSync(join(REPOSITORY, "test", "vectors", "rl", "games.json"), "utf8")) as RecordedGame[];

test.each(GAMES)("$game with $options plays as RLlib's", async ({ game, options, episodes }) => {
  const env = await makeMultiAgentEnv(game, options);
  for (const { first, steps } of episodes) {
    await begun(env, first);
    for (const [actions, observations, rewards, terminated, truncated] of steps) {
      const result = await env.step(actions);
      expect(plain(result.observations)).toEqual(observations);
      expect(result.rewards).toEqual(rewards);
      expect([result.terminateds["__all__"], result.truncateds?.["__all__"] ?? false]).toEqual([terminated, truncated]);
      for (const [agent, observation] of Object.entries(result.observations))
        expect(env.observationSpaces[agent]?.misfit(observation)).toBeUndefined();
    }
  }
});

/** Begins an episode with the recorded first player. */
async function begun(env: MultiAgentEnv, first: ByAgent): Promise<void> {
  for (let seed = 0; ; seed += 1) {
    const { observations } = await env.reset({ seed });
    if (Object.keys(observations).join() !== Object.keys(first).join()) continue;
    expect(plain(observations)).toEqual(first);
    return;
  }
}

function plain(byAgent: ByAgent): ByAgent {
  return Object.fromEntries(
    Object.entries(byAgent).map(([agent, value]) => [agent, typeof value === "number" ? value : Array.from(value as Float32Array)]),
  );
}

test("a game of tic-tac-toe begins with either player, and goes on from a state", async () => {
  const env = await makeMultiAgentEnv("TicTacToe");
  const players = new Set<string>();
  for (let seed = 0; seed < 20; seed += 1) players.add(Object.keys((await env.reset({ seed })).observations).join());
  expect(players).toEqual(new Set(["player1", "player2"]));
  const [mover] = Object.keys((await env.reset({ seed: 1 })).observations) as [string];
  const other = mover === "player1" ? "player2" : "player1";
  await env.step({ [mover]: 4 });
  expect(env.render?.()).toBe("   |   |   \n-----------\n   | O |   \n-----------\n   |   |   ");
  const state = JSON.parse(JSON.stringify(env.getState?.())) as never;
  const next = await env.step({ [other]: 4 });
  env.setState?.(state);
  expect(await env.step({ [other]: 4 })).toEqual(next);
  expect(next.rewards).toEqual({ [other]: -0.5 });
});

test("a stateless CartPole shows the position and the angle of CartPole", async () => {
  const [whole, less] = [await makeVectorEnv("CartPole-v1", { numEnvs: 2 }), await makeVectorEnv("StatelessCartPole", { numEnvs: 2 })];
  await whole.reset({ seed: 3 });
  await less.reset({ seed: 3 });
  for (let step = 0; step < 50; step += 1) {
    const actions = Int32Array.of(step % 2, Number(step % 3 === 0));
    const [all, some] = [await whole.step(actions), await less.step(actions)];
    expect(Array.from(some.observations as Float32Array)).toEqual([0, 2, 4, 6].map((at) => all.observations[at]));
    expect([Array.from(some.rewards), Array.from(some.terminateds)]).toEqual([Array.from(all.rewards), Array.from(all.terminateds)]);
  }
  const env = await makeEnv("StatelessCartPole", { maxEpisodeSteps: 2 });
  await env.reset({ seed: 1 });
  await env.step(0);
  expect(await env.step(1)).toMatchObject({ truncated: true });
});

test.each<[string, object, object, string]>([
  ["TicTacToe", {}, { player1: 9, player2: 9 }, "whose action is a field from 0 to 8: received"],
  ["TicTacToe", {}, {}, "whose action is a field from 0 to 8: received"],
  ["RockPaperScissors", {}, { player1: 0 }, "both players move, each by a number from 0 to 2: received"],
  ["RockPaperScissors", {}, { player1: 0, player2: 3 }, "from 0 to 2: received"],
  ["TwoStepGame", {}, { agent1: 0, agent2: 2 }, "both agents act, each by 0 or 1: received"],
])("%s %o refuses the actions %o", async (game, options, actions, reason) => {
  const env = await makeMultiAgentEnv(game, options);
  await env.reset({ seed: 1 });
  expect(() => env.step(actions as Record<string, number>)).toThrow(reason);
});

test("games are made with options of theirs, and by makeMultiAgentEnv alone", async () => {
  await expect(makeMultiAgentEnv("RockPaperScissors", { sheldonCooperMode: 1 })).rejects.toThrow(
    "sheldonCooperMode is true or false: received 1",
  );
  await expect(makeMultiAgentEnv("TwoStepGame", { oneHotStateEncoding: "yes" })).rejects.toThrow("oneHotStateEncoding is true or false");
  await expect(makeEnv("TicTacToe")).rejects.toThrow(
    "Cannot make TicTacToe with makeEnv(): it has several agents. Use makeMultiAgentEnv()",
  );
  await expect(makeVectorEnv("TicTacToe")).rejects.toThrow("Use makeMultiAgentEnv()");
  await expect(makeMultiAgentEnv("CartPole-v1")).rejects.toThrow("Cannot make CartPole-v1: it has one agent. Use makeEnv()");
});
