/**
 * Copies bytes. `Buffer.prototype.slice` returns a view, although `Uint8Array.prototype.slice` copies, and a `Buffer` passes for a
 * `Uint8Array` everywhere. Code that needs a copy takes it from here.
 */
import { LOOP_BYTES_MAX } from "../limits.ts";

export function copyBytes(bytes: Uint8Array, start = 0, end: number = bytes.length): Uint8Array {
  const size = end - start;
  const copy = new Uint8Array(size);
  if (size <= LOOP_BYTES_MAX) {
    for (let index = 0; index < size; index += 1) copy[index] = bytes[start + index] as number;
    return copy;
  }
  copy.set(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end));
  return copy;
}
