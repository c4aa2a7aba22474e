/**
 * The weights of a module as named arrays, in PyTorch's layout.
 *
 * A matrix named `weight` is `[in, out]` in a layer and `[out, in]` in the file, so that `load_state_dict` takes the file. Names and shapes are compared before a number is set.
 */
import type { RLModule } from "../modules/rl-module.ts";
import { RLError } from "../errors.ts";
import type { NamedArray } from "./safetensors.ts";

export function weightsOf(module: RLModule): Map<string, NamedArray<Float32Array>> {
  const arrays = new Map<string, NamedArray<Float32Array>>();
  for (const [name, tensor] of module.parameters.tensors) {
    const { shape } = tensor;
    const data = tensor.toArray();
    arrays.set(name, isTransposed(name, shape) ? { shape: shape.toReversed(), data: transposed(data, shape) } : { shape, data });
  }
  return arrays;
}

/** @throws RLError where the file's arrays are not those of the module */
export function setWeights(module: RLModule, arrays: ReadonlyMap<string, NamedArray>, path: string): void {
  const { tensors, data } = module.parameters;
  const flat = new Float32Array(data.length);
  let at = 0;
  for (const [name, { shape, size }] of tensors) {
    const wanted = isTransposed(name, shape) ? shape.toReversed() : shape;
    const found = arrays.get(name);
    if (!(found?.data instanceof Float32Array) || found.shape.join() !== wanted.join())
      throw new RLError(
        `Cannot read ${path}: the module has a parameter ${name} of shape [${wanted.join(", ")}]: the file has ${found === undefined ? "none" : `shape [${found.shape.join(", ")}]`}. Give the configuration that it was saved with`,
      );
    flat.set(isTransposed(name, shape) ? transposed(found.data, wanted) : found.data, at);
    at += size;
  }
  if (arrays.size !== tensors.size)
    throw new RLError(`Cannot read ${path}: it has ${arrays.size} parameters, and the module ${tensors.size}`);
  module.parameters.data.set(flat);
}

function isTransposed(name: string, shape: readonly number[]): boolean {
  return shape.length === 2 && /(^|\.)weight$/.test(name);
}

function transposed(data: Float32Array, [rows = 0, columns = 0]: readonly number[]): Float32Array {
  const turned = new Float32Array(data.length);
  for (let row = 0; row < rows; row += 1)
    for (let column = 0; column < columns; column += 1) turned[column * rows + row] = data[row * columns + column] as number;
  return turned;
}
