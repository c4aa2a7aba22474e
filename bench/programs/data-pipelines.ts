/**
 * Runs one pipeline of Data, as `data-pipelines.ts PIPELINE INPUT OUTPUT`; or `make-table FOLDER ROWS` and `make-images FOLDER COUNT`,
 * which write the input. `../ray/data_pipelines.py` is the twin.
 *
 * Says "ready" and "begun", runs the pipeline, and says "finished". When its input ends, prints facts about the result, which have to be
 * the same on both sides.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { init, shutdown } from "shoal";
import * as data from "shoal/data";

type Row = { id: number; small: number; large: number; x: number; y: number; name: string };
type Facts = Record<string, number | null>;
/** Facts of a result that is there; called when the time is taken. */
type Tell = () => Facts | Promise<Facts>;

const KEYS = 1_000_000;

/** Six columns as the research has them: a number of the row, two keys, two floats, a text. The numbers are mixed, so that no column but the first is sorted. */
async function makeTable(folder: string, rows: number): Promise<void> {
  const table = data.range(rows).mapBatches(({ id }) => {
    const mixed = Float64Array.from(id, (value) => (Math.imul(value + 1, 0x9e3779b1) >>> 0) / 2 ** 32);
    return {
      id,
      small: Int32Array.from(mixed, (value) => value * 1000),
      large: Int32Array.from(id, (value, i) => (value * 7919 + (mixed[i] ?? 0) * 1000) % KEYS),
      x: mixed,
      y: mixed.map((value) => Math.sqrt(value) * 100),
      name: Array.from(mixed, (value) => `name ${Math.floor(value * 100_000)}`),
    };
  });
  await table.repartition(8).writeParquet(join(folder, "parquet"));
  await data.readParquet(join(folder, "parquet")).writeCsv(join(folder, "csv"));
  const keys = data.range(KEYS).mapBatches(({ id }) => ({ large: Int32Array.from(id), weight: Float64Array.from(id) }));
  await keys.writeParquet(join(folder, "keys"));
}

/** JPEGs of 640 x 480 with waves and noise, of some 100 kB as photos have: 200 pictures, over and over. */
async function makeImages(folder: string, count: number): Promise<void> {
  const { default: sharp } = await import("sharp");
  const [width, height] = [640, 480];
  const pictures = Array.from({ length: 200 }, (_, picture) => {
    const pixels = new Uint8Array(width * height * 3);
    for (let i = 0; i < pixels.length; i += 1) {
      const noise = (Math.imul(i + picture * 7919, 0x9e3779b1) >>> 24) / 8;
      pixels[i] = 112 + 96 * Math.sin((i % 1920) / (50 + picture) + (i / 1920 / 40) * (1 + (i % 3))) + noise;
    }
    return sharp(pixels, { raw: { width, height, channels: 3 } })
      .jpeg({ quality: 85 })
      .toBuffer();
  });
  const files = await Promise.all(pictures);
  for (let i = 0; i < count; i += 1)
    await writeFile(join(folder, `${String(i).padStart(6, "0")}.jpg`), files[i % files.length] as Uint8Array);
}

async function run(pipeline: string, input: string, output: string): Promise<Tell> {
  const table = () => data.readParquet<Row>(join(input, "parquet"));
  const aggregates = { n: data.count(), x: data.sum("x"), y: data.mean("y") };
  const totals = { groups: data.count(), n: data.sum("n"), x: data.sum("x"), y: data.sum("y") };
  switch (pipeline) {
    case "csv-to-parquet": {
      const read = data.readCsv<Row>(join(input, "csv"));
      await read.mapBatches((batch) => ({ ...batch, z: batch.x.map((x, i) => x + (batch.y[i] ?? 0)) })).writeParquet(output);
      return () => data.readParquet(output).aggregate({ rows: data.count(), id: data.sum("id"), z: data.sum("z") });
    }
    case "groups-1k": {
      const rows = await table().groupBy("small").aggregate(aggregates).takeAll();
      return () => data.fromItems(rows).aggregate(totals);
    }
    case "groups-1m": {
      const groups = await table().groupBy("large").aggregate(aggregates).materialize();
      return () => groups.aggregate(totals);
    }
    case "sort": {
      const sorted = await table().sort("x").materialize();
      return async () => {
        const [first, second] = await sorted.take(2);
        return { rows: await sorted.count(), first: first?.x ?? null, second: second?.x ?? null, y: await sorted.sum("y") };
      };
    }
    case "shuffle": {
      const shuffled = await table().randomShuffle({ seed: 1 }).materialize();
      return () => shuffled.aggregate({ rows: data.count(), id: data.sum("id"), y: data.sum("y") });
    }
    case "join": {
      const keys = data.readParquet<{ large: number; weight: number }>(join(input, "keys"));
      const joined = await table().join(keys, { on: "large" }).materialize();
      return () => joined.aggregate({ rows: data.count(), id: data.sum("id"), weight: data.sum("weight") });
    }
    case "batches": {
      let rows = 0;
      const doubled = table().mapBatches((batch) => ({ ...batch, z: batch.x.map((x) => 2 * x) }));
      for await (const batch of doubled.iterBatches({ batchSize: 4096 })) rows += batch.z.length;
      return () => ({ rows });
    }
    case "images": {
      const resized = data.readImages(input, { size: [224, 224], mode: "RGB" });
      let [rows, elements] = [0, 0];
      for await (const { image } of resized.iterTensors({ batchSize: 64 })) {
        rows += image.shape[0] ?? 0;
        elements += image.data.length;
      }
      return () => ({ rows, elements });
    }
    case "small": {
      const rows = await data
        .range(1000)
        .map(({ id }) => ({ id: 2 * id }))
        .filter(({ id }) => id % 3 === 0)
        .takeAll();
      return () => ({ rows: rows.length, id: rows.reduce((sum, { id }) => sum + id, 0) });
    }
    default:
      throw new RangeError(`Cannot run a pipeline: received ${pipeline}`);
  }
}

const [pipeline = "", input = "", output = ""] = process.argv.slice(2);
await init();
if (pipeline === "make-table") {
  await makeTable(input, Number(output));
} else if (pipeline === "make-images") {
  await makeImages(input, Number(output));
} else {
  // Workers are there and have the code of Data.
  await data
    .range(1000)
    .map(({ id }) => ({ id }))
    .takeAll();
  process.stdout.write("ready\nbegun\n");
  const tell = await run(pipeline, input, output);
  process.stdout.write("finished\n");
  // The harness measures the remaining memory now.
  await new Promise((resolve) => process.stdin.once("end", resolve).resume());
  process.stdout.write(`facts ${JSON.stringify(await tell())}\n`);
}
await shutdown();
