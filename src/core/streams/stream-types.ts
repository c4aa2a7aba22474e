/**
 * The public types of streams: the result of a generator's call, and the inferred types of its items. No code.
 *
 * A generator streams because of how it is written, so the type of its result decides; anything else that can be iterated streams with
 * `numReturns: "streaming"`. Held by `test/types/streams.test-d.ts`.
 */
import type { ObjectRef } from "../types/ref-types.ts";

/** Into how many references a result is split; or its items are a stream. */
export type ReturnCount = number | "streaming";

/** Declared return types of generators. These are not values: only their items can be sent. */
export type AnyIterator = IterableIterator<any> | AsyncIterable<any>;

/** The type of the items of an iterable or an async iterable; a yielded reference or promise counts as its value. */
export type Item<S> = 0 extends 1 & S
  ? any
  : S extends AsyncIterable<infer T>
    ? Awaited<T>
    : S extends Iterable<infer T>
      ? Awaited<T>
      : never;

/**
 * The results of a generator, as they are produced. `for await` yields values; `refs()` yields references instead.
 *
 * An item is freed once its value has been taken. The end of the loop by `break`, `return()`, `await using` or garbage collection stops the
 * generator at its next `yield`, where its `finally` blocks run; none of them waits for that. An error in the generator is thrown after the items
 * before it. A stream is read in the process that made the call, once: to hand items on, send the references of `refs()`.
 *
 * @example
 * const lines = remote(async function* (path: string) { for await (const line of readLines(path)) yield line; });
 * for await (const line of lines.remote("log.txt")) console.log(line);
 */
export interface ObjectRefGenerator<out T> extends AsyncIterable<T, undefined>, AsyncDisposable {
  /**
   * The next value; waits until it has been produced.
   *
   * @throws TaskError with the generator's error; WorkerCrashedError and others if its process died for good.
   */
  next(): Promise<IteratorResult<T, undefined>>;
  /** Stops the generator at its next `yield`, and ends the stream here at once. */
  return(): Promise<IteratorResult<T, undefined>>;
  [Symbol.asyncIterator](): ObjectRefGenerator<T>;
  /** The items as references, in boxes as `await` takes a bare reference for its value. The reference of a failed item rejects; it is the last. */
  refs(): AsyncIterableIterator<{ readonly ref: ObjectRef<T> }, undefined>;
}
