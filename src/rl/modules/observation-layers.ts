/**
 * The layers between an observation and the heads of a default module: pictures, hidden layers, memory.
 *
 * Each picture has its own convolutional layers; their features, and the numbers beside the pictures, go through `fcnetHiddens`, and then with `useLstm` through an LSTM.
 * Where an observation is one picture alone there are no hidden layers unless `fcnetHiddens` is given, as in RLlib.
 */
import { concat, Layer, type LstmState, Lstm, Mlp, type Tensor } from "../../tensor/index.ts";
import type { PicturePlace } from "../spaces/observation-encoder.ts";
import { PictureLayers } from "./picture-layers.ts";
import type { ModelConfig, ModuleSetup } from "./model-config.ts";

interface LayerDefaults {
  readonly fcnetActivation: NonNullable<ModelConfig["fcnetActivation"]>;
  readonly initializer: NonNullable<ModelConfig["initializer"]>;
}

const HIDDENS = [256, 256];

/** A smaller `Box` of three dimensions is no picture unless `convFilters` says so: a board, for example. */
const SIDE_MIN = 8;

export class ObservationLayers extends Layer {
  /** Numbers of the features. */
  readonly size: number;
  /** Numbers of each part of the LSTM's state; 0 without one. */
  readonly cellSize: number;
  readonly #inputSize: number;
  readonly #pictures: readonly { readonly layers: PictureLayers; readonly picture: PicturePlace; readonly end: number }[];
  readonly #hidden: Mlp | undefined;
  readonly #lstm: Lstm | undefined;

  constructor(
    { inputSize, pictures = [], modelConfig }: Pick<ModuleSetup, "inputSize" | "pictures" | "modelConfig">,
    defaults: LayerDefaults,
  ) {
    super();
    const { convFilters, convActivation = "relu", useLstm = false, lstmCellSize = 256 } = modelConfig;
    const activation = modelConfig.fcnetActivation ?? defaults.fcnetActivation;
    const initializer = modelConfig.initializer ?? defaults.initializer;
    this.#inputSize = inputSize;
    const isLarge = ({ shape: [height, width] }: PicturePlace): boolean => Math.min(height, width) >= SIDE_MIN;
    const convolved = convFilters === undefined ? pictures.filter(isLarge) : convFilters.length === 0 ? [] : pictures;
    this.#pictures = convolved.map((picture, index) => {
      // PyTorch's first weights: to make the columns of the largest kernels orthogonal takes seconds.
      const options = { filters: convFilters, activation: convActivation, initializer: modelConfig.initializer ?? "uniform" };
      const layers = new PictureLayers(picture.shape, options);
      return {
        layers: this.add(`picture${index}`, layers),
        picture,
        end: picture.at + picture.shape.reduce((size, side) => size * side, 1),
      };
    });
    const ofPictures = this.#pictures.reduce((sum, { layers }) => sum + layers.size, 0);
    const beside = this.#pictures.reduce((rest, { picture, end }) => rest - (end - picture.at), inputSize);
    const { fcnetHiddens = ofPictures > 0 && beside === 0 ? [] : HIDDENS } = modelConfig;
    let size = ofPictures + beside;
    if (fcnetHiddens.length > 0) {
      const sizes = [size, ...fcnetHiddens];
      this.#hidden = this.add("hidden", new Mlp(sizes, { activation, outputActivation: activation, initializer }));
      size = sizes.at(-1) as number;
    }
    if (useLstm) this.#lstm = this.add("lstm", new Lstm(size, lstmCellSize));
    this.cellSize = useLstm ? lstmCellSize : 0;
    this.size = useLstm ? lstmCellSize : size;
  }

  /** The features of observations `[rows, inputSize]`. With an LSTM the rows are sequences one after another, one for each row of the state. */
  forward(obs: Tensor, state?: LstmState): { features: Tensor; state: LstmState | undefined } {
    const mixed = this.#pictures.length === 0 ? obs : concat(this.#parts(obs), { axis: 1 });
    const hidden = this.#hidden?.forward(mixed) ?? mixed;
    if (this.#lstm === undefined) return { features: hidden, state: undefined };
    const rows = obs.shape[0] as number;
    const before = state ?? this.#lstm.initialState(rows);
    const sequences = before.h.shape[0] as number;
    const { output, state: after } = this.#lstm.forward(hidden.reshape([sequences, rows / sequences, -1]), before);
    return { features: output.reshape([rows, this.cellSize]), state: after };
  }

  /** The features of pictures, and the numbers between them. */
  #parts(obs: Tensor): Tensor[] {
    const parts: Tensor[] = [];
    const between = (start: number, end: number): void => {
      if (end > start) parts.push(obs.slice({ axis: 1, start, end }));
    };
    let at = 0;
    for (const { layers, picture, end } of this.#pictures) {
      between(at, picture.at);
      parts.push(layers.forward(obs.slice({ axis: 1, start: picture.at, end })));
      at = end;
    }
    between(at, this.#inputSize);
    return parts;
  }
}
