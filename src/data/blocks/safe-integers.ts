/** Which columns of 64-bit whole numbers have values that JavaScript's numbers do not hold. */
import { isNull, type Vector } from "./vector.ts";

/** Whether a column of 64-bit whole numbers that is read as numbers has one beyond 2^53. False for other columns. */
export function isBeyondNumbers(vector: Vector): boolean {
  const { type, length, values } = vector;
  if ((type.kind !== "int64" && type.kind !== "uint64") || type.as === "bigint") return false;
  const wide = values as BigInt64Array;
  // 64-bit numbers as pairs of halves: no bigint is made for each. Beyond 2^53 the sum may be rounded, but not to below it.
  const halves = new Uint32Array(wide.buffer, wide.byteOffset, length * 2);
  for (let row = 0; row < length; row += 1) {
    const high = halves[2 * row + 1] as number;
    if (Number.isSafeInteger((type.kind === "int64" ? high | 0 : high) * 4294967296 + (halves[2 * row] as number))) continue;
    if (!isNull(vector, row)) return true;
  }
  return false;
}
