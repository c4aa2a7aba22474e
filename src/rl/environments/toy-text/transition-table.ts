/**
 * Worlds of a few places: a table says the outcomes of each action in each state. Gymnasium's toy text environments.
 *
 * An outcome is a probability, the next state, the reward, and whether the episode ends. A step draws one with one uniform number, as Gymnasium does.
 * Observations are states; `info.prob` is the probability of the drawn outcome.
 */
import { describeValue } from "../../../core/internal.ts";
import { Random, type RandomState } from "../../../tensor/index.ts";
import { EnvironmentError } from "../../errors.ts";
import { Discrete } from "../../spaces/discrete.ts";
import type { Env, Info, ResetOptions, ResetResult, StepResult } from "../env.ts";

export type Outcome = readonly [probability: number, next: number, reward: number, isEnd: boolean];

/** Outcomes by state and action. */
export type TransitionTable = readonly (readonly (readonly Outcome[])[])[];

export interface TableState {
  readonly state: number;
  readonly stream: RandomState;
}

export abstract class TableEnv implements Env<number, number> {
  readonly observationSpace: Discrete;
  readonly actionSpace: Discrete;
  /** Gymnasium's `P`. */
  readonly table: TransitionTable;
  protected readonly random: Random = new Random();
  readonly #starts: readonly number[];
  #state = 0;
  #isReset = false;

  constructor(table: TransitionTable, starts: readonly number[]) {
    this.table = table;
    this.#starts = starts;
    this.observationSpace = new Discrete(table.length);
    this.actionSpace = new Discrete((table[0] as readonly unknown[]).length);
  }

  protected get state(): number {
    return this.#state;
  }

  /** Facts beside a state. */
  protected infoOf(_state: number): Info {
    return {};
  }

  /** Called when an episode begins. */
  protected begun(): void {}

  /** May replace the state that was drawn. */
  protected arrived(_from: number, next: number): number {
    return next;
  }

  reset({ seed }: ResetOptions = {}): ResetResult<number> {
    if (seed !== undefined) this.random.setState(new Random(seed, "environment").getState());
    this.#state = this.#starts[this.random.integer(this.#starts.length)] as number;
    this.#isReset = true;
    this.begun();
    return { observation: this.#state, info: { prob: 1, ...this.infoOf(this.#state) } };
  }

  step(action: number): StepResult<number> {
    const name = this.constructor.name;
    if (!this.#isReset) throw new EnvironmentError(`Cannot step ${name}: it was not reset. Call reset() first`);
    const outcomes = this.table[this.#state]?.[action];
    if (outcomes === undefined)
      throw new EnvironmentError(
        `Cannot step ${name}: the action is a whole number from 0 to ${this.actionSpace.n - 1}: received ${describeValue(action)}`,
      );
    const [prob, next, reward, terminated] = this.#draw(outcomes);
    this.#state = this.arrived(this.#state, next);
    return { observation: this.#state, reward, terminated, truncated: false, info: { prob, ...this.infoOf(this.#state) } };
  }

  #draw(outcomes: readonly Outcome[]): Outcome {
    const drawn = this.random.uniform();
    let sum = 0;
    for (const outcome of outcomes) {
      sum += outcome[0];
      if (sum > drawn) return outcome;
    }
    return outcomes[0] as Outcome;
  }

  getState(): TableState {
    return { state: this.#state, stream: this.random.getState() };
  }

  setState({ state, stream }: TableState): void {
    this.#state = state;
    this.random.setState(stream);
    this.#isReset = true;
  }
}
