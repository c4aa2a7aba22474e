/**
 * Reads the operands beside a decimal as decimals with separate scales.
 *
 * Decimals, whole numbers and texts of decimals serve. One number for all rows is read as written: 0.1 is a tenth. A column of float64 is refused, because its
 * values are not the decimals that they print as.
 */
import { typeName } from "../../blocks/data-type.ts";
import { unscaledReader } from "../../blocks/values/decimals.ts";
import { valueReader } from "../../blocks/value-reader.ts";
import { isWide, type Operand, RowProblem, TypeProblem } from "../operations/operand.ts";

/** A decimal with its scale. */
export interface Scaled {
  readonly unscaled: bigint;
  readonly scale: number;
}

type ScaledReader = (row: number) => Scaled;

/** For rows that are values. */
export function scaledReader({ vector, isConstant }: Operand): ScaledReader {
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

/** Parses a text as a decimal; undefined for any other text. */
export function scaledOf(text: string): Scaled | undefined {
  const [, whole, behind = "", exponent = "0"] = DECIMAL.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const unscaled = BigInt(whole + behind);
  const scale = behind.length - Number(exponent);
  return scale >= 0 ? { unscaled, scale } : { unscaled: unscaled * 10n ** BigInt(-scale), scale: 0 };
}
