/**
 * Patches of images, by which a convolution becomes a product of matrices.
 *
 * Images are `[count, height, width, channels]`, kernels `[height, width, channels, outputs]`.
 * Decides the sizes of outputs and the padding; the way back adds the patches' gradients to the pixels.
 */
import { memory } from "./memory.ts";
import { gradientToAddTo, type Operation, place, record, type TapeNode } from "./tape.ts";

/** Pixels of zeros around an image, or `same`: as many as give an output of 1 / stride of the size. */
export type Padding = number | "same";

export interface ConvolutionOptions {
  /** Default: 1. */
  readonly stride?: number;
  /** Default: 0. */
  readonly padding?: Padding;
}

export interface PatchGrid {
  readonly kernel: readonly [number, number];
  readonly stride: number;
  readonly top: number;
  readonly left: number;
  readonly height: number;
  readonly width: number;
}

/** Where patches lie. @throws RangeError when the options are impossible, or the kernel is larger than the padded image */
export function patchGrid(
  image: readonly [number, number],
  kernel: readonly [number, number],
  { stride = 1, padding = 0 }: ConvolutionOptions,
): PatchGrid {
  if (!Number.isInteger(stride) || stride < 1 || (padding !== "same" && (!Number.isInteger(padding) || padding < 0)))
    throw new RangeError(
      `Cannot convolve: a stride is a whole number from 1 on, padding one from 0 on or "same": received stride ${stride} and padding ${padding}.`,
    );
  const along = (length: number, size: number): { before: number; count: number } => {
    if (padding === "same") {
      const count = Math.ceil(length / stride);
      return { before: Math.floor(Math.max(0, (count - 1) * stride + size - length) / 2), count };
    }
    return { before: padding, count: Math.floor((length + 2 * padding - size) / stride) + 1 };
  };
  const [rows, columns] = [along(image[0], kernel[0]), along(image[1], kernel[1])];
  if (rows.count < 1 || columns.count < 1)
    throw new RangeError(
      `Cannot convolve: the kernel is larger than the image: received a kernel of ${kernel.join(" x ")} and an image of ${image.join(" x ")} ` +
        `with padding ${padding}. Pad the image, or take a smaller kernel.`,
    );
  return { kernel, stride, top: rows.before, left: columns.before, height: rows.count, width: columns.count };
}

/** Fills `out` with a row for each patch. */
export function patches<Node extends TapeNode>(out: Node, images: TapeNode, grid: PatchGrid): Node {
  run({ patches: out.offset, pixels: place(images) }, images, grid, false);
  const node = record(out, PATCHES, images);
  if (node.operation !== null) node.extra = grid;
  return node;
}

const PATCHES: Operation = {
  name: "patches",
  backward(node) {
    const images = node.a as TapeNode;
    run({ patches: node.gradientOffset, pixels: gradientToAddTo(images) }, images, node.extra as PatchGrid, true);
  },
};

interface PatchPlaces {
  readonly patches: number;
  readonly pixels: number;
}

// oxlint-disable-next-line eslint/max-params -- the arguments of one kernel
function run(at: PatchPlaces, { shape }: TapeNode, grid: PatchGrid, isWayBack: boolean): void {
  const { i32, words, build } = memory;
  const [count, height, width, channels] = shape as [number, number, number, number];
  const values = [count, height, width, channels, ...grid.kernel, grid.stride, grid.top, grid.left, grid.height, grid.width];
  i32[words] = at.patches;
  i32[words + 1] = at.pixels;
  values.forEach((value, index) => {
    i32[words + 2 + index] = value;
  });
  i32[words + 13] = isWayBack ? 1 : 0;
  build.kernels.patches();
}
