/**
 * Whether our own code runs within a user's: entered by a call such as `put` or `f.remote()`, not yet returned from.
 *
 * Set by the functions that users call, read when synchronous user code was interrupted (runtime/worker/interruption-guard.ts): between two of our own statements
 * a table may be half changed. An interruption runs no `finally`, and what is thrown skips the reset, so the flag may say too much
 * and never too little: then a worker is replaced without need.
 */
export const libraryCode = { isRunning: false };
