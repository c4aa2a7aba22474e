/** The errors of runs, which Train and Tune give to their users. */
import { NodeDiedError, ShoalError } from "../core/index.ts";
import { registerErrorClass } from "../core/internal.ts";
import { CAUSES_MAX } from "./limits.ts";

/**
 * A run, its folder or a checkpoint cannot be used: it is another's, damaged, of a newer version, or missing. The message names it and the
 * remedy.
 */
export class RunError extends ShoalError {
  static override readonly code: string = "RUN_FAILED";
}

registerErrorClass(RunError);

/** Yields an error and its causes, the first cause last. An error may be its own cause. */
export function* causesOf(error: unknown): Generator<object> {
  for (let each = error, depth = 0; typeof each === "object" && each !== null && depth < CAUSES_MAX; depth += 1) {
    yield each;
    each = (each as { cause?: unknown }).cause;
  }
}

/** Explains why a run cannot continue when the session has ended, which is no failure of the run's processes. */
export function sessionLossOf(error: unknown): string {
  return error instanceof NodeDiedError ? `the daemon of this node has ended: ${error.reason}` : "Shoal was shut down";
}
