/** Frames of pandas, times and complex numbers of NumPy, and tensors of torch between TypeScript and processes of Python: what becomes what, and what it was again. */
import { ArrowData, NdArray, type ObjectRef, put, python, PythonObject, PythonValue, Tensor } from "shoal";
import { describe, expect, test } from "vitest";
import { scientificPython, torchPython, unless } from "./python-places.ts";
import { collectGarbage, failureOf, storeUsedBytes, until, useSession } from "./session.ts";

const MEGABYTE = 1024 * 1024;

function tasksOf(
  file: string,
  found: { venv: string } | { problem: string },
): (name: string, other?: string) => (...args: unknown[]) => ObjectRef<never> {
  const venv = "venv" in found ? found.venv : "";
  return (name, other) => {
    const envVars = other === undefined ? {} : { OTHER: other };
    const made = python.task<(...values: unknown[]) => never>(new URL(`python/${file}`, import.meta.url), name, {
      runtimeEnv: { python: venv, envVars },
    });
    return (...args) => made.remote(...args);
  };
}

const found = scientificPython();
const problem = "problem" in found ? found.problem : undefined;
const task = tasksOf("frames.py", found);

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

  test("a column that Arrow has no type for is named", async () => {
    const failure = await failureOf(task("mixed")());
    expect(failure).toMatchObject({ path: ".in[0]['bad']" });
    expect(failure.message).toContain("convert the column with astype, or send value.to_dict()");
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

const withTorch = torchPython();
const noTorch = "problem" in withTorch ? withTorch.problem : undefined;
const torch = tasksOf("tensors.py", withTorch);

/** In a function of its own: V8 keeps what a frame once referred to. */
async function writeLarge(count: number): Promise<void> {
  using ref = torch("ones")(count);
  expect(await torch("write")(ref)).toEqual([count, count + 4, true]);
  expect(await torch("write")(ref)).toEqual([count, count + 4, true]);
  using own = put(new Tensor(new Float32Array(count).fill(1), [count]));
  expect(await torch("write")(own)).toEqual([count, count + 4, true]);
  expect(((await ref) as Tensor).data[0]).toBe(1);
}

describe.skipIf(noTorch !== undefined)(`tensors${unless(noTorch)}`, () => {
  useSession({ numCpus: 1, objectStoreMemoryBytes: 512 * MEGABYTE });

  test("tensors are Tensors here, and what they were in Python", async () => {
    const ref = torch("tensors")();
    const tensors = (await ref) as Record<string, Tensor>;
    expect(tensors["matrix"]).toEqual(new Tensor(new Float32Array([0, 1, 2, 3, 4, 5]), [2, 3]));
    expect(tensors["turned"]).toEqual(new Tensor(new Float32Array([0, 3, 1, 4, 2, 5]), [3, 2]));
    expect(tensors["brain"]).toEqual(new Tensor(new Uint16Array([0x3f00, 0xc000]), [2], { dtype: "bfloat16" }));
    expect(tensors["grad"]).toEqual(new Tensor(new Float32Array([1, 2]), [2], { requiresGrad: true }));
    expect(tensors["scalar"]).toEqual(new Tensor(new BigInt64Array([7n]), []));
    expect(await torch("same")(tensors)).toEqual([]);
    expect(await torch("same", "reader")(ref)).toEqual([]);
  });

  test("a large one is mapped, may be written to, and nobody else sees that", async () => {
    await writeLarge(10_000_000);
    await until(async () => {
      await collectGarbage();
      return (await storeUsedBytes()) === 0;
    }, "the tensors to be freed");
  });

  test("what has no elements on the CPU is refused with the remedy", async () => {
    for (const [name, remedy] of [
      ["sparse", "send value.to_dense()"],
      ["meta", "send value.cpu()"],
      ["small", "value.to(torch.float32)"],
    ] as const)
      expect((await failureOf(torch("refused")(name))).message).toContain(remedy);
  });

  test("a module travels as the instance that it is, with its parameters beside the bytes", async () => {
    const ref = torch("net")();
    expect(await ref).toMatchObject({ className: "tensors.Net" });
    expect(await torch("run", "reader")(ref)).toEqual(["Net", true, true, [200]]);
    expect(await torch("train", "reader")(await ref)).toBe(40_000);
    expect(await torch("run", "reader")(ref)).toEqual(["Net", true, true, [200]]);
  });

  test("a process without torch says so", async () => {
    const json = python.task<(value: unknown) => string>("json", "dumps");
    expect((await failureOf(json.remote(new Tensor(new Float32Array(1), [1])))).message).toContain("has no torch");
  });
});
