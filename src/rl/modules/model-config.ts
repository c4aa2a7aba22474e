/** The options of default modules, and everything else that a module is made from. */
import type { PicturePlace } from "../spaces/observation-encoder.ts";
import type { Space } from "../spaces/space.ts";
import type { ConvFilter } from "./picture-layers.ts";

/** The options of the default module, by Ray's names. */
export interface ModelConfig {
  /** Widths of the hidden layers. Default: `[256, 256]`; none behind a picture. */
  readonly fcnetHiddens?: readonly number[] | undefined;
  /** Default: `"tanh"`. */
  readonly fcnetActivation?: "tanh" | "relu" | "elu" | "silu" | "linear" | undefined;
  /** Widths of hidden layers of each head. Default: none. */
  readonly headFcnetHiddens?: readonly number[] | undefined;
  /** Whether policy and values share their hidden layers. Default: true. */
  readonly vfShareLayers?: boolean | undefined;
  /** The first weights. Default: `"orthogonal"` for policy gradients, else `"uniform"`, which convolutional layers always have by default. */
  readonly initializer?: "orthogonal" | "uniform" | undefined;
  /** Convolutional layers of pictures: `[channels, kernel, stride]` each. Default: chosen by the size of the picture. */
  readonly convFilters?: readonly ConvFilter[] | undefined;
  /** Default: `"relu"`. */
  readonly convActivation?: "tanh" | "relu" | "elu" | "silu" | "linear" | undefined;
  /** Whether an LSTM follows the hidden layers: the policy remembers earlier steps. Default: false. */
  readonly useLstm?: boolean | undefined;
  /** Default: 256. */
  readonly lstmCellSize?: number | undefined;
  /** Steps through which gradients go back in time. Default: 20. */
  readonly maxSeqLen?: number | undefined;
}

/** Everything that a module is made from. */
export interface ModuleSetup {
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  /** Numbers of an encoded observation. */
  readonly inputSize: number;
  /** The pictures in an encoded observation. Default: none. */
  readonly pictures?: readonly PicturePlace[] | undefined;
  /** Numbers of the action distribution. */
  readonly outputSize: number;
  readonly modelConfig: ModelConfig & Readonly<Record<string, unknown>>;
}
