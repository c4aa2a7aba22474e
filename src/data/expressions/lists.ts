/** Lists: how long they are, one of their elements, and whether they have a value. Elements are taken from the vector of all of them. */
import { bitmapBytes, countZeros, getBit, setBit } from "../blocks/bitmap.ts";
import { BOOL, type DataType, NULL } from "../blocks/data-type.ts";
import { isNull, nullVector, takeVector, type Vector } from "../blocks/vector.ts";
import { buildVector } from "../blocks/vector-builder.ts";
import { comparison } from "./comparison.ts";
import { booleans, isNullOperand, type Kernel, nullsOf, type Operand, requireTypes } from "./operand.ts";

const INT32: DataType = { kind: "int32" };

function listInput(inputs: readonly Operand[]): Operand {
  requireTypes(inputs, "a list", ({ kind }) => kind === "list");
  return inputs[0] as Operand;
}

export const listLength: Kernel = (inputs, length) => {
  const input = listInput(inputs);
  if (isNullOperand(input)) return nullVector(INT32, length);
  const offsets = input.vector.offsets as Int32Array;
  const values = new Int32Array(length);
  for (let i = 0; i < length; i += 1) values[i] = (offsets[i + 1] as number) - (offsets[i] as number);
  return { type: INT32, length, ...nullsOf(inputs, length), values };
};

export const listGet: Kernel = (inputs, length, args) => {
  const index = args[0] as number;
  const { vector } = listInput(inputs);
  if (vector.type.kind === "null") return nullVector(NULL, length);
  const elements = (vector.children as Vector[])[0] as Vector;
  const offsets = vector.offsets as Int32Array;
  const rows = new Uint32Array(length);
  const present = new Uint8Array(bitmapBytes(length));
  for (let i = 0; i < length; i += 1) {
    const start = offsets[i] as number;
    const end = offsets[i + 1] as number;
    const row = index < 0 ? end + index : start + index;
    if (row < start || row >= end || isNull(vector, i) || isNull(elements, row)) continue;
    rows[i] = row;
    setBit(present, i);
  }
  if (elements.length === 0) return nullVector(elements.type, length);
  // A row without an element takes any: it is null, and nobody reads what stands there.
  const { validity: _, ...taken } = takeVector(elements, rows);
  const nullCount = countZeros(present, 0, length);
  return elements.type.kind === "null" ? taken : { ...taken, nullCount, ...(nullCount > 0 ? { validity: present } : {}) };
};

export const listContains: Kernel = (inputs, length, args) => {
  const input = listInput(inputs);
  if (isNullOperand(input)) return nullVector(BOOL, length);
  const { vector } = input;
  const elements = (vector.children as Vector[])[0] as Vector;
  const offsets = vector.offsets as Int32Array;
  const wanted: Operand = { vector: buildVector([args[0]]), isConstant: true };
  const found = comparison("eq")([{ vector: elements, isConstant: false }, wanted], elements.length, []);
  const bits = new Uint8Array(bitmapBytes(length));
  for (let i = 0; i < length; i += 1)
    for (let at = offsets[i] as number; at < (offsets[i + 1] as number); at += 1)
      if (!isNull(found, at) && getBit(found.values as Uint8Array, at)) setBit(bits, i);
  return booleans(bits, length, nullsOf(inputs, length));
};
