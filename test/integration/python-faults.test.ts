/** Faults in Python code that cost at most its own worker: native code without end, forks beside threads; accelerators that are seen at the first import, spilled arguments. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { cancel, put, python, TaskCancelledError } from "shoal";
import { describe, expect, test } from "vitest";
import { REPOSITORY } from "../house/source-files.ts";
import { unless, WITHOUT_PYTHON } from "./python-places.ts";
import { failureOf, isAlive, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
const FAULTS = new URL("python/faults.py", import.meta.url);
const MEGABYTE = 1024 * 1024;

const processId = python.task<() => number>(FAULTS, "process_id");
const native = python.task<(file: string) => void>(FAULTS, "native");
const gpus = python.task<() => [string | null, string | null]>(FAULTS, "gpus");

/** The process that runs it, once it does. */
async function processOf(file: string): Promise<number> {
  await until(() => existsSync(file) && readFileSync(file, "utf8").endsWith("\n"), "the task to begin");
  return Number(readFileSync(file, "utf8"));
}

describe.skipIf(WITHOUT_PYTHON !== undefined)(`faults in Python${unless(WITHOUT_PYTHON)}`, () => {
  useSession({ numCpus: 1, numGpus: 3, objectStoreMemoryBytes: 64 * MEGABYTE });

  test("native code without end is ended with its worker, at once with force", async () => {
    const file = join(folder, "forced");
    const ref = native.remote(file);
    const pid = await processOf(file);
    cancel(ref, { force: true });
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    await until(() => !isAlive(pid), "the worker to be ended");
    expect(await processId.remote()).not.toBe(pid);
  });

  test("native code without end that is cancelled is ended after a grace", async () => {
    const file = join(folder, "cancelled");
    const ref = native.remote(file);
    const pid = await processOf(file);
    cancel(ref);
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    await until(() => !isAlive(pid), "the worker to be ended");
    expect(await processId.remote()).not.toBe(pid);
  });

  test("a task may fork beside its threads", async () => {
    const pid = await processId.remote();
    expect(await python.task<() => number[]>(FAULTS, "forks_after_threads").remote()).toEqual([5, 6]);
    expect(await processId.remote()).toBe(pid);
  });

  test("CUDA_VISIBLE_DEVICES is set before the first import of what is called", async () => {
    const environment = { envVars: { FRESH: "1" } };
    const two = await gpus.options({ numGpus: 2, runtimeEnv: environment }).remote();
    expect(two[0]).toBe(two[1]);
    expect(two[0]).toMatch(/^[0-2],[0-2]$/);
    expect((await gpus.options({ runtimeEnv: environment }).remote())[1]).toBeNull();
    const runtimeEnv = { envVars: { FRESH: "2" } };
    const holder = python.actor<{ gpus(): [string, string] }, []>(FAULTS, "Gpus", { numGpus: 1, numCpus: 0, runtimeEnv }).remote();
    const [atImport, inMethod] = await holder.gpus.remote();
    expect(atImport).toMatch(/^[0-2]$/);
    expect(inMethod).toBe(atImport);
    holder[Symbol.dispose]();
  });

  test("a task that holds GPUs ends its worker, as CUDA would keep to the first ones, unless maxCalls says otherwise", async () => {
    const others = python.task<() => number>(FAULTS, "process_id", { numGpus: 1 });
    const [first, second] = [await others.remote(), await others.remote()];
    expect(second).not.toBe(first);
    await until(() => !isAlive(first) && !isAlive(second), "the workers to end");
    const unlimited = python.task<() => number>(FAULTS, "process_id", { numGpus: 1, maxCalls: 0 });
    expect(await unlimited.remote()).toBe(await unlimited.remote());
  });

  test("arguments that were moved to disk are read", async () => {
    const refs = Array.from({ length: 12 }, (_, index) => put(new Float64Array(MEGABYTE).fill(index)));
    const total = python.task<(...arrays: Float64Array[]) => number>(FAULTS, "total_of");
    for (const [index, ref] of refs.entries()) expect(await total.remote(ref)).toBe(index + MEGABYTE);
    for (const ref of refs) ref[Symbol.dispose]();
  });
});

test.skipIf(WITHOUT_PYTHON !== undefined)(`the package is written for Python 3.9${unless(WITHOUT_PYTHON)}`, () => {
  const script = `
import ast, pathlib, sys
files = sorted(pathlib.Path(sys.argv[1]).rglob("*.py"))
for file in files:
    ast.parse(file.read_text("utf-8"), str(file), feature_version=(3, 9))
print(len(files) > 20)`;
  const { stdout, stderr } = spawnSync("python3", ["-c", script, join(REPOSITORY, "python")], { encoding: "utf8" });
  expect([stdout.trim(), stderr]).toEqual(["True", ""]);
});
