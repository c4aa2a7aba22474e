/** The errors of `shoal/data`. */
import { ShoalError } from "../core/index.ts";
import { registerErrorClass } from "../core/internal.ts";

/** Data that cannot be read, do not fit their columns, or are asked for by a name that no column has. The message names the column, the row and the file as far as they are known. */
export class DataError extends ShoalError {
  static override readonly code: string = "DATA_INVALID";
}

registerErrorClass(DataError);
