/** Finds 64-bit whole numbers, in columns or in their lists and structs, that JavaScript's numbers cannot hold. */
import type { DataType } from "../data-type.ts";
import { isNull, type Vector } from "../vector.ts";

/** Tells whether a column that is read as numbers has a 64-bit whole number beyond 2^53, also inside lists and structs. */
export function isBeyondNumbers(vector: Vector): boolean {
  const { type, length, values, children } = vector;
  if (hasParts(type)) return (children as Vector[]).some(isBeyondNumbers);
  if ((type.kind !== "int64" && type.kind !== "uint64") || type.as === "bigint" || length === 0) return false;
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

/** The same values, of which all 64-bit whole numbers are read as `bigint`, also those in lists and structs. */
export function asBigint(vector: Vector): Vector {
  const { type } = vector;
  if (type.kind === "int64" || type.kind === "uint64") return { ...vector, type: { kind: type.kind, as: "bigint" } };
  if (!hasParts(type)) return vector;
  const children = (vector.children as Vector[]).map(asBigint);
  if (type.kind === "list") return { ...vector, children, type: { ...type, of: (children[0] as Vector).type } };
  const fields = type.fields.map((field, i) => ({ ...field, type: (children[i] as Vector).type }));
  return { ...vector, children, type: { ...type, fields } };
}

/** Whether reading a value of the type may find a whole number beyond 2^53. */
export function mayBeBeyondNumbers(type: DataType): boolean {
  if (type.kind === "int64" || type.kind === "uint64") return type.as === "number";
  if (!hasParts(type)) return false;
  return type.kind === "list" ? mayBeBeyondNumbers(type.of) : type.fields.some((field) => mayBeBeyondNumbers(field.type));
}

/** Lists and structs whose parts are values of their own: typed arrays and tensors have bigints where they have 64 bits. */
export function hasParts(type: DataType): type is DataType & { kind: "list" | "struct" } {
  return (type.kind === "list" && type.as === "array") || (type.kind === "struct" && type.as !== "tensor");
}
