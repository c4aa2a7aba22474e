/** Images through `sharp`: files of several formats, channels and sizes into tensors and back, damaged files, and what is written. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { NdArray } from "shoal";
import * as data from "shoal/data";
import { describe, expect, test } from "vitest";
import { failureOf, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 2, objectStoreMemoryBytes: 128 * 2 ** 20 });

/** A picture whose pixels tell their place. */
function picture(height: number, width: number, channels: 1 | 2 | 3 | 4): NdArray<Uint8Array<ArrayBuffer>> {
  const elements = Uint8Array.from({ length: height * width * channels }, (_, i) => (i * 7) % 251);
  return new NdArray(elements, [height, width, channels]);
}

async function save(name: string, { data: elements, shape }: NdArray<Uint8Array>): Promise<string> {
  const [height, width, channels] = shape as [number, number, 1 | 2 | 3 | 4];
  const path = join(folder, name);
  await sharp(elements, { raw: { height, width, channels } }).toFile(path);
  return path;
}

describe("reading", () => {
  test("gives the pixels of each file, whatever its size and channels", async () => {
    const pictures = [picture(3, 5, 3), picture(2, 2, 3), picture(4, 1, 4)];
    const paths = await Promise.all(pictures.map((one, i) => save(`own${i}.png`, one)));
    const rows = await data.readImages(paths, { includePaths: true }).takeAll();
    expect(rows).toEqual(pictures.map((image, i) => ({ image, path: paths[i] })));
    expect(String(await data.readImages(paths).schema())).toContain("tensor<uint8, ?x?x?>");
    // All pictures have the same shape, so they are one array.
    for await (const { image } of data.readImages([paths[0], paths[0]] as string[]).iterTensors())
      expect(image.shape).toEqual([2, 3, 5, 3]);
  });

  test("turns them as EXIF says, and shows grey ones in three channels", async () => {
    const path = join(folder, "turned.png");
    const grey = Buffer.from([0, 50, 100, 150, 200, 250]);
    // 6: the first row is at the right.
    await sharp(grey, { raw: { height: 2, width: 3, channels: 1 } })
      .toColourspace("b-w")
      .withMetadata({ orientation: 6 })
      .toFile(path);
    const [{ image }] = (await data.readImages(path).takeAll()) as [{ image: NdArray }];
    const pixels = [150, 0, 200, 50, 250, 100];
    expect(image).toEqual(new NdArray(Uint8Array.from(pixels.flatMap((pixel) => [pixel, pixel, pixel])), [3, 2, 3]));
  });

  test("brings them to one size and mode", async () => {
    const grey = await save("grey.png", picture(8, 8, 1));
    const clear = await save("clear.webp", picture(6, 9, 4));
    const photo = await save("photo.jpg", picture(16, 16, 3));
    for (const [mode, channels] of [
      ["L", 1],
      ["RGB", 3],
      ["RGBA", 4],
    ] as const) {
      const images = data.readImages([grey, clear, photo], { size: [4, 6], mode });
      expect(String(await images.schema())).toContain(`tensor<uint8, 4x6x${channels}>`);
      for await (const { image } of images.iterTensors()) expect(image.shape).toEqual([3, 4, 6, channels]);
    }
    const [{ image }] = (await data.readImages(photo, { mode: "L" }).takeAll()) as [{ image: NdArray }];
    const raw = await sharp(photo).grayscale().toColourspace("b-w").raw().toBuffer();
    expect(image).toEqual(new NdArray(Uint8Array.from(raw), [16, 16, 1]));
  });

  test("of many files takes them in few tasks, in the order of their paths", async () => {
    const many = join(folder, "many");
    mkdirSync(many);
    await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        save(`many/${String(i).padStart(2, "0")}.png`, new NdArray(new Uint8Array(12).fill(i), [2, 2, 3])),
      ),
    );
    const images = data.readImages(many);
    expect((await images.takeAll()).map(({ image }) => image.data[0])).toEqual(Array.from({ length: 60 }, (_, i) => i));
    expect((await images.stats())?.operators[0]?.tasks).toBeLessThanOrEqual(16);
  });

  test("names the file that is no image, or only a part of one", async () => {
    const text = join(folder, "text.png");
    writeFileSync(text, "no image");
    const error = await failureOf(data.readImages(text).takeAll());
    expect(error.message).toContain(`Cannot read ${text} as an image`);
    const whole = readFileSync(await save("whole.png", picture(64, 64, 3)));
    const part = join(folder, "part.png");
    writeFileSync(part, whole.subarray(0, 500));
    expect((await failureOf(data.readImages(part).takeAll())).message).toContain(`Cannot read ${part} as an image`);
    expect(() => data.readImages(text, { size: [0, 4] })).toThrow("[height, width]");
    expect(() => data.readImages(text, { mode: "CMYK" as never })).toThrow("L, RGB, RGBA");
  });
});

describe("writing", () => {
  test("makes a file for each row, in their order", async () => {
    const pictures = [picture(3, 5, 3), picture(2, 2, 4), picture(1, 4, 3)];
    const { files, rowCount } = await data
      .fromItems(pictures.map((image) => ({ image })))
      .writeImages(join(folder, "written"), { column: "image" });
    expect(rowCount).toBe(3);
    expect(readdirSync(join(folder, "written")).toSorted()).toEqual(files.map((file) => file.split("/").at(-1)));
    expect(await data.readImages(files).takeAll()).toEqual(pictures.map((image) => ({ image })));
    const kept = join(folder, "by-kind");
    const kinds = data.fromItems(pictures.map((image, i) => ({ image, kind: i % 2 })));
    await kinds.writeImages(kept, { column: "image", fileFormat: "webp", partitionBy: ["kind"] });
    expect(readdirSync(kept).toSorted()).toEqual(["kind=0", "kind=1"]);
    expect(await data.readImages(kept).count()).toBe(3);
  });

  test("refuses what is no image, and leaves no file", async () => {
    const target = join(folder, "refused");
    const write = async (rows: object[], column = "image"): Promise<string> =>
      ((await failureOf(data.fromItems(rows).writeImages(target, { column }))) as Error).message;
    expect(await write([{ image: null }])).toMatch(/Column "image": row \d is null, and no image/);
    expect(await write([{ image: new NdArray(new Float32Array(4), [2, 2, 1]) }])).toContain(
      "an NdArray of float32 with the shape [2, 2, 1]",
    );
    expect(await write([{ image: new NdArray(new Uint8Array(20), [2, 2, 5]) }])).toContain("the shape [2, 2, 5]");
    expect(await write([{ image: picture(1, 1, 1) }], "photo")).toContain('no column "photo"');
    expect(readdirSync(target).filter((name) => !name.startsWith("."))).toEqual([]);
    expect(() => data.fromItems([{}]).writeImages(target, { column: "image", fileFormat: "bmp" as never })).toThrow("fileFormat");
  });
});
