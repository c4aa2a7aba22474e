/**
 * Lists: how long they are, one of their elements, parts of them, their order, and whether they have a value; and maps, which are lists of keys with values.
 *
 * Elements are taken from the vector of all of them, by their numbers.
 * A row that is null stays null, and has no elements in the result.
 */
import { bitmapBytes, countZeros, getBit, setBit } from "../../blocks/values/bitmap.ts";
import { BOOL, type DataType, NULL, typeName } from "../../blocks/data-type.ts";
import { isNull, nullVector, takeVector, type Vector } from "../../blocks/vector.ts";
import { buildVector } from "../../blocks/vector-builder.ts";
import { sortedIndices } from "../../kernels/sort.ts";
import { comparison } from "../operations/comparison.ts";
import { booleans, isNullOperand, type Kernel, nullsOf, type Operand, requireTypes, TypeProblem } from "../operations/operand.ts";
import { withNullsOf } from "./structs.ts";

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
  // A row without an element takes any one: the row is null, so its bytes are never read.
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

interface Picked {
  readonly offsets: Int32Array;
  /** Numbers of elements, of all rows. */
  readonly elements: Uint32Array;
}

/** Replaces each list by the elements that `pick` adds by number, from the same row. A null row gets none. */
function picked(input: Operand, length: number, pick: (start: number, end: number, add: (element: number) => void) => void): Picked {
  const { vector } = input;
  const from = vector.offsets as Int32Array;
  const offsets = new Int32Array(length + 1);
  const elements: number[] = [];
  const add = (element: number): void => {
    elements.push(element);
  };
  for (let row = 0; row < length; row += 1) {
    if (!isNull(vector, row)) pick(from[row] as number, from[row + 1] as number, add);
    offsets[row + 1] = elements.length;
  }
  return { offsets, elements: Uint32Array.from(elements) };
}

export const listSlice: Kernel = (inputs, length, args) => {
  const [first, last, step] = args as [number, number | undefined, number];
  const input = listInput(inputs);
  if (isNullOperand(input)) return nullVector(NULL, length);
  const { offsets, elements } = picked(input, length, (start, end, add) => {
    const place = (given: number): number => Math.max(start, Math.min(end, given < 0 ? end + given : start + given));
    const stop = last === undefined ? end : place(last);
    for (let at = place(first); at < stop; at += step) add(at);
  });
  return { ...listOf(input, length), offsets, children: [takeVector(childOf(input.vector), elements)] };
};

export const listSort: Kernel = (inputs, length, args) => {
  const [descending, nullsFirst] = args as [boolean, boolean];
  const input = listInput(inputs);
  if (isNullOperand(input)) return nullVector(NULL, length);
  const child = childOf(input.vector);
  if (child.type.kind === "list" || child.type.kind === "struct" || child.type.kind === "tensor")
    throw new TypeProblem(`takes a list of numbers, texts, times or booleans: received ${typeName(input.vector.type)}`);
  const { offsets, elements } = picked(input, length, (start, end, add) => {
    for (let at = start; at < end; at += 1) add(at);
  });
  const rows = new Uint32Array(elements.length);
  for (let row = 0; row < length; row += 1) rows.fill(row, offsets[row], offsets[row + 1]);
  const values = takeVector(child, elements);
  const isValue = Uint32Array.from(rows, (_, i) => (isNull(values, i) ? 0 : 1));
  const order = sortedIndices(
    { rowCount: rows.length, names: ["row", "isValue", "value"], vectors: [numbers(rows), numbers(isValue), values] },
    [
      { column: "row", descending: false },
      { column: "isValue", descending: !nullsFirst },
      { column: "value", descending },
    ],
  );
  return { ...listOf(input, length), offsets, children: [takeVector(values, order)] };
};

export const listFlatten: Kernel = (inputs, length) => {
  const input = listInput(inputs);
  if (isNullOperand(input)) return nullVector(NULL, length);
  const inner = childOf(input.vector);
  if (inner.type.kind === "null") return { ...listOf(input, length), offsets: new Int32Array(length + 1), children: [nullVector(NULL, 0)] };
  if (inner.type.kind !== "list") throw new TypeProblem(`takes a list of lists: received ${typeName(input.vector.type)}`);
  const ends = inner.offsets as Int32Array;
  const { offsets, elements } = picked(input, length, (start, end, add) => {
    for (let list = start; list < end; list += 1)
      if (!isNull(inner, list)) for (let at = ends[list] as number; at < (ends[list + 1] as number); at += 1) add(at);
  });
  return { ...listOf(input, length), type: inner.type, offsets, children: [takeVector(childOf(inner), elements)] };
};

/** The keys of maps, or their values: the first or the second field of the structs in a list. */
export function mapPart(part: 0 | 1): Kernel {
  return (inputs, length) => {
    const isMap = (type: DataType): boolean =>
      type.kind === "list" && (type.of.kind === "null" || (type.of.kind === "struct" && type.of.fields.length >= 2));
    requireTypes(inputs, "a map, or a list of structs of a key and a value", isMap);
    const input = inputs[0] as Operand;
    if (isNullOperand(input)) return nullVector(NULL, length);
    const entries = childOf(input.vector);
    const child = entries.type.kind === "null" ? entries : withNullsOf((entries.children as Vector[])[part] as Vector, entries);
    return { ...input.vector, type: { kind: "list", of: child.type, as: "array" }, children: [child] };
  };
}

function childOf({ children }: Vector): Vector {
  return (children as Vector[])[0] as Vector;
}

/** A vector of lists with the nulls of the input, without its elements. */
function listOf(input: Operand, length: number): Vector {
  return { type: input.vector.type, length, ...nullsOf([input], length) };
}

function numbers(values: Uint32Array): Vector {
  return { type: { kind: "uint32" }, length: values.length, nullCount: 0, bitOffset: 0, values };
}
