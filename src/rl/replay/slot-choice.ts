/**
 * Chooses the entries of a buffer that are drawn: each equally often, or by priority.
 *
 * An entry is known by its place in the ring. A new one gets the largest priority so far, so that each is learnt from once at least. The importance weight of
 * a draw is `(size x probability)^-beta`, divided by the largest of the batch: arXiv:1511.05952.
 */
import type { Random } from "../../tensor/index.ts";
import { SumTree } from "./sum-tree.ts";

/** Entries that were drawn, with their importance weights. */
interface Draws {
  readonly slots: Int32Array;
  readonly weights: Float32Array;
}

export interface SlotChoice {
  /** Entries that may be drawn. */
  readonly size: number;
  add(slot: number): void;
  remove(slot: number): void;
  sample(count: number, random: Random, beta: number): Draws;
  update(slot: number, priority: number): void;
  /** Numbers from which an equal choice is made. */
  getState(slots: number): SlotChoiceState;
  setState(state: SlotChoiceState): void;
}

/** By place: 0 where nothing may be drawn. */
interface SlotChoiceState {
  readonly priorities: Float64Array;
  readonly largest: number;
}

export class UniformChoice implements SlotChoice {
  /** A list of the entries that may be drawn, in any order, and the place of each in that list. */
  #slots: Int32Array = new Int32Array(1024);
  #places: Int32Array = new Int32Array(1024).fill(-1);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(slot: number): void {
    this.#fit(Math.max(slot, this.#size));
    this.#slots[this.#size] = slot;
    this.#places[slot] = this.#size;
    this.#size += 1;
  }

  remove(slot: number): void {
    const place = this.#places[slot] ?? -1;
    if (place < 0) return;
    this.#size -= 1;
    const last = this.#slots[this.#size] as number;
    this.#slots[place] = last;
    this.#places[last] = place;
    this.#places[slot] = -1;
  }

  #fit(index: number): void {
    if (index < this.#places.length) return;
    const length = 2 ** Math.ceil(Math.log2(index + 1));
    const [slots, places] = [new Int32Array(length), new Int32Array(length).fill(-1)];
    slots.set(this.#slots);
    places.set(this.#places);
    [this.#slots, this.#places] = [slots, places];
  }

  sample(count: number, random: Random): Draws {
    const slots = Int32Array.from({ length: count }, () => this.#slots[random.integer(this.#size)] as number);
    return { slots, weights: new Float32Array(count).fill(1) };
  }

  update(): void {}

  getState(slots: number): SlotChoiceState {
    // The order of the list decides which entry a random number names, so it is kept: places from 1.
    const priorities = Float64Array.from({ length: slots }, (_, slot) => (this.#places[slot] ?? -1) + 1);
    return { priorities, largest: 1 };
  }

  setState({ priorities }: SlotChoiceState): void {
    this.#size = 0;
    this.#places.fill(-1);
    this.#fit(priorities.length);
    for (const [slot, place] of priorities.entries()) {
      if (place === 0) continue;
      this.#slots[place - 1] = slot;
      this.#places[slot] = place - 1;
      this.#size += 1;
    }
  }
}

/** Added to no priority: a priority of 0 would never be drawn again, so this is the least. */
const PRIORITY_MIN = 1e-6;

export class PriorityChoice implements SlotChoice {
  readonly #alpha: number;
  #tree: SumTree = new SumTree();
  #size = 0;
  #largest = 1;

  constructor(alpha: number) {
    this.#alpha = alpha;
  }

  get size(): number {
    return this.#size;
  }

  add(slot: number): void {
    this.#tree.set(slot, this.#largest ** this.#alpha);
    this.#size += 1;
  }

  remove(slot: number): void {
    if (this.#tree.get(slot) === 0) return;
    this.#tree.set(slot, 0);
    this.#size -= 1;
  }

  sample(count: number, random: Random, beta: number): Draws {
    const { total } = this.#tree;
    const slots = new Int32Array(count);
    const weights = new Float32Array(count);
    let most = 0;
    for (let draw = 0; draw < count; draw += 1) {
      const slot = this.#tree.find(random.uniform() * total);
      slots[draw] = slot;
      const weight = ((this.#size * this.#tree.get(slot)) / total) ** -beta;
      weights[draw] = weight;
      most = Math.max(most, weight);
    }
    for (let draw = 0; draw < count; draw += 1) weights[draw] = (weights[draw] as number) / most;
    return { slots, weights };
  }

  update(slot: number, priority: number): void {
    if (this.#tree.get(slot) === 0) return;
    // The loss of this entry was not finite: a NaN in the tree would spoil all draws, and the largest priority would draw the entry again and again.
    const bounded = Number.isFinite(priority) ? Math.max(PRIORITY_MIN, priority) : PRIORITY_MIN;
    this.#largest = Math.max(this.#largest, bounded);
    this.#tree.set(slot, bounded ** this.#alpha);
  }

  getState(slots: number): SlotChoiceState {
    return { priorities: Float64Array.from({ length: slots }, (_, slot) => this.#tree.get(slot)), largest: this.#largest };
  }

  setState({ priorities, largest }: SlotChoiceState): void {
    this.#tree = new SumTree();
    this.#size = 0;
    this.#largest = largest;
    for (const [slot, priority] of priorities.entries()) {
      this.#tree.set(slot, priority);
      if (priority > 0) this.#size += 1;
    }
  }
}
