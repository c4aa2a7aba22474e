/**
 * The stream of a generator's items in the user's hands: an async iterator of values, or of refs by `refs()`.
 *
 * Decides what its reader sees: values in order, then the failure if there was one, then the end for good. Calls of `next` that overlap are answered
 * in their order; `return` does not queue behind them. When the user drops it unread the generator is stopped.
 */
import { insideLibrary } from "../../runtime/base/library-code.ts";
import type { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import type { ObjectTable } from "../../runtime/objects/object-table.ts";
import { ObjectRefHandle } from "../objects/object-ref.ts";
import type { StreamReceiver } from "./stream-receiver.ts";

/** How the runtime waits and reads, as for refs: parking the task, keeping a driver alive. */
export interface StreamReader {
  untilSettled(entry: ObjectEntry): Promise<void>;
  read(entry: ObjectEntry): Promise<unknown>;
}

interface ReadingOptions {
  table: ObjectTable;
  streamReader: StreamReader;
}

export let isObjectRefGenerator: (value: unknown) => value is ObjectRefGeneratorHandle;
/** An entry that is settled when the next item or the end is there. */
export let readinessOf: (generator: ObjectRefGeneratorHandle) => ObjectEntry;

/** Returns the completion entry, which stands for the call and settles at the stream's end. */
export let completionOf: (generator: ObjectRefGeneratorHandle) => ObjectEntry;

/** The task or method that produces the items, as far as the reader knows it. */
export interface StreamProducer {
  /** Whether the producer has ended, or waits until items are taken: its task then holds no CPU. Known only where the call has a `highWaterMark`. */
  readonly isAtRest: boolean;
  readonly hasEnded: boolean;
  /** Calls back each time that the producer has come to rest. One listener. */
  onRest(listener: () => void): void;
}

/** The producer of a stream's items. */
export let producerOf: (generator: object) => StreamProducer;

const dropped = new FinalizationRegistry<StreamReceiver>((stream) => stream.dropped());

type Step<T> = IteratorResult<T, undefined>;

class ProducerView implements StreamProducer {
  readonly #stream: StreamReceiver;

  constructor(stream: StreamReceiver) {
    this.#stream = stream;
  }

  get isAtRest(): boolean {
    return this.#stream.isProducerAtRest;
  }

  get hasEnded(): boolean {
    return this.#stream.completion.isSettled;
  }

  onRest(listener: () => void): void {
    this.#stream.onProducerRest(listener);
  }
}

export class ObjectRefGeneratorHandle {
  readonly #stream: StreamReceiver;
  readonly #options: ReadingOptions;
  #stepsPending = 0;
  #lastStep: Promise<void> = Promise.resolve();

  static {
    isObjectRefGenerator = (value): value is ObjectRefGeneratorHandle => typeof value === "object" && value !== null && #stream in value;
    readinessOf = (generator) => generator.#stream.readiness();
    completionOf = (generator) => generator.#stream.completion;
    producerOf = (generator) => new ProducerView((generator as ObjectRefGeneratorHandle).#stream);
  }

  constructor(stream: StreamReceiver, options: ReadingOptions) {
    this.#stream = stream;
    this.#options = options;
    dropped.register(this, stream, this);
  }

  next(): Promise<Step<unknown>> {
    return insideLibrary(() => this.#inTurn(() => this.#nextValue()));
  }

  return(): Promise<Step<never>> {
    dropped.unregister(this);
    insideLibrary(() => this.#stream.stop());
    return Promise.resolve({ value: undefined, done: true });
  }

  refs(): AsyncIterableIterator<{ ref: ObjectRefHandle }, undefined> {
    const iterator = {
      // The arrow functions hold the generator: it is not dropped while its refs are read.
      next: () => insideLibrary(() => this.#inTurn(() => this.#nextRef())),
      return: () => this.return(),
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const turn = this.#stepsPending === 0 ? step() : this.#lastStep.then(step);
    this.#stepsPending += 1;
    const ended = (): void => {
      this.#stepsPending -= 1;
    };
    this.#lastStep = turn.then(ended, ended);
    return turn;
  }

  async #nextValue(): Promise<Step<unknown>> {
    const entry = await this.#nextEntry();
    if (entry === undefined) return { value: undefined, done: true };
    const { streamReader, table } = this.#options;
    if (entry === this.#stream.completion) return { value: await streamReader.read(entry), done: false };
    try {
      return { value: await streamReader.read(entry), done: false };
    } catch (error) {
      // An item that cannot be read ends the loop, so it ends the stream.
      this.#stream.stop();
      throw error;
    } finally {
      table.unpin(entry);
    }
  }

  async #nextRef(): Promise<Step<{ ref: ObjectRefHandle }>> {
    const entry = await this.#nextEntry();
    if (entry === undefined) return { value: undefined, done: true };
    const { table } = this.#options;
    const isFailure = entry === this.#stream.completion;
    const item = isFailure ? this.#stream.failedItem() : entry;
    const ref = new ObjectRefHandle(item);
    if (item.tracked) table.track(item, ref);
    if (isFailure) table.watchFailure(item, ref);
    else table.unpin(item);
    return { value: { ref }, done: false };
  }

  /** The next item, the completion where the stream failed, or nothing at its end. */
  async #nextEntry(): Promise<ObjectEntry | undefined> {
    for (;;) {
      const entry = this.#stream.take() ?? this.#stream.takeFailure();
      if (entry !== undefined) return entry;
      if (this.#stream.isReady) return undefined;
      await this.#options.streamReader.untilSettled(this.#stream.readiness());
    }
  }
}

Object.defineProperties(ObjectRefGeneratorHandle.prototype, {
  [Symbol.toStringTag]: { value: "ObjectRefGenerator" },
});
