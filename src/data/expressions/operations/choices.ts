/**
 * Values that are chosen row by row, of two operands or more: by nulls, and by conditions.
 *
 * All operands are joined into one vector, from which rows are taken. So compatible types become one, and others are an error. A number that is the same for
 * all rows takes the type of a column beside it, so that 64-bit whole numbers keep their type.
 */
import { type DataType, NULL, sameType, typeName, unifyTypes } from "../../blocks/data-type.ts";
import { concatVectors, isNull, takeVector, type Vector, widenVector } from "../../blocks/vector.ts";
import { isNullOperand, isReadAsCount, isWide, type Kernel, type Operand, stepOf, TypeProblem } from "./operand.ts";
import { trueRows } from "./logic.ts";
import { wideValues } from "./arithmetic.ts";
import { asDecimal } from "../decimals/decimal-cast.ts";

/** A value in place of null. */
export const fillNull: Kernel = (inputs, length) => {
  const [own, other] = inputs as [Operand, Operand];
  if (own.vector.nullCount === 0 && !isNullOperand(own) && sameType(own.vector.type, other.vector.type)) return taken(own, length);
  const choices = new Uint32Array(length);
  for (let i = 0; i < length; i += 1) if (isNull(own.vector, own.isConstant ? 0 : i)) choices[i] = 1;
  return chosen([own, asTypeOf(own, other)], choices);
};

/** The value behind the first condition that is true, of pairs of a condition and a value, and the last operand where none is. */
export const when: Kernel = (inputs, length) => {
  const conditions = inputs.slice(0, -1).filter((_, i) => i % 2 === 0);
  const values = inputs.filter((_, i) => i % 2 === 1 || i === inputs.length - 1);
  const choices = new Uint32Array(length).fill(conditions.length);
  for (let i = conditions.length - 1; i >= 0; i -= 1) {
    const { vector, isConstant } = conditions[i] as Operand;
    if (vector.type.kind !== "bool" && vector.type.kind !== "null")
      throw new TypeProblem(
        `takes conditions that are true or false: received ${typeName(vector.type)}`,
        "compare it, such as with .ne(0)",
      );
    const rows = vector.type.kind === "null" ? new Uint32Array(0) : trueRows(vector);
    if (!isConstant) for (const row of rows) choices[row] = i;
    else if (rows.length > 0) choices.fill(i);
  }
  // Numbers that are the same for all rows take the type of a column among the values, so that whole numbers stay such.
  const column = values.find((value) => !value.isConstant && !isNullOperand(value));
  return chosen(column === undefined ? values : values.map((value) => asTypeOf(column, value)), choices);
};

/** For each row the value of one of the operands, in the type that all have together. */
function chosen(operands: readonly Operand[], choices: Uint32Array): Vector {
  const types = operands.map(({ vector }) => vector.type);
  const type = types.reduce<DataType | undefined>((all, own) => all && unifyTypes(all, own), NULL);
  if (type === undefined) throw new TypeProblem(`takes values of one type: received ${types.map(typeName).join(" and ")}`);
  const all = concatVectors(operands.map(({ vector }) => widenVector(vector, type)));
  const starts: number[] = [];
  let start = 0;
  for (const { vector } of operands) {
    starts.push(start);
    start += vector.length;
  }
  const steps = operands.map(stepOf);
  const rows = new Uint32Array(choices.length);
  for (let row = 0; row < rows.length; row += 1) {
    const choice = choices[row] as number;
    rows[row] = (starts[choice] as number) + row * (steps[choice] as number);
  }
  return takeVector(all, rows);
}

function taken({ vector, isConstant }: Operand, length: number): Operand["vector"] {
  return isConstant ? takeVector(vector, new Uint32Array(length)) : vector;
}

/** The other value in the type of the column, where it is the same for all rows and has one there, so that the column keeps its type. */
function asTypeOf(own: Operand, other: Operand): Operand {
  const { type } = own.vector;
  if (type.kind === "decimal") return asDecimal(other, type);
  if (isReadAsCount(type)) return asCount(other, own);
  return isWide(type) ? asWide(other, own) : other;
}

/** A whole number in place of a time of day or a duration. */
function asCount(other: Operand, { vector: { type } }: Operand): Operand {
  const value = other.vector.values?.[0];
  const isWhole = other.vector.type.kind === "int64" || (other.vector.type.kind === "float64" && Number.isSafeInteger(value));
  if (!other.isConstant || !isWhole || value === undefined) return other;
  const values = type.kind === "time32" ? Int32Array.of(Number(value)) : BigInt64Array.of(BigInt(value));
  return Number(values[0]) === Number(value) ? { isConstant: true, vector: { ...other.vector, type, values } } : other;
}

function asWide(other: Operand, { vector: { type } }: Operand): Operand {
  if (other.vector.type.kind !== "float64" || !other.isConstant || !Number.isSafeInteger(other.vector.values?.[0])) return other;
  const values = wideValues(other.vector);
  if (type.kind === "uint64" && (values[0] as bigint) < 0n) return other;
  return { isConstant: true, vector: { ...other.vector, type, values: type.kind === "uint64" ? new BigUint64Array(values) : values } };
}
