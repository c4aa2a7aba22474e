/**
 * The interface of environments with several agents, for classes without a base class.
 *
 * Everything that one agent has is an object by agent here. An agent whose observation is in a result acts in the next step; agents may take turns, come and go. A reward may come while its agent does not
 * act, and belongs to the agent's last action. `__all__` in `terminateds` or `truncateds` ends the game.
 */
import type { Space } from "../../spaces/space.ts";
import type { Env, Info, ResetOptions, VectorEnv } from "../env.ts";

/** The key of `terminateds` and `truncateds` that stands for all agents. */
export const ALL_AGENTS = "__all__";

export interface MultiAgentResetResult {
  /** Observations of the agents that act next. */
  readonly observations: Readonly<Record<string, unknown>>;
  readonly infos?: Readonly<Record<string, Info>> | undefined;
}

export interface MultiAgentStepResult extends MultiAgentResetResult {
  /** Rewards of agents that have acted; a missing agent gets 0. */
  readonly rewards: Readonly<Record<string, number | undefined>>;
  /** Agents that have ended for good, and `__all__`, which is needed. */
  readonly terminateds: Readonly<Record<string, boolean | undefined>>;
  /** Agents that were cut, and `__all__`. Default: none. */
  readonly truncateds?: Readonly<Record<string, boolean | undefined>> | undefined;
}

/** A world with several agents. Any class with these members fits. */
export interface MultiAgentEnv {
  /** All agents that may ever come. */
  readonly possibleAgents: readonly string[];
  readonly observationSpaces: Readonly<Record<string, Space>>;
  readonly actionSpaces: Readonly<Record<string, Space>>;
  reset(options?: ResetOptions): MultiAgentResetResult | Promise<MultiAgentResetResult>;
  /** @param actions - of the agents that the last result had an observation of */
  // oxlint-disable-next-line no-explicit-any -- each agent's actions are of its own space
  step(actions: Readonly<Record<string, any>>): MultiAgentStepResult | Promise<MultiAgentStepResult>;
  render?(): unknown;
  close?(): void | Promise<void>;
  /** The state as values of JSON. With it a restored run goes on inside of the episode. */
  getState?(): unknown;
  setState?(state: never): void;
}

/** Whether an environment has several agents. */
export function isMultiAgent(env: Env | VectorEnv | MultiAgentEnv): env is MultiAgentEnv {
  return "observationSpaces" in env;
}
