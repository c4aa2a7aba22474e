/**
 * Several agents, each in a copy of one environment, as RLlib's `make_multi_agent` makes them.
 *
 * An agent ends with its environment and leaves the game, which is over when all have left. So it shows whether agents that go are handled well, and whether policies learn side by side.
 */
import { isThenable } from "../../../core/internal.ts";
import { EnvironmentError } from "../../errors.ts";
import type { Space } from "../../spaces/space.ts";
import type { Env, ResetOptions, ResetResult, StepResult } from "../env.ts";
import type { MultiAgentEnv, MultiAgentResetResult, MultiAgentStepResult } from "./multi-agent-env.ts";

interface CopiesState {
  readonly environments: readonly unknown[];
  readonly ended: readonly number[];
}

export class AgentCopies implements MultiAgentEnv {
  readonly possibleAgents: readonly string[];
  readonly observationSpaces: Readonly<Record<string, Space>>;
  readonly actionSpaces: Readonly<Record<string, Space>>;
  readonly getState?: () => CopiesState;
  readonly #envs: readonly Env[];
  readonly #name: string;
  /** By agent: 1 where its environment was terminated, 2 where it was truncated. */
  readonly #ended: Uint8Array;

  constructor(envs: readonly Env[], name: string) {
    this.#envs = envs;
    this.#name = name;
    this.#ended = new Uint8Array(envs.length);
    this.possibleAgents = envs.map((_, index) => `agent${index}`);
    this.observationSpaces = Object.fromEntries(envs.map((env, index) => [`agent${index}`, env.observationSpace]));
    this.actionSpaces = Object.fromEntries(envs.map((env, index) => [`agent${index}`, env.actionSpace]));
    if (envs.every((env) => env.getState !== undefined && env.setState !== undefined))
      this.getState = () => ({ environments: envs.map((env) => env.getState?.()), ended: Array.from(this.#ended) });
  }

  setState({ environments, ended }: CopiesState): void {
    this.#ended.set(ended);
    for (const [index, env] of this.#envs.entries()) env.setState?.(environments[index] as never);
  }

  /** Seeds of environments differ, and follow each other. */
  reset({ seed, options }: ResetOptions = {}): MultiAgentResetResult | Promise<MultiAgentResetResult> {
    this.#ended.fill(0);
    const results = this.#envs.map((env, index) =>
      env.reset({ seed: seed === undefined ? undefined : seed * this.#envs.length + index, options }),
    );
    const take = (settled: readonly ResetResult[]): MultiAgentResetResult => ({
      observations: Object.fromEntries(settled.map(({ observation }, index) => [`agent${index}`, observation])),
    });
    return results.some(isThenable) ? Promise.all(results.map(async (result) => await result)).then(take) : take(results as ResetResult[]);
  }

  step(actions: Readonly<Record<string, unknown>>): MultiAgentStepResult | Promise<MultiAgentStepResult> {
    const acting = this.possibleAgents.flatMap((agent, index) => (Object.hasOwn(actions, agent) ? [index] : []));
    if (acting.length === 0) throw new EnvironmentError(`Cannot step ${this.#name}: the action of one agent at least is needed`);
    const results = acting.map((index) => (this.#envs[index] as Env).step(actions[`agent${index}`]));
    const take = (settled: readonly StepResult[]): MultiAgentStepResult => this.#take(acting, settled);
    return results.some(isThenable) ? Promise.all(results.map(async (result) => await result)).then(take) : take(results as StepResult[]);
  }

  #take(acting: readonly number[], results: readonly StepResult[]): MultiAgentStepResult {
    for (const [at, { terminated, truncated }] of results.entries())
      if (terminated || truncated) this.#ended[acting[at] as number] = terminated ? 1 : 2;
    const by = <V>(pick: (result: StepResult) => V): Record<string, V> =>
      Object.fromEntries(results.map((result, at) => [`agent${acting[at]}`, pick(result)]));
    return {
      observations: by(({ observation }) => observation),
      rewards: by(({ reward }) => reward),
      terminateds: { ...by(({ terminated }) => terminated), __all__: this.#ended.every((end) => end === 1) },
      truncateds: { ...by(({ truncated }) => truncated), __all__: this.#ended.every((end) => end !== 0) },
    };
  }

  async close(): Promise<void> {
    for (const env of this.#envs) await env.close?.();
  }
}
