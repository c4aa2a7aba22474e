/**
 * The slot of this process's one runtime: `init` or a worker's start sets it, and every public function finds it.
 *
 * A global symbol holds it, so that two copies of the package in one process (a bundle and an import) share the runtime instead of starting two clusters. `R` is the
 * reader's view of the runtime: refs see a small part (`objects/object-ref.ts`), code built on the runtime sees all (`current-runtime.ts`).
 */
import { ShoalError } from "../runtime/base/errors.ts";

const KEY = Symbol.for("shoal.runtime.1");
const holder = globalThis as unknown as Record<symbol, unknown>;

export class RuntimeSlot<R extends { readonly isClosed: boolean }> {
  get current(): R | undefined {
    return holder[KEY] as R | undefined;
  }

  set current(runtime: R | undefined) {
    holder[KEY] = runtime;
  }

  /** The runtime, where there is one. @throws ShoalError while it is shutting down */
  requireOpen(): R | undefined {
    const runtime = this.current;
    if (runtime?.isClosed !== true) return runtime;
    throw new ShoalError("Cannot use Shoal: it is shutting down in this process", {
      reason: "shutdown() was called, or the program has come to its end",
      hint: "Await shutdown() before Shoal is used again.",
    });
  }

  /**
   * Returns the runtime for something that a session made, such as a ref. Without a runtime that session has ended, and a new one would not know the ref.
   *
   * @throws ShoalError if Shoal does not run any more
   */
  requireRunning(): R {
    const runtime = this.requireOpen();
    if (runtime !== undefined) return runtime;
    throw new ShoalError("Cannot use an ObjectRef: its session has ended", {
      reason: "the ref was made before Shoal was shut down in this process",
      hint: "Await the values that are needed before shutdown(), and make new refs after init().",
    });
  }
}

/** Whether this process is a worker: one that runs tasks or is an actor. False in a driver, also before its first call. */
export function isWorker(): boolean {
  return new RuntimeSlot<{ readonly isClosed: boolean; readonly options: { readonly role: string } }>().current?.options.role === "worker";
}

/** Whether all processes of this session are objects in this one (`init({ mode: "inProcess" })`). */
export function runsInProcess(): boolean {
  return (
    new RuntimeSlot<{ readonly isClosed: boolean; readonly options: { readonly mode: string } }>().current?.options.mode === "inProcess"
  );
}
