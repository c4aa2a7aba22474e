/** Environments of Python that are made from a list of packages: installed once, found again, and explained where pip fails. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { init, python, RuntimeEnvError, shutdown } from "shoal";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { scientificPython, unless } from "./python-places.ts";
import { failureOf, useFolder } from "./session.ts";

const found = scientificPython();
const problem = "problem" in found ? found.problem : undefined;
const folder = useFolder();
const PACKAGES = new URL("python/packages.py", import.meta.url);
const before = process.env["XDG_CACHE_HOME"];

describe.skipIf(problem !== undefined)(`packages${unless(problem)}`, () => {
  beforeAll(async () => {
    process.env["XDG_CACHE_HOME"] = folder;
    await init({ numCpus: 1, logToDriver: false });
  });
  afterAll(async () => {
    await shutdown();
    if (before === undefined) delete process.env["XDG_CACHE_HOME"];
    else process.env["XDG_CACHE_HOME"] = before;
  });

  test("are installed once, in an environment of their own", { timeout: 180_000 }, async () => {
    const version = python.task<(name: string) => [string, string]>(PACKAGES, "version_of");
    const inList = version.options({ runtimeEnv: { python: ["iniconfig==2.0.0"] } });
    const [installed, prefix] = await inList.remote("iniconfig");
    expect(installed).toBe("2.0.0");
    expect(prefix.startsWith(folder)).toBe(true);
    // A second environment with the same packages: nothing is installed again, which would begin with an empty folder.
    writeFileSync(join(prefix, "mark"), "");
    const again = version.options({ runtimeEnv: { python: ["iniconfig==2.0.0"], envVars: { A: "1" } } });
    expect(await again.remote("iniconfig")).toEqual(["2.0.0", prefix]);
    expect(existsSync(join(prefix, "mark"))).toBe(true);
  });

  test("that pip does not find are told in its words", { timeout: 180_000 }, async () => {
    const task = python.task<(name: string) => unknown>(PACKAGES, "version_of", { runtimeEnv: { python: ["iniconfig==99.0"] } });
    const failure = await failureOf(task.remote("iniconfig"));
    expect(failure).toBeInstanceOf(RuntimeEnvError);
    expect(failure.message).toMatch(/pip install iniconfig==99.0 ended with code 1.*No matching distribution found/s);
  });
});
