import { expect, test } from "vitest";
import { SEQUENCE_END } from "../../sequences/fragment.ts";
import { Discrete } from "../../spaces/discrete.ts";
import { gamesOf, makeMultiAgentEnv } from "../make-env.ts";
import { type EnvClass, makeMultiAgent } from "../registry.ts";
import type { Game } from "./game.ts";
import type { MultiAgentEnv, MultiAgentResetResult, MultiAgentStepResult } from "./multi-agent-env.ts";

const NOBODY: MultiAgentStepResult = { observations: {}, rewards: {}, terminateds: { __all__: false } };

/** Plays a script: the results of `reset` and of each `step`. */
class Scripted implements MultiAgentEnv {
  readonly possibleAgents: readonly string[] = ["a", "b"];
  readonly observationSpaces = { a: new Discrete(5), b: new Discrete(5) };
  readonly actionSpaces = { a: new Discrete(2), b: new Discrete(2) };
  readonly #first: unknown;
  readonly #steps: unknown[];

  constructor({ first = { observations: { a: 0 } }, steps = [] }: { first?: unknown; steps?: readonly unknown[] }) {
    this.#first = first;
    this.#steps = [...steps];
  }

  reset(): MultiAgentResetResult {
    return this.#first as MultiAgentResetResult;
  }

  step(): MultiAgentStepResult {
    return this.#steps.shift() as MultiAgentStepResult;
  }
}

function gameOf(envConfig: object, maxEpisodeSteps?: number): Game {
  const spec = { name: "Scripted", envClass: Scripted as EnvClass, maxEpisodeSteps };
  return gamesOf(spec, { envConfig, numEnvs: 1, workerIndex: 0, isChecked: true })[0] as Game;
}

async function played(game: Game, steps: number): Promise<unknown> {
  await game.reset({});
  let last: unknown;
  for (let step = 0; step < steps; step += 1) last = await game.step({});
  return last;
}

test("an agent gets its share of a step: observation, reward, end", async () => {
  const steps = [
    { observations: { b: 1 }, rewards: { a: 2 }, terminateds: { __all__: false } },
    { observations: { a: 3 }, rewards: { a: 1, b: 5 }, terminateds: { b: true, __all__: false } },
    { observations: { a: 4 }, rewards: {}, terminateds: { __all__: false }, truncateds: { __all__: true } },
  ];
  const game = gameOf({ steps });
  expect(await game.reset({})).toEqual([{ agent: 0, observation: 0, reward: 0, isFirst: true, end: undefined }]);
  expect(await game.step({})).toEqual({
    shares: [
      { agent: 0, observation: undefined, reward: 2, isFirst: false, end: undefined },
      { agent: 1, observation: 1, reward: 0, isFirst: true, end: undefined },
    ],
    isOver: false,
  });
  expect(await game.step({})).toEqual({
    shares: [
      { agent: 0, observation: 3, reward: 1, isFirst: false, end: undefined },
      { agent: 1, observation: undefined, reward: 5, isFirst: false, end: SEQUENCE_END.TERMINATED },
    ],
    isOver: false,
  });
  expect(await game.step({})).toEqual({
    shares: [{ agent: 0, observation: 4, reward: 0, isFirst: false, end: SEQUENCE_END.TRUNCATED }],
    isOver: true,
  });
});

test("an agent that has ended may be reported as such again, and a zero for it", async () => {
  const ended = { observations: { a: 1 }, rewards: { b: 0 }, terminateds: { b: true, __all__: false } };
  const game = gameOf({ first: { observations: { a: 0, b: 0 } }, steps: [ended, ended] });
  expect(await played(game, 2)).toMatchObject({ shares: [{ agent: 0 }] });
});

test("a game is over with its last player, also where nobody says so", async () => {
  const steps = [
    { observations: { b: 1 }, rewards: {}, terminateds: { a: true, __all__: false } },
    { observations: {}, rewards: { b: 1 }, terminateds: { b: true, __all__: false } },
  ];
  const game = gameOf({ steps });
  expect(await played(game, 1)).toMatchObject({ isOver: false });
  expect(await game.step({})).toMatchObject({ isOver: true, shares: [{ agent: 1, reward: 1, end: SEQUENCE_END.TERMINATED }] });
});

test("a time limit cuts the steps under way of agents that have no observation then", async () => {
  const game = gameOf(
    {
      steps: [
        { ...NOBODY, observations: { b: 1 } },
        { ...NOBODY, observations: { a: 2 } },
      ],
    },
    2,
  );
  expect(await played(game, 2)).toEqual({
    shares: [
      { agent: 0, observation: 2, reward: 0, isFirst: false, end: SEQUENCE_END.TRUNCATED },
      { agent: 1, observation: undefined, reward: 0, isFirst: false, end: SEQUENCE_END.CUT },
    ],
    isOver: true,
  });
});

test.each<[string, object, string]>([
  ["no object", { first: null }, "reset() returns an object with observations, an object by agent: received null"],
  ["nobody at first", { first: { observations: {} } }, "reset() returns the observation of one agent at least: received none"],
  ["a stranger", { first: { observations: { c: 0 } } }, 'observations has the agent "c", which is not in possibleAgents'],
  ["a stranger's reward", { steps: [{ ...NOBODY, rewards: { bb: 0 } }] }, 'rewards has the agent "bb", which is not in possibleAgents'],
  ["no __all__", { steps: [{ ...NOBODY, terminateds: {} }] }, "terminateds of step() has __all__, which says whether the game is over"],
  [
    "a flag of another type",
    { steps: [{ ...NOBODY, terminateds: { __all__: 1 } }] },
    "terminateds of step() has true or false: received 1 for __all__",
  ],
  [
    "a reward that is NaN",
    { steps: [{ ...NOBODY, rewards: { a: Number.NaN } }] },
    "rewards of step() has finite numbers: received NaN for a",
  ],
  ["a reward that is text", { steps: [{ ...NOBODY, rewards: { a: "1" } }] }, 'rewards of step() has finite numbers: received "1" for a'],
  ["rewards as a list", { steps: [{ ...NOBODY, rewards: [1, 2] }] }, "step() returns an object with rewards, an object by agent"],
  [
    "an observation outside of the space",
    { first: { observations: { a: 7 } } },
    "Scripted: the observation of a is not in the observation space",
  ],
  [
    "an observation of an agent that has ended",
    {
      steps: [
        { ...NOBODY, terminateds: { a: true, __all__: false } },
        { ...NOBODY, observations: { a: 1 } },
      ],
    },
    "agent a has ended in this episode, so it has no observation and no reward: received 1",
  ],
  [
    "a truncation without an observation",
    { steps: [{ ...NOBODY, truncateds: { __all__: true } }] },
    "agent a has acted and is truncated, so its last observation is needed",
  ],
])("%s is refused", async (_, envConfig, reason) => {
  const { steps = [] } = envConfig as { steps?: readonly unknown[] };
  await expect(played(gameOf(envConfig), steps.length)).rejects.toThrow(reason);
});

const good = { reset: () => NOBODY, step: () => NOBODY, possibleAgents: ["a"], actionSpaces: { a: new Discrete(2) } };

test.each<[string, object, string]>([
  ["no step", { ...good, step: undefined }, "it needs a method step(): received undefined"],
  ["no agents", { ...good, possibleAgents: [] }, "possibleAgents is a list of the agents' names: received"],
  ["numbers as names", { ...good, possibleAgents: [0, 1] }, "possibleAgents is a list of the agents' names: received"],
  ["a name twice", { ...good, possibleAgents: ["a", "a"] }, "each name is in possibleAgents once: received"],
  ["a reserved name", { ...good, possibleAgents: ["a", "__all__"] }, "no agent is called __all__: received"],
  ["a missing space", { ...good, possibleAgents: ["a", "b"] }, "observationSpaces has a space of shoal/rl for b: received undefined"],
  ["a space of another kind", { ...good, actionSpaces: { a: 2 } }, "actionSpaces has a space of shoal/rl for a: received 2"],
])("a class with %s is refused", async (_, members, reason) => {
  class Odd {
    readonly observationSpaces = { a: new Discrete(2) };

    constructor() {
      Object.assign(this, members);
    }
  }
  await expect(makeMultiAgentEnv(Odd as unknown as EnvClass)).rejects.toThrow(
    `Cannot use Odd as an environment of several agents: ${reason}`,
  );
});

test("copies of an environment leave one by one, and the game is over with the last", async () => {
  const game = await makeMultiAgentEnv(makeMultiAgent("CartPole-v1"), { numAgents: 2, maxEpisodeSteps: 20 });
  expect(Object.keys((await game.reset({ seed: 1 })).observations)).toEqual(["agent0", "agent1"]);
  let acting: Record<string, number> = { agent0: 0, agent1: 0 };
  const ends: string[] = [];
  for (let step = 0; Object.keys(acting).length > 0; step += 1) {
    const { observations, terminateds, truncateds } = await game.step(acting);
    const flags = { ...terminateds, ...Object.fromEntries(Object.entries(truncateds ?? {}).filter(([, flag]) => flag)) };
    ends.push(...Object.keys(flags).filter((agent) => flags[agent] === true));
    acting = Object.fromEntries(
      Object.keys(observations)
        .filter((agent) => flags[agent] !== true)
        .map((agent) => [agent, agent === "agent0" ? 0 : step % 2]),
    );
  }
  expect(ends).toEqual(["agent0", "agent1", "__all__"]);
  expect(() => game.step({})).toThrow("the action of one agent at least is needed");
});

test("copies have seeds of their own, and refuse what cannot be copied", async () => {
  const game = await makeMultiAgentEnv(makeMultiAgent("CartPole-v1"), { numAgents: 3 });
  const { observations } = await game.reset({ seed: 4 });
  expect(new Set(Object.values(observations).map(String)).size).toBe(3);
  await expect(makeMultiAgentEnv(makeMultiAgent("TicTacToe"))).rejects.toThrow("TicTacToe has several agents already");
  await expect(makeMultiAgentEnv(makeMultiAgent("CartPole-v1"), { numAgents: 0 })).rejects.toThrow(
    "numAgents is a whole number from 1 to 4096: received 0",
  );
  expect(() => makeMultiAgent("CartPole-v9")).toThrow("did you mean CartPole-v1?");
});
