/**
 * `DataIterator`: one part of `streamingSplit`. It travels to the task or actor that consumes it, and there asks the coordinator for its rows.
 *
 * In Python it is a `shoal.data.DataIterator` (`python/shoal/_data_iterator.py`), which asks the same coordinator. A request for the next piece acknowledges
 * the last one. A consumer that ends an iteration early leaves the epoch, so that no other part waits for it. Errors come from the coordinator and the
 * pipeline, or are `ActorDiedError` if the coordinator's process has died.
 */
import { type ActorHandle, get, TaskError } from "../../core/index.ts";
import { flag, number, readOptions, registerSerializer } from "../../core/internal.ts";
import type { BatchFormat } from "../blocks/batch.ts";
import { type Block, sliceBlock } from "../blocks/block.ts";
import { type BatchIn, batchesOfBlocks, type ConsumeOptions, type IterBatchesOptions, rowsOfBlocks } from "./consume.ts";
import type { SplitCoordinator } from "../engine/streams/split-coordinator.ts";
import { SPLIT_WAIT_MS } from "../limits.ts";
import type { AnyRow } from "../row-types.ts";
import { nodeHints } from "./splits.ts";

/** The options of `streamingSplit`. */
export interface StreamingSplitOptions {
  /** Each part has the same number of rows; fewer than `n` rows are left out at the end. Default: false. */
  equal?: boolean | undefined;
  /** With `equal`: an epoch of fewer rows than parts is an error. Without it such an epoch has no rows. Default: false. */
  requireRows?: boolean | undefined;
  /** Node ids of the consumers, one for each part: a part gets blocks of that node first. Default: none. */
  localityHints?: readonly string[] | undefined;
  /** Milliseconds for which a part waits for another that does not begin an epoch, or with `equal` takes nothing; then it throws. Default: 600,000. */
  timeoutMs?: number | undefined;
}

/** @throws TypeError, RangeError */
export function readSplitOptions(
  n: number,
  options: StreamingSplitOptions,
): { equal: boolean; requireRows: boolean; localityHints: readonly string[] | undefined; timeoutMs: number } {
  const timeoutMs = number(
    "a number of milliseconds from 1 to 2147483647 is needed",
    SPLIT_WAIT_MS,
    (value) => value >= 1 && value <= 2147483647,
  );
  return readOptions(options, {
    of: "streamingSplit",
    options: { equal: flag(false), requireRows: flag(false), localityHints: nodeHints(n), timeoutMs },
  });
}

/** The facts that travel in place of an iterator. */
interface DataIteratorFacts {
  readonly coordinator: ActorHandle<SplitCoordinator>;
  readonly split: number;
}

/**
 * A part of a dataset's rows that streams to one consumer. Each iteration is an epoch: it begins when all parts are iterated again, and the pipeline runs once more.
 *
 * Not to be iterated by two at a time: where another reader begins the part, the former one gets a `DataError`.
 */
export class DataIterator<R extends AnyRow = AnyRow> implements AsyncIterable<R> {
  readonly #coordinator: ActorHandle<SplitCoordinator>;
  readonly #split: number;

  /** Made by `streamingSplit`. */
  constructor(coordinator: ActorHandle<SplitCoordinator>, split: number) {
    this.#coordinator = coordinator;
    this.#split = split;
  }

  /** @internal */
  static factsOf(iterator: DataIterator): DataIteratorFacts {
    return { coordinator: iterator.#coordinator, split: iterator.#split };
  }

  [Symbol.asyncIterator](): AsyncGenerator<R, void, undefined> {
    return this.iterRows();
  }

  /** The rows one by one. After `break` the rest of the part is not made for it. */
  async *iterRows(options: ConsumeOptions = {}): AsyncGenerator<R, void, undefined> {
    yield* rowsOfBlocks<R>(this.#blocks(options));
  }

  /** The rows in batches, with the options of `Dataset.iterBatches`. */
  async *iterBatches<F extends BatchFormat = "columns">(
    options: IterBatchesOptions<F> = {},
  ): AsyncGenerator<BatchIn<R, F>, void, undefined> {
    yield* batchesOfBlocks<R, F>((own) => this.#blocks(own), options);
  }

  async *#blocks({ signal }: ConsumeOptions): AsyncGenerator<Block, void, undefined> {
    signal?.throwIfAborted();
    const coordinator = this.#coordinator;
    const split = this.#split;
    let epoch = 0;
    try {
      epoch = await unlessAborted(coordinator.begin.remote(split), signal);
      for (;;) {
        const piece = await unlessAborted(coordinator.next.remote(split, epoch), signal);
        if (piece === undefined) return;
        const { ref, from, to } = piece;
        const block = await unlessAborted(get(ref), signal);
        ref[Symbol.dispose]();
        yield sliceBlock(block, from, to);
      }
    } finally {
      // Where the coordinator has died there is nothing to leave.
      await coordinator.leave.remote(split, epoch).then(
        () => {},
        () => {},
      );
    }
  }
}

/** Makes an iterator of facts that have travelled. */
export function receivedDataIterator({ coordinator, split }: DataIteratorFacts): DataIterator {
  return new DataIterator(coordinator, split);
}

registerSerializer(DataIterator, {
  serialize: (iterator: DataIterator) => DataIterator.factsOf(iterator),
  deserialize: receivedDataIterator,
  python: "shoal.data:DataIterator",
});

/** The result, or the signal's reason. Errors are those of the coordinator and of the pipeline, not of the call. */
async function unlessAborted<T>(result: PromiseLike<T>, signal: AbortSignal | undefined): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted === true) abort();
  try {
    return await Promise.race([result, aborted.promise]);
  } catch (error) {
    throw error instanceof TaskError && error.cause instanceof Error ? error.cause : error;
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}
