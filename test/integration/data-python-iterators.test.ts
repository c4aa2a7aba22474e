/** Parts of datasets that Python consumes: epochs, batches in all formats, memory, mixing, early ends; and classes that both languages know. */
import { join } from "node:path";
import { get, NdArray, python, remote } from "shoal";
import * as data from "shoal/data";
import { deregisterSerializer, registerSerializer } from "shoal/util";
import { describe, expect, test } from "vitest";
import { PYTHON_FOLDER, scientificPython, unless } from "./python-places.ts";
import { failureOf, useSession } from "./session.ts";

const found = scientificPython();
const problem = "problem" in found ? found.problem : undefined;
const FILE = join(PYTHON_FOLDER, "iterators.py");

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const ascending = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);

interface Consumer {
  epoch(options?: object): number[][];
  rows(count?: number): { id: number }[];
  again(times: number): number[];
  materialized(): [number[][], number[][], string];
  shuffled(seed: number | null, buffer: number): number[];
  formats(): [string, number][];
  failing(): [string, string, string | null] | null;
  memory(): [boolean, boolean, string][];
  overlap(batches: number): number[];
}

const consumer = python.actor<Consumer, [data.DataIterator]>(FILE, "Consumer");
const task = <F extends (...args: never[]) => unknown>(name: string) => python.task<F>(FILE, name);

async function consumersOf(dataset: data.Dataset, n: number, options: data.StreamingSplitOptions = {}) {
  const actorClass = consumer.options({ numCpus: 0 });
  return (await dataset.streamingSplit(n, options)).map((part) => actorClass.remote(part));
}

async function only(dataset: data.Dataset) {
  return (await consumersOf(dataset, 1))[0] as Awaited<ReturnType<typeof consumersOf>>[number];
}

const blocksOf = (blocks: number, rows: number): data.Dataset<{ id: number }> => data.range(blocks * rows).repartition(blocks);

describe.skipIf(problem !== undefined)(`Python consumes parts of datasets${unless(problem)}`, () => {
  useSession({ numCpus: 2, runtimeEnv: { python: "venv" in found ? join(found.venv, "bin", "python3") : undefined } });

  test("parts arrive as DataIterator and have all rows once, in each of several epochs", async () => {
    const [part] = await data.range(10).streamingSplit(1);
    expect(await task<(part: unknown) => unknown>("kind").remote(part)).toEqual(["shoal._data_iterator", true, "DataIterator(split 0)"]);
    const consumers = await consumersOf(
      blocksOf(8, 100).map(({ id }) => ({ id: id + 1 })),
      2,
    );
    for (let epoch = 0; epoch < 3; epoch += 1) {
      const ids = await get(consumers.map((one) => one.epoch.remote()));
      expect(ascending(ids.flat(2))).toEqual(upTo(800).map((id) => id + 1));
    }
  });

  test("TypeScript and Python consume parts of one dataset, which are equal", async () => {
    const [first, second] = await blocksOf(7, 31).streamingSplit(2, { equal: true });
    const ours = remote(async (part: data.DataIterator<{ id: number }>) => {
      const ids: number[] = [];
      for await (const { id } of part) ids.push(id);
      return ids;
    });
    const theirs = consumer.options({ numCpus: 0 }).remote(second as data.DataIterator);
    const [a, b] = await get([ours.remote(first as data.DataIterator<{ id: number }>), theirs.epoch.remote()] as const);
    expect([a.length, b.flat().length]).toEqual([108, 108]);
    expect(new Set([...a, ...b.flat()]).size).toBe(216);
  });

  test("batches have their size across blocks, and drop_last leaves out the last one", async () => {
    const one = await only(blocksOf(5, 33));
    const batches = await one.epoch.remote({ batch_size: 50 });
    expect(batches.map((batch) => batch.length)).toEqual([50, 50, 50, 15]);
    expect(batches.flat()).toEqual(upTo(165));
    expect((await one.epoch.remote({ batch_size: 50, drop_last: true })).map((batch) => batch.length)).toEqual([50, 50, 50]);
    expect((await one.epoch.remote({ batch_size: 7, prefetch_batches: 20 })).flat()).toEqual(upTo(165));
    expect((await one.epoch.remote({ prefetch_batches: 0 })).map((batch) => batch.length)).toEqual([165]);
    expect((await one.epoch.remote({ batch_size: null })).map((batch) => batch.length)).toEqual([33, 33, 33, 33, 33]);
    expect(await one.again.remote(3)).toEqual([165, 165, 165]);
    expect((await one.rows.remote()).slice(0, 2)).toEqual([{ id: 0 }, { id: 1 }]);
    expect(await one.formats.remote()).toEqual([
      ["dict", 4],
      ["dict", 4],
      ["DataFrame", 4],
      ["Table", 4],
      ["Table", 4],
    ]);
  });

  test("whole numbers beside nulls are floats where these hold them, and else Python's own", async () => {
    const exact = async (n: bigint): Promise<string[][]> => {
      const [part] = await data
        .fromItems([{ n }, { n: null }])
        .repartition(1)
        .streamingSplit(1);
      return task<(part: unknown) => string[][]>("exact").remote(part);
    };
    expect(await exact(2n ** 53n - 1n)).toEqual(Array.from({ length: 3 }, () => ["9007199254740991.0", "nan"]));
    expect(await exact(-(2n ** 53n) - 1n)).toEqual(Array.from({ length: 3 }, () => ["-9007199254740993", "None"]));
  });

  test("whoever stops early holds nobody up, and a part of which rows are kept needs no other", async () => {
    const [first, second] = (await consumersOf(blocksOf(8, 50), 2, { timeoutMs: 20_000 })) as [
      Awaited<ReturnType<typeof only>>,
      Awaited<ReturnType<typeof only>>,
    ];
    for (let epoch = 0; epoch < 2; epoch += 1) {
      const [some, rest] = await get([first.rows.remote(3), second.epoch.remote()] as const);
      expect(some).toHaveLength(3);
      expect(rest.flat().length).toBeGreaterThan(0);
    }
    const alone = await only(blocksOf(3, 100));
    const [once, twice, text] = await alone.materialized.remote();
    expect(once.flat()).toEqual(upTo(300));
    expect(twice).toEqual(once);
    expect(text).toBe("MaterializedIterator(300 rows)");
  });

  test("mixes rows as far as the buffer reaches, alike for one seed", async () => {
    const one = await only(blocksOf(4, 250));
    const [a, again, other] = [await one.shuffled.remote(7, 100), await one.shuffled.remote(7, 100), await one.shuffled.remote(8, 100)];
    expect(again).toEqual(a);
    expect(other).not.toEqual(a);
    expect(ascending(a)).toEqual(upTo(1000));
    expect(a).not.toEqual(upTo(1000));
    // A row waits in the buffer of 150 at most, and none comes before it was read.
    a.forEach((id, at) => expect(id - at).toBeLessThan(150));
    expect(ascending(await one.shuffled.remote(null, 5000))).toEqual(upTo(1000));
    expect(ascending(await one.shuffled.remote(1, 1))).toEqual(upTo(1000));
  });

  test("numbers are shown where they lie in shared memory, without a copy", async () => {
    const x = data.range(200_000).mapBatches(({ id }) => ({ x: Float64Array.from(id) }), { batchSize: 100_000 });
    const facts = await (await only(x)).memory.remote();
    expect(facts).toHaveLength(200);
    // Batches that lie in two blocks are copied: here there is one at most.
    const shown = facts.filter(([owns, writeable, place]) => !owns && !writeable && /shm|memfd|shoal/.test(place));
    expect(shown.length).toBeGreaterThanOrEqual(199);
  });

  test("the next block is made while the one before is used", async () => {
    const slow = blocksOf(6, 10).mapBatches(
      async (batch) => {
        await new Promise((resolve) => setTimeout(resolve, 100));
        return batch;
      },
      { concurrency: 1, batchSize: 10 },
    );
    const one = await only(slow);
    const waits = await one.overlap.remote(1);
    expect(waits.length).toBeGreaterThanOrEqual(3);
    // Without overlap each takes 100 ms.
    expect(ascending(waits.map((seconds) => Math.round(seconds * 1000)))[Math.floor(waits.length / 2)]).toBeLessThan(80);
  });

  test("on threads batches are made ahead: all rows in order, early ends, and errors where their turn comes", async () => {
    const threads = python.actor<Consumer & { early(): [number, number, string[]] }, [data.DataIterator]>(FILE, "Threads", {
      numCpus: 0,
      maxConcurrency: 2,
    });
    const partOf = async (dataset: data.Dataset): Promise<data.DataIterator> => (await dataset.streamingSplit(1))[0] as data.DataIterator;
    const one = threads.remote(await partOf(blocksOf(8, 100)));
    const batches = await one.epoch.remote({ batch_size: 64, prefetch_batches: 3 });
    expect(batches.flat()).toEqual(upTo(800));
    expect(batches.map(({ length }) => length)).toEqual([...Array(12).fill(64), 32]);
    expect(await one.early.remote()).toEqual([10, 800, []]);
    const failing = blocksOf(2, 10).map(function check({ id }) {
      if (id === 13) throw new RangeError("thirteen");
      return { id };
    });
    const [name, message] = (await threads.remote(await partOf(failing)).failing.remote()) ?? [];
    expect(name).toBe("TaskError");
    expect(message).toContain("map(check) at row");
  });

  test("errors of the pipeline and of options arrive as what they are", async () => {
    const failing = blocksOf(2, 10).map(function check({ id }) {
      if (id === 13) throw new RangeError("thirteen");
      return { id };
    });
    const [name, message, cause] = (await (await only(failing)).failing.remote()) ?? [];
    expect([name, cause]).toEqual(["TaskError", "ValueError: thirteen"]);
    expect(message).toContain("map(check) at row");
    const late = await consumersOf(blocksOf(2, 10), 2, { timeoutMs: 200 });
    const [kind, text] = (await late[0]?.failing.remote()) ?? [];
    expect(kind).toBe("DataError");
    expect(text).toContain("split 0 waited 200 ms for split 1");
    const [part] = await data.range(1).streamingSplit(1);
    expect(await task<(part: unknown) => string[]>("wrong_options").remote(part)).toEqual([
      "Cannot call iter_batches: it takes as batch_format one of 'numpy', 'default', 'pandas', 'pyarrow', None: received 'cudf'",
      "Cannot call iter_batches: it takes as batch_size a whole number from 1: received 0",
      "Cannot call iter_batches: it takes as batch_size a whole number from 1: received 'ten'",
      "Cannot call iter_batches: it takes as prefetch_batches a whole number from 0: received -1",
      "iter_batches: batch_size is needed with local_shuffle_buffer_size: received None",
      "Cannot call iter_batches: it takes as local_shuffle_buffer_size a whole number from 1: received 0",
    ]);
  });

  test("parts travel inside of values, between tasks of Python, and back", async () => {
    const [part] = (await data.range(30).streamingSplit(1)) as [data.DataIterator<{ id: number }>];
    expect(await task<(holder: object) => number>("through_python").remote({ part })).toBe(30);
    const answer = await task<(part: object) => Record<string, data.DataIterator<{ id: number }>>>("back").remote(part);
    expect(answer["part"]).toBeInstanceOf(data.DataIterator);
    const ids: number[] = [];
    for await (const { id } of answer["same"] as data.DataIterator<{ id: number }>) ids.push(id);
    expect(ids).toEqual(upTo(30));
  });

  test("rows have values of Python, and arrays", async () => {
    const rows = data.fromItems([
      { t: "é", n: null, l: [1, 2], image: new NdArray(Uint8Array.of(1, 2, 3, 4), [2, 2]) },
      { t: null, n: 2.5, l: [], image: new NdArray(Uint8Array.of(5, 6, 7, 8), [2, 2]) },
    ]);
    const [part] = await rows.streamingSplit(1);
    expect(await task<(part: unknown) => unknown>("rich").remote(part)).toEqual([
      {
        t: "é",
        n: null,
        l: [1, 2],
        image: [
          [1, 2],
          [3, 4],
        ],
      },
      {
        t: null,
        n: 2.5,
        l: [],
        image: [
          [5, 6],
          [7, 8],
        ],
      },
    ]);
  });

  test("a class of the user's that both languages know", async () => {
    class Point {
      readonly x: number;
      readonly y: number;
      constructor(x: number, y: number) {
        this.x = x;
        this.y = y;
      }
    }
    const serializer = { serialize: ({ x, y }: Point) => ({ x, y }), deserialize: ({ x, y }: { x: number; y: number }) => new Point(x, y) };
    const isPoint = remote((points: unknown[]) => points.map((point) => point instanceof Point));
    try {
      registerSerializer(Point, serializer);
      const [name, passed] = await task<(value: Point) => [string, Point]>("passed_on").remote(new Point(5, 6));
      expect([name, passed]).toEqual(["RegisteredValue", new Point(5, 6)]);
      registerSerializer(Point, { ...serializer, python: `${FILE}:Point` });
      const points = await task<(points: Point[]) => Point[]>("mirrored").remote([new Point(1, 2), new Point(3, 4)]);
      expect(points).toEqual([new Point(2, 1), new Point(4, 3)]);
      expect(points[0]).toBeInstanceOf(Point);
      expect(await isPoint.remote(points)).toEqual([true, true]);
      registerSerializer(Point, { ...serializer, python: `${FILE}:Nowhere` });
      const failure = await failureOf(task<(value: Point) => unknown>("passed_on").remote(new Point(5, 6)));
      expect(failure.message).toContain("Cannot read an instance of");
      expect(failure.message).toContain("has no Nowhere");
      expect(() => registerSerializer(Point, { ...serializer, python: "Point" })).toThrow('python names a class as "module:Class"');
    } finally {
      deregisterSerializer(Point);
    }
  });
});
