/**
 * The one runtime of this process: set by `init` or a worker's start, found by everything that a user calls.
 *
 * It hangs on a global symbol, so that two copies of the package in one process (a bundle and an import) share it instead of
 * starting two clusters.
 */
import { ShoalError } from "../base/errors.ts";
import type { Runtime } from "./runtime.ts";

const KEY = Symbol.for("shoal.runtime.1");
const holder = globalThis as unknown as Record<symbol, Runtime | undefined>;
let start: (() => Runtime) | undefined;

/** How to start one when the first call comes before `init` (set by `init.ts`; a cycle of imports otherwise). */
export function setAutoStart(autoStart: () => Runtime): void {
  start = autoStart;
}

export function currentRuntime(): Runtime | undefined {
  return holder[KEY];
}

export function setCurrentRuntime(runtime: Runtime | undefined): void {
  holder[KEY] = runtime;
}

/** The runtime, started with defaults where there is none. */
export function requireRuntime(): Runtime {
  const runtime = holder[KEY];
  if (runtime !== undefined) {
    if (runtime.isClosed)
      throw new ShoalError("Cannot use Shoal: it is shutting down in this process", {
        reason: "shutdown() was called, or the program has come to its end",
        hint: "Await shutdown() before Shoal is used again.",
      });
    return runtime;
  }
  if (start === undefined) throw new Error('Cannot start Shoal: import it from "shoal"');
  return start();
}

/**
 * The runtime for something that a session made, such as a ref: where none runs, that session has ended, and a new one would know nothing of it.
 *
 * @throws ShoalError when Shoal does not run any more
 */
export function requireRunning(): Runtime {
  if (holder[KEY] !== undefined) return requireRuntime();
  throw new ShoalError("Cannot use an ObjectRef: its session has ended", {
    reason: "the ref was made before Shoal was shut down in this process",
    hint: "Await the values that are needed before shutdown(), and make new refs after init().",
  });
}

/** @throws ShoalError when the session in which an actor lived is over */
export function requireSessionOf(runtime: Runtime, call: string): void {
  // While it ends, calls fail as all pending ones do.
  if (!runtime.isClosed || holder[KEY] === runtime) return;
  throw new ShoalError(`Cannot call ${call}: the session of the actor has ended`, {
    reason: "the actor ended when Shoal was shut down in this process",
    hint: "Create the actor again after init().",
  });
}
