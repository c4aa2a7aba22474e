/**
 * Single environments made of others: one world of a vector class, and a time limit around an environment.
 *
 * `makeEnv` uses both. A time limit truncates an episode after a number of steps, as Gymnasium's does.
 * The count of steps is a part of the state.
 */
import { isThenable } from "../../core/internal.ts";
import type { Space } from "../spaces/space.ts";
import { type ColumnLayout, columnLayout } from "../spaces/columns.ts";
import type { Env, ResetOptions, ResetResult, StepResult, VectorEnv, VectorResetResult, VectorStepResult } from "./env.ts";

/** The one world of a vector environment that has no other. The vector environment leaves resets to its caller. */
export class SingleEnv implements Env {
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly getState?: () => unknown;
  readonly setState?: (state: never) => void;
  readonly #env: VectorEnv;
  readonly #layout: ColumnLayout;
  readonly #actionLayout: ColumnLayout;

  constructor(env: VectorEnv) {
    this.#env = env;
    this.observationSpace = env.observationSpace;
    this.actionSpace = env.actionSpace;
    this.#layout = columnLayout(env.observationSpace);
    this.#actionLayout = columnLayout(env.actionSpace);
    if (env.getState === undefined || env.setState === undefined) return;
    this.getState = () => env.getState?.();
    this.setState = (state) => env.setState?.(state);
  }

  reset(options: ResetOptions = {}): ResetResult | Promise<ResetResult> {
    const read = ({ observations, infos }: VectorResetResult): ResetResult => ({
      observation: this.#layout.read(observations, 0),
      info: infos[0],
    });
    const result = this.#env.reset(options);
    return isThenable(result) ? Promise.resolve(result).then(read) : read(result);
  }

  step(action: unknown): StepResult | Promise<StepResult> {
    const actions = this.#actionLayout.allocate(1);
    this.#actionLayout.write(actions, 0, action);
    const read = (result: VectorStepResult): StepResult => ({
      observation: this.#layout.read(result.observations, 0),
      reward: result.rewards[0] as number,
      terminated: result.terminateds[0] !== 0,
      truncated: result.truncateds[0] !== 0,
      info: result.infos[0],
    });
    const result = this.#env.step(actions);
    return isThenable(result) ? Promise.resolve(result).then(read) : read(result);
  }

  async close(): Promise<void> {
    await this.#env.close?.();
  }
}

/** Truncates the episodes of an environment after a number of steps. */
export class TimeLimit implements Env {
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly getState?: () => unknown;
  readonly setState?: (state: { steps: number; environment: unknown }) => void;
  /** The environment inside of the limit. */
  readonly unwrapped: Env;
  readonly #env: Env;
  readonly #stepsMax: number;
  #steps = 0;

  constructor(env: Env, stepsMax: number) {
    this.#env = env;
    this.unwrapped = env;
    this.#stepsMax = stepsMax;
    this.observationSpace = env.observationSpace;
    this.actionSpace = env.actionSpace;
    if (env.getState === undefined || env.setState === undefined) return;
    this.getState = () => ({ steps: this.#steps, environment: env.getState?.() });
    this.setState = ({ steps, environment }) => {
      this.#steps = steps;
      env.setState?.(environment as never);
    };
  }

  reset(options?: ResetOptions): ResetResult | Promise<ResetResult> {
    this.#steps = 0;
    return this.#env.reset(options);
  }

  step(action: unknown): StepResult | Promise<StepResult> {
    const result = this.#env.step(action);
    return isThenable(result) ? Promise.resolve(result).then((step) => this.#limited(step)) : this.#limited(result);
  }

  #limited(result: StepResult): StepResult {
    this.#steps += 1;
    return this.#steps >= this.#stepsMax ? { ...result, truncated: true } : result;
  }

  render(): unknown {
    return this.#env.render?.();
  }

  async close(): Promise<void> {
    await this.#env.close?.();
  }
}
