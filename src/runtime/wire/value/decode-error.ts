/**
 * The error of bytes that are no value of the format: truncated, damaged, written by a later version, or hostile.
 *
 * Thrown by the decoder. A reader of a connection then closes it, as nothing that follows can be trusted. A member of the error family, so
 * that it keeps its class even when the bytes were found far from the program that asked for them.
 */
import { registerErrorClass, ShoalError } from "../../base/errors.ts";

/** Bytes from another process or from the store are not a value. */
export class DecodeError extends ShoalError {
  static override readonly code = "DECODE_FAILED";
}

registerErrorClass(DecodeError);
