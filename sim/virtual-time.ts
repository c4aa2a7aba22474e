/**
 * Virtual time for models that are no processes: future events are kept in a heap by their time, and happen in that order.
 *
 * The simulation of Shoal's own processes has `world.ts`, which also knows who runs; models of the control plane (`fencing-world.ts`, `detector-growth.ts`) need
 * no more than this. Invariant: two events of the same time happen in the order in which they were planned, so that a seed always gives the same run.
 */

interface Planned {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

export class VirtualTime {
  nowMs = 0;
  readonly #heap: Planned[] = [];
  #order = 0;

  after(delayMs: number, run: () => void): void {
    this.#push({ atMs: this.nowMs + Math.max(0, delayMs), order: this.#order, run });
    this.#order += 1;
  }

  /** For ever, with the first time after `periodMs`. */
  every(periodMs: number, run: () => void): void {
    this.after(periodMs, () => {
      run();
      this.every(periodMs, run);
    });
  }

  runUntil(endMs: number): void {
    for (let next = this.#heap[0]; next !== undefined && next.atMs <= endMs; next = this.#heap[0]) {
      this.#pop();
      this.nowMs = next.atMs;
      next.run();
    }
    this.nowMs = endMs;
  }

  #push(planned: Planned): void {
    const heap = this.#heap;
    let index = heap.push(planned) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(planned, heap[parent] as Planned)) break;
      heap[index] = heap[parent] as Planned;
      index = parent;
    }
    heap[index] = planned;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Planned;
    if (heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Planned, heap[child] as Planned)) child += 1;
      if (!isBefore(heap[child] as Planned, last)) break;
      heap[index] = heap[child] as Planned;
      index = child;
    }
    heap[index] = last;
  }
}

function isBefore(a: Planned, b: Planned): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

/** Numbers that look random and follow from the seed. */
export class SeededNumbers {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  isLucky(probability: number): boolean {
    return this.next() < probability;
  }
}
