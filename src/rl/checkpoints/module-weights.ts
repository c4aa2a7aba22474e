/**
 * The weights of a module as named arrays, in PyTorch's layout.
 *
 * Layers say how their layout differs from PyTorch's, so that `load_state_dict` takes the file. Names and shapes are compared before a number is set.
 */
import { messageOf } from "../../core/internal.ts";
import type { RLModule } from "../modules/rl-module.ts";
import { RLError } from "../errors.ts";
import type { NamedArray } from "./safetensors.ts";

export function weightsOf(module: RLModule): Map<string, NamedArray<Float32Array>> {
  return module.stored();
}

/** @throws RLError where the file's arrays are not those of the module */
export function setWeights(module: RLModule, arrays: ReadonlyMap<string, NamedArray>, path: string): void {
  const stored = new Map<string, NamedArray<Float32Array>>();
  for (const [name, { shape, data }] of arrays) {
    if (!(data instanceof Float32Array)) throw new RLError(`Cannot read ${path}: ${name} has no float32 numbers: the file is damaged`);
    stored.set(name, { shape, data });
  }
  try {
    module.load(stored);
  } catch (cause) {
    throw new RLError(`Cannot read ${path}: ${messageOf(cause)} Give the configuration that it was saved with`, { cause });
  }
}
