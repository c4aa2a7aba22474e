/** `shoal/tensor`: tensors with gradients, layers, optimizers and distributions. Imports nothing of Shoal, and runs in browsers. */
export { Adam, type AdamOptions, type AdamState } from "./adam.ts";
export { Categorical, type CategoricalOptions } from "./categorical.ts";
export type { Initializer } from "./initializers.ts";
export { Layer } from "./layer.ts";
export { type Activation, Linear, type LinearOptions, Mlp, type MlpOptions } from "./linear.ts";
export type { Parameters } from "./parameters.ts";
export { Random, type RandomState, withRandom } from "./random.ts";
export type { Shape } from "./shapes.ts";
export { backward, keep, noGrad, scope } from "./tape.ts";
export {
  type AxisOptions,
  type Indices,
  type NestedNumbers,
  type SliceOptions,
  Tensor,
  tensor,
  type TensorOptions,
  zeros,
} from "./tensor.ts";
