/** The errors of runs, which Train and Tune give to their users. */
import { ShoalError } from "../core/index.ts";
import { registerErrorClass } from "../core/internal.ts";

/** A run, its folder or a checkpoint cannot be used: it is another's, damaged, of a newer version, or not there. The message names it and what to do. */
export class RunError extends ShoalError {
  static override readonly code: string = "RUN_FAILED";
}

registerErrorClass(RunError);
