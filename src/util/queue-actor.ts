/**
 * The actor behind a `Queue`: it holds the items, and the calls that wait for room or for an item.
 *
 * Works first in, first out, for items, for waiting puts and for waiting gets. A waiter costs an entry here and nothing else: calls overlap
 * (`maxConcurrency`), and each runs without an await between looking and acting. It owns the time limits, so that an item goes to exactly
 * one caller or stays. Called by `queue.ts` alone.
 */
import { getRuntimeContext } from "../core/index.ts";
import { Fifo } from "../core/internal.ts";

/** Outcome of a `put`. */
export type PutAnswer = "done" | "full" | "closed";
/** The items in a wrapper, as an item may be anything. */
export type GetAnswer<T> = readonly T[] | "empty" | "closed";

/** A `put` or `get` that waits for room or for an item. */
interface Waiting<A> {
  answer(answer: A): void;
}

export class QueueActor<T> {
  readonly #sizeMax: number;
  readonly #items = new Fifo<T>();
  // Sets keep the order of insertion, and one whose time is over leaves from the middle.
  readonly #getters = new Set<Waiting<GetAnswer<T>>>();
  readonly #putters = new Set<Waiting<PutAnswer> & { readonly item: T }>();
  #isClosed = false;
  #onDrained: (() => void) | undefined;
  readonly #signal: () => AbortSignal;

  /**
   * @param maxSize - 0 is without limit
   * @param signal - of the call that runs: it aborts when its caller cancels it, or dies
   */
  constructor(maxSize: number, signal: () => AbortSignal = () => getRuntimeContext().signal) {
    this.#sizeMax = maxSize === 0 ? Number.POSITIVE_INFINITY : maxSize;
    this.#signal = signal;
  }

  /** Without `timeoutMs` it waits for room for as long as it takes; 0 does not wait. */
  put(item: T, timeoutMs?: number): PutAnswer | Promise<PutAnswer> {
    if (this.#isClosed) return "closed";
    if (this.#items.size < this.#sizeMax) {
      this.#add(item);
      return "done";
    }
    if (timeoutMs === 0) return "full";
    return waitIn(this.#putters, { entry: { item }, timeoutMs, late: "full", signal: this.#signal() });
  }

  /** Puts all of the items, or none. */
  putAll(items: readonly T[]): PutAnswer {
    if (this.#isClosed) return "closed";
    if (this.#items.size + items.length > this.#sizeMax) return "full";
    for (const item of items) this.#add(item);
    return "done";
  }

  get(timeoutMs?: number): GetAnswer<T> | Promise<GetAnswer<T>> {
    const items = this.getMany(1);
    if (items !== "empty" || timeoutMs === 0) return items;
    return this.#waitForItem(timeoutMs);
  }

  async #waitForItem(timeoutMs: number | undefined): Promise<GetAnswer<T>> {
    const signal = this.#signal();
    const answer = await waitIn(this.#getters, { entry: {}, timeoutMs, late: "empty", signal });
    // The call was cancelled in the turn in which the item came: its answer would go to nobody.
    if (!signal.aborted || typeof answer === "string") return answer;
    for (const item of answer) this.#giveBack(item);
    return "empty";
  }

  /** An item that nobody has received is again the first one. */
  #giveBack(item: T): void {
    const [getter] = this.#getters;
    if (getter === undefined) this.#items.unshift(item);
    else getter.answer([item]);
  }

  /** Takes exactly this many items, or none. */
  getMany(count: number): GetAnswer<T> {
    if (this.#items.size < count) return this.#isClosed ? "closed" : "empty";
    const items: T[] = [];
    while (items.length < count) items.push(this.#items.shift() as T);
    this.#admit();
    return items;
  }

  size(): number {
    return this.#items.size;
  }

  /** Refuses new items, and resolves when the present ones have been taken, or the time is over, with the number of items left. */
  async close(gracePeriodMs: number): Promise<number> {
    this.#isClosed = true;
    for (const waiting of [...this.#getters, ...this.#putters]) waiting.answer("closed");
    if (this.#items.size === 0 || gracePeriodMs === 0) return this.#items.size;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#onDrained = resolve;
      timer = setTimeout(resolve, gracePeriodMs).unref();
    });
    clearTimeout(timer);
    return this.#items.size;
  }

  #add(item: T): void {
    const [getter] = this.#getters;
    if (getter === undefined) this.#items.push(item);
    else getter.answer([item]);
  }

  /** Admits waiting puts after items were taken, oldest first. */
  #admit(): void {
    for (const putter of this.#putters) {
      if (this.#items.size >= this.#sizeMax) break;
      this.#items.push(putter.item);
      putter.answer("done");
    }
    if (this.#items.size === 0) this.#onDrained?.();
  }
}

function waitIn<E extends object, A>(
  line: Set<Waiting<A> & E>,
  { entry, timeoutMs, late, signal }: { entry: E; timeoutMs: number | undefined; late: A; signal: AbortSignal },
): Promise<A> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    const waiting = {
      ...entry,
      answer: (answer: A): void => {
        line.delete(waiting);
        clearTimeout(timer);
        signal.removeEventListener("abort", leave);
        resolve(answer);
      },
    };
    // The caller has gone: an item for it would be lost.
    const leave = (): void => waiting.answer(late);
    signal.addEventListener("abort", leave);
    // In-process mode: an abandoned wait must not hold the program.
    if (timeoutMs !== undefined) timer = setTimeout(() => waiting.answer(late), timeoutMs).unref();
    line.add(waiting);
  });
}
