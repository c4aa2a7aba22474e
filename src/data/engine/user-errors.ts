/**
 * Errors of functions of users, as the driver is to see them: with the user's own line first, the step of the pipeline, and where the row came from.
 *
 * They are made where the function was called, as only there it is known which row it was. What the function threw is the `cause`, so `retryOn` sees it as it is.
 */
import { TaskCancelledError, TaskError, TaskTimeoutError } from "../../core/index.ts";
import { taskErrorFrom, userStack } from "../../core/internal.ts";
import type { Block } from "../blocks/block.ts";
import { type Place, placeOf, type RowSpan } from "../blocks/origin.ts";
import { DataError } from "../errors.ts";

/** The error for what a step's function threw at rows of a block, whose numbers begin with 0. */
export function failureAt(thrown: unknown, name: string, block: Block, rows: RowSpan): unknown {
  return failureIn(thrown, name, placeOf(block, rows));
}

/** The error for what a step's function threw at a place. */
export function failureIn(thrown: unknown, name: string, { text, details }: Place): unknown {
  // The end of the task from outside is no error of the function, and what a step says of a result names the step already.
  if (thrown instanceof TaskCancelledError || thrown instanceof TaskTimeoutError || thrown instanceof DataError) return thrown;
  // What a task of the function's own threw stays the user's line.
  const remoteStack = thrown instanceof TaskError ? thrown.stack : userStack(thrown);
  return taskErrorFrom(thrown, { taskName: name, place: text, remoteStack, details });
}
