/**
 * A first-in first-out queue on a ring buffer: O(1) at both ends and no garbage per element.
 *
 * `Array.prototype.shift` moves every element once an array is large, so a queue of 1,000,000 tasks would be quadratic. All task and frame
 * queues use this one.
 */
export class Fifo<T> {
  #items: (T | undefined)[];
  #head = 0;
  #size = 0;

  constructor(capacity = 16) {
    let power = 16;
    while (power < capacity) power *= 2;
    this.#items = new Array<T | undefined>(power);
  }

  get size(): number {
    return this.#size;
  }

  push(item: T): void {
    if (this.#size === this.#items.length) this.#resize(this.#items.length * 2);
    this.#items[(this.#head + this.#size) & (this.#items.length - 1)] = item;
    this.#size += 1;
  }

  /** Puts an item back at the front: it is the next one out. */
  unshift(item: T): void {
    if (this.#size === this.#items.length) this.#resize(this.#items.length * 2);
    this.#head = (this.#head - 1) & (this.#items.length - 1);
    this.#items[this.#head] = item;
    this.#size += 1;
  }

  peek(): T | undefined {
    return this.#size === 0 ? undefined : this.#items[this.#head];
  }

  shift(): T | undefined {
    if (this.#size === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#items.length - 1);
    this.#size -= 1;
    if (this.#items.length > 1024 && this.#size < this.#items.length / 4) this.#resize(this.#items.length / 2);
    return item;
  }

  /** Keeps the items that the predicate rejects, in order, and returns the removed ones. */
  removeWhere(predicate: (item: T) => boolean): T[] {
    const removed: T[] = [];
    for (let remaining = this.#size; remaining > 0; remaining -= 1) {
      const item = this.shift() as T;
      if (predicate(item)) removed.push(item);
      else this.push(item);
    }
    return removed;
  }

  *[Symbol.iterator](): Generator<T> {
    for (let index = 0; index < this.#size; index += 1) {
      yield this.#items[(this.#head + index) & (this.#items.length - 1)] as T;
    }
  }

  #resize(capacity: number): void {
    const next = new Array<T | undefined>(capacity);
    const mask = this.#items.length - 1;
    for (let index = 0; index < this.#size; index += 1) next[index] = this.#items[(this.#head + index) & mask];
    this.#items = next;
    this.#head = 0;
  }
}
