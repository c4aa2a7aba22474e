/** Modules of one name: code of Python gets the one in its own folder, and never another part of the standard library or of Shoal. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ObjectRef, python } from "shoal";
import { describe, expect, test, vi } from "vitest";
import { scientificPython, unless, WITHOUT_PYTHON } from "./python-places.ts";
import { until, useFolder, useSession } from "./session.ts";

// `six` is installed there.
const found = scientificPython();
const runtimeEnv = "venv" in found ? { python: found.venv } : {};

function call(folder: string, name: string, ...args: unknown[]): ObjectRef<unknown> {
  const file = new URL(`python/twins/${folder}/task.py`, import.meta.url);
  return python.task<(...values: unknown[]) => unknown>(file, name, { runtimeEnv }).remote(...args);
}

const project = useFolder();

describe.skipIf(WITHOUT_PYTHON !== undefined)(`modules of Python${unless(WITHOUT_PYTHON)}`, () => {
  useSession({ numCpus: 1, logToDriver: true });

  test("each folder's code has the modules of its folder, in one worker and in turns", async () => {
    const factsOf = (folder: string): unknown[] => [...["helper", "later", "worker", "six"].map((name) => `${name} of ${folder}`), true];
    for (const folder of ["a", "b", "a", "b"]) expect(await call(folder, "facts")).toEqual(factsOf(folder));
  });

  test("an instance of one folder's class is one of that class in the other's code", async () => {
    expect(await call("b", "of", call("a", "made"))).toEqual(["helper", "a", "a"]);
    expect(await call("a", "of", call("b", "made"))).toEqual(["helper", "b", "b"]);
  });

  test("files that are edited during a session run as they were loaded first, in all workers, and a line says so", async () => {
    const edit = (version: number): void => {
      writeFileSync(join(project, "part.py"), `VERSION = ${version}\n`);
      writeFileSync(join(project, "edited.py"), `import part\n\ndef versions():\n    return [${version}, part.VERSION]\n`);
    };
    // A different variable gives a different worker.
    const versions = async (worker: string): Promise<unknown> =>
      await python.task<() => number[]>(join(project, "edited.py"), "versions", { runtimeEnv: { envVars: { WORKER: worker } } }).remote();
    const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    const said = (): string => write.mock.calls.map(([text]) => String(text)).join("");
    try {
      edit(1);
      expect(await versions("a")).toEqual([1, 1]);
      edit(2);
      for (const worker of ["a", "b", "c"]) expect(await versions(worker)).toEqual([1, 1]);
      await until(() => said().includes("part.py was edited during this session"), "the warning");
      expect(said().match(/edited\.py was edited during this session/g)).toHaveLength(1);
    } finally {
      write.mockRestore();
    }
  });
});
