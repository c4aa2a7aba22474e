/**
 * Words the error of a result that cannot leave the worker. It names the call and the place where its function is
 * written.
 *
 * The code runs only when an answer or an item of a stream could not be encoded, so a successful call pays nothing.
 */
import { SerializationError } from "../../base/errors.ts";
import { describePlace, nameUnsent } from "../../closure/capture.ts";
import type { TaskContext } from "../tasks/task-context.ts";

/** Wraps `error`, which was thrown when `value` was encoded. */
export function unsentResult(error: unknown, value: unknown, context: TaskContext): unknown {
  return readable(
    `the result of ${context.name}`,
    () => unstreamedError(value, context.name) ?? nameUnsent(error, () => `the result of ${named(context)}`),
  );
}

export function unsentItem(error: unknown, index: number, context: TaskContext): unknown {
  return readable(`item ${index + 1} of ${context.name}`, () => nameUnsent(error, () => `item ${index + 1} of ${named(context)}`));
}

/** The value, or what reading it threw, may be a proxy that answers no question. */
function readable(what: string, error: () => unknown): unknown {
  try {
    return error();
  } catch {
    const reason = "it, or the error of reading it, cannot be read";
    return new SerializationError(`Cannot send ${what}: ${reason}`, { reason });
  }
}

function named({ name, fn }: TaskContext): string {
  return `${name}${fn === undefined ? "" : describePlace(fn)}`;
}

/** Returns the text for a generator that was not requested as a stream, and therefore has no value to send. */
function unstreamedError(value: unknown, name: string): TypeError | undefined {
  const tag = Object.prototype.toString.call(value);
  if (tag !== "[object Generator]" && tag !== "[object AsyncGenerator]") return undefined;
  return new TypeError(
    `Cannot send the result of ${name}: it is a generator: set numReturns: "streaming", as the function is no generator itself: received ${tag}`,
  );
}
