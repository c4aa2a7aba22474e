/**
 * `serve.batch`: single calls become calls with many items, as soon as there are enough or the first has waited long enough.
 *
 * Owns the items that wait. A call that is cancelled while it waits leaves the batch; once a batch has begun it runs to its end, as the others in it are still wanted. A function that
 * gives another number of results than it got items fails all of them by name: nobody could say which result is whose.
 */
import { getRuntimeContext } from "../../core/index.ts";
import { count, custom, describeValue, isThenable, milliseconds, readOptions } from "../../core/internal.ts";
import { type BatchMetrics, batchMetrics } from "../metrics/serve-metrics.ts";
import { outsideRequests, replicaTags } from "./context/replica-context.ts";
import { currentRequest } from "./context/request-context.ts";

/** The options of `batch`. */
export interface BatchOptions<T = unknown> {
  /** Items in one call, or their sizes together where `batchSizeFn` says them. Default: 10. */
  maxBatchSize?: number | undefined;
  /** How long the first item waits for others. Default: 10. */
  batchWaitTimeoutMs?: number | undefined;
  /** Batches that run at a time. Default: 1. */
  maxConcurrentBatches?: number | undefined;
  /** The size of one item. Default: 1 for each. */
  batchSizeFn?: ((item: T) => number) | undefined;
  /** Names it in metrics. Default: the name of the function, or `anonymous`. */
  name?: string | undefined;
}

/** Marks an item of a batch that streams which has no more results. */
export interface EndOfStream {
  readonly isEndOfStream: true;
}

/** In a batch that streams: this item has no more results. An object, as code that travels finds it by its name in the other process. */
export const END_OF_STREAM: EndOfStream = Object.freeze({ isEndOfStream: true });

interface Setters {
  /** From the next batch on. */
  setMaxBatchSize(items: number): void;
  setBatchWaitTimeoutMs(timeMs: number): void;
}

export type BatchedFunction<T, R> = ((item: T) => Promise<R>) & Setters;
export type BatchedStream<T, R> = ((item: T) => AsyncGenerator<R, void, undefined>) & Setters;

const BATCH = {
  of: "serve.batch",
  otherNames: { max_batch_size: "it is maxBatchSize", batch_wait_timeout_s: "it is batchWaitTimeoutMs, in milliseconds" },
  options: {
    maxBatchSize: count({ min: 1 }, 10),
    batchWaitTimeoutMs: milliseconds(10),
    maxConcurrentBatches: count({ min: 1 }, 1),
    batchSizeFn: custom<((item: never) => number) | undefined>("a function is needed", undefined, (value) =>
      typeof value === "function" ? "ok" : "wrong type",
    ),
    name: custom<string | undefined>("a text is needed", undefined, (value) => (typeof value === "string" ? "ok" : "wrong type")),
  },
};

/** An item that waits, with the callbacks for its outcome. */
interface Entry {
  readonly item: unknown;
  readonly size: number;
  readonly sinceMs: number;
  result(value: unknown): void;
  failed(error: unknown): void;
  /** A stream is over. */
  ended(): void;
}

/**
 * Makes a function of one item from a function of many.
 *
 * @throws TypeError, RangeError for options
 * @example
 * class Model {
 *   embed = serve.batch(async (texts: string[]) => texts.map((text) => text.length), { maxBatchSize: 32, batchWaitTimeoutMs: 5 });
 * }
 */
export function batch<T, R>(
  fn: (items: T[]) => AsyncIterable<readonly (R | EndOfStream)[]>,
  options?: BatchOptions<T>,
): BatchedStream<T, R>;
export function batch<T, R>(fn: (items: T[]) => readonly R[] | PromiseLike<readonly R[]>, options?: BatchOptions<T>): BatchedFunction<T, R>;
export function batch(fn: (items: never[]) => unknown, options?: BatchOptions<never>): unknown {
  if (typeof fn !== "function") throw new TypeError(`Cannot batch: a function is needed: received ${describeValue(fn)}`);
  const read = readOptions(options, BATCH);
  const run = (items: unknown[]): unknown => fn(items as never[]);
  Object.defineProperty(run, "name", { value: read.name ?? fn.name });
  const batcher = new Batcher(run, { ...read, batchSizeFn: read.batchSizeFn as never });
  const tag = Object.prototype.toString.call(fn);
  const isStream = tag === "[object AsyncGeneratorFunction]" || tag === "[object GeneratorFunction]";
  const batched = isStream ? (item: unknown) => streamOf(batcher, item) : (item: unknown) => resultOf(batcher, item);
  return Object.assign(batched, {
    setMaxBatchSize: (items: number) => batcher.set({ maxBatchSize: items }),
    setBatchWaitTimeoutMs: (timeMs: number) => batcher.set({ batchWaitTimeoutMs: timeMs }),
  });
}

interface BatcherOptions {
  maxBatchSize: number;
  batchWaitTimeoutMs: number;
  readonly maxConcurrentBatches: number;
  readonly batchSizeFn: ((item: unknown) => number) | undefined;
}

class Batcher {
  readonly #fn: (items: unknown[]) => unknown;
  readonly #options: BatcherOptions;
  readonly #waiting = new Set<Entry>();
  #size = 0;
  #running = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Made by the first call, which runs in its replica. */
  #metrics: BatchMetrics | undefined;

  constructor(fn: (items: unknown[]) => unknown, options: BatcherOptions) {
    this.#fn = fn;
    this.#options = options;
  }

  set(more: { maxBatchSize?: number; batchWaitTimeoutMs?: number }): void {
    const read = readOptions(more, BATCH);
    if (more.maxBatchSize !== undefined) this.#options.maxBatchSize = read.maxBatchSize;
    if (more.batchWaitTimeoutMs !== undefined) this.#options.batchWaitTimeoutMs = read.batchWaitTimeoutMs;
  }

  /** Adds an item. @returns a function that removes it while it waits */
  add(item: unknown, outcome: Pick<Entry, "result" | "failed" | "ended">): () => void {
    const size = this.#options.batchSizeFn?.(item) ?? 1;
    if (!(size >= 0 && size < Number.POSITIVE_INFINITY))
      throw new RangeError(`Cannot batch an item: batchSizeFn gives a finite number from 0: received ${describeValue(size)}`);
    const entry: Entry = { item, size, sinceMs: performance.now(), ...outcome };
    const metrics = (this.#metrics ??= batchMetrics(replicaTags(), this.#fn.name || "anonymous"));
    this.#waiting.add(entry);
    this.#size += entry.size;
    this.#look();
    metrics.queued.set(this.#waiting.size);
    return () => {
      if (!this.#waiting.delete(entry)) return;
      this.#size -= entry.size;
      metrics.queued.set(this.#waiting.size);
      entry.failed(new DOMException("The call was cancelled", "AbortError"));
    };
  }

  #look(): void {
    const first = this.#waiting.values().next().value;
    if (first === undefined || this.#running >= this.#options.maxConcurrentBatches) return;
    // The first item may have waited for a place already.
    const leftMs = first.sinceMs + this.#options.batchWaitTimeoutMs - performance.now();
    if (this.#size >= this.#options.maxBatchSize || leftMs <= 0) this.#begin();
    else
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.#look();
      }, leftMs);
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const entries: Entry[] = [];
    let size = 0;
    for (const entry of this.#waiting) {
      // An item that is larger than a whole batch goes by itself.
      if (entries.length > 0 && size + entry.size > this.#options.maxBatchSize) break;
      entries.push(entry);
      size += entry.size;
      this.#waiting.delete(entry);
    }
    if (entries.length === 0) return;
    this.#size -= size;
    this.#running += 1;
    const ended = this.#measured(entries, size);
    // No call's own: the end of one must not end it for the others.
    void outsideRequests(() => this.#run(entries)).finally(() => {
      ended();
      this.#running -= 1;
      this.#look();
    });
  }

  /** @returns called when the batch has ended */
  #measured(entries: readonly Entry[], size: number): () => void {
    const metrics = this.#metrics as BatchMetrics;
    const startMs = performance.now();
    metrics.queued.set(this.#waiting.size);
    metrics.size.observe(entries.length);
    metrics.utilization.observe((100 * size) / this.#options.maxBatchSize);
    for (const { sinceMs } of entries) metrics.waitedMs.observe(startMs - sinceMs);
    return () => {
      metrics.batches.add(1);
      metrics.tookMs.observe(performance.now() - startMs);
    };
  }

  async #run(entries: readonly Entry[]): Promise<void> {
    try {
      const returned = this.#fn(entries.map(({ item }) => item));
      if (!isThenable(returned) && typeof returned === "object" && returned !== null && Symbol.asyncIterator in returned) {
        for await (const results of returned as AsyncIterable<unknown>) deliver(entries, results);
        for (const entry of entries) entry.ended();
      } else deliver(entries, await returned);
    } catch (error) {
      for (const entry of entries) entry.failed(error);
    }
  }
}

function deliver(entries: readonly Entry[], results: unknown): void {
  if (!Array.isArray(results) || results.length !== entries.length)
    throw new TypeError(
      `Cannot give back a batch: as many results as items are needed, in their order: received ${Array.isArray(results) ? results.length : describeValue(results)} for ${entries.length}`,
    );
  for (const [index, entry] of entries.entries()) {
    const result: unknown = results[index];
    if (result === END_OF_STREAM) entry.ended();
    // An item may fail alone.
    else if (result instanceof Error) entry.failed(result);
    else entry.result(result);
  }
}

function resultOf(batcher: Batcher, item: unknown): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  let leave: () => void;
  try {
    leave = batcher.add(item, { result: resolve, failed: reject, ended: () => resolve(undefined) });
  } catch (error) {
    reject(error);
    return promise;
  }
  const stay = onAbort(leave);
  promise.then(stay, stay);
  return promise;
}

async function* streamOf(batcher: Batcher, item: unknown): AsyncGenerator<unknown, void, undefined> {
  const results: unknown[] = [];
  let wake = Promise.withResolvers<void>();
  let isOver = false;
  let failure: { error: unknown } | undefined;
  const changed = (): void => {
    wake.resolve();
    wake = Promise.withResolvers<void>();
  };
  const leave = batcher.add(item, {
    result: (value) => {
      if (!isOver && failure === undefined) results.push(value);
      changed();
    },
    failed: (error) => {
      failure ??= { error };
      changed();
    },
    ended: () => {
      isOver = true;
      changed();
    },
  });
  const stay = onAbort(leave);
  try {
    for (;;) {
      if (results.length > 0) yield results.shift();
      else if (failure !== undefined) throw failure.error;
      else if (isOver) return;
      else await wake.promise;
    }
  } finally {
    isOver = true;
    stay();
    leave();
  }
}

/** A call that nobody waits for any more does not wait in a batch. @returns called when it waits no longer */
function onAbort(leave: () => void): () => void {
  if (currentRequest() === undefined) return () => {};
  const { signal } = getRuntimeContext();
  signal.addEventListener("abort", leave, { once: true });
  return () => signal.removeEventListener("abort", leave);
}
