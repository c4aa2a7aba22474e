/**
 * Makes a vector environment of several environments, by a loop.
 *
 * Environments without promises are stepped one after another without waiting; where some return promises, those of all are awaited together. Autoreset is Gymnasium's in three modes.
 * The first observations are checked against the space, rewards and flags always.
 */
import { isThenable } from "../../core/internal.ts";
import { EnvironmentError } from "../errors.ts";
import { CHECKED_STEPS_MAX } from "../limits.ts";
import { type ColumnData, columnLayout, type ColumnLayout } from "../spaces/columns.ts";
import type { Space } from "../spaces/space.ts";
import { TimeLimit } from "./single-env.ts";
import { checkObservation, checkReset, checkStep, envThrew } from "./check-env.ts";
import {
  type AutoresetMode,
  type Env,
  type Info,
  NO_INFO,
  type ResetOptions,
  type ResetResult,
  type StepResult,
  type VectorEnv,
  type VectorResetOptions,
  type VectorResetResult,
  type VectorStepResult,
} from "./env.ts";

interface LoopOptions {
  readonly autoresetMode: AutoresetMode;
  readonly isChecked: boolean;
  /** The name of the environments in messages. */
  readonly name: string;
}

/** The state of the loop and of all environments. */
interface LoopState {
  readonly ended: readonly number[];
  readonly environments: readonly unknown[];
}

type Outcome = ResetResult | StepResult;

export class LoopedEnv implements VectorEnv {
  readonly numEnvs: number;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly autoresetMode: AutoresetMode;
  readonly getState?: () => LoopState;
  /** The environments, in their order. */
  readonly envs: readonly Env[];
  readonly #envs: readonly Env[];
  readonly #name: string;
  readonly #isChecked: boolean;
  readonly #observationLayout: ColumnLayout;
  readonly #actionLayout: ColumnLayout;
  readonly #observations: ColumnData;
  readonly #rewards: Float64Array;
  readonly #terminateds: Uint8Array;
  readonly #truncateds: Uint8Array;
  readonly #ended: Uint8Array;
  readonly #outcomes: (Outcome | PromiseLike<Outcome>)[] = [];
  #infos: Info[];
  #checksLeft = CHECKED_STEPS_MAX;

  constructor(envs: readonly Env[], { autoresetMode, isChecked, name }: LoopOptions) {
    const [first] = envs as readonly [Env];
    this.#envs = envs;
    this.envs = envs.map((env) => (env instanceof TimeLimit ? env.unwrapped : env));
    this.#name = name;
    this.#isChecked = isChecked;
    this.numEnvs = envs.length;
    this.observationSpace = first.observationSpace;
    this.actionSpace = first.actionSpace;
    this.autoresetMode = autoresetMode;
    this.#observationLayout = columnLayout(this.observationSpace);
    this.#actionLayout = columnLayout(this.actionSpace);
    this.#observations = this.#observationLayout.allocate(envs.length);
    this.#rewards = new Float64Array(envs.length);
    this.#terminateds = new Uint8Array(envs.length);
    this.#truncateds = new Uint8Array(envs.length);
    this.#ended = new Uint8Array(envs.length);
    this.#infos = new Array<Info>(envs.length).fill(NO_INFO);
    if (envs.every((env) => typeof env.getState === "function" && typeof env.setState === "function"))
      this.getState = () => ({ ended: Array.from(this.#ended), environments: envs.map((env) => env.getState?.()) });
  }

  setState({ ended, environments }: LoopState): void {
    this.#ended.set(ended);
    for (const [index, env] of this.#envs.entries()) env.setState?.(environments[index] as never);
  }

  reset({ seed, options, mask }: VectorResetOptions = {}): VectorResetResult | Promise<VectorResetResult> {
    this.#infos = new Array<Info>(this.numEnvs).fill(NO_INFO);
    const chosen = Array.from(this.#envs.keys()).filter((index) => mask === undefined || mask[index] !== 0);
    const started = this.#resetAll(chosen, (index) => ({
      ...(seed === undefined ? {} : { seed: seed + index }),
      ...(options === undefined ? {} : { options }),
    }));
    const result = (): VectorResetResult => ({ observations: this.#observations, infos: this.#infos });
    return started === undefined ? result() : started.then(result);
  }

  /** Begins episodes of some environments, and writes their first observations. */
  #resetAll(chosen: readonly number[], optionsOf: (index: number) => ResetOptions): Promise<void> | undefined {
    const begun = chosen.map((index) => this.#call("reset", () => (this.#envs[index] as Env).reset(optionsOf(index))));
    const take = (results: readonly ResetResult[]): void => {
      for (const [at, index] of chosen.entries()) this.#takeReset(index, results[at] as ResetResult);
    };
    if (begun.some(isThenable)) return this.#settle("reset", begun as (ResetResult | PromiseLike<ResetResult>)[]).then(take);
    take(begun as ResetResult[]);
    return undefined;
  }

  #takeReset(index: number, result: ResetResult): void {
    if (this.#isChecked) checkReset(result, this.observationSpace, this.#name);
    this.#observationLayout.write(this.#observations, index, result.observation);
    if (result.info !== undefined) this.#infos[index] = { ...this.#infos[index], ...result.info };
    this.#ended[index] = 0;
  }

  step(actions: ColumnData): VectorStepResult | Promise<VectorStepResult> {
    const outcomes = this.#outcomes;
    let isLate = false;
    this.#infos = new Array<Info>(this.numEnvs).fill(NO_INFO);
    for (let index = 0; index < this.numEnvs; index += 1) {
      const outcome = this.#begin(index, actions);
      outcomes[index] = outcome as Outcome;
      isLate ||= isThenable(outcome);
    }
    if (!isLate) return this.#take(outcomes as Outcome[]);
    return this.#settle("step", outcomes).then((settled) => this.#take(settled));
  }

  /** Steps one environment, or resets it where its episode had ended. */
  #begin(index: number, actions: ColumnData): unknown {
    const env = this.#envs[index] as Env;
    if (this.#ended[index] !== 0) {
      if (this.autoresetMode === "nextStep") return this.#call("reset", () => env.reset());
      throw new EnvironmentError(`Cannot step ${this.#name}: the episode of environment ${index} has ended. Reset it first`);
    }
    const action = this.#actionLayout.read(actions, index);
    try {
      return env.step(action);
    } catch (error) {
      throw envThrew(this.#name, "step", error);
    }
  }

  #call<R>(what: "reset" | "step", run: () => R): R {
    try {
      return run();
    } catch (error) {
      throw envThrew(this.#name, what, error);
    }
  }

  async #settle<R>(what: "reset" | "step", outcomes: readonly (R | PromiseLike<R>)[]): Promise<R[]> {
    try {
      return await Promise.all(outcomes);
    } catch (error) {
      throw envThrew(this.#name, what, error);
    }
  }

  #take(outcomes: readonly Outcome[]): VectorStepResult | Promise<VectorStepResult> {
    const isObservationChecked = this.#isChecked && this.#checksLeft > 0;
    this.#checksLeft -= 1;
    const over: number[] = [];
    for (let index = 0; index < this.numEnvs; index += 1) {
      const outcome = outcomes[index] as StepResult;
      if (this.#ended[index] !== 0) {
        this.#takeReset(index, outcome);
        this.#rewards[index] = 0;
        this.#terminateds[index] = 0;
        this.#truncateds[index] = 0;
        continue;
      }
      if (this.#isChecked) checkStep(outcome, this.#name);
      if (isObservationChecked) checkObservation(outcome.observation, this.observationSpace, `${this.#name}: the observation of step()`);
      this.#observationLayout.write(this.#observations, index, outcome.observation);
      this.#rewards[index] = outcome.reward;
      this.#terminateds[index] = outcome.terminated ? 1 : 0;
      this.#truncateds[index] = outcome.truncated ? 1 : 0;
      if (outcome.info !== undefined) this.#infos[index] = outcome.info;
      if (outcome.terminated || outcome.truncated) {
        this.#ended[index] = 1;
        over.push(index);
      }
    }
    return this.#restart(over);
  }

  /** Begins the next episodes at once, where the mode says so. */
  #restart(over: readonly number[]): VectorStepResult | Promise<VectorStepResult> {
    const result = (): VectorStepResult => ({
      observations: this.#observations,
      rewards: this.#rewards,
      terminateds: this.#terminateds,
      truncateds: this.#truncateds,
      infos: this.#infos,
    });
    if (this.autoresetMode !== "sameStep" || over.length === 0) return result();
    for (const index of over) {
      const { size } = this.#observationLayout;
      const last = this.#observationLayout.read(this.#observations, index);
      // The reset below may write into the arrays of this observation. Flat columns hold a copy already.
      const finalObservation = size === undefined ? structuredClone(last) : last;
      this.#infos[index] = { finalObservation, finalInfo: this.#infos[index] };
    }
    const started = this.#resetAll(over, () => ({}));
    return started === undefined ? result() : started.then(result);
  }

  async close(): Promise<void> {
    for (const env of this.#envs) await env.close?.();
  }
}
