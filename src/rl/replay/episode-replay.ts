/**
 * The buffer of the algorithms: steps of several environments, in which the next observation is stored once.
 *
 * A slot of the ring holds an observation and, once it has been taken, the step from there: the action, the reward, and the slot of the next observation.
 * A slot's successor is always newer, so it is overwritten later. Returns over several steps are summed when a step is drawn, and end with the episode.
 */
import type { Random, RandomState } from "../../tensor/index.ts";
import { type Fragment, SEQUENCE_END } from "../sequences/fragment.ts";
import type { NumericArray } from "../spaces/dtype.ts";
import type { SlotChoice } from "./slot-choice.ts";

export interface ReplayBatch {
  readonly rows: number;
  readonly obs: Float32Array;
  /** In the policy's range. */
  readonly actions: NumericArray;
  /** Sums of discounted rewards over the steps. */
  readonly rewards: Float32Array;
  readonly nextObs: Float32Array;
  /** Factor of the value of the next observation: 0 where the world has ended. */
  readonly discounts: Float32Array;
  /** Importance weights. */
  readonly weights: Float32Array;
  /** Name the draws for `updatePriorities`. */
  readonly indices: Float64Array;
}

interface DrawRequest {
  readonly rows: number;
  readonly beta: number;
  readonly gamma: number;
  /** The steps of a return: a number, or the least and the largest of a number drawn for each row. */
  readonly nStep: number | readonly [number, number];
}

/** The columns of a buffer, for a checkpoint. */
export interface EpisodeReplayState {
  readonly arrays: {
    readonly obs: Float32Array;
    readonly actions: NumericArray;
    readonly rewards: Float32Array;
    readonly next: Int32Array;
    readonly kinds: Uint8Array;
    readonly priorities: Float64Array;
  };
  readonly added: number;
  readonly steps: number;
  readonly open: readonly (readonly [environment: number, index: number])[];
  readonly largestPriority: number;
  readonly random: RandomState;
}

interface Sizes {
  /** Observations that are kept: one a step, and one more an episode. */
  readonly capacity: number;
  readonly obs: number;
  readonly actions: number;
}

/** A slot holds an observation alone, a step, or the step with which the world ended. */
const KIND = { OBSERVATION: 0, STEP: 1, LAST_STEP: 2 } as const;
const FIRST_SLOTS = 1024;

export class EpisodeReplay {
  readonly #sizes: Sizes;
  readonly #choice: SlotChoice;
  readonly #random: Random;
  readonly #makeActions: (rows: number) => NumericArray;
  #slots = 0;
  #obs: Float32Array = new Float32Array(0);
  #actions: NumericArray;
  #rewards: Float32Array = new Float32Array(0);
  #next: Int32Array = new Int32Array(0);
  #kinds: Uint8Array = new Uint8Array(0);
  /** Observations that were ever written: the index of the next one. */
  #added = 0;
  #steps = 0;
  /** By environment: the index of the newest observation, from which no step has been taken. */
  readonly #open = new Map<number, number>();

  constructor(sizes: Sizes, parts: { choice: SlotChoice; random: Random; makeActions: (rows: number) => NumericArray }) {
    this.#sizes = sizes;
    this.#choice = parts.choice;
    this.#random = parts.random;
    this.#makeActions = parts.makeActions;
    this.#actions = parts.makeActions(0);
  }

  /** Steps that can be drawn. */
  get size(): number {
    return this.#choice.size;
  }

  /** Steps that were ever added. */
  get steps(): number {
    return this.#steps;
  }

  /** @param priorities - by row. Default: the largest so far */
  add(fragment: Fragment, priorities?: Float32Array): void {
    const { obs, rewards, sequences, environments } = fragment;
    const size = this.#sizes.obs;
    for (let index = 0; index < environments.length; index += 1) {
      const environment = environments[index] as number;
      const start = sequences[3 * index] as number;
      const end = start + (sequences[3 * index + 1] as number);
      const isTerminated = sequences[3 * index + 2] === SEQUENCE_END.TERMINATED;
      let at = this.#continued(environment, obs, (start + index) * size) ?? this.#write(obs, (start + index) * size);
      for (let row = start; row < end; row += 1) {
        const next = this.#write(obs, (row + index + 1) * size);
        // A ring of a single slot, or an observation that was overwritten just now: no step begins there.
        if (this.#isStored(at)) {
          this.#step(at, next, { fragment, row, reward: rewards[row] as number, isLast: isTerminated && row === end - 1 });
          if (priorities !== undefined) this.#choice.update(this.#slotOf(at), priorities[row] as number);
        }
        at = next;
      }
      if (sequences[3 * index + 2] === SEQUENCE_END.CUT) this.#open.set(environment, at);
      else this.#open.delete(environment);
      this.#steps += end - start;
    }
  }

  /** The stored observation from which an environment goes on; none where it began anew, as behind a runner that was replaced. */
  #continued(environment: number, obs: Float32Array, from: number): number | undefined {
    const index = this.#open.get(environment);
    if (index === undefined || !this.#isStored(index)) return undefined;
    const at = this.#slotOf(index) * this.#sizes.obs;
    for (let element = 0; element < this.#sizes.obs; element += 1) if (this.#obs[at + element] !== obs[from + element]) return undefined;
    return index;
  }

  #step(index: number, next: number, step: { fragment: Fragment; row: number; reward: number; isLast: boolean }): void {
    const { actions } = this.#sizes;
    const slot = this.#slotOf(index);
    for (let element = 0; element < actions; element += 1)
      this.#actions[slot * actions + element] = step.fragment.actions[step.row * actions + element] as number;
    this.#rewards[slot] = step.reward;
    this.#next[slot] = this.#slotOf(next);
    this.#kinds[slot] = step.isLast ? KIND.LAST_STEP : KIND.STEP;
    this.#choice.add(slot);
  }

  /** Writes an observation over the oldest one. @returns its index */
  #write(obs: Float32Array, from: number): number {
    const index = this.#added;
    const slot = this.#slotOf(index);
    if (slot >= this.#slots) this.#grow();
    const size = this.#sizes.obs;
    for (let element = 0; element < size; element += 1) this.#obs[slot * size + element] = obs[from + element] as number;
    this.#choice.remove(slot);
    this.#kinds[slot] = KIND.OBSERVATION;
    this.#added += 1;
    return index;
  }

  #slotOf(index: number): number {
    return index % this.#sizes.capacity;
  }

  #isStored(index: number): boolean {
    return index >= this.#added - this.#sizes.capacity;
  }

  #indexOf(slot: number): number {
    const round = Math.floor((this.#added - 1 - slot) / this.#sizes.capacity);
    return round * this.#sizes.capacity + slot;
  }

  sample({ rows, beta, gamma, nStep }: DrawRequest): ReplayBatch {
    const { obs: obsSize, actions: actionSize } = this.#sizes;
    const { slots, weights } = this.#choice.sample(rows, this.#random, beta);
    const batch = {
      rows,
      obs: new Float32Array(rows * obsSize),
      actions: this.#makeActions(rows),
      rewards: new Float32Array(rows),
      nextObs: new Float32Array(rows * obsSize),
      discounts: new Float32Array(rows),
      weights,
      indices: Float64Array.from(slots, (slot) => this.#indexOf(slot)),
    };
    for (let row = 0; row < rows; row += 1) {
      const slot = slots[row] as number;
      const steps = typeof nStep === "number" ? nStep : nStep[0] + this.#random.integer(nStep[1] - nStep[0] + 1);
      const { reward, discount, last } = this.#return(slot, gamma, steps);
      batch.rewards[row] = reward;
      batch.discounts[row] = discount;
      for (let element = 0; element < obsSize; element += 1) {
        batch.obs[row * obsSize + element] = this.#obs[slot * obsSize + element] as number;
        batch.nextObs[row * obsSize + element] = this.#obs[last * obsSize + element] as number;
      }
      for (let element = 0; element < actionSize; element += 1)
        batch.actions[row * actionSize + element] = this.#actions[slot * actionSize + element] as number;
    }
    return batch;
  }

  /** The discounted rewards of up to so many steps, and the slot of the observation behind them. */
  #return(slot: number, gamma: number, steps: number): { reward: number; discount: number; last: number } {
    let [reward, discount, at] = [0, 1, slot];
    for (let step = 0; step < steps && this.#kinds[at] !== KIND.OBSERVATION; step += 1) {
      reward += discount * (this.#rewards[at] as number);
      discount = this.#kinds[at] === KIND.LAST_STEP ? 0 : discount * gamma;
      at = this.#next[at] as number;
      if (discount === 0) break;
    }
    return { reward, discount, last: at };
  }

  updatePriorities(indices: Float64Array, priorities: Float32Array): void {
    for (let at = 0; at < indices.length; at += 1) {
      const index = indices[at] as number;
      if (this.#isStored(index)) this.#choice.update(this.#slotOf(index), priorities[at] as number);
    }
  }

  #grow(): void {
    this.#resize(Math.min(this.#sizes.capacity, Math.max(FIRST_SLOTS, 2 * this.#slots)));
  }

  #resize(slots: number): void {
    const { obs, actions } = this.#sizes;
    this.#slots = slots;
    this.#obs = enlarged(this.#obs, slots * obs);
    this.#rewards = enlarged(this.#rewards, slots);
    this.#next = enlarged(this.#next, slots);
    this.#kinds = enlarged(this.#kinds, slots);
    const larger = this.#makeActions(slots);
    larger.set(this.#actions.subarray(0, slots * actions));
    this.#actions = larger;
  }

  getState(): EpisodeReplayState {
    const slots = Math.min(this.#added, this.#sizes.capacity);
    const { priorities, largest } = this.#choice.getState(slots);
    return {
      arrays: {
        obs: this.#obs.slice(0, slots * this.#sizes.obs),
        actions: this.#actions.slice(0, slots * this.#sizes.actions),
        rewards: this.#rewards.slice(0, slots),
        next: this.#next.slice(0, slots),
        kinds: this.#kinds.slice(0, slots),
        priorities,
      },
      added: this.#added,
      steps: this.#steps,
      open: Array.from(this.#open),
      largestPriority: largest,
      random: this.#random.getState(),
    };
  }

  /** Goes on from a state. @throws RangeError where it is of a buffer of another capacity, or of other spaces */
  setState({ arrays, added, steps, open, largestPriority, random }: EpisodeReplayState): void {
    const slots = Math.min(added, this.#sizes.capacity);
    const wanted = {
      obs: slots * this.#sizes.obs,
      actions: slots * this.#sizes.actions,
      rewards: slots,
      next: slots,
      kinds: slots,
      priorities: slots,
    };
    for (const [name, length] of Object.entries(wanted))
      if (arrays[name as keyof typeof wanted].length !== length)
        throw new RangeError(
          `the buffer would have ${length} numbers of ${name}: received ${arrays[name as keyof typeof wanted].length}. Use the capacity and the environment that it was saved with`,
        );
    this.#slots = 0;
    this.#resize(Math.max(slots, Math.min(FIRST_SLOTS, this.#sizes.capacity)));
    this.#obs.set(arrays.obs);
    this.#actions.set(arrays.actions);
    this.#rewards.set(arrays.rewards);
    this.#next.set(arrays.next);
    this.#kinds.set(arrays.kinds);
    this.#choice.setState({ priorities: arrays.priorities, largest: largestPriority });
    this.#added = added;
    this.#steps = steps;
    this.#open.clear();
    for (const [environment, index] of open) this.#open.set(environment, index);
    this.#random.setState(random);
  }
}

function enlarged<A extends Float32Array | Int32Array | Uint8Array>(array: A, length: number): A {
  const larger = new (array.constructor as new (length: number) => A)(length);
  larger.set(array.subarray(0, length));
  return larger;
}
