/**
 * Arrays of numbers as lists: those of one dimension become lists, those of more become lists of lists.
 *
 * The numbers stay where they are; offsets are made for each dimension.
 * Only numbers of arrays whose shapes differ are gathered, as rows that are null may have some.
 */
import { type DataType, NULL, numberType, tensorParts } from "../../blocks/data-type.ts";
import { isNull, nullVector, takeVector, type Vector } from "../../blocks/vector.ts";
import { isNullOperand, type Kernel, nullsOf, type Operand, requireTypes } from "../operations/operand.ts";

export const arrayToList: Kernel = (inputs, length) => {
  requireTypes(
    inputs,
    "a list, or an array of one dimension or more",
    (type) => type.kind === "list" || (tensorParts(type)?.dimensions ?? 0) > 0,
  );
  const input = inputs[0] as Operand;
  if (isNullOperand(input)) return nullVector(NULL, length);
  const { vector } = input;
  if (vector.type.kind === "list") return vector;
  const { shapes, elements } = vector.type.kind === "tensor" ? fixedParts(vector, vector.type.shape) : variableParts(vector);
  let lists = elements;
  for (const offsets of offsetsOf(shapes, tensorParts(vector.type)?.dimensions as number).toReversed())
    lists = {
      type: { kind: "list", of: lists.type, as: "array" },
      length: offsets.length - 1,
      nullCount: 0,
      bitOffset: 0,
      offsets,
      children: [lists],
    };
  return { ...lists, ...nullsOf(inputs, length) };
};

interface Parts {
  /** A shape for each row. */
  readonly shapes: readonly (readonly number[])[];
  /** The numbers of all rows, one row behind the other. */
  readonly elements: Vector;
}

function fixedParts({ type, length, values }: Vector, shape: readonly number[]): Parts {
  const of = numberType((type as DataType & { kind: "tensor" }).of.kind);
  const elements: Vector = {
    type: of,
    length: (values as Float64Array).length,
    nullCount: 0,
    bitOffset: 0,
    values: values as Float64Array,
  };
  return { shapes: new Array<readonly number[]>(length).fill(shape), elements };
}

/** Reads the numbers of each row. A null row has none, whatever bytes are there. */
function variableParts(vector: Vector): Parts {
  const [data, lengths] = vector.children as [Vector, Vector];
  const { dimensions } = tensorParts(vector.type) as { dimensions: number };
  const [elements] = data.children as [Vector];
  const offsets = data.offsets as Int32Array;
  const shapes: number[][] = [];
  const taken: number[] = [];
  for (let row = 0; row < vector.length; row += 1) {
    const isGone = isNull(vector, row);
    shapes.push(
      isGone
        ? new Array<number>(dimensions).fill(0)
        : [...(lengths.values as Int32Array).subarray(row * dimensions, (row + 1) * dimensions)],
    );
    if (!isGone) for (let at = offsets[row] as number; at < (offsets[row + 1] as number); at += 1) taken.push(at);
  }
  return { shapes, elements: takeVector(elements, Uint32Array.from(taken)) };
}

/** The ends of the lists of each dimension, from the outermost to the innermost. */
function offsetsOf(shapes: readonly (readonly number[])[], dimensions: number): Int32Array[] {
  const ends = Array.from({ length: dimensions }, () => [0]);
  for (const shape of shapes) {
    let lists = 1;
    for (const [dimension, size] of shape.entries()) {
      const own = ends[dimension] as number[];
      for (let i = 0; i < lists; i += 1) own.push((own.at(-1) as number) + size);
      lists *= size;
    }
  }
  return ends.map((own) => Int32Array.from(own));
}
