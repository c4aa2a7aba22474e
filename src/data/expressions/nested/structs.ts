/** The fields of structs: vectors that are there already, with a null more where the struct itself is null. */
import { bitmapBytes, setBit } from "../../blocks/values/bitmap.ts";
import { NULL } from "../../blocks/data-type.ts";
import { isNull, nullVector, type Vector } from "../../blocks/vector.ts";
import { isNullOperand, type Kernel, type Operand, requireTypes, TypeProblem } from "../operations/operand.ts";

export const structField: Kernel = (inputs, length, args) => {
  requireTypes(inputs, "a struct", (type) => type.kind === "struct" && type.as !== "tensor");
  const input = inputs[0] as Operand;
  if (isNullOperand(input)) return nullVector(NULL, length);
  const { type, children } = input.vector;
  const names = type.kind === "struct" ? type.fields.map(({ name }) => name) : [];
  const field = children?.[names.indexOf(args[0] as string)];
  if (field === undefined)
    throw new TypeProblem(
      `takes a field of the struct: there is no ${JSON.stringify(args[0])}: there are ${names.map((name) => JSON.stringify(name)).join(", ")}`,
    );
  return withNullsOf(field, input.vector);
};

/** A field of a struct, null in the rows in which the struct is. */
export function withNullsOf(field: Vector, struct: Vector): Vector {
  if (struct.nullCount === 0 || field.type.kind === "null") return field;
  const { length, bitOffset } = field;
  const validity = new Uint8Array(bitmapBytes(bitOffset + length));
  let nullCount = 0;
  for (let row = 0; row < length; row += 1) {
    if (isNull(struct, row) || isNull(field, row)) nullCount += 1;
    else setBit(validity, bitOffset + row);
  }
  return { ...field, nullCount, validity };
}
