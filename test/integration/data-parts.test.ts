/** Parts, pairs and samples of datasets, and datasets from and to iterators and streams, in in-process mode. */
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import * as data from "shoal/data";
import { describe, expect, test } from "vitest";
import { until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ mode: "inProcess", numCpus: 2 });

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const idsOf = async (dataset: data.Dataset<{ id: number }>): Promise<number[]> => (await dataset.takeAll()).map(({ id }) => id);

describe("parts", () => {
  test("that are split lie behind each other and miss no row", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(40), fc.integer({ min: 1, max: 6 }), fc.boolean(), async (rows, parts, equal) => {
        const cut = await data.range(rows).split(parts, { equal });
        const ids = await Promise.all(cut.map(idsOf));
        expect(ids.flat()).toEqual(upTo(equal ? rows - (rows % parts) : rows));
        const lengths = ids.map((own) => own.length);
        expect(lengths).toHaveLength(parts);
        expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(equal ? 0 : 1);
      }),
      { numRuns: 15 },
    );
  });

  test("go from index to index, or by fractions", async () => {
    const ids = data.range(10);
    expect(await Promise.all((await ids.splitAtIndices([2, 2, 7, 50])).map(idsOf))).toEqual([[0, 1], [], [2, 3, 4, 5, 6], [7, 8, 9], []]);
    expect(await Promise.all((await ids.splitProportionately([0.1, 0.2])).map(idsOf))).toEqual([[0], [1, 2], [3, 4, 5, 6, 7, 8, 9]]);
    await expect(ids.splitAtIndices([3, 2])).rejects.toThrow("ascending order: received [3,2]");
    await expect(ids.splitProportionately([0.5, 0.5])).rejects.toThrow("whose sum is below 1");
    await expect(ids.split(0)).rejects.toThrow("from 1: received 0");
  });

  test("that are materialized tell of the run that made them", async () => {
    const made = await data
      .range(100)
      .map(({ id }) => ({ id }))
      .materialize();
    expect((await made.stats())?.operators.at(-1)).toMatchObject({ rows: 100 });
    expect(await data.range(3).stats()).toBeUndefined();
  });

  test("of a dataset that is made at random are of one making", async () => {
    const [train, held] = await data.range(100).trainTestSplit({ testSize: 0.25, shuffle: true });
    const [a, b] = [await idsOf(train), await idsOf(held)];
    expect([a.length, b.length]).toEqual([75, 25]);
    expect([...a, ...b].toSorted((x, y) => x - y)).toEqual(upTo(100));
    expect(await idsOf(train)).toEqual(a);
  });

  test("have the same part of each value of a column", async () => {
    const rows = data.range(90).map(({ id }) => ({ id, label: id % 9 < 6 ? "a" : id % 9 < 8 ? "b" : null }));
    const [train, held] = await rows.trainTestSplit({ testSize: 0.2, stratify: "label" });
    const counts = async (dataset: typeof rows): Promise<unknown> =>
      (await dataset.groupBy("label").count().sort("label").takeAll()).map((row) => row["count()"]);
    expect([await counts(train), await counts(held)]).toEqual([
      [48, 16, 8],
      [12, 4, 2],
    ]);
    await expect(rows.trainTestSplit({ testSize: 5, stratify: "label" })).rejects.toThrow("between 0 and 1: received 5");
    await expect(rows.trainTestSplit({ testSize: 90 })).rejects.toThrow("fewer rows than the 90");
  });
});

describe("samples", () => {
  test("are of the seed, whatever blocks there are", async () => {
    const sample = await idsOf(data.range(20_000).randomSample(0.1, { seed: 3 }));
    expect(sample.length).toBeGreaterThan(1800);
    expect(sample.length).toBeLessThan(2200);
    expect(sample).toEqual(sample.toSorted((a, b) => a - b));
    expect(await idsOf(data.range(20_000).repartition(7).randomSample(0.1, { seed: 3 }))).toEqual(sample);
    expect(await idsOf(data.range(20_000).randomSample(0.1, { seed: 4 }))).not.toEqual(sample);
    expect(await data.range(100).randomSample(1).count()).toBe(100);
    expect(() => data.range(1).randomSample(2)).toThrow("from 0 to 1: received 2");
  });

  test("may be of blocks alone", async () => {
    const blocks = data.range(1000).repartition(10);
    const ids = await idsOf(blocks.randomizeBlockOrder({ seed: 1 }));
    expect(ids).not.toEqual(upTo(1000));
    expect(ids.toSorted((a, b) => a - b)).toEqual(upTo(1000));
    expect(await idsOf(blocks.randomizeBlockOrder({ seed: 1 }))).toEqual(ids);
    expect(ids.slice(0, 100)).toEqual(upTo(100).map((i) => i + (ids[0] as number)));
  });
});

describe("a zip", () => {
  test("pairs rows by their numbers, however they lie in blocks", async () => {
    const left = data.range(5000);
    const right = data
      .range(5000)
      .map(({ id }) => ({ id: -id, text: `t${id}` }))
      .repartition(3);
    const rows = await left.zip(right).takeAll();
    expect(rows.length).toBe(5000);
    expect(rows[4999]).toEqual({ id: 4999, id_1: -4999, text: "t4999" });
    expect(rows.every((row) => (row as unknown as { id_1: number }).id_1 === -row.id)).toBe(true);
  });

  test("needs as many rows on each side", async () => {
    await expect(data.range(3).zip(data.range(4)).takeAll()).rejects.toThrow("different numbers of rows: 3, 4");
  });
});

describe("an iterator", () => {
  test("is read as far as it is needed, and returned", async () => {
    let given = 0;
    let isReturned = false;
    async function* endless(): AsyncGenerator<{ n: number }> {
      try {
        for (;;) yield { n: given++ };
      } finally {
        isReturned = true;
      }
    }
    const rows = await data
      .fromAsyncIterable(endless(), { rowsPerBlock: 10 })
      .map(({ n }) => ({ n: n * 2 }))
      .take(25);
    expect(rows.map(({ n }) => n)).toEqual(upTo(25).map((n) => n * 2));
    await until(() => isReturned, "the iterator to be returned");
    const read = given;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(given).toBe(read);
  });

  test("is read once, and its error is the pipeline's", async () => {
    const once = data.fromAsyncIterable([1, 2, 3]);
    expect(await once.toItems()).toEqual([1, 2, 3]);
    await expect(once.toItems()).rejects.toThrow("its items were read before");
    async function* failing(): AsyncGenerator<number> {
      yield 1;
      throw new Error("no more");
    }
    await expect(data.fromAsyncIterable(failing()).takeAll()).rejects.toThrow("no more");
    expect(() => data.fromAsyncIterable(5 as never)).toThrow("takes an iterable: received 5");
  });
});

test("streams of bytes are CSV, JSON lines or Arrow", async () => {
  const rows = data.fromItems([
    { a: 1, b: "x,y" },
    { a: null, b: "z" },
  ]);
  expect(await new Response(rows.toReadableStream({ format: "csv" })).text()).toBe('a,b\n1,"x,y"\n,z\n');
  expect(await new Response(rows.toReadableStream({ format: "jsonl" })).text()).toBe('{"a":1,"b":"x,y"}\n{"a":null,"b":"z"}\n');
  const many = data
    .range(1000)
    .repartition(7)
    .map(({ id }) => ({ id, half: id % 2 === 0 ? id / 2 : null, text: `${id}`, list: [id, null] }));
  const arrow = await new Response(many.toReadableStream({ format: "arrow" })).bytes();
  expect(await data.fromArrow(arrow).takeAll()).toEqual(await many.takeAll());
  expect(
    await data.fromArrow(await new Response(data.fromItems<{ a: number }>([]).toReadableStream({ format: "arrow" })).bytes()).count(),
  ).toBe(0);
});

test("a reader with a concurrency of one reads a part after the other, in order, while functions go on beside it", async () => {
  const log = join(folder, "reads");
  const read = async function* (): AsyncGenerator<{ n: Float64Array }> {
    appendFileSync(log, "(");
    await new Promise((resolve) => setTimeout(resolve, 30));
    yield { n: new Float64Array(10) };
    appendFileSync(log, ")");
  };
  const source = { name: "parts", getReadTasks: () => Array.from({ length: 6 }, () => ({ read })) };
  expect(
    await data
      .readDatasource<{ n: number }>(source, { concurrency: 1 })
      .map((row) => row)
      .count(),
  ).toBe(60);
  expect(readFileSync(log, "utf8")).toBe("()".repeat(6));
  for (const name of ["1", "2", "3"]) writeFileSync(join(folder, `part ${name}.csv`), `x\n${name}\n`);
  expect(await data.readCsv(join(folder, "part *.csv"), { concurrency: 1 }).takeAll()).toEqual([{ x: 1 }, { x: 2 }, { x: 3 }]);
});

test("a reader names options that it does not know, and its tasks theirs", () => {
  const read = (options: object) => () => data.readCsv("rides.csv", options);
  expect(read({ encoding: "klingon" })).toThrow("Cannot set encoding of readCsv: one of utf-8, utf-16le, ");
  expect(() => data.readText("a.txt", { encoding: "klingon" })).toThrow('or another label of one, such as latin1: received "klingon"');
  expect(read({ delimeter: ";" })).toThrow('Cannot set options of readCsv: there is no option "delimeter": did you mean delimiter?');
  expect(read({ num_cpus: 1 })).toThrow("Cannot set options of a task");
  expect(read({ columns: ["x", "x"] })).toThrow(
    'Cannot set columns of readCsv: an array of texts, none of them twice, is needed: received ["x", "x"]',
  );
  expect(read({ numCpus: "two" })).toThrow("Cannot set numCpus of a task");
  expect(read({ numCpus: 2, delimiter: ";" })).not.toThrow();
});
