/** Comparisons with decimals: exact, as whole numbers of one scale. */
import { bitmapBytes, setBit } from "../../blocks/values/bitmap.ts";
import { isNumberKind } from "../../blocks/data-type.ts";
import { type Scaled, scaledReader } from "./decimal-operand.ts";
import { isPresent, type Operand } from "../operations/operand.ts";

type Base = "eq" | "lt" | "le";

/** Whether one side is a decimal, and the other one may be compared with it. */
export function isDecimalComparison(a: Operand, b: Operand): boolean {
  const kinds = [a.vector.type.kind, b.vector.type.kind];
  return (
    kinds.includes("decimal") &&
    kinds.every((kind) => kind === "decimal" || kind === "string" || isNumberKind(kind) || kind.endsWith("int64"))
  );
}

export function compareDecimals(base: Base, a: Operand, b: Operand, length: number): Uint8Array {
  const bits = new Uint8Array(bitmapBytes(length));
  const [readA, readB] = [scaledReader(a), scaledReader(b)];
  for (let row = 0; row < length; row += 1) {
    if (!isPresent([a, b], row)) continue;
    const [x, y] = [readA(row), readB(row)];
    const difference = atScale(x, y.scale) - atScale(y, x.scale);
    if (base === "eq" ? difference === 0n : base === "lt" ? difference < 0n : difference <= 0n) setBit(bits, row);
  }
  return bits;
}

/** The number without its point, with as many digits behind that as the finer of both has. */
function atScale({ unscaled, scale }: Scaled, other: number): bigint {
  return other > scale ? unscaled * 10n ** BigInt(other - scale) : unscaled;
}
