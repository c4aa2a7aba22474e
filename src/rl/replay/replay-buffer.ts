/**
 * Buffers of transitions for algorithms of one's own: the newest `capacity` of them, drawn equally often or by priority.
 *
 * Each member of a transition is a column in the dtype of the first value. An index is given once and never again, so a priority for a transition that has been overwritten
 * since the draw changes nothing. The algorithms of this library use `EpisodeReplay`.
 */
import { describeValue, readOptions, custom, type OptionSet } from "../../core/internal.ts";
import { Random } from "../../tensor/index.ts";
import type { NumericArray } from "../spaces/dtype.ts";
import { PriorityChoice, type SlotChoice, UniformChoice } from "./slot-choice.ts";

/** A member of a transition: a number, a flag, or numbers in an array. */
export type TransitionValue = number | boolean | NumericArray | readonly number[];
export type Transition = Readonly<Record<string, TransitionValue>>;

export interface ReplayBufferOptions {
  /** Transitions that are kept. Default: 10,000. */
  readonly capacity?: number | undefined;
  /** Makes draws repeatable. */
  readonly seed?: number | undefined;
}

export interface PrioritizedReplayBufferOptions extends ReplayBufferOptions {
  /** How much priorities matter: 0 is not at all. Default: 0.6. */
  readonly alpha?: number | undefined;
}

export interface ReplaySampleOptions {
  /** How much the weights correct for priorities: 1 is wholly. Default: 0.4. */
  readonly beta?: number | undefined;
}

export interface ReplaySample {
  readonly indices: Float64Array;
  /** At most 1. */
  readonly weights: Float32Array;
  /** Columns, one row a draw. */
  readonly batch: Readonly<Record<string, NumericArray>>;
}

interface Column {
  data: NumericArray;
  readonly size: number;
}

const wholeFromOne = (value: unknown): "ok" | "out of range" | "wrong type" =>
  typeof value !== "number" ? "wrong type" : Number.isSafeInteger(value) && value >= 1 && value <= 2 ** 31 - 1 ? "ok" : "out of range";
const CAPACITY = custom<number>("a whole number from 1 to 2^31 - 1 is needed", 10_000, wholeFromOne);
const SEED = custom<number | undefined>("a whole number is needed", undefined, (value) =>
  Number.isSafeInteger(value) ? "ok" : "wrong type",
);
const fromZero = (fallback: number) =>
  custom<number>("a number from 0 is needed", fallback, (value) =>
    typeof value !== "number" ? "wrong type" : value >= 0 && Number.isFinite(value) ? "ok" : "out of range",
  );
const UNIFORM: OptionSet<{ capacity: number; seed: number | undefined }> = {
  of: "a ReplayBuffer",
  options: { capacity: CAPACITY, seed: SEED },
};
const PRIORITIZED = { of: "a PrioritizedReplayBuffer", options: { capacity: CAPACITY, seed: SEED, alpha: fromZero(0.6) } };
const SAMPLE = { of: "sample()", options: { beta: fromZero(0.4) } };
const FIRST_ROWS = 64;

/**
 * @example
 * const buffer = new ReplayBuffer({ capacity: 10_000, seed: 1 });
 * buffer.add({ obs: Float32Array.of(0, 1), action: 1, reward: 0.5, done: false });
 * const { batch } = buffer.sample(32);
 */
export class ReplayBuffer {
  readonly capacity: number;
  readonly #random: Random;
  readonly #choice: SlotChoice;
  readonly #columns = new Map<string, Column>();
  #added = 0;
  #rows = 0;

  constructor(options: ReplayBufferOptions = {}) {
    const { capacity, seed, choice } = this.read(options);
    this.capacity = capacity;
    this.#random = seed === undefined ? new Random() : new Random(seed, "replay buffer");
    this.#choice = choice;
  }

  protected read(options: ReplayBufferOptions): { capacity: number; seed: number | undefined; choice: SlotChoice } {
    return { ...readOptions(options, UNIFORM), choice: new UniformChoice() };
  }

  /** Transitions in the buffer. */
  get size(): number {
    return this.#choice.size;
  }

  /** Adds a transition, in place of the oldest one where the buffer is full. @throws TypeError where its members are not those of the first */
  add(transition: Transition): void {
    const names = Object.keys(transition);
    if (this.#columns.size === 0) for (const name of names) this.#columns.set(name, columnFor(name, transition[name]));
    if (names.length !== this.#columns.size)
      throw new TypeError(
        `Cannot add a transition: its members are ${Array.from(this.#columns.keys()).join(", ")}: received ${names.join(", ") || "none"}`,
      );
    for (const [name, { size }] of this.#columns)
      if (sizeOf(transition[name]) !== size)
        throw new TypeError(
          `Cannot add a transition: ${name} is ${size === 1 ? "a number" : `${size} numbers`}, as in the first: received ${describeValue(transition[name])}`,
        );
    const slot = this.#added % this.capacity;
    if (slot >= this.#rows) this.#grow();
    for (const [name, { data, size }] of this.#columns) {
      const value = transition[name] as TransitionValue;
      if (typeof value === "object") data.set(value, slot * size);
      else data[slot] = Number(value);
    }
    this.#choice.remove(slot);
    this.#choice.add(slot);
    this.#added += 1;
  }

  /** Draws transitions, each possibly more than once. @throws RangeError where the buffer is empty */
  sample(count: number, options: ReplaySampleOptions = {}): ReplaySample {
    const { beta } = readOptions(options, SAMPLE);
    if (wholeFromOne(count) !== "ok")
      throw new RangeError(
        `Cannot sample from a replay buffer: a whole number of draws from 1 is needed: received ${describeValue(count)}`,
      );
    if (this.size === 0) throw new RangeError("Cannot sample from a replay buffer: it is empty. Add transitions first");
    const { slots, weights } = this.#choice.sample(count, this.#random, beta);
    const batch = Object.fromEntries(
      Array.from(this.#columns, ([name, { data, size }]) => {
        const drawn = new (data.constructor as new (length: number) => NumericArray)(count * size);
        for (let row = 0; row < count; row += 1)
          for (let at = 0; at < size; at += 1) drawn[row * size + at] = data[(slots[row] as number) * size + at] as number;
        return [name, drawn];
      }),
    );
    return { indices: Float64Array.from(slots, (slot) => this.#indexOf(slot)), weights, batch };
  }

  /** The index of the transition in a slot: the number of transitions before it. */
  #indexOf(slot: number): number {
    const round = Math.floor((this.#added - 1 - slot) / this.capacity);
    return round * this.capacity + slot;
  }

  /** Sets priorities of draws. Those that have been overwritten keep the new transition's. */
  updatePriorities(indices: ArrayLike<number>, priorities: ArrayLike<number>): void {
    if (indices.length !== priorities.length)
      throw new RangeError(
        `Cannot update priorities: one is needed for each index: received ${priorities.length} for ${indices.length} indices`,
      );
    for (let at = 0; at < indices.length; at += 1)
      if (!((priorities[at] as number) >= 0 && Number.isFinite(priorities[at])))
        throw new RangeError(`Cannot update priorities: numbers from 0 are needed: received ${describeValue(priorities[at])} at ${at}`);
    for (let at = 0; at < indices.length; at += 1) {
      const index = indices[at] as number;
      if (index < this.#added && index >= this.#added - this.size) this.#choice.update(index % this.capacity, priorities[at] as number);
    }
  }

  #grow(): void {
    this.#rows = Math.min(this.capacity, Math.max(FIRST_ROWS, 2 * this.#rows));
    for (const column of this.#columns.values()) {
      const larger = new (column.data.constructor as new (length: number) => NumericArray)(this.#rows * column.size);
      larger.set(column.data);
      column.data = larger;
    }
  }
}

/** Draws transitions by their priorities, which `updatePriorities` sets. */
export class PrioritizedReplayBuffer extends ReplayBuffer {
  // oxlint-disable-next-line no-useless-constructor -- it takes one more option
  constructor(options: PrioritizedReplayBufferOptions = {}) {
    super(options);
  }

  protected override read(options: PrioritizedReplayBufferOptions): ReturnType<ReplayBuffer["read"]> {
    const { alpha, ...others } = readOptions(options, PRIORITIZED);
    return { ...others, choice: new PriorityChoice(alpha) };
  }
}

function columnFor(name: string, value: unknown): Column {
  const size = sizeOf(value);
  if (size === undefined)
    throw new TypeError(
      `Cannot add a transition: ${name} is a number, true, false, or numbers in an array: received ${describeValue(value)}`,
    );
  if (typeof value === "boolean") return { data: new Uint8Array(0), size };
  if (typeof value === "number") return { data: new Float64Array(0), size };
  const array = ArrayBuffer.isView(value) ? (value.constructor as new (length: number) => NumericArray) : Float32Array;
  return { data: new array(0), size };
}

function sizeOf(value: unknown): number | undefined {
  if (typeof value === "number" || typeof value === "boolean") return 1;
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return (value as NumericArray).length;
  return Array.isArray(value) && value.every((each) => typeof each === "number") ? value.length : undefined;
}
