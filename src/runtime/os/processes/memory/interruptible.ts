/**
 * Runs synchronous code so that SIGINT stops it in any state: loops, regular expressions, `Atomics.wait`, WebAssembly, `catch` blocks.
 *
 * Stopping runs no `catch` and no `finally` of the code, so half-finished changes stay. A frame costs about 20 us: Node starts a thread
 * that waits for the signal. Only code that runs before the body returns can be stopped; code after an `await` cannot.
 */
import { Script } from "node:vm";

const BODY = Symbol.for("shoal.interruptible");
const holder = globalThis as unknown as Record<symbol, (() => void) | undefined>;
let script: Script | undefined;

/**
 * The body must catch errors that the interrupted code throws.
 *
 * @returns false when the signal stopped it
 */
export function runInterruptible(body: () => void): boolean {
  script ??= new Script(`globalThis[Symbol.for("shoal.interruptible")]()`, { filename: "shoal:interruptible" });
  const outer = holder[BODY];
  holder[BODY] = body;
  try {
    script.runInThisContext({ breakOnSigint: true, displayErrors: false });
    return true;
  } catch (error) {
    if ((error as { code?: unknown } | undefined)?.code === "ERR_SCRIPT_EXECUTION_INTERRUPTED") return false;
    throw error;
  } finally {
    holder[BODY] = outer;
  }
}

const cell = new Int32Array(new SharedArrayBuffer(4));

/** Blocks this thread; inside a frame the signal ends it. */
export function blockFor(ms: number): void {
  Atomics.wait(cell, 0, 0, ms);
}
