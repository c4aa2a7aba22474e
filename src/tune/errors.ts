/** The errors of `shoal/tune`. */
import { ShoalError } from "../core/index.ts";
import { registerErrorClass } from "../core/internal.ts";

/** A trial, or an experiment, cannot go on or cannot be compared. The message names the trial; the stack is that of the trial's code. */
export class TuneError extends ShoalError {
  static override readonly code: string = "TUNE_FAILED";
}

registerErrorClass(TuneError);
