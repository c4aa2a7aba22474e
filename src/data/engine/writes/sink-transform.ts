/**
 * The transform that gives its rows to a sink of the user's own: one call of `write` a task, whose result travels back to the driver.
 *
 * A task that runs again after a crash writes its rows again, under the same `taskId`: a sink that must not have them twice writes under that name.
 * Results travel as a column, so they are of one type in all tasks.
 */
import { getRuntimeContext } from "../../../core/index.ts";
import { type BatchFormat, batchOf } from "../../blocks/batch.ts";
import { type Block, blockOfRows } from "../../blocks/block.ts";
import { DataError } from "../../errors.ts";

/** The facts of a task that a sink gets. */
export interface SinkTask {
  /** The same in all attempts of the task, and no other task's. */
  readonly taskId: string;
}

export interface SinkTransform {
  readonly kind: "sink";
  readonly name: string;
  readonly batchFormat: BatchFormat;
  readonly sink: { write(batches: AsyncIterable<unknown>, task: SinkTask): unknown };
}

/** Gives one row, the result, or none where there are no rows. */
export async function* writeToSink(
  blocks: AsyncIterable<Block>,
  { name, batchFormat, sink }: SinkTransform,
): AsyncGenerator<Block, void, undefined> {
  const given = blocks[Symbol.asyncIterator]();
  let next = await given.next();
  while (next.done !== true && next.value.rowCount === 0) next = await given.next();
  if (next.done === true) return;
  let isRead = false;
  const batches = async function* (): AsyncGenerator<unknown, void, undefined> {
    for (; next.done !== true; next = await given.next()) if (next.value.rowCount > 0) yield batchOf(next.value, batchFormat);
    isRead = true;
  };
  try {
    const result = await sink.write(batches(), { taskId: getRuntimeContext().taskId ?? "driver" });
    if (!isRead)
      throw new DataError(`Cannot run ${name}: write ended before it had read all batches, so rows would be lost`, {
        hint: "read them to the end: for await (const batch of batches)",
      });
    yield blockOfRows([{ result }], name);
  } finally {
    await given.return?.();
  }
}
