/**
 * Splits the steps of a multi-agent environment into one share for each agent.
 *
 * Checks each result of the environment, keeps the stage of each agent, and applies the time limit. Agents are named by their places in `possibleAgents`, and are listed in
 * that order, so that a run does not depend on the order of keys.
 */
import { describeValue, isPlainObject, isThenable, nearNames } from "../../../core/internal.ts";
import { EnvironmentError } from "../../errors.ts";
import { AGENTS_MAX, CHECKED_STEPS_MAX } from "../../limits.ts";
import { SEQUENCE_END } from "../../sequences/fragment.ts";
import { Space } from "../../spaces/space.ts";
import { checkObservation, envThrew } from "../check-env.ts";
import type { ResetOptions } from "../env.ts";
import { ALL_AGENTS, type MultiAgentEnv, type MultiAgentResetResult, type MultiAgentStepResult } from "./multi-agent-env.ts";

/** The share of one agent in a step. */
export interface AgentShare {
  /** The place in `possibleAgents`. */
  readonly agent: number;
  /** `undefined` where it does not act next. The last observation of an agent that has ended, too. */
  readonly observation: unknown;
  readonly reward: number;
  /** Whether this is the agent's first observation of the episode. */
  readonly isFirst: boolean;
  /** How the agent ended, by `SEQUENCE_END`; `undefined` where it goes on. A cut has no last observation: the step under way is never completed. */
  readonly end: number | undefined;
}

export interface GameStep {
  readonly shares: readonly AgentShare[];
  readonly isOver: boolean;
}

interface GameOptions {
  readonly name: string;
  readonly isChecked: boolean;
  readonly maxEpisodeSteps: number | undefined;
}

/** The state of a game, that of the environment among it, in JSON. */
export interface GameState {
  readonly environment: unknown;
  readonly stages: readonly number[];
  readonly steps: number;
}

/** An agent has not come yet, is in the game, or has ended. */
const STAGE = { AWAY: 0, PLAYING: 1, ENDED: 2 } as const;

export class Game {
  readonly agents: readonly string[];
  readonly env: MultiAgentEnv;
  readonly getState?: () => GameState;
  readonly #options: GameOptions;
  readonly #known: ReadonlySet<string>;
  readonly #stages: Uint8Array;
  #steps = 0;
  #checksLeft = CHECKED_STEPS_MAX;

  constructor(env: MultiAgentEnv, options: GameOptions) {
    this.env = env;
    this.agents = env.possibleAgents;
    this.#options = options;
    this.#known = new Set(env.possibleAgents);
    this.#stages = new Uint8Array(env.possibleAgents.length);
    if (typeof env.getState === "function" && typeof env.setState === "function")
      this.getState = () => ({ environment: env.getState?.(), stages: Array.from(this.#stages), steps: this.#steps });
  }

  setState({ environment, stages, steps }: GameState): void {
    this.env.setState?.(environment as never);
    this.#stages.set(stages);
    this.#steps = steps;
  }

  /** Begins an episode. @returns the first observations */
  reset(options: ResetOptions): AgentShare[] | Promise<AgentShare[]> {
    const result = this.#call("reset", () => this.env.reset(options));
    return isThenable(result) ? this.#settle("reset", result).then((settled) => this.#begin(settled)) : this.#begin(result);
  }

  #begin(result: MultiAgentResetResult): AgentShare[] {
    this.#stages.fill(STAGE.AWAY);
    this.#steps = 0;
    this.#checkResult(result, "reset");
    const shares = this.#sharesOf({ observations: result.observations, rewards: {}, terminateds: { [ALL_AGENTS]: false } }, false);
    if (shares.length === 0) throw this.#misuse("reset() returns the observation of one agent at least: received none");
    return shares;
  }

  /** Steps the world by the actions of agents. */
  step(actions: Readonly<Record<string, unknown>>): GameStep | Promise<GameStep> {
    const result = this.#call("step", () => this.env.step(actions));
    return isThenable(result) ? this.#settle("step", result).then((settled) => this.#take(settled)) : this.#take(result);
  }

  #take(result: MultiAgentStepResult): GameStep {
    this.#steps += 1;
    this.#checkResult(result, "step");
    const { terminateds, truncateds } = result;
    const isLimit = this.#steps >= (this.#options.maxEpisodeSteps ?? Infinity);
    const isOver = terminateds[ALL_AGENTS] === true || truncateds?.[ALL_AGENTS] === true || isLimit;
    const shares = this.#sharesOf(result, isOver);
    // A game without players is over, as in RLlib and PettingZoo.
    return { shares, isOver: isOver || !this.#stages.includes(STAGE.PLAYING) };
  }

  #sharesOf(result: MultiAgentStepResult, isOver: boolean): AgentShare[] {
    const { observations, rewards, terminateds, truncateds } = result;
    const isChecked = this.#options.isChecked && this.#checksLeft > 0;
    this.#checksLeft -= 1;
    const shares: AgentShare[] = [];
    for (const [agent, name] of this.agents.entries()) {
      const observation = ownOf(observations, name);
      const reward = ownOf(rewards, name) ?? 0;
      const stage = this.#stages[agent];
      if (stage === STAGE.ENDED) {
        if (observation !== undefined || reward !== 0)
          throw this.#misuse(
            `agent ${name} has ended in this episode, so it has no observation and no reward: received ${describeValue(observation ?? reward)}`,
          );
        continue;
      }
      const isTerminated = ownOf(terminateds, name) === true || terminateds[ALL_AGENTS] === true;
      const hasEnded = isTerminated || ownOf(truncateds, name) === true || isOver;
      if (observation !== undefined && isChecked) this.#checkObservation(name, observation);
      if (hasEnded) this.#stages[agent] = STAGE.ENDED;
      else if (observation !== undefined) this.#stages[agent] = STAGE.PLAYING;
      if (observation === undefined && reward === 0 && !hasEnded) continue;
      // Where both are set, the world has ended for the agent: nothing is left to bootstrap from.
      const end = !hasEnded
        ? undefined
        : isTerminated
          ? SEQUENCE_END.TERMINATED
          : this.#truncation(name, { stage, observation, truncateds });
      shares.push({ agent, observation, reward, isFirst: stage === STAGE.AWAY && observation !== undefined, end });
    }
    return shares;
  }

  /** The end of an agent that was truncated. Its last step needs an observation to bootstrap from; the limit of this class cannot give one, and leaves out that step. */
  #truncation(
    name: string,
    { stage, observation, truncateds }: { stage: number | undefined; observation: unknown } & Pick<MultiAgentStepResult, "truncateds">,
  ): number {
    if (observation !== undefined || stage !== STAGE.PLAYING) return SEQUENCE_END.TRUNCATED;
    if (ownOf(truncateds, name) !== true && truncateds?.[ALL_AGENTS] !== true) return SEQUENCE_END.CUT;
    throw this.#misuse(
      `agent ${name} has acted and is truncated, so its last observation is needed, from which later rewards are estimated: received none. Return it, or set terminateds`,
    );
  }

  #checkObservation(agent: string, observation: unknown): void {
    const { name } = this.#options;
    checkObservation(observation, this.env.observationSpaces[agent] as Space, `${name}: the observation of ${agent}`);
  }

  /** Checks the form of a result, and that it names no strangers. Values of observations are checked in the first steps alone. */
  #checkResult(result: MultiAgentResetResult | MultiAgentStepResult, method: "reset" | "step"): void {
    const fields = method === "reset" ? (["observations"] as const) : (["observations", "rewards", "terminateds", "truncateds"] as const);
    for (const field of fields) {
      const byAgent = (result as Partial<MultiAgentStepResult> | undefined)?.[field];
      if (field === "truncateds" && byAgent === undefined) continue;
      if (!isPlainObject(byAgent))
        throw this.#misuse(
          `${method}() returns an object with ${field}, an object by agent: received ${describeValue(field === "observations" ? result : byAgent)}`,
        );
      for (const [agent, value] of Object.entries(byAgent)) this.#checkEntry(field, agent, value);
    }
    if (method === "reset") return;
    const { terminateds } = result as MultiAgentStepResult;
    if (terminateds[ALL_AGENTS] === undefined)
      throw this.#misuse(
        `terminateds of step() has ${ALL_AGENTS}, which says whether the game is over: received ${describeValue(terminateds)}`,
      );
  }

  #checkEntry(field: keyof MultiAgentStepResult, agent: string, value: unknown): void {
    const isFlag = field === "terminateds" || field === "truncateds";
    if (!this.#known.has(agent) && !(isFlag && agent === ALL_AGENTS)) {
      const near = nearNames(agent, this.agents);
      throw this.#misuse(
        `${field} has the agent ${JSON.stringify(agent.slice(0, 100))}, which is not in possibleAgents: ${near.length > 0 ? `did you mean ${near.join(" or ")}?` : `there are ${this.agents.slice(0, 20).join(", ")}`}`,
      );
    }
    if (isFlag && typeof value !== "boolean" && value !== undefined)
      throw this.#misuse(`${field} of step() has true or false: received ${describeValue(value)} for ${agent}`);
    if (field === "rewards" && value !== undefined && !Number.isFinite(value))
      throw this.#misuse(`rewards of step() has finite numbers: received ${describeValue(value)} for ${agent}`);
  }

  #misuse(reason: string): EnvironmentError {
    return new EnvironmentError(`Cannot use ${this.#options.name}: ${reason}`);
  }

  #call<R>(what: "reset" | "step", run: () => R): R {
    try {
      return run();
    } catch (error) {
      throw envThrew(this.#options.name, what, error);
    }
  }

  async #settle<R>(what: "reset" | "step", result: PromiseLike<R>): Promise<R> {
    try {
      return await result;
    } catch (error) {
      throw envThrew(this.#options.name, what, error);
    }
  }

  async close(): Promise<void> {
    await this.env.close?.();
  }
}

/** Reads the value of an agent. An agent may have the name of a member that every object has, such as `constructor`. */
function ownOf<V>(byAgent: Readonly<Record<string, V>> | undefined, agent: string): V | undefined {
  return byAgent !== undefined && Object.hasOwn(byAgent, agent) ? byAgent[agent] : undefined;
}

/** Checks the members of an environment with several agents. @throws EnvironmentError */
export function checkMultiAgentMembers(env: Partial<MultiAgentEnv>, name: string): void {
  const misuse = (reason: string, received: unknown): EnvironmentError =>
    new EnvironmentError(`Cannot use ${name} as an environment of several agents: ${reason}: received ${describeValue(received)}`);
  for (const method of ["reset", "step"] as const)
    if (typeof env[method] !== "function") throw misuse(`it needs a method ${method}()`, env[method]);
  const agents = env.possibleAgents;
  if (!Array.isArray(agents) || agents.length === 0 || !agents.every((agent) => typeof agent === "string" && agent !== ""))
    throw misuse("possibleAgents is a list of the agents' names", agents);
  if (agents.length > AGENTS_MAX) throw misuse(`possibleAgents has ${AGENTS_MAX} names at most`, agents.length);
  if (new Set(agents).size !== agents.length) throw misuse("each name is in possibleAgents once", agents);
  for (const reserved of [ALL_AGENTS, "__proto__"]) if (agents.includes(reserved)) throw misuse(`no agent is called ${reserved}`, agents);
  for (const field of ["observationSpaces", "actionSpaces"] as const) {
    const spaces = env[field];
    if (!isPlainObject(spaces)) throw misuse(`${field} is an object of spaces by agent`, spaces);
    for (const agent of agents as readonly string[])
      if (!(ownOf(spaces, agent) instanceof Space)) throw misuse(`${field} has a space of shoal/rl for ${agent}`, ownOf(spaces, agent));
  }
}
