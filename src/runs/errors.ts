/** The errors of runs, which Train and Tune give to their users. */
import { NodeDiedError, ShoalError } from "../core/index.ts";
import { registerErrorClass } from "../core/internal.ts";

/** A run, its folder or a checkpoint cannot be used: it is another's, damaged, of a newer version, or not there. The message names it and what to do. */
export class RunError extends ShoalError {
  static override readonly code: string = "RUN_FAILED";
}

registerErrorClass(RunError);

/** Why a run cannot go on, and no process of it is to blame. */
export function sessionLossOf(error: unknown): string {
  return error instanceof NodeDiedError ? `the daemon of this node has ended: ${error.reason}` : "Shoal was shut down";
}
