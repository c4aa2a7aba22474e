/**
 * A first-in, first-out queue that tasks, actors and the driver share.
 *
 * Turns the answers of the actor (`queue-actor.ts`) into values and errors. Large arrays travel as references, so that the actor holds no
 * copy, and a queue goes to other processes as its handle. The actor ends with `shutdown`, or when nobody has the queue any more.
 */
import {
  ActorDiedError,
  type ActorHandle,
  type ActorOptions,
  kill,
  type ObjectRef,
  put,
  remote,
  ShoalError,
  TaskCancelledError,
  TaskTimeoutError,
  terminate,
} from "../core/index.ts";
import {
  count,
  custom,
  describeValue,
  flag,
  milliseconds,
  outsideCalls,
  readOptions,
  REFERENCE_FROM_BYTES,
  registerErrorClass,
  registerSerializer,
  timeLimit,
  WAITERS_MAX,
} from "../core/internal.ts";
import { type GetAnswer, type PutAnswer, QueueActor, type Ticket } from "./queue-actor.ts";

/** There was no room in the queue, at once or within `timeoutMs`. */
export class QueueFullError extends ShoalError {
  static override readonly code = "QUEUE_FULL";
}

/** There was nothing in the queue, at once or within `timeoutMs`. */
export class QueueEmptyError extends ShoalError {
  static override readonly code = "QUEUE_EMPTY";
}

/** `shutdown` was called on the queue: nothing can be put, and nothing is left to get. */
export class QueueShutdownError extends ShoalError {
  static override readonly code = "QUEUE_SHUT_DOWN";
}

for (const errorClass of [QueueFullError, QueueEmptyError, QueueShutdownError]) registerErrorClass(errorClass);

/** Options of the actor that holds the items. The queue itself sets those for calls. */
export type QueueActorOptions = Omit<ActorOptions, "methods" | "maxConcurrency" | "concurrencyGroups" | "allowOutOfOrderExecution">;

/** The options of `new Queue`. */
export interface QueueOptions {
  /** How many items it holds; 0 is without limit. Default: 0. */
  maxSize?: number | undefined;
  /** Options of the actor that holds the items, such as `name` or `resources`. Default: no CPU. */
  actorOptions?: QueueActorOptions | undefined;
}

/** How long to wait for room or for an item. */
export interface QueueWaitOptions {
  /** Time in milliseconds; 0 does not wait. Default: no limit. */
  timeoutMs?: number | undefined;
}

/** The options of `shutdown`. */
export interface QueueShutdownOptions {
  /** End the queue at once, even with items left. Default: false. */
  force?: boolean | undefined;
  /** How long items that are in it may still be taken, in milliseconds. Default: 5000. */
  gracePeriodMs?: number | undefined;
}

const QUEUE = {
  of: "a queue",
  options: {
    maxSize: count({ min: 0 }, 0),
    actorOptions: custom<QueueActorOptions>("an object is needed", {}, (value) =>
      typeof value === "object" && value !== null ? "ok" : "wrong type",
    ),
  },
};
const WAIT = {
  of: "a queue's put or get",
  otherNames: { timeout: "it is timeoutMs, in milliseconds", block: "use putNowait or getNowait" },
  options: { timeoutMs: timeLimit() },
};
const SHUTDOWN = {
  of: "a queue's shutdown",
  otherNames: { grace_period_s: "it is gracePeriodMs, in milliseconds" },
  options: { force: flag(false), gracePeriodMs: milliseconds(5000) },
};

/** An item as the actor holds it: itself, or a reference to it. */
type Held<T> = readonly [item: T] | { readonly reference: ObjectRef<T> };
type Holder<T> = ActorHandle<QueueActor<Held<T>>>;

let partsOf: (queue: Queue<unknown>) => Adopted;

/** In place of options: the queue exists already, and this is another process's handle. */
class Adopted {
  readonly maxSize: number;
  readonly holder: Holder<unknown>;

  constructor(maxSize: number, holder: Holder<unknown>) {
    this.maxSize = maxSize;
    this.holder = holder;
  }
}

/**
 * A queue in a separate actor: pass it to tasks and actors, which put and get. Items come out in the order in which they went in; each goes
 * to one caller. Waiting callers hold back nobody. `using` ends the queue with the block, unless others have it.
 *
 * @example
 * const queue = new Queue<number>({ maxSize: 100 });
 * const produce = remote(async (out: Queue<number>) => {
 *   for (let i = 0; i < 1000; i++) await out.put(i);
 *   await out.shutdown();
 * });
 * produce.remote(queue);
 * for await (const item of queue) console.log(item);
 */
export class Queue<T> implements Disposable {
  /** How many items it holds; 0 is without limit. */
  readonly maxSize: number;
  readonly #holder: Holder<T>;
  /** Names this handle of the queue at its actor. */
  readonly #client = crypto.randomUUID();
  #ticketCount = 0;
  /** Tickets whose items are here, and of which the actor does not know that yet. */
  #received: string[] = [];

  static {
    partsOf = (queue) => new Adopted(queue.maxSize, queue.#holder);
  }

  /** @throws TypeError for an unknown option or a value of a wrong type, RangeError for one out of range */
  constructor(options?: QueueOptions) {
    if (options instanceof Adopted) {
      this.maxSize = options.maxSize;
      this.#holder = options.holder as Holder<T>;
      return;
    }
    const { maxSize, actorOptions } = readOptions(options, QUEUE);
    this.maxSize = maxSize;
    const holderClass = remote(QueueActor<Held<T>>, { numCpus: 0, maxConcurrency: WAITERS_MAX, ...actorOptions });
    this.#holder = holderClass.remote(maxSize);
  }

  /**
   * Puts an item at the end; waits while the queue is full.
   *
   * @throws QueueFullError when `timeoutMs` is over. QueueShutdownError after `shutdown`. ActorDiedError when the queue's process died.
   */
  async put(item: T, options?: QueueWaitOptions): Promise<void> {
    const timeoutMs = timeLimitOf(options);
    this.#done(await this.#ask(this.#holder.put.remote(held(item) as never, timeoutMs)), timeoutMs);
  }

  /** Puts an item at the end, if there is room now. @throws QueueFullError, QueueShutdownError, ActorDiedError */
  putNowait(item: T): Promise<void> {
    return this.put(item, { timeoutMs: 0 });
  }

  /** Puts all of the items, or none. @throws QueueFullError without room for all; QueueShutdownError, ActorDiedError */
  async putNowaitBatch(items: readonly T[]): Promise<void> {
    if (!Array.isArray(items))
      throw new TypeError(`Cannot put into a queue: an array of items is needed: received ${describeValue(items)}`);
    this.#done(await this.#ask(this.#holder.putAll.remote(items.map((item) => held(item as T)) as never)), 0);
  }

  /**
   * Takes the first item; waits if there is none.
   *
   * @throws QueueEmptyError when `timeoutMs` is over. QueueShutdownError after `shutdown`, when nothing is left. ActorDiedError when the queue's process died.
   */
  async get(options?: QueueWaitOptions): Promise<T> {
    const timeoutMs = timeLimitOf(options);
    const [item] = await this.#take((ticket) => this.#holder.get.remote(timeoutMs, ticket), timeoutMs);
    return item as T;
  }

  /** Takes the first item, if there is one now. @throws QueueEmptyError, QueueShutdownError, ActorDiedError */
  getNowait(): Promise<T> {
    return this.get({ timeoutMs: 0 });
  }

  /** Takes exactly this many items, or none. @throws QueueEmptyError when there are fewer; QueueShutdownError, ActorDiedError */
  async getNowaitBatch(itemCount: number): Promise<T[]> {
    if (!Number.isInteger(itemCount) || itemCount < 0)
      throw new RangeError(`Cannot take from a queue: a whole number of items from 0 is needed: received ${describeValue(itemCount)}`);
    return this.#take((ticket) => this.#holder.getMany.remote(itemCount, ticket), 0);
  }

  /** How many items are in it now. */
  async size(): Promise<number> {
    return this.#ask(this.#holder.size.remote());
  }

  /** Whether nothing is in it now. */
  async empty(): Promise<boolean> {
    return (await this.size()) === 0;
  }

  /** Whether there is no room now; never for one without limit. */
  async full(): Promise<boolean> {
    return this.maxSize > 0 && (await this.size()) >= this.maxSize;
  }

  /**
   * Ends the queue. Later puts fail, and waiting callers get an error. Items that are left can be taken for `gracePeriodMs` and are then
   * lost. Resolves when the process has ended. With `force` at once.
   */
  async shutdown(options?: QueueShutdownOptions): Promise<void> {
    const { force, gracePeriodMs } = readOptions(options, SHUTDOWN);
    if (force) {
      await kill(this.#holder);
      return;
    }
    // An actor that has ended already is as good.
    await Promise.allSettled([this.#holder.close.remote(gracePeriodMs)]);
    await terminate(this.#holder);
  }

  /** Yields items until the queue is shut down and empty. Several may iterate: each item goes to one of them. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (;;) {
      let item: T;
      try {
        item = await this.get();
      } catch (error) {
        if (error instanceof QueueShutdownError) return;
        throw error;
      }
      yield item;
    }
  }

  /** The end of `using`: gives up this process' hold of the queue. */
  [Symbol.dispose](): void {
    this.#holder[Symbol.dispose]();
  }

  async #ask<A>(answer: ObjectRef<A>): Promise<A> {
    try {
      return await answer;
    } catch (error) {
      // Later callers get the same error as the callers that waited at the end; a crash is reported differently.
      if (error instanceof ActorDiedError && error.details?.["ending"] === "terminated") throw wasShutDown();
      throw error;
    } finally {
      // An answer holds the references in it until it is collected as garbage, and with them memory.
      answer[Symbol.dispose]();
    }
  }

  #done(answer: PutAnswer, timeoutMs: number | undefined): void {
    if (answer === "closed") throw wasShutDown();
    if (answer === "full") {
      throw new QueueFullError(`Cannot put into a queue: it is full${waited(timeoutMs)}`, {
        reason: `it holds at most ${this.maxSize} items`,
        hint: "Wait longer for room, or raise maxSize.",
        details: { maxSize: this.maxSize, timeoutMs },
      });
    }
  }

  /** Takes items. Those of an answer that comes too late for a cancelled caller go back. */
  async #take(call: (ticket: Ticket) => ObjectRef<GetAnswer<Held<T>>>, timeoutMs: number | undefined): Promise<T[]> {
    const id = `${this.#client}/${(this.#ticketCount += 1)}`;
    try {
      const items = await this.#items(call({ id, received: this.#received.splice(0) }), timeoutMs);
      this.#received.push(id);
      return items;
    } catch (error) {
      if (error instanceof TaskCancelledError || error instanceof TaskTimeoutError)
        outsideCalls(() => void this.#holder.giveBack.remote(id).catch(() => {}));
      throw error;
    }
  }

  async #items(ref: ObjectRef<GetAnswer<Held<T>>>, timeoutMs: number | undefined): Promise<T[]> {
    const answer = await this.#ask(ref);
    if (answer === "closed") throw wasShutDown();
    if (answer === "empty") {
      throw new QueueEmptyError(`Cannot take from a queue: it is empty${waited(timeoutMs)}`, {
        reason: "there are not so many items in it",
        hint: "Wait longer for an item.",
        details: { timeoutMs },
      });
    }
    return Promise.all(answer.map((item) => ("reference" in item ? item.reference : item[0])));
  }
}

registerSerializer(Queue<unknown>, {
  serialize: (queue) => {
    const { maxSize, holder } = partsOf(queue);
    return [maxSize, holder] as const;
  },
  deserialize: adoptQueue,
});

/** Exported for the worker alone, which imports it to read a queue. */
export function adoptQueue([maxSize, holder]: readonly [number, Holder<unknown>]): Queue<unknown> {
  return new Queue<unknown>(new Adopted(maxSize, holder));
}

function timeLimitOf(options: QueueWaitOptions | undefined): number | undefined {
  return readOptions(options, WAIT).timeoutMs;
}

function held<T>(item: T): Held<T> {
  const isLarge = (ArrayBuffer.isView(item) || item instanceof ArrayBuffer) && item.byteLength >= REFERENCE_FROM_BYTES;
  return isLarge ? { reference: (put as (value: T) => ObjectRef<T>)(item) } : [item];
}

function waited(timeoutMs: number | undefined): string {
  return timeoutMs === undefined || timeoutMs === 0 ? "" : ` after ${timeoutMs} ms`;
}

function wasShutDown(): QueueShutdownError {
  return new QueueShutdownError("Cannot use a queue: it has been shut down", {
    reason: "shutdown() was called",
    hint: "Make a new Queue, or end when this error comes, as `for await` does.",
  });
}
