/**
 * The state that a recurrent module carries from step to step, as rows of numbers.
 *
 * `initialState` of a module names the parts. Runners, policies and learners keep one flat row an environment.
 * This file turns rows into the module's tensors and back, and checks the states that users give.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { RLError } from "../errors.ts";
import { type Tensor, tensor } from "../../tensor/index.ts";

/** The state of one environment, by the module's names. */
export type ModuleState = Readonly<Record<string, Float32Array>>;

/** The state of several environments: `[rows, size]` by name. */
export type StateTensors = Readonly<Record<string, Tensor>>;

export class ModuleMemory {
  /** Numbers of a state; 0 for a module without memory. */
  readonly size: number;
  /** Steps of a sequence through which a learner sends gradients back. */
  readonly maxSeqLen: number;
  readonly #parts: readonly (readonly [name: string, first: Float32Array, at: number])[];

  /** @throws RangeError where `maxSeqLen` is no count */
  constructor(initial: ModuleState, maxSeqLen: number) {
    if (!Number.isSafeInteger(maxSeqLen) || maxSeqLen < 1)
      throw new RangeError(
        `Cannot make a network: maxSeqLen of modelConfig is a whole number from 1: received ${describeValue(maxSeqLen)}`,
      );
    let at = 0;
    this.#parts = Object.entries(initial).map(([name, first]) => {
      const part = [name, first, at] as const;
      at += first.length;
      return part;
    });
    this.size = at;
    this.maxSeqLen = maxSeqLen;
  }

  /** The numbers of each part, by name. */
  get lengths(): ReadonlyMap<string, number> {
    return new Map(this.#parts.map(([name, { length }]) => [name, length]));
  }

  /** Rows for environments whose episodes begin. */
  allocate(rows: number): Float32Array {
    const states = new Float32Array(rows * this.size);
    for (let row = 0; row < rows; row += 1) this.begin(states, row);
    return states;
  }

  /** Sets a row to the state before the first step. */
  begin(states: Float32Array, row: number): void {
    for (const [, first, at] of this.#parts) states.set(first, row * this.size + at);
  }

  /** The module's input of rows; nothing for a module without memory. */
  toTensors(states: Float32Array, rows: number): { stateIn?: StateTensors } {
    if (this.size === 0) return {};
    const entries = this.#parts.map(([name, { length }, at]) => {
      const data = new Float32Array(rows * length);
      for (let row = 0; row < rows; row += 1) data.set(states.subarray(row * this.size + at, row * this.size + at + length), row * length);
      return [name, tensor(data, { shape: [rows, length] })] as const;
    });
    return { stateIn: Object.fromEntries(entries) };
  }

  /** Takes the states behind a pass. @throws RLError where the module gave none */
  take(stateOut: StateTensors | undefined, states: Float32Array): void {
    for (const [name, { length }, at] of this.#parts) {
      const data = stateOut?.[name]?.toArray();
      const rows = states.length / this.size;
      if (data?.length !== rows * length)
        throw new RLError(
          `Cannot act: forward() of the module returns stateOut.${name} with ${length} numbers a row, as initialState() has it: received ${data === undefined ? "none" : `${data.length} numbers for ${rows} rows`}`,
        );
      for (let row = 0; row < rows; row += 1) states.set(data.subarray(row * length, (row + 1) * length), row * this.size + at);
    }
  }

  /** A row by the module's names. */
  read(states: Float32Array, row: number): ModuleState {
    const from = row * this.size;
    return Object.fromEntries(this.#parts.map(([name, { length }, at]) => [name, states.slice(from + at, from + at + length)]));
  }

  /** Sets a row to a state that a user gave. @throws RangeError where it is none of this module's */
  write(states: Float32Array, row: number, given: ModuleState): void {
    const names = this.#parts.map(([name]) => name);
    if (this.size === 0) throw new RangeError(`Cannot compute an action: the module has no state: received ${describeValue(given)}`);
    if (typeof given !== "object" || given === null || Object.keys(given).some((name) => !names.includes(name)))
      throw new RangeError(`Cannot compute an action: a state has ${names.join(" and ")}: received ${describeValue(given)}`);
    for (const [name, { length }, at] of this.#parts) {
      const part = given[name] as ArrayLike<number> | undefined;
      if (part?.length !== length || !Array.from(part).every(Number.isFinite))
        throw new RangeError(
          `Cannot compute an action: ${name} of the state has ${length} finite numbers: received ${describeValue(part)}. Pass the state that the last call returned`,
        );
      states.set(part, row * this.size + at);
    }
  }
}
