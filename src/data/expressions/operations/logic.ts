/**
 * `and`, `or` and `not` in three values, and questions for nulls: bytes of bitmaps, eight rows at a time.
 *
 * A null is "not known": false and null is false, true or null is true, all else with a null is null.
 */
import { bitmapBytes, countZeros } from "../../blocks/values/bitmap.ts";
import { BOOL } from "../../blocks/data-type.ts";
import { nullVector, type Vector } from "../../blocks/vector.ts";
import { alignedBits, booleans, isNullOperand, type Kernel, nullsOf, type Operand, requireTypes } from "./operand.ts";

const HINT = "compare the value first, such as col(name).ne(0)";

/** Returns bitmaps of the true rows and of the false rows; the other rows are null. */
function sides(operand: Operand, length: number): { yes: Uint8Array; no: Uint8Array } {
  if (isNullOperand(operand)) return { yes: new Uint8Array(bitmapBytes(length)), no: new Uint8Array(bitmapBytes(length)) };
  const yes = alignedBits(operand, operand.vector.values as Uint8Array, length);
  const no = yes.map((byte) => ~byte);
  if (operand.vector.nullCount > 0) {
    const valid = alignedBits(operand, operand.vector.validity, length);
    for (let i = 0; i < valid.length; i += 1) {
      yes[i] = (yes[i] as number) & (valid[i] as number);
      no[i] = (no[i] as number) & (valid[i] as number);
    }
  }
  return { yes, no };
}

export function junction(name: "and" | "or"): Kernel {
  return (inputs, length) => {
    requireTypes(inputs, "booleans", ({ kind }) => kind === "bool", HINT);
    const [a, b] = inputs.map((input) => sides(input, length)) as [ReturnType<typeof sides>, ReturnType<typeof sides>];
    const values = new Uint8Array(bitmapBytes(length));
    const validity = new Uint8Array(values.length);
    for (let i = 0; i < values.length; i += 1) {
      const [ay, an, by, bn] = [a.yes[i] as number, a.no[i] as number, b.yes[i] as number, b.no[i] as number];
      const yes = name === "and" ? ay & by : ay | by;
      values[i] = yes;
      validity[i] = yes | (name === "and" ? an | bn : an & bn);
    }
    const nullCount = countZeros(validity, 0, length);
    return booleans(values, length, nullCount === 0 ? { nullCount, bitOffset: 0 } : { nullCount, bitOffset: 0, validity });
  };
}

export const not: Kernel = (inputs, length) => {
  requireTypes(inputs, "a boolean", ({ kind }) => kind === "bool", HINT);
  const input = inputs[0] as Operand;
  if (isNullOperand(input)) return nullVector(BOOL, length);
  const values = alignedBits(input, input.vector.values as Uint8Array, length).map((byte) => ~byte);
  return booleans(values, length, nullsOf(inputs, length));
};

export function nullQuestion(isAskedForNull: boolean): Kernel {
  return (inputs, length) => {
    const input = inputs[0] as Operand;
    const { vector } = input;
    const present = isNullOperand(input)
      ? new Uint8Array(bitmapBytes(length))
      : alignedBits(input, vector.nullCount === 0 ? undefined : vector.validity, length);
    return booleans(isAskedForNull ? present.map((byte) => ~byte) : present, length, { nullCount: 0, bitOffset: 0 });
  };
}

/** The rows for which a vector of booleans is true. */
export function trueRows(vector: Vector): Uint32Array {
  const { yes } = sides({ vector, isConstant: false }, vector.length);
  const rows = new Uint32Array(vector.length);
  let count = 0;
  for (let byte = 0; byte < yes.length; byte += 1) {
    const bits = yes[byte] as number;
    if (bits === 0) continue;
    for (let bit = 0; bit < 8; bit += 1) {
      const row = byte * 8 + bit;
      if ((bits & (1 << bit)) !== 0 && row < vector.length) rows[count++] = row;
    }
  }
  return rows.subarray(0, count);
}
