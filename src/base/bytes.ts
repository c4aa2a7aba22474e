/**
 * Copies of bytes. `Buffer.prototype.slice` is a view although `Uint8Array.prototype.slice` is a copy, and a `Buffer` passes for a
 * `Uint8Array` everywhere: whoever needs a copy asks for one here.
 */
export function copyBytes(bytes: Uint8Array, start = 0, end: number = bytes.length): Uint8Array {
  const copy = new Uint8Array(end - start);
  copy.set(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end));
  return copy;
}
