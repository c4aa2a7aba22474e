/**
 * Cleans stacks of errors for the user: removes the frames of Shoal and Node, and restores the driver's paths.
 *
 * The worker cleans the stacks of an error and its causes while it sends them; the caller cleans those of the calls that it made.
 */
import { isErrorLike, textOf } from "../runtime/base/texts/describe.ts";
import { withPathsOfDriver } from "../runtime/closure/capture.ts";
import { pathOfFileUrl } from "../runtime/os/files/file-url.ts";
import { CODE_URL } from "../runtime/os/own-files.ts";

/** The folders of this package, as files and as source maps name them: their frames say nothing to the user. */
const OWN_FOLDERS = [CODE_URL, new URL("../src/", CODE_URL)].flatMap((url) => [url.href, pathOfFileUrl(url)]);
const MACHINERY =
  /\((?:node:internal\/|node:async_hooks|node:vm:)|at (?:async )?node:internal\/|at shoal:interruptible:|at (?:AsyncLocalStorage|AsyncContext)\.run |at Reflect\.apply/;

/** Returns the stack of a task's error, without the frames that ran the task. */
export function userStack(error: unknown): string | undefined {
  const stack = isErrorLike(error) ? textOf(error, "stack") : undefined;
  return stack === undefined ? undefined : userFrames(stack);
}

/** Returns a stack without the frames of Shoal and Node. */
export function userFrames(stack: string | undefined): string | undefined {
  if (stack === undefined) return undefined;
  const lines = stack.split("\n").filter((line) => !/^ +at /.test(line) || !(isOwn(line) || MACHINERY.test(line)));
  return withPathsOfDriver(lines.join("\n"));
}

function isOwn(line: string): boolean {
  return OWN_FOLDERS.some((folder) => line.includes(folder));
}

/** Causes of causes whose stacks are looked through. */
const CAUSES_MAX = 20;
/** Reads the stack of an error of this realm, where the engine has no plain property for it. */
const ENGINE_STACK = Object.getOwnPropertyDescriptor(new Error(), "stack")?.get;

/**
 * Takes Shoal's frames out of the stacks of an error and its causes while it is sent. The task's own objects are as before afterwards.
 *
 * @returns puts the stacks back
 */
export function withUserStacks(thrown: unknown): () => void {
  const changed: [object, string][] = [];
  try {
    let error = thrown;
    for (let depth = 0; depth < CAUSES_MAX && error instanceof Error; depth += 1) {
      const own = Object.getOwnPropertyDescriptor(error, "stack");
      const isEngines = own?.get !== undefined && own.get === ENGINE_STACK;
      // A program's own accessor may answer differently each time.
      if (!isEngines && own?.writable !== true) break;
      const { stack } = error;
      const users = typeof stack === "string" ? userFrames(stack) : undefined;
      if (stack !== undefined && users !== undefined && users !== stack && Reflect.set(error, "stack", users)) changed.push([error, stack]);
      error = Object.getOwnPropertyDescriptor(error, "cause")?.value;
    }
  } catch {
    // A proxy that refuses to be looked at: its encoding says so.
  }
  return () => {
    for (const [error, stack] of changed) Reflect.set(error, "stack", stack);
  };
}
