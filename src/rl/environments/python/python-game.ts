/**
 * A game of PettingZoo behind the interface of environments with several agents.
 *
 * A runner's games share one Python actor, which starts with the first reset and ends with the first close: a runner closes its games together.
 * The agents and their spaces are asked for once, before an algorithm is built.
 */
import { EnvironmentError } from "../../errors.ts";
import type { Space } from "../../spaces/space.ts";
import { spaceFromJson } from "../../spaces/space-json.ts";
import type { ResetOptions } from "../env.ts";
import type { MultiAgentEnv, MultiAgentResetResult, MultiAgentStepResult } from "../multi-agent/multi-agent-env.ts";
import { PythonProcess } from "./python-process.ts";
import type { GameSpaces, PythonSpec } from "./python-source.ts";

interface GamesActor {
  open(count: number, isChecked: boolean, envConfig: object): GameSpaces;
  reset(index: number, seed: number | null, options: object | null): MultiAgentResetResult;
  step(index: number, actions: Readonly<Record<string, unknown>>): MultiAgentStepResult;
  close(): void;
}

const ACTOR = { file: "shoal._rl_games", actor: "GamesActor" };

interface GamesPlan {
  readonly name: string;
  readonly envConfig: object;
  readonly count: number;
  readonly isChecked: boolean;
}

/** The actor of a runner's games. */
export class PythonGames {
  readonly #spec: PythonSpec;
  readonly #plan: GamesPlan;
  #process: Promise<PythonProcess<GamesActor>> | undefined;

  constructor(spec: PythonSpec, plan: GamesPlan) {
    this.#spec = spec;
    this.#plan = plan;
  }

  async reset(index: number, { seed, options }: ResetOptions): Promise<MultiAgentResetResult> {
    this.#process ??= this.#open();
    const process = await this.#process;
    return await process.call("reset", (handle) => handle.reset.remote(index, seed ?? null, options ?? null));
  }

  async step(index: number, actions: Readonly<Record<string, unknown>>): Promise<MultiAgentStepResult> {
    if (this.#process === undefined) throw new EnvironmentError(`Cannot step ${this.#plan.name}: it was not reset. Reset it first`);
    const process = await this.#process;
    return await process.call("step", (handle) => handle.step.remote(index, actions));
  }

  async #open(): Promise<PythonProcess<GamesActor>> {
    const { name, count, isChecked, envConfig } = this.#plan;
    const process = new PythonProcess<GamesActor>(this.#spec, name, ACTOR);
    await process.call("construct", (handle) => handle.open.remote(count, isChecked, envConfig));
    return process;
  }

  async close(): Promise<void> {
    const process = this.#process;
    this.#process = undefined;
    await (await process?.catch(() => undefined))?.end();
  }
}

/** Asks a game of PettingZoo for its agents and their spaces. @throws EnvironmentError where it cannot be made */
export async function withGameSpaces(spec: PythonSpec, { name, envConfig }: { name: string; envConfig: object }): Promise<PythonSpec> {
  if (spec.games !== undefined) return spec;
  const process = new PythonProcess<GamesActor>(spec, name, ACTOR);
  try {
    const games = await process.call("construct", (handle) => handle.open.remote(1, true, envConfig));
    for (const space of games.spaces.flat()) void spaceFromJson(space);
    return { ...spec, games };
  } finally {
    await process.end();
  }
}

export class PythonGame implements MultiAgentEnv {
  readonly possibleAgents: readonly string[];
  readonly observationSpaces: Readonly<Record<string, Space>>;
  readonly actionSpaces: Readonly<Record<string, Space>>;
  readonly #games: PythonGames;
  readonly #index: number;

  constructor(games: PythonGames, index: number, { agents, spaces }: GameSpaces) {
    this.#games = games;
    this.#index = index;
    this.possibleAgents = agents;
    const by = (kind: 0 | 1): Record<string, Space> =>
      Object.fromEntries(agents.map((agent, at) => [agent, spaceFromJson((spaces[at] as GameSpaces["spaces"][number])[kind])]));
    this.observationSpaces = by(0);
    this.actionSpaces = by(1);
  }

  async reset(options: ResetOptions = {}): Promise<MultiAgentResetResult> {
    return await this.#games.reset(this.#index, options);
  }

  async step(actions: Readonly<Record<string, unknown>>): Promise<MultiAgentStepResult> {
    return await this.#games.step(this.#index, actions);
  }

  async close(): Promise<void> {
    await this.#games.close();
  }
}
