/**
 * What a caller hears of a result that cannot leave the worker: that it is a result, of which call, and where its function is written.
 *
 * Called when an answer or an item of a stream could not be encoded, so it costs nothing where all goes well.
 */
import { SerializationError } from "../base/errors.ts";
import { describePlace, nameUnsent } from "../closure/capture.ts";
import type { TaskContext } from "./task-context.ts";

/** @param error what was thrown when `value` was encoded */
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

/** What to say of a result that is a generator and was not asked for as a stream: it has no value that could be sent. */
function unstreamedError(value: unknown, name: string): TypeError | undefined {
  const tag = Object.prototype.toString.call(value);
  if (tag !== "[object Generator]" && tag !== "[object AsyncGenerator]") return undefined;
  return new TypeError(
    `Cannot send the result of ${name}: it is a generator: set numReturns: "streaming", as the function is no generator itself: received ${tag}`,
  );
}
