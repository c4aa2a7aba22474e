/**
 * Errors of users' functions for the driver: the user's own line first, then the step of the pipeline and the origin of the row.
 *
 * They are made beside the call of the function, because only that place knows the row. The thrown error is the unchanged `cause`, which `retryOn` sees.
 */
import { TaskCancelledError, TaskError, TaskTimeoutError } from "../../../core/index.ts";
import { taskErrorFrom, userStack } from "../../../core/internal.ts";
import type { Block } from "../../blocks/block.ts";
import { type Place, placeOf, type RowSpan } from "../../blocks/memory/origin.ts";
import { DataError } from "../../errors.ts";

/** Makes the error of a step's function that threw at rows of a block. Row numbers begin with 0. */
export function failureAt(thrown: unknown, name: string, block: Block, rows: RowSpan): unknown {
  return failureIn(thrown, name, placeOf(block, rows));
}

/** Makes the error of a step's function that threw at a known place. */
export function failureIn(thrown: unknown, name: string, { text, details }: Place): unknown {
  // The end of the task from outside is no error of the function, and what a step says of a result names the step already.
  if (thrown instanceof TaskCancelledError || thrown instanceof TaskTimeoutError || thrown instanceof DataError) return thrown;
  // An error from a task that the function called keeps that task's stack.
  const remoteStack = thrown instanceof TaskError ? thrown.stack : userStack(thrown);
  return taskErrorFrom(thrown, { taskName: name, place: text, remoteStack, details });
}
