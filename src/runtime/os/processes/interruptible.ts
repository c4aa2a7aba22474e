/**
 * Runs synchronous code so that SIGINT stops it, wherever it stands and whatever it catches: loops, regular expressions, `Atomics.wait`, WebAssembly.
 *
 * Stopping runs no `catch` and no `finally` of the code, so whatever it was in the middle of stays so. A frame costs about 20 us: Node
 * starts a thread that waits for the signal. Only what runs before the body returns can be stopped; what it continues later, after an `await`, cannot.
 */
import { Script } from "node:vm";

const BODY = Symbol.for("shoal.interruptible");
const holder = globalThis as unknown as Record<symbol, (() => void) | undefined>;
let script: Script | undefined;

/**
 * The body must catch what its own code throws.
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
