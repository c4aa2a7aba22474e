/**
 * Comparisons with decimals: exact, as whole numbers of one scale.
 *
 * The other side is a decimal, a whole number, a text that is a decimal, or one number for all rows, which is taken as it is written: 0.1 is a tenth. A column of float64 is none of these,
 * as its values are not what they look like.
 */
import { bitmapBytes, setBit } from "../blocks/bitmap.ts";
import { isNumberKind, typeName } from "../blocks/data-type.ts";
import { unscaledReader } from "../blocks/decimals.ts";
import { valueReader } from "../blocks/value-reader.ts";
import { isPresent, isWide, type Operand, RowProblem, TypeProblem } from "./operand.ts";

type Base = "eq" | "lt" | "le";

/** A decimal of its own scale. */
interface Scaled {
  readonly unscaled: bigint;
  readonly scale: number;
}

type ScaledReader = (row: number) => Scaled;

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
  const [readA, readB] = [readerOf(a), readerOf(b)];
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

function readerOf(operand: Operand): ScaledReader {
  const { vector, isConstant } = operand;
  const { type } = vector;
  if (type.kind === "decimal") {
    const read = unscaledReader(vector.values as BigUint64Array, type);
    return atRow(isConstant, (row) => ({ unscaled: read(row), scale: type.scale }));
  }
  if (isWide(type)) return atRow(isConstant, (row) => ({ unscaled: (vector.values as BigInt64Array)[row] as bigint, scale: 0 }));
  const read = valueReader(vector);
  if (type.kind === "string" || isConstant)
    return atRow(isConstant, (row) => {
      const value = read(row);
      const found = scaledOf(String(value));
      if (found !== undefined) return found;
      const problem = `is no decimal: ${typeof value === "string" ? JSON.stringify(value) : String(value)}`;
      throw isConstant ? new TypeProblem(`has a value that ${problem}`) : new RowProblem(row, problem);
    });
  if (type.kind === "float64" || type.kind === "float32")
    throw new TypeProblem(
      `compares decimals with whole numbers, decimals or their texts: received a column of ${typeName(type)}`,
      'cast("float64") makes the nearest numbers of decimals',
    );
  return atRow(isConstant, (row) => ({ unscaled: BigInt(read(row) as number), scale: 0 }));
}

function atRow(isConstant: boolean, read: ScaledReader): ScaledReader {
  if (!isConstant) return read;
  const value = read(0);
  return () => value;
}

const DECIMAL = /^([+-]?\d+)(?:\.(\d+))?(?:e([+-]?\d{1,4}))?$/i;

/** What a text or a number is; undefined for what is no decimal. */
export function scaledOf(text: string): Scaled | undefined {
  const [, whole, behind = "", exponent = "0"] = DECIMAL.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const unscaled = BigInt(whole + behind);
  const scale = behind.length - Number(exponent);
  return scale >= 0 ? { unscaled, scale } : { unscaled: unscaled * 10n ** BigInt(-scale), scale: 0 };
}
