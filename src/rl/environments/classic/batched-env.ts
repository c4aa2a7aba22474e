/**
 * Vector environments in TypeScript: several worlds of one kind in flat arrays.
 *
 * The base of the built-in vector classes. It owns the states, the random streams, the time limit and the three modes of autoreset; a subclass draws a first state, advances all worlds by one
 * action each, and shows a state. States are float64, observations float32, as in Gymnasium.
 */
import { describeValue } from "../../../core/internal.ts";
import { EnvironmentError } from "../../errors.ts";
import { ENVIRONMENTS_MAX } from "../../limits.ts";
import { Random, type RandomState } from "../../../tensor/index.ts";
import type { Box } from "../../spaces/box.ts";
import type { ColumnData } from "../../spaces/columns.ts";
import type { Space } from "../../spaces/space.ts";
import {
  AUTORESET_MODES,
  type AutoresetMode,
  type Info,
  NO_INFO,
  type VectorContext,
  type VectorEnv,
  type VectorResetOptions,
  type VectorResetResult,
  type VectorStepResult,
} from "../env.ts";

/** The `envConfig` that all built-in vector classes take. */
export interface BatchedOptions {
  /** Steps after which an episode is truncated; `Infinity` for none. Default: that of the environment's id. */
  readonly maxEpisodeSteps?: number | undefined;
}

/** The state of a vector environment, in JSON. */
interface BatchedState {
  readonly states: readonly number[];
  readonly steps: readonly number[];
  readonly ended: readonly number[];
  readonly streams: readonly RandomState[];
}

export abstract class BatchedEnv implements VectorEnv {
  abstract readonly observationSpace: Box;
  abstract readonly actionSpace: Space;
  readonly numEnvs: number;
  readonly autoresetMode: AutoresetMode;
  protected readonly states: Float64Array;
  protected readonly rewards: Float64Array;
  protected readonly terminateds: Uint8Array;
  readonly #observations: Float32Array;
  readonly #stateSize: number;
  readonly #observationSize: number;
  readonly #truncateds: Uint8Array;
  readonly #steps: Int32Array;
  readonly #stepsMax: number;
  /** Environments whose episode ended with the last step. */
  readonly #ended: Uint8Array;
  readonly #noInfos: readonly Info[];
  readonly #streams: Random[] = [];
  #options: Info = NO_INFO;
  #isReset = false;

  constructor(sizes: { state: number; observation: number; stepsMax: number }, options: BatchedOptions, context: VectorContext) {
    const { maxEpisodeSteps = sizes.stepsMax } = options;
    const { numEnvs = 1, autoresetMode = "nextStep" } = context;
    const name = this.constructor.name;
    if (!Number.isSafeInteger(numEnvs) || numEnvs < 1 || numEnvs > ENVIRONMENTS_MAX)
      throw new RangeError(
        `Cannot make ${name}: numEnvs is a whole number from 1 to ${ENVIRONMENTS_MAX}: received ${describeValue(numEnvs)}`,
      );
    if (!AUTORESET_MODES.includes(autoresetMode))
      throw new RangeError(`Cannot make ${name}: autoresetMode is ${AUTORESET_MODES.join(", ")}: received ${describeValue(autoresetMode)}`);
    if (!(maxEpisodeSteps >= 1))
      throw new RangeError(`Cannot make ${name}: maxEpisodeSteps is a number from 1: received ${describeValue(maxEpisodeSteps)}`);
    this.numEnvs = numEnvs;
    this.autoresetMode = autoresetMode;
    this.#stepsMax = maxEpisodeSteps;
    this.#stateSize = sizes.state;
    this.#observationSize = sizes.observation;
    this.states = new Float64Array(numEnvs * sizes.state);
    this.rewards = new Float64Array(numEnvs);
    this.terminateds = new Uint8Array(numEnvs);
    this.#observations = new Float32Array(numEnvs * sizes.observation);
    this.#truncateds = new Uint8Array(numEnvs);
    this.#steps = new Int32Array(numEnvs);
    this.#ended = new Uint8Array(numEnvs);
    this.#noInfos = new Array<Info>(numEnvs).fill(NO_INFO);
  }

  /** Draws the first state of an episode into `this.states`, at the environment's place. */
  protected abstract begin(index: number, random: Random, options: Info): void;

  /** Checks the actions, and steps all states; writes `states`, `rewards` and `terminateds` of all environments. */
  protected abstract advance(actions: ColumnData): void;

  /** The action of an environment that has `count` choices. @throws EnvironmentError for another one */
  protected choiceAction(actions: ColumnData, index: number, count: number): number {
    const action = actions[index];
    if (typeof action === "number" && Number.isInteger(action) && action >= 0 && action < count) return action;
    throw new EnvironmentError(
      `Cannot step ${this.constructor.name}: the action of environment ${index} is a whole number from 0 to ${count - 1}: received ${describeValue(action)}`,
    );
  }

  /** The action of an environment that takes one number. @throws EnvironmentError where it is none */
  protected numberAction(actions: ColumnData, index: number): number {
    const action = actions[index];
    if (typeof action === "number" && Number.isFinite(action)) return action;
    throw new EnvironmentError(
      `Cannot step ${this.constructor.name}: the action of environment ${index} is a finite number: received ${describeValue(action)}`,
    );
  }

  /** Writes the observations of the environments from `first` up to `end`. */
  protected abstract show(observations: Float32Array, first: number, end: number): void;

  /** Reads options of `reset`. @throws RangeError for bounds that are none */
  protected checkOptions(_options: Info): void {}

  reset({ seed, options, mask }: VectorResetOptions = {}): VectorResetResult {
    if (seed !== undefined && !Number.isSafeInteger(seed))
      throw new TypeError(`Cannot reset ${this.constructor.name}: the seed is a whole number: received ${describeValue(seed)}`);
    if (options !== undefined) this.checkOptions(options);
    if (!this.#isReset || seed !== undefined) this.#seed(seed, mask);
    this.#options = options ?? NO_INFO;
    this.#isReset = true;
    for (let index = 0; index < this.numEnvs; index += 1) if (mask === undefined || mask[index] !== 0) this.#begin(index);
    return { observations: this.#observations, infos: this.#noInfos };
  }

  #seed(seed: number | undefined, mask: Uint8Array | undefined): void {
    for (let index = 0; index < this.numEnvs; index += 1)
      if (mask === undefined || mask[index] !== 0 || this.#streams[index] === undefined)
        this.#streams[index] = seed === undefined ? new Random() : new Random(seed + index, "environment");
  }

  #begin(index: number): void {
    this.begin(index, this.#streams[index] as Random, this.#options);
    this.#steps[index] = 0;
    this.#ended[index] = 0;
    this.show(this.#observations, index, index + 1);
  }

  step(actions: ColumnData): VectorStepResult {
    if (!this.#isReset) throw new EnvironmentError(`Cannot step ${this.constructor.name}: it was not reset. Call reset() first`);
    this.advance(actions);
    const infos = this.#finish();
    return {
      observations: this.#observations,
      rewards: this.rewards,
      terminateds: this.terminateds,
      truncateds: this.#truncateds,
      infos,
    };
  }

  /** Counts steps, shows the states, and begins new episodes as the mode says. */
  #finish(): readonly Info[] {
    const { numEnvs, terminateds, autoresetMode } = this;
    const steps = this.#steps;
    const truncateds = this.#truncateds;
    const ended = this.#ended;
    this.show(this.#observations, 0, numEnvs);
    let infos = this.#noInfos;
    for (let index = 0; index < numEnvs; index += 1) {
      if (ended[index] !== 0 && autoresetMode === "nextStep") {
        this.#begin(index);
        this.rewards[index] = 0;
        terminateds[index] = 0;
        truncateds[index] = 0;
        continue;
      }
      const taken = (steps[index] as number) + 1;
      steps[index] = taken;
      truncateds[index] = taken >= this.#stepsMax ? 1 : 0;
      if (terminateds[index] === 0 && truncateds[index] === 0) continue;
      ended[index] = 1;
      if (autoresetMode === "sameStep") {
        if (infos === this.#noInfos) infos = [...infos];
        const size = this.#observationSize;
        const finalObservation = this.#observations.slice(index * size, (index + 1) * size);
        (infos as Info[])[index] = { finalObservation, finalInfo: NO_INFO };
        this.#begin(index);
      }
    }
    return infos;
  }

  getState(): BatchedState {
    return {
      states: Array.from(this.states),
      steps: Array.from(this.#steps),
      ended: Array.from(this.#ended),
      streams: this.#streams.map((stream) => stream.getState()),
    };
  }

  setState({ states, steps, ended, streams }: BatchedState): void {
    if (states.length !== this.numEnvs * this.#stateSize)
      throw new EnvironmentError(
        `Cannot set the state of ${this.constructor.name}: the state is that of ${states.length / this.#stateSize} environments, and this one has ${this.numEnvs}`,
      );
    this.states.set(states);
    this.#steps.set(steps);
    this.#ended.set(ended);
    for (const [index, state] of streams.entries()) {
      this.#streams[index] ??= new Random(0);
      this.#streams[index].setState(state);
    }
    this.#isReset = true;
    this.show(this.#observations, 0, this.numEnvs);
  }
}

/** Two bounds among the options of `reset`, under Gymnasium's names. @throws RangeError where they are none */
export function resetBounds(
  options: Info,
  low: number,
  high: number,
  names: readonly [string, string] = ["low", "high"],
): [number, number] {
  const bounds = names.map((name, at) => options[name] ?? [low, high][at]);
  const [from, to] = bounds as [number, number];
  if (!Number.isFinite(from) || !Number.isFinite(to) || from > to)
    throw new RangeError(
      `Cannot reset with ${names.join(" and ")}: two numbers are needed, the first at most the second: received ${describeValue(bounds)}`,
    );
  return [from, to];
}

/** A number among the options of `reset`, under the name of Gymnasium's in either spelling. @throws RangeError where it is none */
export function resetNumber(options: Info, names: readonly [string, string], fallback: number): number {
  const given = options[names[0]] ?? options[names[1]] ?? fallback;
  if (typeof given === "number" && Number.isFinite(given)) return given;
  throw new RangeError(`Cannot reset with ${names[0]}: a finite number is needed: received ${describeValue(given)}`);
}
