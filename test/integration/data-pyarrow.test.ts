/** Files of arrays and tables between us and Python's libraries: what NumPy and pyarrow write we read, and they read what we write. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { NdArray } from "shoal";
import * as data from "shoal/data";
import { describe, expect, test } from "vitest";
import { PYTHON_FOLDER, scientificPython, unless } from "./python-places.ts";
import { useFolder, useSession } from "./session.ts";

const found = scientificPython();
const problem = "problem" in found ? found.problem : undefined;
const folder = useFolder();

/** Calls a function of `data_files.py`; the result is what it prints. */
function python(name: string, ...args: string[]): unknown {
  const program = "venv" in found ? join(found.venv, "bin", "python3") : "";
  const { status, stdout, stderr } = spawnSync(program, [join(PYTHON_FOLDER, "data_files.py"), name, ...args], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return stdout === "" ? undefined : JSON.parse(stdout);
}

describe.skipIf(problem !== undefined)(`Python's libraries${unless(problem)}`, () => {
  useSession({ numCpus: 2, objectStoreMemoryBytes: 128 * 2 ** 20 });

  test("tensors that pyarrow writes", async () => {
    python("write_tensors", folder);
    const expected = Array.from({ length: 4 }, (_, row) => ({
      t: new NdArray(
        Int16Array.from({ length: 6 }, (__, i) => row * 6 + i),
        [3, 2],
      ),
      n: row % 2 === 1 ? null : new NdArray(Float32Array.of(row + 1, row + 2), [2]),
      // The elements lie in another order than the dimensions, so the tensor stays a list, as it is stored.
      turned: Array.from({ length: 6 }, (__, i) => row * 6 + i),
    }));
    expect(await data.readParquet(`${folder}/tensors.parquet`).takeAll()).toEqual(expected);
    expect(await data.fromArrow(readFileSync(`${folder}/tensors.arrow`)).takeAll()).toEqual(expected);
  });

  test("arrays that NumPy writes: all types, orders of bytes and of dimensions, versions, archives", async () => {
    const path = join(folder, "numpy");
    mkdirSync(path);
    const expected = python("write_arrays", path) as Record<string, number[]>;
    expect(Object.keys(expected).length).toBe(48);
    for (const [name, elements] of Object.entries(expected)) {
      const rows = await data.readNumpy(`${path}/${name}.npy`).takeAll();
      expect(rows.map(({ data: tensor }) => tensor.shape)).toEqual([
        [2, 2],
        [2, 2],
        [2, 2],
      ]);
      expect([name, ...rows.flatMap(({ data: tensor }) => Array.from(tensor.data as Float64Array, Number))]).toEqual([name, ...elements]);
    }
    expect(await data.readNumpy(`${path}/version*.npy`, { includePaths: true }).takeAll()).toEqual(
      [1, 2, 3].flatMap((version) => [0, 1, 2].map((n) => ({ data: n, path: `${path}/version${version}.npy` }))),
    );
    for (const archive of ["stored", "deflated"])
      expect(await data.readNumpy(`${path}/${archive}.npz`).takeAll()).toEqual(
        [0, 1, 2].map((id) => ({ ids: id, names: new NdArray(Float32Array.of(1, 1), [2]) })),
      );
    expect(await data.readNumpy(`${path}/times.npy`).takeAll()).toEqual([{ data: new Date("2026-01-02T03:04:05.678Z") }, { data: null }]);
    await expect(data.readNumpy(`${path}/objects.npy`).takeAll()).rejects.toThrow("pickled code, which is never run");
    expect(() => data.readNumpy(path, { schema: { data: "string" as never } })).toThrow("int64 as bigint");
  });

  test("arrays that NumPy reads", async () => {
    const tensors = data.rangeTensor(100, { shape: [2, 1], dtype: "int32" }).map(({ data: tensor }) => ({ tensor, flag: true, n: 0.5 }));
    const read = async (column: string): Promise<unknown> => {
      const { files } = await tensors.writeNumpy(join(folder, `npy-${column}`), { column });
      return python("read_arrays", ...files);
    };
    expect(await read("tensor")).toEqual({ dtype: "int32", shape: [100, 2, 1], values: Array.from({ length: 200 }, (_, i) => i >> 1) });
    expect(await read("flag")).toEqual({ dtype: "bool", shape: [100], values: new Array(100).fill(true) });
    expect(await read("n")).toEqual({ dtype: "float64", shape: [100], values: new Array(100).fill(0.5) });
    expect(() => tensors.writeNumpy(folder, {} as never)).toThrow("Cannot call writeNumpy: it takes the name of a column");
  });

  test("decimals that pyarrow writes, exact, and the same for pyarrow again", async () => {
    python("write_decimals", folder);
    const rows = [
      { a: "1.23", w: "12345678901234567890123456789.123", x: `1${"0".repeat(60)}` },
      { a: null, w: null, x: null },
      { a: "-99999.99", w: "-0.001", x: "-1" },
    ];
    for (const name of ["decimals", "integers"]) {
      const decimals = data.readParquet<{ a: string; w: string; x: string }>(`${folder}/${name}.parquet`);
      expect(await decimals.takeAll()).toEqual(rows);
      expect((await decimals.sort("w").takeAll()).map(({ w }) => w)).toEqual(["-0.001", "12345678901234567890123456789.123", null]);
      expect(await decimals.aggregate({ sum: data.sum("w"), least: data.min("a"), most: data.max("x"), mean: data.mean("a") })).toEqual({
        sum: "12345678901234567890123456789.122",
        least: "-99999.99",
        most: `1${"0".repeat(60)}`,
        mean: expect.closeTo(-49999.38, 6),
      });
      const target = join(folder, `again-${name}`);
      await decimals.mapBatches((batch) => batch).writeParquet(target);
      expect(python("read_decimals", target)).toEqual({
        a: ["decimal128(7, 2)", ["1.23", null, "-99999.99"]],
        w: ["decimal128(38, 3)", ["12345678901234567890123456789.123", null, "-0.001"]],
        x: ["decimal256(70, 0)", [expect.stringMatching(/^1(0{60}|E\+60)$/), null, "-1"]],
      });
    }
    const numbers = data.readParquet(`${folder}/decimals.parquet`, { columns: ["a"], decimal: "number" });
    expect(await numbers.takeAll()).toEqual([{ a: 1.23 }, { a: null }, { a: -99999.99 }]);
    expect(await data.fromArrow(readFileSync(`${folder}/narrow.arrow`)).takeAll()).toEqual([
      { d: "1.5", e: "-1.50" },
      { d: null, e: "0.01" },
      { d: "-2.5", e: null },
    ]);
    expect(await data.fromArrow(readFileSync(`${folder}/narrow.arrow`), { decimal: "number" }).sum("e")).toBe(-1.49);
  });

  test("times of day and durations that pyarrow writes, as counts, and the same for pyarrow again", async () => {
    const path = join(folder, "times");
    mkdirSync(path);
    python("write_times", path);
    // Parquet has no times of day in seconds: pyarrow and we write milliseconds.
    const secondsIn = (unit: 1 | 1000) => [
      { t_s: 0, t_ms: 1, t_us: 1n, t_ns: 1n, d_s: -1n, d_ms: -1n, d_us: -1n, d_ns: -1n, l: [1n, null], s: { t: 5 } },
      {
        t_s: 86_399 * unit,
        t_ms: 86_399_999,
        t_us: 86_399_999_999n,
        t_ns: 86_399_999_999_999n,
        d_s: 2n ** 40n,
        d_ms: 2n ** 40n,
        d_us: 2n ** 62n,
        d_ns: 2n ** 62n,
        l: [],
        s: { t: null },
      },
      { t_s: null, t_ms: null, t_us: null, t_ns: null, d_s: null, d_ms: null, d_us: null, d_ns: null, l: null, s: null },
    ];
    const rows = secondsIn(1000);
    const times = data.readParquet<{ t_s: number; t_us: bigint; d_us: bigint; d_s: bigint }>(`${path}/times.parquet`);
    expect(await times.takeAll()).toEqual(rows);
    const inSeconds = data.fromArrow(readFileSync(`${path}/times.arrow`));
    expect(await inSeconds.takeAll()).toEqual(secondsIn(1));
    expect(String(await times.schema())).toMatch(/t_us +time64\[us\]/);
    // The statistics of a file leave no row out that a filter keeps.
    for (const bound of [-2, -1, 0, 2 ** 50])
      expect(await times.filter(data.col("d_us").gt(bound)).count()).toBe([-1n, 2n ** 62n].filter((n) => n > bound).length);
    expect(await times.filter(data.col("t_us").le(1n)).count()).toBe(1);
    expect(await times.aggregate({ least: data.min("d_s"), most: data.max("t_us") })).toEqual({ least: -1n, most: 86_399_999_999n });
    expect((await times.sort("d_us", { descending: true }).takeAll()).map((row) => row.d_us)).toEqual([2n ** 62n, -1n, null]);
    expect((await times.groupBy(["t_s", "d_us"]).count().takeAll()).length).toBe(3);
    await times.writeParquet(join(path, "again"));
    await inSeconds.writeParquet(join(path, "seconds"));
    const counts = (name: string): unknown =>
      rows.map((row) => {
        const count = row[name as "t_s" | "d_s"];
        return count === null ? null : String(count);
      });
    const units = { t_s: "time32[ms]", t_ms: "time32[ms]", t_us: "time64[us]", t_ns: "time64[ns]" };
    const durations = { d_s: "duration[s]", d_ms: "duration[ms]", d_us: "duration[us]", d_ns: "duration[ns]" };
    const expected = Object.fromEntries(Object.entries({ ...units, ...durations }).map(([name, type]) => [name, [type, counts(name)]]));
    expect(python("read_times", join(path, "again"))).toEqual(expected);
    expect(python("read_times", join(path, "seconds"))).toEqual(expected);
    expect(await data.readParquet(join(path, "again")).takeAll()).toEqual(rows);
  });

  test("columns of categories that pandas and pyarrow write, which are categories for them again", async () => {
    const path = join(folder, "categories");
    mkdirSync(path);
    python("write_categories", path);
    const texts = ["b", null, "a", "é", "b", null, "a"];
    const rows = texts.map((c, id) => ({ id, c }));
    const [ofPandas, plain] = [`${path}/pandas.parquet`, `${path}/plain.parquet`];
    for (const read of [
      data.readParquet(ofPandas),
      data.readParquet(`${path}/pyarrow.parquet`),
      data.fromArrow(readFileSync(`${path}/replaced.arrow`)),
      data.fromArrow(readFileSync(`${path}/deltas.arrow`)),
    ]) {
      expect(await read.takeAll()).toEqual(rows);
      expect((await read.schema()).types[1]).toBe("dictionary<string>");
    }
    const both = data.readParquet<{ id: number; c: string }>([ofPandas, plain]);
    expect((await both.sort("id").schema()).types).toEqual(["int64", "string"]);
    expect((await both.takeAll()).map(({ c }) => c)).toEqual([...texts, ...texts]);
    expect(await both.groupBy("c").count().sort("c").takeAll()).toEqual([
      { c: "a", "count()": 4 },
      { c: "b", "count()": 4 },
      { c: "é", "count()": 2 },
      { c: null, "count()": 4 },
    ]);
    const written = data.readParquet<{ id: number; c: string }>(ofPandas).filter(data.col("c").ne("é")).sort("c");
    await written.writeParquet(join(path, "again"));
    const again = { type: "string", values: ["a", "a", "b", "b"], dtype: "category" };
    expect(python("read_categories", join(path, "again"))).toMatchObject(again);
  });

  test("filters of decimals on row groups of pyarrow, which keep what they keep without pushdown", async () => {
    python("write_prices", folder);
    for (const name of ["prices", "price-integers"]) {
      const prices = data.readParquet<{ id: number; p: string; w: string }>(`${folder}/${name}.parquet`);
      const all = await prices.takeAll();
      expect(all.length).toBe(600);
      for (const column of ["p", "w"] as const)
        for (const bound of ["-1.01", "0.000", "99.99", "101", "9.5"]) {
          const cents = (row: { p: string; w: string }): number => Math.round(Number(row[column]) * 100);
          const limit = Math.round(Number(bound) * 100);
          const ids = async (kept: data.Dataset<{ id: number }>): Promise<number[]> => (await kept.takeAll()).map(({ id }) => id);
          const expected = (holds: (difference: number) => boolean): number[] =>
            all.filter((row) => row[column] !== null && holds(cents(row) - limit)).map(({ id }) => id);
          expect(await ids(prices.filter(data.col(column).lt(bound)))).toEqual(expected((difference) => difference < 0));
          expect(await ids(prices.filter(data.col(column).ge(bound)))).toEqual(expected((difference) => difference >= 0));
          expect(await ids(prices.filter(data.col(column).eq(data.lit(Number(bound)))))).toEqual(
            expected((difference) => difference === 0),
          );
        }
    }
  });

  test("whole numbers beyond 2^53 in lists, structs and maps, by their statistics; without those they are named", async () => {
    const path = join(folder, "wide");
    mkdirSync(path);
    python("write_wide", path);
    const big = 2n ** 60n;
    expect(await data.readParquet(`${path}/with.parquet`).takeAll()).toEqual([
      { l: [1n, big], s: { x: -big, t: "a" }, m: [{ key: "k", value: big }], x: 1 },
      { l: [3n], s: null, m: [], x: 2 },
    ]);
    // Another file of the same read has none, and its columns are the same.
    const both = data.readParquet<{ l: bigint[] }>([`${path}/with.parquet`, `${path}/narrow.parquet`]);
    expect((await both.takeAll()).map(({ l }) => l)).toEqual(expect.arrayContaining([[1n, big], [3n], [7n]]));
    // The part of a struct is no column, whatever its name.
    expect(await data.readParquet(`${path}/names.parquet`).takeAll()).toEqual([{ x: big, s: { x: 2 } }]);
    const without = data.readParquet<{ l: number[]; x: number }>(`${path}/without.parquet`);
    await expect(without.takeAll()).rejects.toThrow('Column "l": row 0 has 1152921504606846976, and numbers beyond 2^53 would be rounded');
    await expect(without.mapBatches((batch) => ({ n: batch.l.map((list) => list.length) })).takeAll()).rejects.toThrow(
      'Column "l": row 0 has',
    );
    await without.writeParquet(join(path, "again"));
    expect(python("read_wide", join(path, "again"))).toEqual([["1", "1152921504606846976"], ["3"]]);
  });

  test("tensors that pyarrow reads", async () => {
    const path = join(folder, "ours");
    mkdirSync(path);
    const tensor = (...values: number[]): NdArray => new NdArray(Float32Array.from(values), [values.length / 2, 2]);
    const rows = [
      { fixed: tensor(1, 2, 3, 4), whole: tensor(1, 2), variable: tensor(1, 2) },
      { fixed: null, whole: tensor(3, 4), variable: null },
      { fixed: tensor(5, 6, 7, 8), whole: tensor(5, 6), variable: tensor(1, 2, 3, 4) },
    ];
    await data.fromItems(rows).writeParquet(path);
    expect(python("read_tensors", path)).toEqual({
      type: expect.stringContaining("fixed_shape_tensor"),
      shape: [2, 2],
      nulls: 1,
      values: [[1, 2, 3, 4], null, [5, 6, 7, 8]],
      ndarray: [3, 1, 2],
      variable: [
        [
          [1, 2],
          [1, 2],
        ],
        null,
        [
          [1, 2, 3, 4],
          [2, 2],
        ],
      ],
    });
  });
});
