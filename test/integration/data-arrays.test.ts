/** Arrays and Arrow tables through whole pipelines: tensors as payload of every operator, ranges, files, and what consumers are given. */
import { tableFromIPC } from "apache-arrow";
import { ArrowData, NdArray } from "shoal";
import * as data from "shoal/data";
import { describe, expect, test } from "vitest";
import { sharedMemory } from "../../src/runtime/os/shared-memory.ts";
import { useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 2, objectStoreMemoryBytes: 128 * 2 ** 20 });

/** The bytes that the process of this `globalThis` has read from the store since it started; for tasks, too. */
function countersOf(scope: object): { copiedBytes: number; mappedBytes: number } {
  type Counted = { store: { counters: { copiedBytes: number; mappedBytes: number } } };
  return { ...((scope as Record<symbol, Counted>)[Symbol.for("shoal.runtime.1")] as Counted).store.counters };
}

/** Tensors whose elements tell their row; every seventh is null. */
const numbered = (count: number): { id: number; image: NdArray | null }[] =>
  Array.from({ length: count }, (_, id) => ({ id, image: id % 7 === 3 ? null : new NdArray(new Float32Array(6).fill(id), [2, 3]) }));
/** The same with shapes that differ. */
const ragged = (count: number): { id: number; image: NdArray | null }[] =>
  Array.from({ length: count }, (_, id) => ({
    id,
    image: id % 7 === 3 ? null : new NdArray(new Float32Array((id % 3) * 2).fill(id), [id % 3, 2]),
  }));

describe.each([
  ["one shape", numbered],
  ["several shapes", ragged],
])("tensors of %s", (_, make) => {
  const rows = make(500);
  const dataset = data.fromItems(rows);

  test("pass through maps, filters, sorts, shuffles, and batches of every format", async () => {
    const odd = rows.filter(({ id }) => id % 2 === 1);
    expect(
      await dataset
        .map((row) => row)
        .filter(({ id }) => id % 2 === 1)
        .takeAll(),
    ).toEqual(odd);
    for (const batchFormat of ["columns", "rows", "arrow"] as const)
      expect(await dataset.mapBatches((batch) => batch as never, { batchFormat, batchSize: 33 }).takeAll()).toEqual(rows);
    expect(await dataset.sort("id", { descending: true }).takeAll()).toEqual(rows.toReversed());
    const shuffled = await dataset.randomShuffle({ seed: 3 }).takeAll();
    expect(shuffled).not.toEqual(rows);
    expect(shuffled.toSorted((a, b) => a.id - b.id)).toEqual(rows);
    expect(await dataset.repartition(7).takeAll()).toEqual(rows);
  });

  test("are collected by groups", async () => {
    const lists = await dataset
      .map(({ id, image }) => ({ rest: id % 5, image }))
      .groupBy("rest")
      .aggregate({ images: data.asList("image") })
      .takeAll();
    expect(lists.length).toBe(5);
    for (const { rest, images } of lists)
      expect(images).toEqual(rows.filter(({ id, image }) => id % 5 === rest && image !== null).map(({ image }) => image));
  });

  test("are written to Parquet and to Arrow and read back", async () => {
    const path = `${folder}/${make.name}`;
    await dataset.writeParquet(path);
    expect(await data.readParquet(path).takeAll()).toEqual(rows);
    const arrow = await dataset.toArrow();
    expect(arrow).toBeInstanceOf(ArrowData);
    expect(await data.fromArrow(arrow).takeAll()).toEqual(rows);
    expect(tableFromIPC(arrow.stream).numRows).toBe(500);
  });
});

test("ranges of tensors", async () => {
  const range = data.rangeTensor(1000, { shape: [2, 2], dtype: "int32" });
  expect(await range.count()).toBe(1000);
  expect(String(await range.schema())).toContain("tensor<int32, 2x2>");
  expect((await range.takeAll())[999]).toEqual({ data: new NdArray(new Int32Array(4).fill(999), [2, 2]) });
  expect(await data.rangeTensor(2).takeAll()).toEqual([0, 1].map((n) => ({ data: new NdArray(Float64Array.of(n), [1]) })));
  expect((await data.rangeTensor(2, { dtype: "int64" }).takeAll())[1]).toEqual({ data: new NdArray(BigInt64Array.of(1n), [1]) });
  expect(await data.rangeTensor(0).takeAll()).toEqual([]);
  expect(() => data.rangeTensor(-1)).toThrow(RangeError);
  expect(() => data.rangeTensor(1, { shape: [1.5] })).toThrow("shape of whole numbers");
  expect(() => data.rangeTensor(1, { dtype: "text" as never })).toThrow("dtype");
});

test("arrays become the column data", async () => {
  const array = new NdArray(
    Float64Array.from({ length: 24 }, (_, i) => i),
    [4, 3, 2],
  );
  const found = await data.fromNumpy([array, array]).takeAll();
  expect(found.length).toBe(8);
  expect(found[7]).toEqual({ data: new NdArray(Float64Array.of(18, 19, 20, 21, 22, 23), [3, 2]) });
  expect(await data.fromNumpy(Int32Array.of(5, 6)).takeAll()).toEqual([{ data: 5 }, { data: 6 }]);
  expect(await data.fromNumpy(BigInt64Array.of(5n)).takeAll()).toEqual([{ data: 5n }]);
  const times = new NdArray(BigInt64Array.of(0n, -(2n ** 63n)), [2], "datetime64[ms]");
  expect(await data.fromNumpy(times).takeAll()).toEqual([{ data: new Date(0) }, { data: null }]);
  expect(() => data.fromNumpy("x" as never)).toThrow(TypeError);
  expect(() => data.fromArrow([{}] as never)).toThrow(TypeError);
});

describe("consumers", () => {
  test("have whole columns as arrays, without a copy between processes", async () => {
    const tensors = data.rangeTensor(1000, { shape: [4, 4], dtype: "float32" }).map(({ data: image }) => ({ image, ok: true, n: 1 }));
    let at = 0;
    for await (const { image, ok, n } of tensors.iterTensors({ batchSize: 128, dropLast: true })) {
      expect(image.shape).toEqual([128, 4, 4]);
      expect([ok.dtype, ok.shape, n.dtype]).toEqual(["bool", [128], "float64"]);
      expect((image.data as Float32Array)[16]).toBe(at + 1);
      at += 128;
    }
    expect(at).toBe(896);
  });

  test.runIf(sharedMemory() !== undefined)(
    "map blocks of other processes and copy nothing of them, in the driver and in tasks",
    async () => {
      const bytes = 8 * 400_000;
      const kept = await data
        .range(400_000)
        .mapBatches(({ id }) => ({ x: Float64Array.from(id) }))
        .repartition(2)
        .materialize();
      const before = countersOf(globalThis);
      // Two batches a block, which show the block's own memory.
      const buffers = new Set<unknown>();
      for await (const { x } of kept.iterBatches({ batchSize: 100_000 })) buffers.add(x.buffer);
      const here = countersOf(globalThis);
      expect(here.copiedBytes - before.copiedBytes).toBe(0);
      expect(here.mappedBytes - before.mappedBytes).toBeGreaterThanOrEqual(bytes);
      expect(buffers.size).toBe(2);
      const counted = await kept
        .mapBatches(({ x }) => {
          const { copiedBytes, mappedBytes } = countersOf(globalThis);
          return { pid: [process.pid], read: [x.byteLength], copiedBytes: [copiedBytes], mappedBytes: [mappedBytes] };
        })
        .takeAll();
      expect(counted.map(({ read }) => read)).toEqual([bytes / 2, bytes / 2]);
      // The bytes that each worker has copied since its start.
      expect(counted.map(({ copiedBytes }) => copiedBytes)).toEqual([0, 0]);
      for (const { mappedBytes } of counted) expect(mappedBytes).toBeGreaterThanOrEqual(bytes / 2);
      expect(counted.every(({ pid }) => pid !== process.pid)).toBe(true);
    },
  );

  test("find the elements of a block 64-byte aligned in shared memory", async () => {
    const rows = data.fromNumpy(new NdArray(new Uint8Array(300_000), [100, 3000])).map((row) => row);
    for await (const { data: all } of rows.iterTensors({ batchSize: 100 })) {
      expect(all.data.byteOffset % 64).toBe(0);
      expect(all.data.buffer.byteLength).toBeGreaterThanOrEqual(300_000);
    }
  });

  test("are told which column is no array", async () => {
    const first = (dataset: data.Dataset): Promise<unknown> => dataset.iterTensors().next();
    await expect(first(data.fromItems([{ t: "a" }]))).rejects.toThrow('Column "t" is of the type string');
    await expect(first(data.fromItems([{ n: 1 }, { n: null }]))).rejects.toThrow('Column "n" has 1 nulls');
    await expect(first(data.fromItems(ragged(3)))).rejects.toThrow('Column "image" has tensors of different shapes');
    await expect(first(data.fromItems([{ n: 1 }])).then(() => data.range(1).iterTensors({ batchSize: 0 }).next())).rejects.toThrow(
      "batchSize",
    );
  });

  test("have Arrow tables in batches", async () => {
    let rows = 0;
    for await (const { stream } of data.range(1000).iterBatches({ batchFormat: "arrow", batchSize: 300 }))
      rows += tableFromIPC(stream).numRows;
    expect(rows).toBe(1000);
    const doubled = data.range(10).mapBatches(
      function* (table) {
        yield table;
        yield new Uint8Array(table.stream);
      },
      { batchFormat: "arrow" },
    );
    expect(await doubled.count()).toBe(20);
    expect((await data.range(5).takeBatch(3, { batchFormat: "arrow" })).stream.length).toBeGreaterThan(0);
    const empty = await data.range(0).toArrow();
    expect(tableFromIPC(empty.stream).numRows).toBe(0);
  });
});
