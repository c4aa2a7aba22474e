/** Another value in place of nulls: rows of both operands are taken from one vector, so types that go together become one. */
import { sameType, typeName, unifyTypes } from "../blocks/data-type.ts";
import { concatVectors, isNull, takeVector, widenVector } from "../blocks/vector.ts";
import { isNullOperand, isReadAsCount, isWide, type Kernel, type Operand, TypeProblem } from "./operand.ts";
import { wideValues } from "./arithmetic.ts";
import { asDecimal } from "./decimal-cast.ts";

export const fillNull: Kernel = (inputs, length) => {
  const [own, other] = inputs as [Operand, Operand];
  if (own.vector.nullCount === 0 && !isNullOperand(own) && sameType(own.vector.type, other.vector.type)) return taken(own, length);
  const [a, b] = [own, asTypeOf(own, other)];
  const type = unifyTypes(a.vector.type, b.vector.type);
  if (type === undefined)
    throw new TypeProblem(`takes a value of the column's type: received ${typeName(a.vector.type)} and ${typeName(b.vector.type)}`);
  const both = concatVectors([widenVector(a.vector, type), widenVector(b.vector, type)]);
  const rows = new Uint32Array(length);
  for (let i = 0; i < length; i += 1) {
    const row = a.isConstant ? 0 : i;
    rows[i] = isNull(a.vector, row) ? a.vector.length + (b.isConstant ? 0 : i) : row;
  }
  return takeVector(both, rows);
};

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
