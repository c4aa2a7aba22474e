/**
 * The error of bytes that are no value of the format: truncated, damaged, written by a later version, or hostile.
 */
import { registerErrorClass, ShoalError } from "../../base/errors.ts";

/** Bytes from another process or from the store are not a value. */
export class DecodeError extends ShoalError {
  static override readonly code: string = "DECODE_FAILED";
}

registerErrorClass(DecodeError);
