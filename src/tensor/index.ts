/** `shoal/tensor`: tensors with gradients, layers, optimizers and distributions. Imports nothing of Shoal, and runs in browsers. */
export { Categorical, type CategoricalOptions } from "./categorical.ts";
export type { ConvolutionOptions, Padding } from "./convolution.ts";
export { Bernoulli, MultiCategorical, TwoHot } from "./discrete.ts";
export type { Initializer } from "./initializers.ts";
export { Layer } from "./layer.ts";
export { Conv2d, type Conv2dOptions, Embedding, LayerNorm, NoisyLinear, type NoisyLinearOptions } from "./layers.ts";
export { type Activation, Linear, type LinearOptions, Mlp, type MlpOptions } from "./linear.ts";
export { Normal, SquashedNormal, type SquashedNormalOptions } from "./normal.ts";
export { type OnnxOptions, toOnnx } from "./onnx.ts";
export {
  Adam,
  type AdamOptions,
  type AdamState,
  AdamW,
  Optimizer,
  type OptimizerOptions,
  type OptimizerState,
  RMSProp,
  type RMSPropOptions,
  SGD,
  type SGDOptions,
} from "./optimizers.ts";
export type { Layout, Parameters } from "./parameters.ts";
export { Random, type RandomState, withRandom } from "./random.ts";
export { Gru, Lstm, type RecurrentOptions } from "./recurrent.ts";
export { loadSafetensors, saveSafetensors, type Storable } from "./safetensors.ts";
export type { Shape } from "./shapes.ts";
export type { StoredTensor } from "./stored-tensor.ts";
export { backward, keep, noGrad, scope } from "./tape.ts";
export {
  type AxisOptions,
  type CellWeights,
  concat,
  type HuberOptions,
  type Indices,
  type LossOptions,
  type LstmState,
  type NestedNumbers,
  type SliceOptions,
  stack,
  Tensor,
  tensor,
  type TensorOptions,
  where,
  zeros,
} from "./tensor.ts";
