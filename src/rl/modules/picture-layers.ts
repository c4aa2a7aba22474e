/**
 * Convolutional layers over the pictures of an observation.
 *
 * `convFilters` lists the layers by Ray's form: channels, kernel, stride, and possibly the padding. Without them the size of a picture decides: RLlib's layers for its sizes, and halving layers for others.
 * Pictures are `[height, width, channels]` and lie flat in an observation.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { type Activation, Conv2d, type Initializer, Layer, type Tensor } from "../../tensor/index.ts";
import type { PicturePlace } from "../spaces/observation-encoder.ts";

/** Channels, the side of the kernel or its height and width, stride, and `"same"` (default) or `"valid"` padding. */
export type ConvFilter =
  | readonly [channels: number, kernel: number | readonly [number, number], stride: number]
  | readonly [channels: number, kernel: number | readonly [number, number], stride: number, padding: "same" | "valid"];

/** RLlib's layers by the side of a square picture. The last kernel covers the whole picture there and is not padded; RLlib pads it since 2.40, which makes 30,976 numbers of a picture of 84 x 84. */
const FILTERS: Readonly<Record<number, readonly ConvFilter[]>> = {
  10: [
    [16, 5, 2],
    [32, 5, 2],
  ],
  42: [
    [16, 4, 2],
    [32, 4, 2],
    [256, 11, 1, "valid"],
  ],
  64: [
    [32, 4, 2],
    [64, 4, 2],
    [128, 4, 2],
    [256, 4, 2],
  ],
  84: [
    [16, 8, 4],
    [32, 4, 2],
    [256, 11, 1, "valid"],
  ],
  96: [
    [16, 8, 4],
    [32, 4, 2],
    [256, 11, 2, "valid"],
  ],
};

/** Pictures of other sizes are halved until their longer side is at most this. */
const HALVED_TO = 8;
const CHANNELS_MAX = 256;

/** The layers for a picture where none were given. */
export function defaultFilters([height, width]: PicturePlace["shape"]): readonly ConvFilter[] {
  const known = height === width ? FILTERS[height] : undefined;
  if (known !== undefined) return known;
  const filters: ConvFilter[] = [];
  let channels = 16;
  for (let side = Math.max(height, width); filters.length === 0 || side > HALVED_TO; side = Math.ceil(side / 2)) {
    filters.push([channels, 4, 2]);
    channels = Math.min(CHANNELS_MAX, 2 * channels);
  }
  return filters;
}

interface LayerOptions {
  readonly filters: readonly ConvFilter[] | undefined;
  readonly activation: Activation;
  readonly initializer: Initializer;
}

/** Turns pictures into features. */
export class PictureLayers extends Layer {
  /** Features of a picture. */
  readonly size: number;
  readonly #shape: PicturePlace["shape"];
  readonly #layers: readonly Conv2d[];
  readonly #activation: Activation;

  /** @throws RangeError where a kernel is larger than its input */
  constructor(shape: PicturePlace["shape"], { filters = defaultFilters(shape), activation, initializer }: LayerOptions) {
    super();
    let [height, width, inputs] = shape;
    this.#shape = shape;
    this.#activation = activation;
    this.#layers = filters.map(([channels, kernel, stride, padding = "same"], index) => {
      const [rows, columns] = typeof kernel === "number" ? [kernel, kernel] : kernel;
      if (padding === "valid" && (rows > height || columns > width))
        throw new RangeError(
          `Cannot make a network: layer ${index + 1} of convFilters has a kernel of ${rows} x ${columns}, and ${height} x ${width} reaches it: received ${describeValue(filters)}. Take a smaller kernel, or pad it with "same"`,
        );
      const options = {
        stride,
        padding: padding === "same" ? ("same" as const) : 0,
        initializer,
        gain: initializer === "orthogonal" ? Math.SQRT2 : 1,
      };
      const layer = this.add(String(2 * index), new Conv2d(inputs, channels, kernel, options));
      const along = (length: number, side: number): number =>
        padding === "same" ? Math.ceil(length / stride) : Math.floor((length - side) / stride) + 1;
      [height, width, inputs] = [along(height, rows), along(width, columns), channels];
      return layer;
    });
    this.size = height * width * inputs;
  }

  /** @param pictures - `[rows, height * width * channels]` */
  forward(pictures: Tensor): Tensor {
    const features = this.#layers.reduce(
      (x, layer) => {
        const y = layer.forward(x);
        return this.#activation === "linear" ? y : y[this.#activation]();
      },
      pictures.reshape([-1, ...this.#shape]),
    );
    return features.reshape([-1, this.size]);
  }
}
