/**
 * Drives one generator for its caller: asks it for items while the caller has room, and ends it when nobody reads on.
 *
 * A generator that is as far ahead as it may be waits for credit. The wait parks its task like a wait for a ref, so
 * others get its CPU and a consumer can always run, even on one CPU. A stopped generator ends at its next `yield`,
 * through its own `return()`, so its `finally` blocks run. The generator makes items of an earlier attempt again
 * without sending them. This file knows no connection: `StreamServer` sends.
 */
import { TaskCancelledError } from "../../base/errors.ts";
import { Fifo } from "../../base/collections/fifo.ts";
import type { StreamHeader } from "../../wire/messages.ts";
import { SINGLE_ITEMS_MAX, TURN_AFTER_MS } from "../limits.ts";
import { type TaskContext, taskContext } from "../tasks/task-context.ts";
import { isThenable } from "../../base/thenable.ts";

/** Indices are the lower 31 bits of an object's number, from 1. */
const ITEMS_MAX = 2 ** 31 - 2;

export interface StreamSenderOptions {
  context: TaskContext;
  header: StreamHeader;
  /** Sends an item; returns its size in bytes. @throws when it cannot be sent */
  send: (index: number, value: unknown) => number;
  /**
   * Runs the code that computes an item, so that it can be interrupted; absent where interruption is not possible.
   * @throws Interruption
   */
  ask?: (<T>(next: () => T) => T) | undefined;
}

type AnyIterator = Iterator<unknown> | AsyncIterator<unknown>;

export class StreamSender {
  readonly #options: StreamSenderOptions;
  /** Sizes of the items that the caller has not consumed, for a limit in bytes. */
  readonly #ahead = new Fifo<number>();
  #aheadBytes = 0;
  #consumed: number;
  #isStopped = false;
  /** Whether the generator's code runs or awaits something. */
  #isInside = false;
  #resume: (() => void) | undefined;

  constructor(options: StreamSenderOptions) {
    this.#options = options;
    this.#consumed = options.header.consumed;
    // An earlier attempt tells the number of items that it sent, but not their sizes.
    for (let index = options.header.consumed; index < options.header.skip; index += 1) this.#ahead.push(0);
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Notes how many items have been consumed in all. */
  credit(consumed: number): void {
    while (this.#consumed < consumed) {
      this.#consumed += 1;
      this.#aheadBytes -= this.#ahead.shift() ?? 0;
    }
    if (this.#hasRoom()) this.#goOn();
  }

  get context(): TaskContext {
    return this.#options.context;
  }

  /**
   * Stops the stream because nobody reads on. A generator that waits at a `yield` ends there; otherwise its signal
   * aborts. @returns whether the signal aborted
   */
  stop(): boolean {
    if (this.#isStopped) return false;
    this.#isStopped = true;
    this.#goOn();
    if (!this.#isInside) return false;
    const { context } = this.#options;
    const reason = new TaskCancelledError(`Task ${context.name} was cancelled`, { reason: "its stream is not read any more" });
    taskContext.run(context, () => context.cancellation.cancel(reason));
    return true;
  }

  /** Resolves when the generator has ended. @throws the generator's error, and values that cannot be sent */
  drive(produced: unknown): Promise<void> {
    return taskContext.run(this.#options.context, () => this.#drive(produced));
  }

  async #drive(produced: unknown): Promise<void> {
    const { iterator, isAsync } = iteratorOf(produced, this.#options.context.name);
    const { send, header, context, ask } = this.#options;
    const next = (): IteratorResult<unknown> | Promise<IteratorResult<unknown>> => iterator.next();
    try {
      let turnStartMs = performance.now();
      for (let index = 0; !this.#isStopped && !context.isCancelled; index += 1) {
        this.#isInside = true;
        const asked = ask === undefined ? next() : ask(next);
        const step = isAsync ? await asked : (asked as IteratorResult<unknown>);
        if (step.done === true) return;
        this.#isInside = false;
        // As in `for await`, items of a synchronous generator are awaited here, and those of an asynchronous one
        // already were.
        const value = !isAsync && isThenable(step.value) ? await step.value : step.value;
        if (index >= ITEMS_MAX) throw new RangeError(`Cannot send an item of a stream: there are at most ${ITEMS_MAX}`);
        if (index < header.skip || this.#isStopped || context.isCancelled) continue;
        const sizeBytes = send(index, value);
        this.#ahead.push(sizeBytes);
        this.#aheadBytes += sizeBytes;
        if (!this.#hasRoom()) {
          await this.#untilRoom();
          turnStartMs = performance.now();
        } else if (index < SINGLE_ITEMS_MAX || performance.now() - turnStartMs > TURN_AFTER_MS) {
          await new Promise(setImmediate);
          turnStartMs = performance.now();
        }
      }
    } catch (error) {
      // A generator ends by its own exception, so it needs no `return()`.
      if (!this.#isInside) await iterator.return?.();
      throw error;
    }
    await iterator.return?.();
  }

  /** Whether the generator may go on. One item may always be ahead, however large it is. */
  #hasRoom(): boolean {
    const { itemsAhead, bytesAhead } = this.#options.header;
    return this.#ahead.size === 0 || (this.#ahead.size < itemsAhead && this.#aheadBytes < bytesAhead);
  }

  #untilRoom(): Promise<void> {
    const { context } = this.#options;
    const { executor } = context.place;
    return new Promise((resolve) => {
      const breakOff = (): void => this.#goOn();
      executor?.waitBegins(context);
      this.#resume = () => {
        context.cancellation.waitEnds(breakOff);
        if (executor === undefined) resolve();
        else executor.waitEnds(context, resolve);
      };
      if (this.#isStopped) this.#goOn();
      else context.cancellation.waitBegins(breakOff);
    });
  }

  #goOn(): void {
    const resume = this.#resume;
    this.#resume = undefined;
    resume?.();
  }
}

/** Returns the iterator of a value. @throws TypeError for a value that cannot be iterated */
function iteratorOf(produced: unknown, name: string): { iterator: AnyIterator; isAsync: boolean } {
  if (typeof produced === "object" && produced !== null) {
    const { [Symbol.asyncIterator]: asAsync, [Symbol.iterator]: asSync } = produced as Partial<AsyncIterable<unknown> & Iterable<unknown>>;
    if (typeof asAsync === "function") return { iterator: asAsync.call(produced), isAsync: true };
    if (typeof asSync === "function") return { iterator: asSync.call(produced), isAsync: false };
  }
  throw new TypeError(
    `Cannot stream the items of ${name}: with numReturns: "streaming" an iterator or iterable must be returned: received ${produced === null ? "null" : typeof produced}`,
  );
}
