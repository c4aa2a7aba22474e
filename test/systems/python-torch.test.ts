/** Tensors and modules of torch between TypeScript and processes of Python: types on each side, mapped values, and refused ones. */
import { join } from "node:path";
import { type ObjectRef, put, python, Tensor } from "shoal";
import { describe, expect, test } from "vitest";
import { environment } from "../frameworks/environments.ts";
import { PYTHON_FOLDER, unless } from "../integration/python-places.ts";
import { collectGarbage, failureOf, storeUsedBytes, until, useSession } from "../integration/session.ts";

const MEGABYTE = 1024 * 1024;

const found = environment("torch");
const problem = "problem" in found ? found.problem : undefined;

/** @param other - set: another process than without it */
function torch(name: string, other?: string): (...args: unknown[]) => ObjectRef<never> {
  const made = python.task<(...values: unknown[]) => never>(join(PYTHON_FOLDER, "tensors.py"), name, {
    runtimeEnv: { python: "venv" in found ? found.venv : "", envVars: other === undefined ? {} : { OTHER: other } },
  });
  return (...args) => made.remote(...args);
}

/** A separate function: V8 keeps the former references of a frame. */
async function writeLarge(count: number): Promise<void> {
  using ref = torch("ones")(count);
  expect(await torch("write")(ref)).toEqual([count, count + 4, true]);
  expect(await torch("write")(ref)).toEqual([count, count + 4, true]);
  using own = put(new Tensor(new Float32Array(count).fill(1), [count]));
  expect(await torch("write")(own)).toEqual([count, count + 4, true]);
  expect(((await ref) as Tensor).data[0]).toBe(1);
}

describe.skipIf(problem !== undefined)(`tensors${unless(problem)}`, () => {
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
