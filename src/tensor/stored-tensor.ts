/** Numbers in the layout in which files have them, and the ways there and back. */
import { type Shape, sizeOf } from "./shapes.ts";

/** A tensor of a file: PyTorch's shape and order. */
export interface StoredTensor {
  readonly shape: Shape;
  readonly data: Float32Array;
}

export function storedShape(shape: Shape, layout?: readonly number[]): Shape {
  return layout === undefined ? shape : layout.map((axis) => shape[axis] as number);
}

export function toStored(data: Float32Array, shape: Shape, layout?: readonly number[]): Float32Array {
  return layout === undefined ? data : permuted(data, shape, layout);
}

export function fromStored(data: Float32Array, shape: Shape, layout?: readonly number[]): Float32Array {
  if (layout === undefined) return data;
  return permuted(
    data,
    storedShape(shape, layout),
    layout.map((_, axis) => layout.indexOf(axis)),
  );
}

function permuted(data: Float32Array, shape: Shape, axes: readonly number[]): Float32Array {
  const out = new Float32Array(data.length);
  const lengths = axes.map((axis) => shape[axis] as number);
  const strides = axes.map((axis) => sizeOf(shape.slice(axis + 1)));
  for (let at = 0; at < out.length; at++) {
    let [rest, from] = [at, 0];
    for (let axis = lengths.length - 1; axis >= 0; axis--) {
      const length = lengths[axis] as number;
      from += (rest % length) * (strides[axis] as number);
      rest = Math.floor(rest / length);
    }
    out[at] = data[from] as number;
  }
  return out;
}
