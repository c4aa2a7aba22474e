/** The errors of `shoal/tune`. */
import { ShoalError } from "../core/index.ts";
import { registerErrorClass } from "../core/internal.ts";

/** A trial, or an experiment, cannot go on or cannot be compared. The message names the trial; `details.stack` is where the trial's code threw. */
export class TuneError extends ShoalError {
  static override readonly code: string = "TUNE_FAILED";
}

registerErrorClass(TuneError);
