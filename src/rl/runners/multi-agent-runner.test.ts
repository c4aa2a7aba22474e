import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { REPOSITORY } from "../../../test/house/source-files.ts";
import { ClipRewards } from "../connectors/clip-rewards.ts";
import { gamesOf } from "../environments/make-env.ts";
import type { MultiAgentEnv, MultiAgentResetResult, MultiAgentStepResult } from "../environments/multi-agent/multi-agent-env.ts";
import type { EnvClass } from "../environments/registry.ts";
import { buildModule, type ModuleSpec } from "../modules/module-spec.ts";
import { type ModuleRecipe, moduleSeed, type PolicyMappingFn, resolvePolicies } from "../modules/policy-mapping.ts";
import { Chunks } from "../sequences/chunks.ts";
import { type Fragment, joinFragments, SEQUENCE_END } from "../sequences/fragment.ts";
import { Box } from "../spaces/box.ts";
import { Dict } from "../spaces/composite.ts";
import { Discrete } from "../spaces/discrete.ts";
import { MultiBinary } from "../spaces/multi-binary.ts";
import { noGrad, scope } from "../../tensor/index.ts";
import type { ModuleSample, RunnerSpec, Sample } from "./env-runner.ts";
import { MultiAgentRunner } from "./multi-agent-runner.ts";

const { CUT, TERMINATED } = SEQUENCE_END;
const box = (): Box => new Box({ low: 0, high: 99, shape: [1] });

/** Two players in turns. The observation is the number of the step, the reward of a move comes one step late, and the third move of `b` ends the game. */
class Turns implements MultiAgentEnv {
  readonly possibleAgents: readonly string[] = ["a", "b"];
  readonly observationSpaces = { a: box(), b: box() };
  readonly actionSpaces = { a: new Discrete(2), b: new Discrete(2) };
  #at = 0;
  readonly seen: Record<string, number>[] = [];

  reset(): MultiAgentResetResult {
    this.#at = 0;
    return { observations: { a: [0] } };
  }

  step(actions: Record<string, number>): MultiAgentStepResult {
    this.seen.push(actions);
    this.#at += 1;
    const [mover, waiting] = this.#at % 2 === 1 ? (["a", "b"] as const) : (["b", "a"] as const);
    const isOver = this.#at === 6;
    return {
      observations: { [waiting]: [this.#at] },
      rewards: { [waiting]: this.#at, ...(isOver ? { [mover]: 100 } : {}) },
      terminateds: { __all__: isOver },
    };
  }
}

function specOf(
  envClass: EnvClass,
  policies: readonly string[],
  mappingFn?: PolicyMappingFn,
  parts: Partial<ModuleSpec> = {},
): RunnerSpec & { policies: NonNullable<RunnerSpec["policies"]> } {
  const env = { name: envClass.name, envClass, maxEpisodeSteps: undefined };
  const module: ModuleSpec = {
    moduleClass: undefined,
    modelConfig: { fcnetHiddens: [4] },
    normalizeActions: true,
    clipActions: false,
    ...parts,
  };
  const [game] = gamesOf(env, { envConfig: {}, numEnvs: 1, workerIndex: 0, isChecked: true });
  const table = resolvePolicies({ policies, mappingFn, moduleSpecOf: () => module, env: (game as NonNullable<typeof game>).env });
  return { env, envConfig: {}, numEnvs: 1, workerIndex: 0, firstEnv: 0, seed: 1, isChecked: true, module, policies: table };
}

function fragmentOf({ modules }: Sample, id: string): Fragment {
  return (modules[id] as ModuleSample).fragment;
}

const shown = ({ obs, rewards, sequences, environments }: Fragment): unknown => ({
  obs: Array.from(obs),
  rewards: Array.from(rewards),
  sequences: Array.from(sequences),
  lanes: Array.from(environments),
});

test("a step lasts from an agent's action to its next observation, with the rewards in between", async () => {
  const runner = new MultiAgentRunner(specOf(Turns, ["a", "b"]));
  const sample = await runner.sample({ steps: 6, explore: true });
  // Player a acts at 0, 2 and 4, and gets 2 and 4 with its next observations, 6 at the end; b acts at 1, 3 and 5.
  expect(shown(fragmentOf(sample, "a"))).toEqual({ obs: [0, 2, 4, 6], rewards: [2, 4, 6], sequences: [0, 3, TERMINATED], lanes: [0] });
  // The end has no observation for b. The last one is repeated, and never bootstrapped from.
  expect(shown(fragmentOf(sample, "b"))).toEqual({ obs: [1, 3, 5, 5], rewards: [3, 5, 100], sequences: [0, 3, TERMINATED], lanes: [1] });
  expect(sample.steps).toBe(6);
  // The reward of 1 before b's first action counts in the return, and is not learnt from.
  expect([Array.from(sample.returns), Array.from(sample.lengths), sample.agents]).toEqual([
    [121],
    [6],
    [
      [
        ["a", "a", 12],
        ["b", "b", 109],
      ],
    ],
  ]);
});

test("a fragment's end leaves steps under way to the next fragment", async () => {
  const runner = new MultiAgentRunner(specOf(Turns, ["a", "b"]));
  const parts = [
    await runner.sample({ steps: 3, explore: true }),
    await runner.sample({ steps: 1, explore: true }),
    await runner.sample({ steps: 2, explore: true }),
  ];
  expect(parts.map((part) => shown(fragmentOf(part, "a")))).toEqual([
    { obs: [0, 2], rewards: [2], sequences: [0, 1, CUT], lanes: [0] },
    { obs: [2, 4], rewards: [4], sequences: [0, 1, CUT], lanes: [0] },
    { obs: [4, 6], rewards: [6], sequences: [0, 1, TERMINATED], lanes: [0] },
  ]);
  expect(parts.map((part) => fragmentOf(part, "b").rows)).toEqual([1, 0, 2]);
  expect(parts.map(({ returns }) => returns.length)).toEqual([0, 0, 1]);
});

test("agents of one policy are lanes of its fragment, and only those that have an observation act", async () => {
  const seen: Record<string, number>[] = [];
  class Watched extends Turns {
    override step(actions: Record<string, number>): MultiAgentStepResult {
      seen.push(actions);
      return super.step(actions);
    }
  }
  const runner = new MultiAgentRunner({ ...specOf(Watched, ["shared"]), numEnvs: 2, firstEnv: 4 });
  const fragment = fragmentOf(await runner.sample({ steps: 12, explore: true }), "shared");
  expect(Array.from(fragment.environments)).toEqual([8, 9, 10, 11]);
  expect(fragment.rows).toBe(12);
  expect(seen.map((actions) => Object.keys(actions).join())).toEqual(["a", "a", "b", "b", "a", "a", "b", "b", "a", "a", "b", "b"]);
});

test("steps of agents are counted where the request says so", async () => {
  const runner = new MultiAgentRunner(specOf(Turns, ["shared"]));
  expect((await runner.sample({ steps: 3, explore: true, countsAgentSteps: true })).steps).toBe(3);
});

test("the log-probability is that of the drawn action, and rewards pass the connectors", async () => {
  const runner = new MultiAgentRunner(specOf(Turns, ["a", "b"], undefined, { connectors: () => new ClipRewards() }));
  const fragment = fragmentOf(await runner.sample({ steps: 600, explore: true }), "b");
  expect(new Set(fragment.rewards)).toEqual(new Set([1]));
  for (let row = 0; row < fragment.rows; row += 1) {
    const [first, second] = fragment.actionDistInputs.subarray(2 * row, 2 * row + 2) as unknown as [number, number];
    const chosen = fragment.actions[row] === 0 ? first : second;
    expect(fragment.actionLogp[row]).toBeCloseTo(chosen - Math.log(Math.exp(first) + Math.exp(second)), 5);
  }
});

/** The second agent comes at step 2 and leaves at step 4, in each episode of 6 steps; its action space has a start. */
class Guest implements MultiAgentEnv {
  readonly possibleAgents: readonly string[] = ["host", "guest"];
  readonly observationSpaces = { host: box(), guest: new Discrete(3) };
  readonly actionSpaces = { host: new Box({ low: -2, high: 2, shape: [2] }), guest: new Discrete(2, { start: 5 }) };
  readonly actions: Record<string, unknown>[] = [];
  #at = 0;

  reset(): MultiAgentResetResult {
    this.#at = 0;
    return { observations: { host: [0] } };
  }

  async step(actions: Record<string, unknown>): Promise<MultiAgentStepResult> {
    const guest = actions["guest"];
    if (guest !== undefined && guest !== 5 && guest !== 6) throw new Error("the guest acts by 5 or 6");
    if ((actions["host"] as Float32Array).length !== 2) throw new Error("host acts by two numbers");
    this.#at += 1;
    const isThere = this.#at === 2 || this.#at === 3;
    return {
      observations: { host: [this.#at], ...(isThere ? { guest: this.#at - 1 } : {}) },
      rewards: { host: 1, ...(this.#at === 4 ? { guest: 3 } : {}) },
      terminateds: { __all__: this.#at === 6, ...(this.#at === 4 ? { guest: true } : {}) },
    };
  }
}

test("agents come and go within an episode, each with spaces of its own", async () => {
  const runner = new MultiAgentRunner(specOf(Guest, ["host", "guest"]));
  const sample = await runner.sample({ steps: 9, explore: true });
  const guest = fragmentOf(sample, "guest");
  expect(Array.from(guest.sequences)).toEqual([0, 2, TERMINATED, 2, 1, CUT]);
  expect(Array.from(guest.rewards)).toEqual([0, 3, 0]);
  expect(Array.from(fragmentOf(sample, "host").sequences)).toEqual([0, 6, TERMINATED, 6, 3, CUT]);
  expect(sample.agents).toEqual([
    [
      ["host", "host", 6],
      ["guest", "guest", 3],
    ],
  ]);
});

test("a mapping may change with the episode, and its draws repeat", async () => {
  const mapping: PolicyMappingFn = (agent, { random }) => (agent === "a" ? "first" : random() < 0.5 ? "second" : "third");
  const played = async (): Promise<string[]> => {
    const runner = new MultiAgentRunner({ ...specOf(Turns, ["first", "second", "third"], mapping), numEnvs: 2 });
    const { agents = [] } = await runner.sample({ steps: 120, explore: true });
    return agents.map((episode) => episode.map(([, module]) => module).join());
  };
  const first = await played();
  expect(new Set(first)).toEqual(new Set(["first,second", "first,third"]));
  expect(await played()).toEqual(first);
});

test.each<[PolicyMappingFn, string]>([
  [() => "secnd", 'policyMappingFn returns one of first, second: received "secnd". Did you mean second?'],
  [
    (_, { id }) => (id === "0-0" ? "first" : (undefined as unknown as string)),
    "policyMappingFn returns one of first, second: received undefined.",
  ],
])("a mapping to no policy is refused: %o", async (mapping, reason) => {
  const run = async (): Promise<unknown> =>
    await new MultiAgentRunner(specOf(Turns, ["first", "second"], mapping)).sample({ steps: 20, explore: true });
  await expect(run()).rejects.toThrow(reason);
});

test("a mapping to a policy of other spaces is refused when it happens", async () => {
  const mapping: PolicyMappingFn = (agent, { id }) => (id === "0-0" ? agent : "host");
  const runner = new MultiAgentRunner(specOf(Guest, ["host", "guest"], mapping));
  await expect(runner.sample({ steps: 20, explore: true })).rejects.toThrow(
    "Cannot map agent guest of Guest to policy host: the policy has the space",
  );
});

test("a recurrent policy remembers for each agent, and its learner sees what the runner saw", async () => {
  const modelConfig = { fcnetHiddens: [4], useLstm: true, lstmCellSize: 3, maxSeqLen: 2 };
  const spec = specOf(Turns, ["shared"], undefined, { modelConfig });
  const runner = new MultiAgentRunner({ ...spec, numEnvs: 2 });
  const parts = [await runner.sample({ steps: 10, explore: true }), await runner.sample({ steps: 26, explore: true })];
  const fragment = joinFragments(parts.map((part) => fragmentOf(part, "shared")));
  const recipe = spec.policies.recipes["shared"] as ModuleRecipe;
  const { module, memory, encoder } = buildModule(recipe.spec, recipe, moduleSeed(1, "shared"));
  const chunks = new Chunks(fragment, { obsSize: encoder.size, memory });
  const { rows, run } = chunks.minibatch(Int32Array.from({ length: chunks.count }, (_, chunk) => chunk));
  const inputs = scope(() => noGrad(() => run((input) => module.forwardTrain(input)).actionDistInputs?.toArray()));
  expect(rows.length).toBe(fragment.rows);
  for (const [place, row] of rows.entries())
    for (const part of [0, 1]) expect(inputs?.[2 * place + part]).toBeCloseTo(fragment.actionDistInputs[2 * row + part] as number, 5);
});

test("a state goes on inside of an episode, with the steps under way", async () => {
  class Kept extends Turns {
    getState(): number[] {
      return [this.seen.length];
    }

    setState([steps]: [number]): void {
      this.reset();
      for (let step = 0; step < steps; step += 1) this.step({});
    }
  }
  const spec = specOf(Kept, ["a", "b"]);
  const [runner, other] = [new MultiAgentRunner(spec), new MultiAgentRunner(spec)];
  await runner.sample({ steps: 3, explore: true });
  other.setState(JSON.parse(JSON.stringify(runner.getState())) as ReturnType<MultiAgentRunner["getState"]>);
  const [expected, restored] = [await runner.sample({ steps: 3, explore: true }), await other.sample({ steps: 3, explore: true })];
  expect(restored).toEqual(expected);
});

test("an environment in which nobody ever acts again is refused", async () => {
  class Silent extends Turns {
    override step(): MultiAgentStepResult {
      return { observations: {}, rewards: {}, terminateds: { __all__: false } };
    }
  }
  const runner = new MultiAgentRunner(specOf(Silent, ["a", "b"]));
  await expect(
    runner
      .sample({ steps: 1, explore: true, countsAgentSteps: true })
      .then(() => runner.sample({ steps: 1, explore: true, countsAgentSteps: true })),
  ).rejects.toThrow("Cannot use Silent: no agent had an observation in 10000 steps in a row");
});

/** A game of one step in which `b` never has its turn; `c` comes with the end. */
class Short implements MultiAgentEnv {
  readonly possibleAgents: readonly string[] = ["a", "b", "c"];
  readonly observationSpaces = { a: box(), b: box(), c: box() };
  readonly actionSpaces = { a: new Discrete(2), b: new Discrete(2), c: new Discrete(2) };

  reset(): MultiAgentResetResult {
    return { observations: { a: [1] } };
  }

  step(): MultiAgentStepResult {
    return {
      observations: { a: [2], c: [3] },
      rewards: { a: 1, c: 2 },
      terminateds: { a: true, __all__: false },
      truncateds: { a: true, __all__: true },
    };
  }
}

test("an episode may end before an agent has acted, and a termination counts more than a truncation", async () => {
  const runner = new MultiAgentRunner(specOf(Short, ["a", "b", "c"]));
  const sample = await runner.sample({ steps: 2, explore: true });
  expect(Array.from(fragmentOf(sample, "a").sequences)).toEqual([0, 1, TERMINATED, 1, 1, TERMINATED]);
  expect([fragmentOf(sample, "b").rows, fragmentOf(sample, "c").rows]).toEqual([0, 0]);
  const episode = [
    ["a", "a", 1],
    ["c", "c", 2],
  ];
  expect(sample.agents).toEqual([episode, episode]);
});

/** Agents whose names are those of members that every object has; the second one may choose the third action alone. */
class Oddly implements MultiAgentEnv {
  readonly possibleAgents: readonly string[] = ["constructor", "toString"];
  readonly observationSpaces: MultiAgentEnv["observationSpaces"];
  readonly actionSpaces: MultiAgentEnv["actionSpaces"];
  #at = 0;

  constructor() {
    const space = (): Dict => new Dict({ observations: box(), actionMask: new MultiBinary(3) });
    this.observationSpaces = { constructor: space(), toString: space() };
    this.actionSpaces = { constructor: new Discrete(3), toString: new Discrete(3) };
  }

  reset(): MultiAgentResetResult {
    this.#at = 0;
    return { observations: { constructor: { observations: [0], actionMask: [1, 1, 0] } } };
  }

  step(actions: Record<string, number>): MultiAgentStepResult {
    this.#at += 1;
    const [mover, waiting] = this.#at % 2 === 1 ? (["constructor", "toString"] as const) : (["toString", "constructor"] as const);
    if (!Object.hasOwn(actions, mover) || Object.keys(actions).length !== 1) throw new Error("the mover acts alone");
    if (mover === "toString" ? actions[mover] !== 2 : actions[mover] === 2) throw new Error("the mask is obeyed");
    const isOver = this.#at === 4;
    // Nothing is allowed where nobody acts.
    const actionMask = isOver ? [0, 0, 0] : waiting === "toString" ? [0, 0, 1] : [1, 1, 0];
    return {
      observations: { [waiting]: { observations: [this.#at], actionMask } },
      rewards: { [mover]: 1 },
      terminateds: { __all__: isOver },
    };
  }
}

test("names of members of objects are good names, and masks are obeyed agent by agent", async () => {
  const runner = new MultiAgentRunner(specOf(Oddly, ["all"]));
  const sample = await runner.sample({ steps: 40, explore: true });
  expect(fragmentOf(sample, "all").rows).toBe(40);
  expect(sample.agents?.[0]).toEqual([
    ["constructor", "all", 2],
    ["toString", "all", 2],
  ]);
});

interface RecordedGame {
  readonly first: Readonly<Record<string, number>>;
  readonly script: readonly MultiAgentStepResult[];
  readonly rows: Readonly<
    Record<string, { readonly observations: readonly number[]; readonly rewards: readonly number[]; readonly end: string }>
  >;
}

/** Recorded by `test/vectors/rl/record_agent_episodes.py`. */
const RECORDED = JSON.parse(readFileSync(join(REPOSITORY, "test", "vectors", "rl", "agent-episodes.json"), "utf8")) as RecordedGame[];

/** Plays a recorded game. */
class Replay implements MultiAgentEnv {
  static game: RecordedGame;
  readonly possibleAgents: readonly string[] = ["a", "b", "c"];
  readonly observationSpaces = { a: wide(), b: wide(), c: wide() };
  readonly actionSpaces = { a: new Discrete(2), b: new Discrete(2), c: new Discrete(2) };
  #at = 0;

  reset(): MultiAgentResetResult {
    this.#at = 0;
    return { observations: listed(Replay.game.first) };
  }

  step(): MultiAgentStepResult {
    const result = Replay.game.script[this.#at] as MultiAgentStepResult;
    this.#at += 1;
    return { ...result, observations: listed(result.observations) };
  }
}

const wide = (): Box => new Box({ low: 0, high: 1e6, shape: [1] });
const listed = (numbers: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(numbers).map(([agent, number]) => [agent, [number]]));

test.each([1, 3, 100])("rows of recorded games are RLlib's, in fragments of %i steps", async (length) => {
  for (const game of RECORDED) {
    Replay.game = game;
    const runner = new MultiAgentRunner(specOf(Replay, ["a", "b", "c"]));
    const rows = new Map<string, { observations: number[]; rewards: number[]; end: string }>();
    for (let left = game.script.length; left > 0; left -= length) {
      const sample = await runner.sample({ steps: Math.min(length, left), explore: true });
      for (const agent of ["a", "b", "c"]) collect(fragmentOf(sample, agent), rows, agent);
    }
    expect(Object.fromEntries(rows)).toEqual(game.rows);
  }
});

/** Adds the rows of a fragment to those of an agent. */
function collect(
  { obs, rewards, sequences }: Fragment,
  rows: Map<string, { observations: number[]; rewards: number[]; end: string }>,
  agent: string,
): void {
  if (sequences.length === 0) return;
  const known = rows.get(agent) ?? { observations: [], rewards: [], end: "open" };
  // The observation behind a cut begins the next fragment.
  known.observations.splice(-1, 1, ...obs);
  known.rewards.push(...rewards);
  known.end = ["open", "terminated", "truncated"][sequences.at(-1) as number] as string;
  rows.set(agent, known);
}
