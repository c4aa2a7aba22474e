/** `mapBatches` with functions and classes of Python, in real workers of Python: formats, types, memory, failures and deaths. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { NdArray, put, python, type PythonTaskOptions, TaskError } from "shoal";
import * as data from "shoal/data";
import { describe, expect, test } from "vitest";
import { PYTHON_FOLDER, scientificPython, unless } from "./python-places.ts";
import { sharedMemory } from "../../src/runtime/os/shared-memory.ts";
import { driverRuntime, failureOf, useFolder, useSession } from "./session.ts";

const found = scientificPython();
const problem = "problem" in found ? found.problem : undefined;
const folder = useFolder();
const FILE = join(PYTHON_FOLDER, "batches.py");

const fn = (name: string, options?: PythonTaskOptions): data.PythonTask => python.task(FILE, name, options);
const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

describe.skipIf(problem !== undefined)(`Python's part of a pipeline${unless(problem)}`, () => {
  useSession({ numCpus: 2, runtimeEnv: { python: "venv" in found ? join(found.venv, "bin", "python3") : undefined } });

  const values = data.fromItems([
    { n: 1.5, i: 7n, t: "é😀", b: true, at: new Date(5), l: [1, null], bytes: Uint8Array.of(1, 2), s: { x: 1, y: "a" }, none: null },
    { n: null, i: 2n ** 62n, t: "", b: false, at: null, l: [], bytes: null, s: { x: null, y: "b" }, none: null },
    { n: -0, i: null, t: null, b: null, at: new Date(1e12), l: null, bytes: new Uint8Array(0), s: { x: 3, y: null }, none: null },
  ]);

  test.each(["arrow", "numpy", "pandas"] as const)("gives back what it was given in %s", async (batchFormat) => {
    const rows = data.range(1000).map(({ id }) => ({ id, half: id / 2, name: `n${id}` }));
    expect(await rows.mapBatches<{ id: number }>(fn("same"), { batchFormat }).takeAll()).toEqual(await rows.takeAll());
  });

  test("keeps all types, nulls, big integers and slices in Arrow", async () => {
    const rows = await values.takeAll();
    expect(await values.mapBatches(fn("same"), { batchFormat: "arrow" }).takeAll()).toEqual(rows);
    expect(await values.limit(3).mapBatches(fn("same"), { batchFormat: "arrow", batchSize: 2 }).takeAll()).toEqual(rows);
    const counts = data
      .range(3)
      .selectColumns([
        data.col("id").cast("time32[s]").as("s"),
        data.col("id").cast("time64[us]").as("us"),
        data.col("id").cast("duration[ns]").as("ns"),
      ]);
    expect(await counts.mapBatches(fn("same"), { batchFormat: "arrow" }).takeAll()).toEqual(await counts.takeAll());
    const names = await counts.mapBatches<{ types: string }>(fn("types"), { batchFormat: "arrow" }).take(1);
    expect(names[0]?.types).toBe("[('ns', 'duration[ns]'), ('s', 'time32[s]'), ('us', 'time64[us]')]");
    const many = data
      .range(3000)
      .map(({ id }) => ({ id, odd: id % 2 === 1, t: id % 3 === 0 ? null : `${id}`, n: id % 5 === 0 ? null : id }));
    const cut = many.filter(({ id }) => id > 10).limit(2500);
    expect(await cut.mapBatches(fn("same"), { batchFormat: "arrow", batchSize: 7 }).takeAll()).toEqual(await cut.takeAll());
    const texts = await many.mapBatches<{ types: string }>(fn("types"), { batchFormat: "arrow" }).take(1);
    expect(texts[0]?.types).toBe("[('id', 'int64'), ('n', 'double'), ('odd', 'bool'), ('t', 'string')]");
  });

  test.each(["numpy", "pandas"] as const)("never rounds whole numbers beside nulls in %s", async (batchFormat) => {
    const large = 2n ** 60n + 1n;
    const rows = data.fromItems([
      { big: large, list: [large, null], inside: { big: large }, small: 5n },
      { big: null, list: null, inside: { big: null }, small: null },
      { big: -large, list: [], inside: null, small: 6n },
    ]);
    // In one block, and in blocks of a row each, of which some have no null and one has nothing else.
    for (const laid of [rows.repartition(1), rows.repartition({ rowsPerBlock: 1, strict: true })]) {
      const same = laid.mapBatches(fn("same"), { batchFormat });
      expect(await same.takeAll()).toEqual(await rows.takeAll());
      expect(String(await same.schema())).toContain("list<int64 as bigint>");
    }
    const kinds = rows.repartition(1).mapBatches<{ big: string; small: string }>(fn("kinds"), { batchFormat });
    expect((await kinds.take(1))[0]).toMatchObject({ big: "object of int NoneType int", small: "object of int NoneType int" });
    // Columns that TypeScript reads as numbers are floats, as in Ray.
    const plain = data.fromItems([{ n: 5 }, { n: null }]).withColumn("n", data.col("n").cast("int64"));
    const floats = plain.repartition(1).mapBatches<{ n: string }>(fn("kinds"), { batchFormat });
    expect((await floats.take(1))[0]?.n).toBe("float64 of float float");
  });

  test("reads numbers in shared memory, where they lie, and what it gives is read so", async () => {
    const x = data.range(200_000).mapBatches(({ id }) => ({ x: Float64Array.from(id) }), { batchSize: 100_000 });
    const kept = await x.materialize();
    for (const batchFormat of ["numpy", "arrow"] as const) {
      const places = kept.mapBatches<{ place: string; aligned: boolean; writeable: boolean }>(fn("addresses"), { batchFormat });
      const rows = await places.takeAll();
      expect(rows).toHaveLength(200_000);
      expect(new Set(rows.map(({ aligned, writeable }) => `${aligned} ${writeable}`))).toEqual(new Set(["true false"]));
      for (const place of new Set(rows.map((row) => row.place))) expect(place).toMatch(/shm|memfd|shoal/);
    }
    const given = await data.range(200_000).repartition(2).mapBatches<{ id: number }>(fn("doubled")).materialize();
    const { counters } = driverRuntime().store;
    const before = { ...counters };
    expect(await given.sum("id")).toBe(199_999 * 200_000);
    let rows = 0;
    for await (const batch of given.iterBatches({ batchSize: 100_000 })) rows += data.rowCount(batch);
    expect(rows).toBe(200_000);
    expect(counters.mappedBytes - before.mappedBytes).toBeGreaterThanOrEqual(8 * 200_000);
    if (sharedMemory() !== undefined) expect(counters.copiedBytes - before.copiedBytes).toBe(0);
  });

  test("takes and gives columns with dictionaries, which are categories in pandas, where they lie", async () => {
    const made = await data
      .range(200_000)
      .repartition(2)
      .mapBatches<{ id: number; x: string }>(fn("categories"), { batchFormat: "pandas" })
      .materialize();
    const rows = await made.takeAll();
    expect(rows.slice(0, 3).map(({ x }) => x)).toEqual([null, "n1", "n2"]);
    const types = { arrow: "dictionary<string>", pandas: "dictionary<string>", numpy: "string" };
    for (const [batchFormat, type] of Object.entries(types)) {
      const same = await made.mapBatches(fn("same"), { batchFormat: batchFormat as "arrow" }).materialize();
      expect((await same.schema()).types[1]).toBe(type);
      expect(await same.takeAll()).toEqual(rows);
    }
    const seen = await made.mapBatches<{ types: string }>(fn("types"), { batchFormat: "arrow" }).take(1);
    expect(seen[0]?.types).toBe("[('id', 'int64'), ('x', 'dictionary<values=string, indices=int8, ordered=0>')]");
    const places = await made.mapBatches<{ place: string }>(fn("addresses"), { batchFormat: "arrow" }).takeAll();
    for (const place of new Set(places.map((row) => row.place))) expect(place).toMatch(/shm|memfd|shoal/);
    const beside = made
      .limit(3)
      .selectColumns(["x"])
      .union(data.fromItems<{ x: string }>([{ x: "plain" }, { x: null as never }]));
    const together = beside.mapBatches<{ x: string }>(fn("same"), { batchFormat: "arrow", batchSize: 5 });
    expect((await together.takeAll()).map(({ x }) => x)).toEqual([null, "n1", "n2", "plain", null]);
    const many = data.range(600).repartition(6).mapBatches<{ x: string }>(fn("distinct"), { batchFormat: "arrow" });
    const joined = many.mapBatches<{ x: string }>(fn("same"), { batchFormat: "arrow", batchSize: 600 });
    expect((await joined.takeAll()).map(({ x }) => x)).toEqual(upTo(600).map((n) => `n${n}`));
    const twice = data.range(1).mapBatches<{ x: string }>(fn("repeated"), { batchFormat: "arrow" });
    expect(await twice.mapBatches(fn("same"), { batchFormat: "pandas" }).takeAll()).toEqual([{ x: "a" }, { x: "b" }, { x: "a" }]);
  });

  test("gives of a large dictionary what the rows of each batch have", async () => {
    const one = data.range(200).repartition(1).mapBatches<{ x: string }>(fn("distinct"), { batchFormat: "arrow" });
    const cut = await one.mapBatches(fn("same"), { batchFormat: "arrow", batchSize: 2 }).materialize();
    expect((await cut.takeAll()).map(({ x }) => x)).toEqual(upTo(200).map((n) => `n${n}`));
    expect(await cut.sizeBytes()).toBeLessThan(20_000);
  });

  test("takes batches of a size, pandas, and generators", async () => {
    const sized = await data.range(100).mapBatches<{ id: number; rows: number }>(fn("doubled"), { batchSize: 30 }).takeAll();
    expect(sized.map(({ id }) => id)).toEqual(upTo(100).map((id) => 2 * id));
    expect(Math.max(...sized.map(({ rows }) => rows))).toBe(30);
    const frame = await data
      .fromItems([{ a: 1 }, { a: null }])
      .mapBatches(fn("with_pandas"), { batchFormat: "pandas" })
      .takeAll();
    expect(frame).toEqual([
      { a: 1, total: 2 },
      { a: null, total: 1 },
    ]);
    const generated = await data.range(7).repartition(1).mapBatches<{ id: number }>(fn("parts")).takeAll();
    expect(generated.map(({ id }) => id)).toEqual([1, 2, 2, 4, 5, 5]);
  });

  test("gives and takes arrays of several dimensions", async () => {
    const images = data.range(10).mapBatches<{ id: number; image: NdArray }>(fn("images"));
    const [first] = await images.repartition(1).take(1);
    expect(first?.image).toEqual(new NdArray(Uint8Array.of(0, 1, 2, 3, 4, 5), [2, 3]));
    const means = await images.mapBatches<{ mean: number; shape: string }>(fn("brightness")).takeAll();
    expect(new Set(means.map(({ shape }) => shape))).toEqual(new Set(["(2, 3)"]));
    expect(means[0]?.mean).toBe(2.5);
  });

  test("runs between steps of JavaScript, with a limit behind and options of its own", async () => {
    const rows = data
      .range(1000)
      .map(({ id }) => ({ id: id + 1 }))
      .mapBatches<{ id: number }>(fn("doubled", { numCpus: 1 }), { concurrency: 1 })
      .filter(({ id }) => id % 3 === 0);
    expect(rows.explain()).toContain("MapTasks mapBatches(doubled) x 1");
    expect((await rows.takeAll()).map(({ id }) => id)).toEqual(
      upTo(1001)
        .map((id) => 2 * id)
        .filter((id) => id > 0 && id % 3 === 0),
    );
    expect(await rows.limit(5).count()).toBe(5);
    expect(await data.range(0).mapBatches(fn("fails")).takeAll()).toEqual([]);
  });

  test("names the function and what it gave or threw", async () => {
    const message = async (name: string, options?: data.MapBatchesPythonOptions): Promise<string> =>
      (await failureOf(data.range(3).repartition(1).mapBatches(fn(name), options).takeAll())).message;
    expect(await message("fails")).toContain("no batch of 3");
    expect(await message("wrong")).toContain("mapBatches(wrong): the function gives a dict of arrays");
    expect(await message("wrong")).toContain("received list");
    expect(await message("ragged")).toContain("received a: 2, b: 3");
    expect(await message("single")).toContain("column 'a' is no array of one type: it is a single value");
    expect(await message("intervals")).toContain("column 'a': there is no column of the type month_day_nano_interval");
    expect(await message("later")).toContain("mapBatches(later): the function is async");
    expect(await message("nowhere")).toContain("has no nowhere");
    expect(() => data.range(1).mapBatches(fn("same"), { batchFormat: "rows" as "numpy" })).toThrow("batchFormat");
    expect(() => data.range(1).mapBatches(fn("same"), { constructorArgs: [1] } as object)).toThrow("constructorArgs with a class");
  });

  test("functions and classes get arguments by place and by name, and references as their values", async () => {
    type Scaled = { id: number; label: string };
    const rows = data.range(3).repartition(1);
    const scaled = await rows.mapBatches<Scaled>(fn("scaled"), { fnArgs: [put(10), 1], fnKwargs: { label: put("ten") } }).takeAll();
    expect(scaled).toEqual(upTo(3).map((id) => ({ id: 10 * id + 1, label: "ten" })));
    const scaler = python.actor(FILE, "Scaler");
    const options = {
      constructorArgs: [2],
      constructorKwargs: { offset: put(5) },
      fnArgs: ["a"],
      fnKwargs: { suffix: "!" },
      concurrency: 1,
    };
    expect(await rows.mapBatches<Scaled>(scaler, options).takeAll()).toEqual(upTo(3).map((id) => ({ id: 2 * id + 5, label: "a!" })));
    const unknown = await failureOf(rows.mapBatches(fn("scaled"), { fnArgs: [1], fnKwargs: { colour: 1 } }).takeAll());
    expect(unknown.message).toContain("unexpected keyword argument 'colour'");
    expect(() => rows.mapBatches(fn("scaled"), { fnKwargs: { "a b": 1 } })).toThrow('not "a b"');
    expect(() => rows.mapBatches(fn("scaled"), { fnArgs: "a" as never })).toThrow("fnArgs of mapBatches: an array is needed");
    expect(() => rows.mapBatches(fn("scaled"), { fnKwargs: [1] as never })).toThrow("names of Python's arguments");
    expect(() => rows.mapBatches(fn("scaled"), { constructorKwargs: {} } as object)).toThrow("constructorKwargs with a class");
    expect(() => rows.mapBatches((batch) => batch, { fnKwargs: {} } as object)).toThrow("fnKwargs with code of Python");
  });

  test("errors name the step, the file and the rows, with the traceback of Python", async () => {
    const lines = (from: number, count: number): string =>
      upTo(count)
        .map((i) => `Rome,${from + i}`)
        .join("\n");
    writeFileSync(join(folder, "a.csv"), `city,km\n${lines(0, 10)}\n`);
    writeFileSync(join(folder, "b.csv"), `city,km\n${lines(100, 10)}\n`);
    const rides = data.readCsv<{ city: string; km: number }>([join(folder, "a.csv"), join(folder, "b.csv")]);
    const refuse = async (dataset: data.Dataset, number: number, options: data.MapBatchesPythonOptions = {}): Promise<TaskError> => {
      const failure = await failureOf(dataset.mapBatches(fn("refuses"), { fnArgs: [number], ...options }).takeAll());
      expect(failure).toBeInstanceOf(TaskError);
      return failure as TaskError;
    };
    const whole = await refuse(rides, 104);
    expect(whole.message).toBe(
      `Task mapBatches(refuses) at rows 1 to 10 of ${join(folder, "b.csv")} failed: ValueError: no ride of 104 km`,
    );
    expect(whole.details).toEqual({ file: join(folder, "b.csv"), firstRow: 1, lastRow: 10 });
    expect(whole.cause).toMatchObject({ message: "no ride of 104 km" });
    expect(whole.remoteStack).toContain('batches.py", line');
    expect(whole.remoteStack).toContain("raise ValueError(");
    expect(whole.remoteStack).not.toContain("_data.py");
    expect(whole.stack?.split("\n")[1]).toMatch(/at refuses \(.*batches\.py:\d+\)/);
    expect((await refuse(rides, 7, { batchSize: 3 })).message).toContain(`at rows 7 to 9 of ${join(folder, "a.csv")} failed`);
    const filtered = rides.filter(({ km }) => km % 2 === 1);
    expect((await refuse(filtered, 105)).message).toContain(`at rows 2 to 10 of ${join(folder, "b.csv")} failed`);
    const mapped = rides.map(({ km }) => ({ km: km + 1 }));
    expect((await refuse(mapped, 5, { batchSize: 1, concurrency: 1 })).message).toContain(`at row 5 of ${join(folder, "a.csv")} failed`);
    const gathered = await refuse(rides, 101, { batchSize: 20, concurrency: 1 });
    expect(gathered.message).toContain(`at rows 1 to 10 of ${join(folder, "a.csv")} and rows 1 to 10 of ${join(folder, "b.csv")} failed`);
    const unknown = await refuse(
      data
        .range(30)
        .map(({ id }) => ({ km: id }))
        .repartition(1),
      12,
      { batchSize: 5 },
    );
    expect(unknown.message).toContain("at rows 11 to 15 of the 30 in its block failed");
    const later = await failureOf(rides.mapBatches(fn("refuses_later"), { fnArgs: [3] }).takeAll());
    expect(later.message).toContain(`mapBatches(refuses_later) at rows 1 to 10 of ${join(folder, "a.csv")} failed`);
    const pool = { constructorArgs: [3], concurrency: 1 };
    const inPool = await failureOf(rides.mapBatches(python.actor(FILE, "Refuser"), pool).takeAll());
    expect(inPool.message).toContain(`mapBatches(Refuser) at rows 1 to 10 of ${join(folder, "a.csv")} failed: ValueError`);
    const lenient = rides.mapBatches(fn("refuses"), { fnArgs: [3] }).withSettings({ maxErroredBlocks: 1 });
    expect(await lenient.count()).toBe(10);
  });

  test("a worker that dies changes nothing", async () => {
    const env = { runtimeEnv: { envVars: { MARKER: join(folder, "died") } } };
    const ids = await data.range(1000).repartition(10).mapBatches<{ id: number }>(fn("dies_once"), env).takeAll();
    expect(ids.map(({ id }) => id)).toEqual(upTo(1000));
  });

  test("classes run in pools of actors, which are replaced", async () => {
    const adder = python.actor<{ run(): void }, [number, string?]>(FILE, "Adder");
    const pool = { constructorArgs: [10, join(folder, "adder")], concurrency: 2, batchSize: 50 };
    const rows = await data.range(1000).repartition(20).mapBatches<{ id: number; pid: number }>(adder, pool).takeAll();
    expect(rows.map(({ id }) => id)).toEqual(upTo(1000).map((id) => id + 10));
    expect(new Set(rows.map(({ pid }) => pid)).size).toBeGreaterThanOrEqual(2);
    const broken = data.range(10).mapBatches(python.actor(FILE, "NotCallable"), { concurrency: 1 });
    expect((await failureOf(broken.takeAll())).message).toContain("a class of a transform has a method __call__(self, batch)");
    const unmade = data.range(10).mapBatches(python.actor(FILE, "Adder"), { concurrency: 1 });
    expect((await failureOf(unmade.takeAll())).message).toContain("Cannot make an actor of mapBatches(Adder)");
  });
});
