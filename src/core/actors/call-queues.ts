/**
 * The unsent calls of one process to one actor: an ordered queue for each concurrency group.
 *
 * Decides the next call. A call with pending arguments holds back later calls of its group, and no others; without order it holds back none. Calls that make lost
 * objects again go first, because earlier calls may wait for these objects. The call that ends the actor goes after all earlier calls of every group. Pure: the
 * actor's client reports which calls are ready.
 */
import { Fifo } from "../../runtime/base/collections/fifo.ts";

interface QueuedCall {
  /** Makes a lost object again. */
  readonly isRemade: boolean;
  readonly target: { readonly group?: string | undefined };
}

interface CallQueuesOptions<T> {
  isReady: (call: T) => boolean;
  /** Whether it waits for the calls of all groups. */
  isLast: (call: T) => boolean;
}

export class CallQueues<T extends QueuedCall> {
  readonly #options: CallQueuesOptions<T>;
  readonly #queues = new Map<string | undefined, Fifo<T>>();
  readonly #remade = new Fifo<T>();
  #size = 0;
  isUnordered = false;

  constructor(options: CallQueuesOptions<T>) {
    this.#options = options;
  }

  get size(): number {
    return this.#size;
  }

  /** Whether a call of the group would be the next one at once. */
  isEmptyFor(group: string | undefined): boolean {
    return this.#size === 0 || (this.#queues.get(group)?.size ?? 0) === 0;
  }

  push(call: T): void {
    this.#queueOf(call).push(call);
    this.#size += 1;
  }

  /** Puts calls back before all others, in their own order. */
  putBack(calls: readonly T[]): void {
    for (let index = calls.length - 1; index >= 0; index -= 1) {
      const call = calls[index] as T;
      this.#queueOf(call).unshift(call);
      this.#size += 1;
    }
  }

  /** The next call that may be sent, taken out. */
  takeReady(): T | undefined {
    if (this.#size === 0) return undefined;
    const remade = this.#remade.size === 0 ? undefined : this.#takeAnyReady(this.#remade);
    if (remade !== undefined) return remade;
    for (const queue of this.#queues.values()) {
      const call = queue.peek();
      if (call === undefined) continue;
      if (this.#options.isReady(call) && !(this.#options.isLast(call) && queue.size < this.#size)) {
        queue.shift();
        this.#size -= 1;
        return call;
      }
      if (!this.isUnordered || this.#options.isLast(call)) continue;
      const found = this.#takeAnyReady(queue);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  *[Symbol.iterator](): Generator<T> {
    yield* this.#remade;
    for (const queue of this.#queues.values()) yield* queue;
  }

  /** All of them, in order within their groups; nothing is left. */
  takeAll(): T[] {
    const all: T[] = [];
    for (const queue of [this.#remade, ...this.#queues.values()])
      for (let call = queue.shift(); call !== undefined; call = queue.shift()) all.push(call);
    this.#size = 0;
    return all;
  }

  #takeAnyReady(queue: Fifo<T>): T | undefined {
    let found: T | undefined;
    queue.removeWhere((call) => {
      if (found !== undefined || this.#options.isLast(call) || !this.#options.isReady(call)) return false;
      found = call;
      return true;
    });
    if (found !== undefined) this.#size -= 1;
    return found;
  }

  #queueOf(call: T): Fifo<T> {
    if (call.isRemade) return this.#remade;
    const { group } = call.target;
    let queue = this.#queues.get(group);
    if (queue === undefined) {
      queue = new Fifo();
      this.#queues.set(group, queue);
    }
    return queue;
  }
}
