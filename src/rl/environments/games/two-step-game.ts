/**
 * The two-step game of the QMIX paper (arXiv:1803.11485) by the rules of RLlib 2.60: only agents that act together earn the most.
 *
 * First the action of `agent1` chooses a matrix of payoffs, then both act in it. The first matrix pays 7 for anything, the second 8 where both choose 1, 0 where both choose 0, and 1 else. Each agent
 * earns half of the team's reward. `infos[agent].state` is the state of the game, for central critics and mixers.
 */
import { describeValue } from "../../../core/internal.ts";
import { EnvironmentError } from "../../errors.ts";
import { Discrete } from "../../spaces/discrete.ts";
import { MultiDiscrete } from "../../spaces/multi-discrete.ts";
import type { Space } from "../../spaces/space.ts";
import type { Info } from "../env.ts";
import type { MultiAgentEnv, MultiAgentResetResult, MultiAgentStepResult } from "../multi-agent/multi-agent-env.ts";

const AGENTS = ["agent1", "agent2"] as const;
const STATES = 3;

interface TwoStepGameOptions {
  /** Whether observations are the state in one-hot form with the number of the agent. Default: false, a number from 0 to 5. */
  readonly oneHotStateEncoding?: boolean | undefined;
}

export class TwoStepGame implements MultiAgentEnv {
  readonly possibleAgents: readonly string[] = AGENTS;
  readonly observationSpaces: Readonly<Record<string, Space>>;
  readonly actionSpaces: Readonly<Record<string, Discrete>>;
  readonly #isOneHot: boolean;
  /** 0 before the first step, then 1 or 2: the matrix. */
  #state = 0;

  constructor({ oneHotStateEncoding = false }: TwoStepGameOptions = {}) {
    if (typeof oneHotStateEncoding !== "boolean")
      throw new TypeError(`Cannot make TwoStepGame: oneHotStateEncoding is true or false: received ${describeValue(oneHotStateEncoding)}`);
    this.#isOneHot = oneHotStateEncoding;
    const space = (): Space => (this.#isOneHot ? new MultiDiscrete([2, 2, 2, 3]) : new Discrete(6));
    this.observationSpaces = Object.fromEntries(AGENTS.map((agent) => [agent, space()]));
    this.actionSpaces = Object.fromEntries(AGENTS.map((agent) => [agent, new Discrete(2)]));
  }

  reset(): MultiAgentResetResult {
    this.#state = 0;
    return this.#seen();
  }

  step(actions: Readonly<Record<string, number>>): MultiAgentStepResult {
    const { agent1: first, agent2: second } = actions;
    if (![first, second].every((action) => action === 0 || action === 1))
      throw new EnvironmentError(`Cannot step TwoStepGame: both agents act, each by 0 or 1: received ${describeValue(actions)}`);
    const isOver = this.#state !== 0;
    const reward = !isOver ? 0 : this.#state === 1 ? 7 : first !== second ? 1 : first === 1 ? 8 : 0;
    if (!isOver) this.#state = first === 0 ? 1 : 2;
    return { ...this.#seen(), rewards: { agent1: reward / 2, agent2: reward / 2 }, terminateds: { __all__: isOver } };
  }

  #seen(): { observations: Record<string, unknown>; infos: Record<string, Info> } {
    const state = Array.from({ length: STATES }, (_, index) => Number(index === this.#state));
    const seen = (agent: number): unknown => (this.#isOneHot ? Int32Array.of(...state, agent + 1) : this.#state + STATES * agent);
    return {
      observations: Object.fromEntries(AGENTS.map((name, agent) => [name, seen(agent)])),
      infos: Object.fromEntries(AGENTS.map((name) => [name, { state }])),
    };
  }

  getState(): { state: number } {
    return { state: this.#state };
  }

  setState({ state }: { state: number }): void {
    this.#state = state;
  }
}
