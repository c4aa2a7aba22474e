/**
 * Images from and to tensors of uint8: height, width and channels. `sharp`, which decodes and encodes in native code, is an optional package, loaded by the first image.
 *
 * Pixels are as viewers show them: turned according to EXIF, with 8 bits for each channel. Grey images have three equal channels. A worker has one CPU, so
 * sharp uses one thread there and decodes one image after the other. A file that is not an image is an error with its name; a bad value in a column is an error
 * with its row.
 */
import { NdArray } from "../../../core/index.ts";
import { describeValue, isWorker, messageOf } from "../../../core/internal.ts";
import { compressionOf } from "../../../storage/compression/compression.ts";
import { readLocalFile } from "../../../storage/local/local-files.ts";
import { schemeOf } from "../../../storage/paths.ts";
import { readWhole } from "../../../storage/read-file.ts";
import { type Block, vectorOf } from "../../blocks/block.ts";
import { variableTensorType } from "../../blocks/data-type.ts";
import { vectorOfNdArray } from "../../blocks/values/nd-arrays.ts";
import { valueReader } from "../../blocks/value-reader.ts";
import { buildVector } from "../../blocks/vector-builder.ts";
import { DataError, ofSetup } from "../../errors.ts";

/** The modes of channels: grey; red, green and blue; and the same with opacity. */
export const IMAGE_MODES = ["L", "RGB", "RGBA"] as const;
export type ImageMode = (typeof IMAGE_MODES)[number];
export const IMAGE_FORMATS = ["png", "jpeg", "webp", "tiff"] as const;
export type ImageFormat = (typeof IMAGE_FORMATS)[number];

interface ImageOptions {
  /** Height and width. Default: those of the file. */
  readonly size?: readonly [height: number, width: number];
  /** Default: the channels of the file. */
  readonly mode?: ImageMode;
}

/** Internal alone: a published type must not name it, because programs without sharp lack its types. */
type Sharp = typeof import("sharp").default;

let loaded: Promise<unknown> | undefined;

/** @throws DataError where sharp is not installed */
export function loadSharp(load: () => Promise<{ default: unknown }> = () => import("sharp")): Promise<unknown> {
  return load().then(
    ({ default: sharp }) => {
      if (isWorker()) {
        (sharp as Sharp).concurrency(1);
        // A file that has changed since would be the old one still.
        (sharp as Sharp).cache(false);
      }
      return sharp;
    },
    (error: unknown) => {
      throw ofSetup(
        new DataError("Images need the package sharp, which cannot be loaded", {
          cause: error,
          hint: 'install it: npm install "sharp@>=0.33 <1"',
        }),
      );
    },
  );
}

/** An image file as one row: the column `image`. Runs in workers. */
export async function* readImageFile(path: string, { size, mode }: ImageOptions = {}): AsyncGenerator<Block, void, undefined> {
  // Opening a file itself would cost sharp more than being given its bytes: it does so twice.
  const isFile = isWorker() && schemeOf(path) === "file" && compressionOf(path) === undefined;
  const source = isFile ? readLocalFile(path) : await readWhole(path);
  try {
    const image = await decodeImage(source, { size, mode } as ImageOptions);
    // Where no size was asked for, the next file may have another one: all blocks say so.
    const vector =
      size === undefined
        ? buildVector([image], variableTensorType("uint8", 3))
        : vectorOfNdArray(new NdArray(image.data, [1, ...image.shape]));
    yield { rowCount: 1, names: ["image"], vectors: [vector] };
  } catch (error) {
    throw new DataError(`Cannot read ${path} as an image: ${messageOf(error)} (it has ${source.length} bytes)`, {
      cause: error,
      hint: "sharp reads JPEG, PNG, WebP, AVIF, TIFF, GIF and SVG; is the file whole, and one of them?",
    });
  }
}

/** The pixels of an image file. @throws DataError where sharp is not installed; sharp's error for other files */
export async function decodeImage(source: Uint8Array, { size, mode }: ImageOptions): Promise<NdArray<Uint8Array>> {
  const sharp = (await (loaded ??= loadSharp())) as Sharp;
  const image = sharp(source).rotate();
  // As Ray does: to the exact size without regard to proportions, by bilinear interpolation.
  if (size !== undefined) image.resize(size[1], size[0], { fit: "fill", kernel: "linear" });
  if (mode === "L") image.removeAlpha().grayscale().toColourspace("b-w");
  else if (mode !== undefined) (mode === "RGB" ? image.removeAlpha() : image.ensureAlpha()).toColourspace("srgb");
  const { data, info } = await image.raw({ depth: "uchar" }).toBuffer({ resolveWithObject: true });
  return new NdArray(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), [info.height, info.width, info.channels]);
}

/**
 * The file of each row's image.
 *
 * @throws DataError for a column that does not exist, and for a value that is no image
 */
export async function* imageFiles(block: Block, column: string, format: ImageFormat): AsyncGenerator<Uint8Array, void, undefined> {
  const vector = vectorOf(block, column);
  if (vector === undefined)
    throw new DataError(`Cannot call writeImages: there is no column ${JSON.stringify(column)}`, {
      hint: `there are ${block.names.join(", ")}`,
    });
  const read = valueReader(vector);
  for (let row = 0; row < block.rowCount; row += 1) yield encodeImage(read(row), format, { column, row });
}

/** The file of an image. @throws DataError for a value that is none, with its place */
export async function encodeImage(
  image: unknown,
  format: ImageFormat,
  { column, row }: { column: string; row: number },
): Promise<Uint8Array> {
  const sharp = (await (loaded ??= loadSharp())) as Sharp;
  if (!isImage(image)) {
    const what =
      image instanceof NdArray ? `an NdArray of ${image.dtype} with the shape [${image.shape.join(", ")}]` : describeValue(image);
    throw new DataError(`Column ${JSON.stringify(column)}: row ${row} is ${what}, and no image`, {
      hint: "an image is an NdArray of uint8: height, width, and 1 to 4 channels",
    });
  }
  const [height, width, channels = 1] = image.shape as [number, number, 1 | 2 | 3 | 4 | undefined];
  return sharp(image.data, { raw: { height, width, channels } }).toFormat(format).toBuffer();
}

function isImage(value: unknown): value is NdArray<Uint8Array> {
  if (!(value instanceof NdArray) || value.dtype !== "uint8") return false;
  const { shape } = value;
  const [height = 0, width = 0, channels = 1] = shape;
  return (shape.length === 2 || shape.length === 3) && height > 0 && width > 0 && channels >= 1 && channels <= 4;
}
