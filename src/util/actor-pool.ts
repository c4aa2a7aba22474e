/**
 * A fixed set of actors that share a stream of calls: each call goes to the next free actor.
 *
 * Decides the order of results: `map` and `getNext` in the order of the values, `mapUnordered` and `getNextUnordered` in order of
 * completion. The roster tracks free actors; the caller owns the actors, and the pool ends none.
 */
import { type AnyActorHandle, GetTimeoutError } from "../core/index.ts";
import { flag, readOptions, timeLimit, within } from "../core/internal.ts";
import { type AnyIterable, readAhead, requireIterable } from "./read-ahead.ts";
import { hasDied, Roster, type Ticket } from "./roster.ts";

/** Values that `map` begins ahead of the taken results, for each actor. Evens out run times and bounds the held results. */
const AHEAD_PER_ACTOR = 4;

/** How long to wait for a result of a pool. */
export interface NextOptions {
  /** Time in milliseconds. Default: no limit. */
  timeoutMs?: number | undefined;
}

/** The options of `getNext`, which keeps an order. */
export interface NextInOrderOptions extends NextOptions {
  /** When the time is over, leave this result out, so that the next `getNext` waits for the one after it. Default: false. */
  ignoreIfTimedOut?: boolean | undefined;
}

interface Submitted {
  readonly sequence: number;
  readonly ticket: Ticket<unknown>;
  isSettled: boolean;
}

const NEXT = {
  of: "getNext",
  otherNames: { timeout: "it is timeoutMs, in milliseconds", ignore_if_timedout: "it is ignoreIfTimedOut" },
  options: { timeoutMs: timeLimit() },
};
const NEXT_IN_ORDER = { ...NEXT, options: { ...NEXT.options, ignoreIfTimedOut: flag(false) } };

/**
 * Spreads calls over actors: one call at a time for each, the next value to whichever is free.
 *
 * An actor that dies leaves the pool: its call fails with `ActorDiedError`, and the others continue. `map` and `submit` take a function of
 * an actor and a value that makes the call; it may make several and return a promise.
 *
 * @example
 * const pool = new ActorPool([remote(Parser).remote(), remote(Parser).remote()]);
 * for await (const tree of pool.map((parser, file) => parser.parse.remote(file), files)) console.log(tree);
 */
export class ActorPool<H extends AnyActorHandle> {
  readonly #roster: Roster<H>;
  readonly #submitted: Submitted[] = [];
  #sequence = 0;
  /** Resolved when the next submitted call settles. */
  #settled = Promise.withResolvers<void>();

  /** @throws TypeError for anything but an iterable of handles, RangeError when one is given twice */
  constructor(actors: Iterable<H> = []) {
    requireIterable(actors, "make a pool of actors");
    this.#roster = new Roster<H>({ isDead: hasDied });
    for (const actor of actors) this.push(actor);
  }

  /** Actors that are alive, at work or not. */
  get size(): number {
    return this.#roster.size;
  }

  /**
   * The results of `call` for each value, in the order of the values. Values are taken as results are: at most four for each actor are under way or
   * waiting to be read. A pool without actors is a RangeError at once. A failed call ends the iteration with its error, and so does `break`: calls that have not begun then never do.
   */
  map<V, R>(call: (actor: H, value: V) => PromiseLike<R>, values: AnyIterable<V>): AsyncGenerator<R, void, undefined> {
    return this.#map(call, values, { ordered: true });
  }

  /** Like `map`, with each result as soon as it is available. */
  mapUnordered<V, R>(call: (actor: H, value: V) => PromiseLike<R>, values: AnyIterable<V>): AsyncGenerator<R, void, undefined> {
    return this.#map(call, values, { ordered: false });
  }

  /** Makes one call with the next free actor: now, or when one becomes free. `getNext` and `getNextUnordered` give its result. */
  submit<V>(call: (actor: H, value: V) => PromiseLike<unknown>, value: V): void {
    requireFunction(call, "submit to a pool of actors");
    const ticket = this.#roster.run((actor) => call(actor, value));
    this.#sequence += 1;
    const submitted: Submitted = { sequence: this.#sequence, ticket, isSettled: false };
    const settled = (): void => {
      submitted.isSettled = true;
      const { resolve } = this.#settled;
      this.#settled = Promise.withResolvers<void>();
      resolve();
    };
    ticket.result.then(settled, settled);
    this.#submitted.push(submitted);
  }

  /** Whether a submitted call's result has not been taken. */
  hasNext(): boolean {
    return this.#submitted.length > 0;
  }

  /** Whether an actor is free. */
  hasFree(): boolean {
    return this.#roster.freeCount > 0;
  }

  /**
   * The result of the submitted call that is the next in order.
   *
   * @throws RangeError when there is none. GetTimeoutError when `timeoutMs` is over; the result stays the next one, unless `ignoreIfTimedOut`.
   */
  async getNext<R = any>(options?: NextInOrderOptions): Promise<R> {
    const { timeoutMs, ignoreIfTimedOut } = readOptions(options, NEXT_IN_ORDER);
    // Taken out before the wait: another getNext meanwhile takes the one after it.
    const next = this.#submitted.shift();
    if (next === undefined) throw noneLeft();
    if (!(await settledWithin(next.ticket.result, timeoutMs))) {
      if (!ignoreIfTimedOut) this.#putBack(next);
      throw timedOut(timeoutMs, "the next result");
    }
    return next.ticket.result as Promise<R>;
  }

  /**
   * The result of whichever submitted call ends next.
   *
   * @throws RangeError when there is none. GetTimeoutError when `timeoutMs` is over.
   */
  async getNextUnordered<R = any>(options?: NextOptions): Promise<R> {
    const { timeoutMs } = readOptions(options, NEXT);
    const end = timeoutMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + timeoutMs;
    for (;;) {
      if (this.#submitted.length === 0) throw noneLeft();
      const index = this.#submitted.findIndex((submitted) => submitted.isSettled);
      const [next] = index < 0 ? [] : this.#submitted.splice(index, 1);
      if (next !== undefined) return next.ticket.result as Promise<R>;
      const leftMs = end === Number.POSITIVE_INFINITY ? undefined : Math.max(0, end - performance.now());
      if (!(await settledWithin(this.#settled.promise, leftMs))) throw timedOut(timeoutMs, "a result");
    }
  }

  /** Adds an actor. @throws TypeError for anything but a handle, RangeError when the pool already has it */
  push(actor: H): void {
    if (actor === null || typeof actor !== "object")
      throw new TypeError(`Cannot add to a pool: an actor's handle is needed: received ${typeof actor}`);
    if (this.#roster.has(actor)) throw new RangeError("Cannot add to a pool: the actor is in it already");
    this.#roster.add(actor);
  }

  /** Takes a free actor out of the pool; undefined when none is free. */
  popIdle(): H | undefined {
    return this.#roster.removeFree();
  }

  #map<V, R>(
    call: (actor: H, value: V) => PromiseLike<R>,
    values: AnyIterable<V>,
    { ordered }: { ordered: boolean },
  ): AsyncGenerator<R, void, undefined> {
    requireFunction(call, "map over a pool of actors");
    requireIterable(values, "map over a pool of actors");
    if (this.#roster.size === 0)
      throw new RangeError(
        "Cannot map over a pool of actors: no actor is in it: received a pool of 0. Give it actors, or push() one before.",
      );
    return readAhead(values, {
      begin: (value) => this.#roster.run((actor) => call(actor, value)),
      window: () => this.#roster.size * AHEAD_PER_ACTOR,
      ordered,
    });
  }

  #putBack(submitted: Submitted): void {
    const later = this.#submitted.findIndex(({ sequence }) => sequence > submitted.sequence);
    this.#submitted.splice(later < 0 ? this.#submitted.length : later, 0, submitted);
  }
}

function requireFunction(call: unknown, action: string): void {
  if (typeof call !== "function")
    throw new TypeError(
      `Cannot ${action}: a function such as (actor, value) => actor.method.remote(value) is needed: received ${typeof call}`,
    );
}

function noneLeft(): RangeError {
  return new RangeError("Cannot get a result of a pool: no submitted call is left: ask hasNext() first");
}

function timedOut(timeoutMs: number | undefined, what: string): GetTimeoutError {
  return new GetTimeoutError(`Cannot get a result of a pool: ${what} was not there after ${timeoutMs} ms`, {
    reason: "the time limit was reached",
    hint: "The call goes on; ask again, or raise timeoutMs.",
    details: { timeoutMs },
  });
}

/** Whether the promise settled, either way, before the time was over; without a limit, once it has. */
async function settledWithin(promise: PromiseLike<unknown>, timeoutMs: number | undefined): Promise<boolean> {
  const settled = Promise.allSettled([promise]);
  return (await within(settled, { timeoutMs, signal: undefined })) !== undefined;
}
