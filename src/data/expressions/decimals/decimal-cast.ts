/**
 * Decimals as other numbers, and values of expressions as decimals of a column's type.
 *
 * Whole numbers are exact, or an error that names the value. A float64 is the nearest one to the decimal, as it is to a text: hardly any decimal has an exact one. A float32 is that, rounded.
 */
import { type DataType, type DecimalType, isNumberKind, typeName } from "../../blocks/data-type.ts";
import { decimalText, parseDecimal, setUnscaled, unscaledReader } from "../../blocks/values/decimals.ts";
import { newValueArray, type ValueArray, type Vector } from "../../blocks/vector.ts";
import { valueReader } from "../../blocks/value-reader.ts";
import { isPresent, isWide, misfit, type Misfits, type Operand, TypeProblem } from "../operations/operand.ts";

/** A decimal as a number of another type. */
export function decimalToNumber(input: Operand, to: DataType, misfits: Misfits | undefined): Vector {
  const { vector } = input;
  const from = vector.type as DecimalType;
  const read = unscaledReader(vector.values as BigUint64Array, from);
  const values = newValueArray(to.kind, vector.length) as ValueArray;
  const isFloating = to.kind === "float64" || to.kind === "float32";
  const factor = 10n ** BigInt(Math.abs(from.scale));
  for (let row = 0; row < vector.length; row += 1) {
    if (!isPresent([input], row)) continue;
    const unscaled = read(row);
    if (isFloating) {
      values[row] = Number(decimalText(unscaled, from.scale));
      continue;
    }
    const whole = from.scale > 0 ? unscaled / factor : unscaled * factor;
    values[row] = isWide(to) ? whole : Number(whole);
    if ((from.scale > 0 && whole * factor !== unscaled) || BigInt(values[row] as number | bigint) !== whole)
      misfit(misfits, row, decimalText(unscaled, from.scale), to);
  }
  return { ...vector, type: to, values };
}

/** Numbers as decimals, each as it is written: 0.1 is a tenth. A decimal may get digits behind the point, and lose those that are zeros. */
export function toDecimal(input: Operand, to: DecimalType, misfits: Misfits | undefined): Vector {
  const { vector } = input;
  const { type } = vector;
  const values = new BigUint64Array((vector.length * to.bits) / 64);
  const read =
    type.kind === "decimal"
      ? decimalTexts(vector, type)
      : valueReader(isWide(type) ? { ...vector, type: { ...type, as: "bigint" } } : vector);
  for (let row = 0; row < vector.length; row += 1) {
    if (!isPresent([input], row)) continue;
    const text = String(read(row));
    const unscaled = parseDecimal(text, to);
    if (unscaled === undefined) misfit(misfits, row, text, to);
    else setUnscaled(values, row, to, unscaled);
  }
  return { ...vector, type: to, values };
}

function decimalTexts({ values }: Vector, type: DecimalType): (row: number) => string {
  const read = unscaledReader(values as BigUint64Array, type);
  return (row) => decimalText(read(row), type.scale);
}

/** A text or a number that is the same for all rows as a decimal of the type; others as they are. */
export function asDecimal(value: Operand, type: DecimalType): Operand {
  const { kind } = value.vector.type;
  if (!value.isConstant || (kind !== "string" && !isNumberKind(kind) && !isWide(value.vector.type))) return value;
  const given = valueReader(value.vector)(0);
  const unscaled = parseDecimal(String(given), type);
  if (unscaled === undefined)
    throw new TypeProblem(
      `takes a value of the column's type: ${typeName(type)} does not hold ${typeof given === "string" ? JSON.stringify(given) : String(given)}`,
    );
  const values = new BigUint64Array(type.bits / 64);
  setUnscaled(values, 0, type, unscaled);
  return { isConstant: true, vector: { type, length: 1, nullCount: 0, bitOffset: 0, values } };
}
