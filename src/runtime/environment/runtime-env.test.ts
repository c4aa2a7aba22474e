/** Tests validation, merging and equality of runtime environments. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import {
  environmentKey,
  expandedVariables,
  faultOfRuntimeEnv,
  mergeRuntimeEnv,
  NO_ENVIRONMENT,
  pythonRuntimeEnv,
  resolveRuntimeEnv,
} from "./runtime-env.ts";

const folder = mkdtempSync(join(tmpdir(), "test-shoal-environment-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("faultOfRuntimeEnv", () => {
  test.each([
    [null, "an object such as"],
    [["A"], "an object such as"],
    [{ env_vars: {} }, "it is spelled envVars"],
    [{ pip: ["numpy"] }, "npm packages are nodeModules"],
    [{ colour: 1 }, "there are envVars, workingDir"],
    [{ envVars: { A: 1 } }, "envVars.A is a text: use String(...)"],
    [{ envVars: { "A=B": "1" } }, "a name that no variable can have"],
    [{ envVars: { A: "a\0b" } }, "envVars.A is a text"],
    [{ workingDir: "/no/such/folder" }, "workingDir names no folder: /no/such/folder"],
    [{ workingDir: 7 }, "workingDir is the path of a folder"],
    [{ excludes: "*.log" }, "excludes is an array of patterns"],
    [{ nodeModules: [] }, "a folder with a lockfile, or packages"],
    [{ nodeModules: ["../evil"] }, 'not "../evil"'],
    [{ nodeModules: ["git+ssh://host/x"] }, "names packages of the registry"],
    [{ nodeModules: folder }, `there is no ${join(folder, "package.json")}`],
    [{ py_executable: "python3" }, "a Node is execPath"],
    [{ execPath: "" }, "execPath is the path of a Node program"],
    [{ execArgv: "--inspect" }, "execArgv is an array of flags"],
    [{ execArgv: ["--import", "./hooks.mjs"] }, 'with their values, such as "--import=./hooks.mjs": not "./hooks.mjs"'],
    [{ execArgv: ["-e"] }, 'with which Node runs no worker: "-e"'],
    [{ execArgv: ["--eval=1"] }, "with which Node runs no worker"],
    [{ execArgv: ["-pe"] }, "with which Node runs no worker"],
    [{ execArgv: ["--"] }, "with which Node runs no worker"],
    [{ setupTimeoutMs: "1" }, "a number of milliseconds"],
    [{ setupTimeoutMs: 0 }, "above 0"],
  ])("refuses %j", (value, reason) => {
    expect(faultOfRuntimeEnv(value)?.reason).toContain(reason);
  });

  test.each([
    [{}],
    [{ envVars: { A: "1", B: undefined } as never, workingDir: undefined }],
    [{ workingDir: folder, excludes: ["*.log"] }],
    [{ execPath: "node-26/bin/node", execArgv: ["--max-old-space-size=8192", "-r=./a.cjs", "--inspect=0", "--expose-gc", "--cpu-prof"] }],
    [{ nodeModules: ["lodash", "lodash@4.17.21", "@types/node@^24", "a@>=1 <2"] }],
  ])("accepts %j", (value) => {
    const withoutUndefined = JSON.parse(JSON.stringify(value));
    expect(faultOfRuntimeEnv(withoutUndefined)).toBeUndefined();
  });

  test("a folder with a manifest and a lockfile is accepted", () => {
    writeFileSync(join(folder, "package.json"), "{}");
    writeFileSync(join(folder, "package-lock.json"), "{}");
    expect(faultOfRuntimeEnv({ nodeModules: folder })).toBeUndefined();
  });
});

test("python is a folder, an interpreter, or packages as pip takes them", () => {
  for (const python of ["venv", "/usr/bin/python3", ["numpy"], ["numpy==2.1.0", "a-b[c,d]>=1,<2"]])
    expect(faultOfRuntimeEnv({ python })).toBeUndefined();
  expect(faultOfRuntimeEnv({ pythonPreload: ["numpy", "a.b"] })).toBeUndefined();
  for (const pythonPreload of ["numpy", [""], ["a b"], [5]]) expect(faultOfRuntimeEnv({ pythonPreload })?.error).toBe("wrong type");
  for (const python of ["", [], 5, [5]]) expect(faultOfRuntimeEnv({ python })?.error).toBe("wrong type");
  for (const python of [["-r file"], ["--index-url=x"], ["./folder"], ["git+https://x"], ["a @ https://x"]])
    expect(faultOfRuntimeEnv({ python })?.reason).toContain("as pip takes them");
  expect(resolveRuntimeEnv({ python: ["b", "a"] }).python).toEqual(["a", "b"]);
  expect(resolveRuntimeEnv({ python: "/x/../venv" }).python).toBe("/venv");
});

describe("mergeRuntimeEnv", () => {
  const outer = resolveRuntimeEnv({ envVars: { A: "outer", B: "outer" }, workingDir: folder, excludes: ["x"], nodeModules: ["a"] });

  test("merges variables one by one and replaces the rest", () => {
    const inner = resolveRuntimeEnv({ envVars: { B: "inner" }, nodeModules: ["b"] });
    expect(mergeRuntimeEnv(outer, inner)).toEqual({
      envVars: { A: "outer", B: "inner" },
      workingDir: folder,
      excludes: ["x"],
      nodeModules: ["b"],
    });
  });

  test("another working directory brings its own excludes", () => {
    expect(mergeRuntimeEnv(outer, resolveRuntimeEnv({ workingDir: "/" })).excludes).toBeUndefined();
  });

  test("nothing inside leaves what is outside", () => {
    expect(mergeRuntimeEnv(outer, NO_ENVIRONMENT)).toBe(outer);
    expect(mergeRuntimeEnv(NO_ENVIRONMENT, outer)).toBe(outer);
  });
});

describe("environmentKey", () => {
  test("is empty where nothing differs from an ordinary worker", () => {
    expect(environmentKey(resolveRuntimeEnv({}))).toBe("");
    expect(environmentKey(resolveRuntimeEnv({ envVars: {}, setupTimeoutMs: 5 }))).toBe("");
  });

  test("does not depend on the order in which things are named", () => {
    const one = resolveRuntimeEnv({ envVars: { A: "1", B: "2" }, nodeModules: ["a", "b"] });
    const other = resolveRuntimeEnv({ nodeModules: ["b", "a"], envVars: { B: "2", A: "1" } });
    expect(environmentKey(one)).toBe(environmentKey(other));
  });

  test("differs with each part", () => {
    const keys = [
      { envVars: { A: "1" } },
      { envVars: { A: "2" } },
      { workingDir: folder },
      { workingDir: folder, excludes: ["x"] },
      { nodeModules: ["a"] },
      { python: ["a"] },
      { python: "/a" },
      { pythonPreload: ["numpy"] },
    ];
    expect(new Set(keys.map((input) => environmentKey(resolveRuntimeEnv(input)))).size).toBe(keys.length);
  });

  test("differs with the language of what is called", () => {
    const specs = [NO_ENVIRONMENT, resolveRuntimeEnv({ python: "/a" }), resolveRuntimeEnv({ envVars: { A: "1" } })];
    expect(new Set([...specs, ...specs.map(pythonRuntimeEnv)].map(environmentKey)).size).toBe(2 * specs.length);
  });
});

test("expandedVariables puts the node's own variables into the values", () => {
  expect(expandedVariables({ PATH: "/opt/bin:${PATH}", EMPTY: "<${NOBODY_HAS_THIS}>" }, { PATH: "/bin" })).toEqual({
    PATH: "/opt/bin:/bin",
    EMPTY: "<>",
  });
});
