/** Frames of pandas, and times and complex numbers of NumPy, between TypeScript and processes of Python: what becomes what, and what it was again. */
import { ArrowData, NdArray, type ObjectRef, python, PythonObject, PythonValue } from "shoal";
import { describe, expect, test } from "vitest";
import { scientificPython, unless } from "./python-places.ts";
import { useSession } from "./session.ts";

const MEGABYTE = 1024 * 1024;

const found = scientificPython();
const problem = "problem" in found ? found.problem : undefined;

/** @param other - set: another process than without it */
function task(name: string, other?: string): (...args: unknown[]) => ObjectRef<never> {
  const made = python.task<(...values: unknown[]) => never>(new URL("python/frames.py", import.meta.url), name, {
    runtimeEnv: { python: "venv" in found ? found.venv : "", envVars: other === undefined ? {} : { OTHER: other } },
  });
  return (...args) => made.remote(...args);
}

describe.skipIf(problem !== undefined)(`frames${unless(problem)}`, () => {
  useSession({ numCpus: 1, objectStoreMemoryBytes: 512 * MEGABYTE });

  test("a frame and a series are Arrow data here, and what they were in Python", async () => {
    const ref = task("frames")();
    const frames = (await ref) as Record<string, ArrowData>;
    for (const frame of Object.values(frames)) expect(frame).toBeInstanceOf(ArrowData);
    expect(await task("same")(frames)).toEqual([]);
    expect(await task("same", "reader")(ref)).toEqual([]);
  });

  test("a large frame goes through the store, and may be written to where it arrives", async () => {
    const ref = task("large")();
    const facts = ["DataFrame", 199_999 * 100_000 + 5, 200_000];
    expect(await task("large_facts")(ref)).toEqual(facts);
    expect(await task("large_facts")(await ref)).toEqual(facts);
  });

  test("a table stays a table, also one that pandas has made", async () => {
    expect(await task("table_type")(await task("user_table")())).toBe("Table");
  });

  test("a frame with a column that Arrow has no type for is held for Python", async () => {
    const { in: frames } = (await task("mixed")()) as { in: PythonObject[] };
    expect(String(frames[0])).toMatch(/^\[PythonObject pandas\..*DataFrame\]$/);
    expect(await task("table_type", "reader")(frames[0])).toBe("DataFrame");
  });

  test("single times and what is missing", async () => {
    expect(await task("stamps")()).toEqual([
      new Date("2026-01-02T03:04:05.678Z"),
      new Date(Number.NaN),
      new PythonValue("timedelta", "90"),
    ]);
    const [missing] = (await task("missing")()) as [PythonObject];
    expect(missing.className).toContain("NAType");
  });

  test("times and complex numbers of NumPy", async () => {
    const ref = task("arrays")();
    const arrays = (await ref) as Record<string, NdArray>;
    const day = BigInt(Date.UTC(2026, 0, 2));
    expect(arrays["times"]).toEqual(new NdArray(new BigInt64Array([day * 1_000_000n, -(2n ** 63n)]), [2], "datetime64[ns]"));
    expect(arrays["complex"]).toEqual(new NdArray(new Float32Array([1, 2, 3, 0]), [1, 2], "complex64"));
    expect(arrays["time"]).toEqual(new NdArray(new BigInt64Array([1_767_323_045n]), [], "datetime64[s]"));
    expect(await task("same_arrays")(arrays)).toEqual([]);
    expect(await task("same_arrays")(ref)).toEqual([]);
    expect(() => new NdArray(new Float32Array(1), [1], "datetime64[ns]")).toThrow(TypeError);
    expect(() => new NdArray(new Float32Array(3), [3], "complex64")).toThrow(RangeError);
  });

  test("large arrays inside of pickled instances are mapped, also those that TypeScript has held", async () => {
    const ref = task("model")(1_000_000);
    expect(await task("model_facts")(ref)).toEqual([1_000_000, true, false]);
    const model = (await ref) as unknown;
    expect(model).toBeInstanceOf(PythonObject);
    expect(await task("model_facts")(model)).toEqual([1_000_000, true, false]);
    expect(await task("model_facts")(await task("model")(3))).toEqual([3, true, true]);
  });

  test("a worker imports none of these libraries for values that are none of theirs", async () => {
    const plain = python.task<() => string[]>(new URL("python/loaded.py", import.meta.url), "loaded", {
      runtimeEnv: { python: "venv" in found ? found.venv : "", envVars: { OTHER: "bare" } },
    });
    expect(await plain.remote()).toEqual([]);
  });
});
