/**
 * A bounded list of the latest items: the oldest make room and are counted.
 *
 * A process keeps its unsent events in one, and the head keeps the received events.
 */
export class EventRing<T> {
  readonly #capacity: number;
  #items: (T | undefined)[] = [];
  /** Where the oldest is, once it is full. */
  #start = 0;
  #dropped = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** How many have made room since it was drained. */
  get dropped(): number {
    return this.#dropped;
  }

  get size(): number {
    return this.#items.length;
  }

  push(item: T): void {
    if (this.#items.length < this.#capacity) {
      this.#items.push(item);
      return;
    }
    this.#items[this.#start] = item;
    this.#start = (this.#start + 1) % this.#capacity;
    this.#dropped += 1;
  }

  /** The oldest first. */
  *[Symbol.iterator](): Generator<T> {
    for (let index = 0; index < this.#items.length; index += 1) yield this.#items[(this.#start + index) % this.#items.length] as T;
  }

  /** Takes all out. */
  drain(): { items: T[]; dropped: number } {
    const drained = { items: Array.from(this), dropped: this.#dropped };
    this.#items = [];
    this.#start = 0;
    this.#dropped = 0;
    return drained;
  }
}
