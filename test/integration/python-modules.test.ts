/** Modules of one name: code of Python gets the one in its own folder, and never another part of the standard library or of Shoal. */
import { type ObjectRef, python } from "shoal";
import { describe, expect, test } from "vitest";
import { scientificPython, unless, WITHOUT_PYTHON } from "./python-places.ts";
import { useSession } from "./session.ts";

// `six` is installed there.
const found = scientificPython();
const runtimeEnv = "venv" in found ? { python: found.venv } : {};

function call(folder: string, name: string, ...args: unknown[]): ObjectRef<unknown> {
  const file = new URL(`python/twins/${folder}/task.py`, import.meta.url);
  return python.task<(...values: unknown[]) => unknown>(file, name, { runtimeEnv }).remote(...args);
}

describe.skipIf(WITHOUT_PYTHON !== undefined)(`modules of Python${unless(WITHOUT_PYTHON)}`, () => {
  useSession({ numCpus: 1 });

  test("each folder's code has the modules of its folder, in one worker and in turns", async () => {
    const factsOf = (folder: string): unknown[] => [...["helper", "later", "worker", "six"].map((name) => `${name} of ${folder}`), true];
    for (const folder of ["a", "b", "a", "b"]) expect(await call(folder, "facts")).toEqual(factsOf(folder));
  });

  test("an instance of one folder's class is one of that class in the other's code", async () => {
    expect(await call("b", "of", call("a", "made"))).toEqual(["helper", "a", "a"]);
    expect(await call("a", "of", call("b", "made"))).toEqual(["helper", "b", "b"]);
  });
});
