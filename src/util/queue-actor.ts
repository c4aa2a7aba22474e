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

/** Names a call that takes items, so that they can come back where its caller was cancelled while the answer was on its way. */
export interface Ticket {
  readonly id: string;
  /** Earlier tickets of the same caller whose items it has. */
  readonly received: readonly string[];
}

interface Given<T> {
  readonly items: readonly T[];
  readonly atMs: number;
}

/** How long the items of an answer are kept for a caller that has not said that it has them. A cancellation arrives within milliseconds. */
const GIVEN_KEPT_MS = 10_000;

export class QueueActor<T> {
  readonly #sizeMax: number;
  readonly #items = new Fifo<T>();
  // Sets keep the order of insertion, and one whose time is over leaves from the middle.
  readonly #getters = new Set<Waiting<GetAnswer<T>> & { readonly ticketId: string | undefined }>();
  /** By ticket, the oldest first. */
  readonly #given = new Map<string, Given<T>>();
  #forgets = false;
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

  get(timeoutMs?: number, ticket?: Ticket): GetAnswer<T> | Promise<GetAnswer<T>> {
    const items = this.getMany(1, ticket);
    if (items !== "empty" || timeoutMs === 0) return items;
    return this.#waitForItem(timeoutMs, ticket?.id);
  }

  async #waitForItem(timeoutMs: number | undefined, ticketId: string | undefined): Promise<GetAnswer<T>> {
    const signal = this.#signal();
    const answer = await waitIn(this.#getters, { entry: { ticketId }, timeoutMs, late: "empty", signal });
    if (typeof answer === "string") return answer;
    if (!signal.aborted) return this.#give(answer, ticketId);
    // The call was cancelled in the turn in which the item came: its answer would go to nobody.
    this.#takeBack(answer);
    return "empty";
  }

  /** The caller of a ticket was cancelled, and has no items: these are the first ones again, and may exceed the size by those that were let in meanwhile. */
  giveBack(ticketId: string): void {
    const given = this.#given.get(ticketId);
    this.#given.delete(ticketId);
    if (given !== undefined) this.#takeBack(given.items);
    for (const getter of this.#getters) if (getter.ticketId === ticketId) getter.answer("empty");
  }

  #give(items: readonly T[], ticketId: string | undefined): readonly T[] {
    if (ticketId === undefined) return items;
    this.#given.set(ticketId, { items, atMs: performance.now() });
    if (!this.#forgets) this.#forgetLater();
    return items;
  }

  #forgetLater(): void {
    this.#forgets = true;
    setTimeout(() => this.#forget(), GIVEN_KEPT_MS).unref();
  }

  #forget(): void {
    const nowMs = performance.now();
    for (const [id, { atMs }] of this.#given) {
      if (nowMs - atMs < GIVEN_KEPT_MS) break;
      this.#given.delete(id);
    }
    this.#forgets = false;
    if (this.#given.size > 0) this.#forgetLater();
  }

  #takeBack(items: readonly T[]): void {
    const left = [...items];
    for (const getter of this.#getters) {
      if (left.length === 0) return;
      getter.answer([left.shift() as T]);
    }
    for (const item of left.toReversed()) this.#items.unshift(item);
  }

  /** Takes exactly this many items, or none. */
  getMany(count: number, ticket?: Ticket): GetAnswer<T> {
    for (const id of ticket?.received ?? []) this.#given.delete(id);
    if (this.#items.size < count) return this.#isClosed ? "closed" : "empty";
    const items: T[] = [];
    while (items.length < count) items.push(this.#items.shift() as T);
    this.#admit();
    return count === 0 ? items : this.#give(items, ticket?.id);
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
