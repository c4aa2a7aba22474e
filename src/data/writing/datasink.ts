/**
 * Sinks of users: where rows go that no writer of ours knows. `write` runs in the tasks, everything else in the program that writes.
 *
 * `onWriteComplete` is called once, after all tasks have succeeded: a sink that shows nothing before that shows all rows or none. A write that fails, or that Ctrl-C ends, calls
 * `onWriteFailed` instead, once.
 */
import { get } from "../../core/index.ts";
import { describeValue } from "../../core/internal.ts";
import { onInterruption } from "../../progress/interruption.ts";
import type { BatchFormat } from "../blocks/batch.ts";
import { rowsOf } from "../blocks/block.ts";
import type { BatchIn } from "../consuming/consume.ts";
import type { BlockRef } from "../engine/operators/operator.ts";
import type { SinkTask } from "../engine/writes/sink-transform.ts";
import { DataError } from "../errors.ts";
import { INTERRUPTED_WRITE_MS } from "../limits.ts";
import type { AnyRow } from "../row-types.ts";
import { counted } from "../reports/statistics.ts";

/** A place of the user's own for rows. */
export interface Datasink<R extends AnyRow = AnyRow, T = unknown, F extends BatchFormat = "columns"> {
  /** The sink's name in plans and errors. Default: `writeDatasink`. */
  readonly name?: string | undefined;
  /** Default: `"columns"`. */
  readonly batchFormat?: F | undefined;
  /** Called before anything is written. */
  onWriteStart?(): void | Promise<void>;
  /**
   * Writes all rows of one task; called again with the same `taskId` if a worker died. The sink itself travels to the worker. The result must be a value that a
   * column can hold, of one type in all tasks. Not called for a task without rows.
   */
  write(batches: AsyncIterable<BatchIn<R, F>>, task: SinkTask): T | Promise<T>;
  /** Called with what `write` gave for each task, in the order of the rows. */
  onWriteComplete?(results: readonly T[]): void | Promise<void>;
  /** Called once where anything failed, `onWriteComplete` too, and at Ctrl-C. The first error is thrown, whatever this throws. */
  onWriteFailed?(error: unknown): void | Promise<void>;
}

/** @throws TypeError */
export function checkSink(sink: Datasink<never>): void {
  if (typeof sink !== "object" || sink === null || typeof sink.write !== "function")
    throw new TypeError(
      `Cannot call writeDatasink: it takes { write(batches, task), onWriteStart, onWriteComplete, onWriteFailed }: received ${describeValue(sink)}`,
    );
}

/** @param run - runs the dataset with the sink's transform at its end */
export async function writeToDatasink<T>(sink: Datasink<never, T>, run: () => AsyncIterable<BlockRef>): Promise<readonly T[]> {
  const { name = "writeDatasink" } = sink;
  const results: T[] = [];
  let hasFailed = false;
  const failed = async (error: unknown): Promise<void> => {
    if (hasFailed) return;
    hasFailed = true;
    await sink.onWriteFailed?.(error);
  };
  const written = onInterruption({
    abandon: () => failed(new DataError(`${name} was interrupted by Ctrl-C`)),
    withinMs: INTERRUPTED_WRITE_MS,
    kept: () =>
      `interrupted: ${counted(results.length, "task")} of ${name} had ended; what they wrote is for the sink to show or to remove`,
  });
  try {
    await sink.onWriteStart?.();
    for await (const block of run()) {
      try {
        for (const { result } of rowsOf(await get(block.ref))) results.push(result as T);
      } finally {
        block.release();
      }
    }
    await sink.onWriteComplete?.(results);
    return results;
  } catch (error) {
    // The first error is the one to report.
    await failed(error).catch(() => {});
    throw error;
  } finally {
    written();
  }
}
