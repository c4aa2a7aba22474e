/** NumPy arrays and Arrow tables between TypeScript and Python: what becomes what, and that nothing is copied on the way. */
import { ArrowData, NdArray, put, python, remote } from "shoal";
import { describe, expect, test } from "vitest";
import { scientificPython, unless } from "./python-places.ts";
import { driverRuntime, storeUsedBytes, until, useSession } from "./session.ts";

const found = scientificPython();
const problem = "problem" in found ? found.problem : undefined;
const runtimeEnv = { python: "venv" in found ? found.venv : "" };
const ARRAYS = new URL("python/arrays.py", import.meta.url);
const MEGABYTE = 1024 * 1024;

async function call<R>(name: string, ...args: unknown[]): Promise<R> {
  return (await python.task<(...values: unknown[]) => unknown>(ARRAYS, name, { runtimeEnv }).remote(...args)) as R;
}

describe.skipIf(problem !== undefined)(`arrays${unless(problem)}`, () => {
  useSession({ numCpus: 1, objectStoreMemoryBytes: 512 * MEGABYTE });

  test("typed arrays are NumPy arrays", async () => {
    expect(await call("facts", new Float64Array([1, 2]))).toEqual(["ndarray", "float64", [2], true, 3]);
    expect(await call("facts", new BigInt64Array([5n]))).toEqual(["ndarray", "int64", [1], true, 5]);
    expect(await call("facts", new Int16Array(100_000).fill(1))).toEqual(["ndarray", "int16", [100_000], false, 100_000]);
    expect(await call("facts", new NdArray(new Float32Array(6).fill(2), [2, 3]))).toEqual(["ndarray", "float32", [2, 3], true, 12]);
    expect(await call("facts", new NdArray(new Uint8Array([1, 0]), [2, 1], "bool"))).toEqual(["ndarray", "bool", [2, 1], true, 1]);
  });

  test("NumPy arrays are typed arrays, and those of several dimensions NdArrays", async () => {
    expect(await call("of_types")).toEqual({
      matrix: new NdArray(new Int32Array([0, 1, 2, 3, 4, 5]), [2, 3]),
      turned: new NdArray(new Float32Array([0, 3, 1, 4, 2, 5]), [3, 2]),
      flags: new NdArray(new Uint8Array([1, 0]), [2], "bool"),
      strided: new BigInt64Array([0n, 2n, 4n, 6n, 8n]),
      scalar: 1.5,
      number: 7,
      big_endian: new Int16Array([1, 2]),
    });
    const cube = new NdArray(new Float64Array(8).fill(0.5), [2, 2, 2]);
    expect(await call("echo", cube)).toEqual(cube);
    expect(await remote((array: NdArray) => array.shape.length).remote(cube)).toBe(3);
    const [words] = await call<unknown[]>("words");
    expect(String(words)).toBe("[PythonObject numpy.ndarray]");
  });

  test("arrays that lie otherwise are sent in their order, and what has no numbers is held for Python", async () => {
    const odd = python.task<(name: string) => unknown>(ARRAYS, "odd", { runtimeEnv });
    expect(await odd.remote("strided")).toEqual(new Float64Array([0, 3, 6, 9]));
    expect(await odd.remote("backwards")).toEqual(new Int32Array([3, 2, 1, 0]));
    expect(await odd.remote("big_endian")).toEqual(new Int32Array([0, 1, 2]));
    expect(await odd.remote("fortran")).toMatchObject({ shape: [2, 3], data: new Float64Array([0, 1, 2, 3, 4, 5]) });
    expect(await odd.remote("broadcast")).toMatchObject({ shape: [2, 2], data: new Float32Array([1.5, 1.5, 1.5, 1.5]) });
    expect(await odd.remote("empty")).toMatchObject({ shape: [0, 3], data: new Float64Array() });
    expect(await odd.remote("scalar")).toEqual([1.5, 2n ** 60n, true, 7]);
    expect(await odd.remote("large_strided")).toMatchObject({ shape: [200, 200] });
    for (const [name, className] of [
      ["masked", "numpy.ma.MaskedArray"],
      ["structured", "numpy.ndarray"],
      ["text", "numpy.ndarray"],
    ] as const) {
      expect(String(await odd.remote(name)).replace(".core", "")).toBe(`[PythonObject ${className}]`);
    }
  });

  test("100 MB are read without a copy, and held as long as an array shows them", async () => {
    const sizeBytes = 100 * MEGABYTE;
    const big = put(new Float64Array(sizeBytes / 8).fill(0.25));
    const before = await call<number>("mapped_bytes");
    const [sum, read, after] = await call<[number, number, number]>("mapped_by", big);
    expect([sum, read]).toEqual([sizeBytes / 32, sizeBytes]);
    expect(after - before).toBeGreaterThanOrEqual(sizeBytes);
    expect(after - before).toBeLessThan(sizeBytes + 4096);
    await call("keep", big);
    big[Symbol.dispose]();
    // The task's own hold is given back at its end; the view's is not.
    await call("mapped_bytes");
    expect(await storeUsedBytes()).toBeGreaterThanOrEqual(sizeBytes);
    await call("drop");
    await until(async () => (await storeUsedBytes()) < sizeBytes, "the object to be freed");
  });

  test("large results are written once and mapped by who reads them", async () => {
    const before = { ...driverRuntime().store.counters };
    const ones = await call<Float64Array>("ones", 1_000_000);
    expect(ones).toEqual(new Float64Array(1_000_000).fill(1));
    const after = driverRuntime().store.counters;
    expect(after.copiedBytes - before.copiedBytes).toBe(0);
    expect(after.mappedBytes - before.mappedBytes).toBeGreaterThanOrEqual(8_000_000);
  });

  test("files of results are used again", async () => {
    for (let round = 0; round < 30; round += 1) {
      using ref = python.task<(count: number) => Float64Array>(ARRAYS, "ones", { runtimeEnv }).remote(4_000_000);
      expect((await ref).length).toBe(4_000_000);
    }
    await until(async () => (await storeUsedBytes()) < 200 * MEGABYTE, "results to be freed");
  });

  test("Arrow tables cross as streams of their format", async () => {
    const arrow = await call<ArrowData>("table");
    expect(arrow).toBeInstanceOf(ArrowData);
    expect(await call("table_facts", arrow)).toEqual(["Table", 100_000, ["n", "t"], 7]);
  });
});
