/**
 * An image pipeline: photos become thumbnails and a table that tells the mean colour of each. Needs the package `sharp` (npm install sharp).
 *
 *   node examples/data-images.ts [PHOTOS OUTPUT]
 *
 * Without arguments it makes pictures for itself. OUTPUT gets the folders `thumbnails` and `colours`.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { shutdown } from "shoal";
import * as data from "shoal/data";
import sharp from "sharp";

const SIZE: [height: number, width: number] = [96, 128];
const PICTURES = 24;

/** Pictures of one colour each, which goes from red to blue. */
async function makePictures(folder: string): Promise<void> {
  mkdirSync(folder);
  for (let i = 0; i < PICTURES; i += 1) {
    const blue = Math.round((255 * i) / (PICTURES - 1));
    const picture = sharp({ create: { width: 640, height: 480, channels: 3, background: { r: 255 - blue, g: 0, b: blue } } });
    await picture.jpeg().toFile(join(folder, `${String(i).padStart(2, "0")}.jpg`));
  }
}

/** The mean of each channel of each picture. */
function meanColours(pixels: Uint8Array, pictures: number): number[][] {
  const pixelsEach = pixels.length / pictures / 3;
  return Array.from({ length: pictures }, (_, picture) => {
    const sums = [0, 0, 0];
    for (let i = 0; i < pixelsEach * 3; i += 1) sums[i % 3] = (sums[i % 3] ?? 0) + (pixels[picture * pixelsEach * 3 + i] ?? 0);
    return sums.map((sum) => Math.round(sum / pixelsEach));
  });
}

async function main(): Promise<void> {
  const [photos, output] = process.argv.slice(2);
  if (photos !== undefined && output !== undefined) return run(photos, output);
  const scratch = mkdtempSync(join(tmpdir(), "shoal-images-"));
  try {
    await makePictures(join(scratch, "photos"));
    await run(join(scratch, "photos"), scratch);
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

async function run(photos: string, output: string): Promise<void> {
  // Decoded once: both results are made of the same blocks.
  const images = await data.readImages(photos, { size: SIZE, mode: "RGB", includePaths: true }).materialize();
  const written = await images.writeImages(join(output, "thumbnails"), { column: "image", fileFormat: "webp", mode: "overwrite" });
  const colours = images.map(({ image, path }) => {
    const [[red, green, blue] = []] = meanColours(image.data, 1);
    return { file: basename(path ?? ""), red: red ?? 0, green: green ?? 0, blue: blue ?? 0 };
  });
  await colours.writeCsv(join(output, "colours"), { mode: "overwrite" });
  console.log(`${written.files.length} thumbnails of ${SIZE.join(" x ")}`);
  const reddest = await data.readCsv<{ file: string; red: number }>(join(output, "colours")).sort("red", { descending: true }).take(3);
  for (const { file, red } of reddest) console.log(`${file}  red ${red}`);
}

await main().finally(shutdown);
