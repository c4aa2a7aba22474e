/**
 * Code of a driver on another node: captured by a process in one folder, revived by one that has that folder elsewhere. Files are found there, packages where that
 * machine has them, stacks and what is captured again name the driver's paths, and what is not the same on both sides is said with both.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const SOURCES = new URL("../../src/runtime/closure/", import.meta.url).href;
let root: string;
let there: string;
let here: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "test-shoal-foreign-")));
  there = join(root, "driver/app");
  here = join(root, "node/work");
  mkdirSync(there, { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, text: string): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function installed(place: string, name: string, version: string): void {
  write(`${place}/node_modules/${name}/package.json`, JSON.stringify({ name, version, type: "module", exports: "./index.js" }));
  write(`${place}/node_modules/${name}/index.js`, `export default ${JSON.stringify(`${name} ${version}`)};`);
}

/** Runs `main.ts` of the driver's folder, whose `shipped` is captured. */
function captured(): string {
  const program = `
    import { captureDefinition } from "${SOURCES}capture.ts";
    import { shipped } from "${join(there, "src/main.ts")}";
    import { writeFileSync } from "node:fs";
    const { bytes } = captureDefinition(shipped, { reduce: () => undefined });
    writeFileSync(${JSON.stringify(join(root, "definition"))}, bytes);
    process.stdout.write(Buffer.from(bytes).toString("base64"));`;
  return run(there, program);
}

interface Elsewhere {
  packageRoots?: string[];
  packages?: [string, string, string][];
  chosenFolder?: string;
  /** The program's expression on the revived function `shipped`, whose value is printed; captures the function again by default. */
  print?: string;
}

/** Revives the captured function in a process that has the folder elsewhere; the driver's own folder is gone by then. */
function elsewhere({ packageRoots = [], packages = [], chosenFolder, print = "await shipped()" }: Elsewhere = {}): string {
  rmSync(here, { recursive: true, force: true });
  cpSync(there, here, { recursive: true, filter: (path) => !path.includes("node_modules") && !path.endsWith(".ignored.ts") });
  rmSync(there, { recursive: true });
  const code = {
    there,
    here,
    driver: { node: "aaaaaaaaaaaaaaaa", hostname: "host-a" },
    self: { node: "bbbbbbbbbbbbbbbb", hostname: "host-b" },
    packageRoots,
    packages,
  };
  const program = `
    import { useForeignCode } from "${SOURCES}modules/foreign-imports.ts";
    import { withPathsOfDriver } from "${SOURCES}modules/foreign-code.ts";
    import { captureDefinition } from "${SOURCES}capture.ts";
    import { reviveDefinition } from "${SOURCES}revive.ts";
    import { readFileSync } from "node:fs";
    useForeignCode(${JSON.stringify(code)}, { chosenFolder: ${JSON.stringify(chosenFolder)} });
    const hooks = { reduce: () => undefined, revive: () => undefined };
    const again = (target) => Buffer.from(captureDefinition(target, hooks).bytes).toString("base64");
    try {
      const shipped = await reviveDefinition(readFileSync(${JSON.stringify(join(root, "definition"))}), [], { hooks, definition: () => undefined });
      console.log(${print});
    } catch (error) {
      console.log(error.name + " " + (error.reason ?? error.code ?? "") + ": " + error.message + " " + (error.hint ?? ""));
    }`;
  return run(root, program);
}

function run(cwd: string, program: string): string {
  return execFileSync(process.execPath, ["--input-type=module-typescript", "--disable-warning=ExperimentalWarning", "-e", program], {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  }).trim();
}

describe("files of the driver's folder", () => {
  test("are imported from where they are here, by value and by reference", () => {
    write(
      "driver/app/src/main.ts",
      `import { two } from "./two.ts"; const own = () => two() + 1; export const shipped = Object.assign(() => own(), { extra: 1 });`,
    );
    write(
      "driver/app/src/two.ts",
      `import { readFileSync } from "node:fs"; export function two(): number { return Number(readFileSync(new URL("../data.txt", import.meta.url), "utf8")); }`,
    );
    write("driver/app/data.txt", "2");
    captured();
    expect(elsewhere()).toBe("3");
  });

  test("are captured again as the driver would", () => {
    write(
      "driver/app/src/main.ts",
      `import { two } from "./two.ts"; let calls = 0; export const shipped = [() => { calls += two(); return calls; }][0];`,
    );
    write("driver/app/src/two.ts", `export const two = (): number => 2;`);
    captured();
    const print = `[JSON.stringify(again(shipped)).includes(Buffer.from("x").toString("base64")), Buffer.from(again(shipped), "base64").toString("latin1")].join(" ")`;
    const text = elsewhere({ print });
    expect(text).toContain(join(there, "src/main.ts"));
    expect(text).not.toContain(here);
  });

  test("are named as the driver knows them in stacks", () => {
    write("driver/app/src/main.ts", `import { fail } from "./fail.ts"; export const shipped = [() => fail()][0];`);
    write("driver/app/src/fail.ts", `export function fail(): never { throw new RangeError("too far"); }`);
    captured();
    const print = `await (async () => { try { shipped(); } catch (error) { return withPathsOfDriver(error.stack); } })()`;
    const text = elsewhere({ print });
    expect(text).toContain(`${join(there, "src/fail.ts")}:1`);
    expect(text).toContain(`${join(there, "src/main.ts")}:1`);
    expect(text).not.toContain(here);
  });

  test("that stayed behind are named with both sides and the remedy", () => {
    write("driver/app/src/main.ts", `import { two } from "./two.ignored.ts"; export const shipped = [() => two()][0];`);
    write("driver/app/src/two.ignored.ts", `export const two = (): number => 2;`);
    captured();
    expect(elsewhere()).toMatch(
      /^RuntimeEnvError .*: Cannot import .*two\.ignored\.ts.*driver\/app\/src\/main\.ts.*driver's node aaaaaaaa \(host-a\) to node bbbbbbbb \(host-b\).*\.shoalignore with the line !src\/two\.ignored\.ts/s,
    );
  });

  test("are told from files outside of it", () => {
    write("driver/app/src/main.ts", `import { two } from "../../lib/two.ts"; export const shipped = [() => two()][0];`);
    write("driver/lib/two.ts", `export const two = (): number => 2;`);
    captured();
    rmSync(join(root, "driver/lib"), { recursive: true });
    expect(elsewhere()).toMatch(
      /driver\/lib\/two\.ts.* lies outside of the folder .*driver\/app of the driver's node aaaaaaaa.*runtimeEnv\.workingDir/s,
    );
  });
});

test("files outside of the folder are found where the driver has them, on a machine that shares them", () => {
  write("driver/app/src/main.ts", `import { two } from "../../lib/two.ts"; export const shipped = [() => two()][0];`);
  write("driver/lib/two.ts", `export const two = (): number => 2;`);
  captured();
  expect(elsewhere()).toBe("2");
});

describe("packages", () => {
  const use = (name: string): void => {
    write("driver/app/src/main.ts", `import value from ${JSON.stringify(name)}; export const shipped = [() => value][0];`);
    installed("driver/app", name, "1.2.3");
    captured();
  };

  test("are found in a folder of this machine with the same layout", () => {
    use("shoal-test-one");
    installed("elsewhere/app", "shoal-test-one", "1.2.3");
    expect(elsewhere({ packageRoots: [join(root, "elsewhere/app")], packages: [["", "shoal-test-one", "1.2.3"]] })).toBe(
      "shoal-test-one 1.2.3",
    );
  });

  test("are found by require and from files that are imported, too", () => {
    installed("driver/app", "shoal-test-one", "1.2.3");
    write("driver/app/src/part.cjs", `module.exports = () => require("shoal-test-one").default;`);
    write(
      "driver/app/src/main.ts",
      `import part from "./part.cjs"; import { named } from "./named.ts"; export const shipped = [() => part() + " " + named()][0];`,
    );
    write("driver/app/src/named.ts", `import value from "shoal-test-one"; export function named(): string { return value; }`);
    captured();
    installed("elsewhere/app", "shoal-test-one", "1.2.3");
    expect(elsewhere({ packageRoots: [join(root, "elsewhere/app")] })).toBe("shoal-test-one 1.2.3 shoal-test-one 1.2.3");
  });

  test("that are Shoal itself are the one that runs", () => {
    write("driver/app/src/main.ts", `import { two } from "./two.ts"; export const shipped = [() => two()][0];`);
    write("driver/app/src/two.ts", `import * as shoal from "shoal"; export function two(): string { return typeof shoal.remote; }`);
    write(
      "driver/app/node_modules/shoal/package.json",
      `{ "name": "shoal", "version": "0.0.1", "type": "module", "exports": "./index.js" }`,
    );
    write("driver/app/node_modules/shoal/index.js", "");
    captured();
    expect(elsewhere()).toBe("function");
  });

  test("that are missing are named with both sides and the remedy", () => {
    use("shoal-test-one");
    expect(elsewhere({ packageRoots: [join(root, "elsewhere")], packages: [["", "shoal-test-one", "1.2.3"]] })).toMatch(
      /^RuntimeEnvError .*main\.ts of the driver's node aaaaaaaa \(host-a\) imports the package shoal-test-one, which is not installed on node bbbbbbbb \(host-b\)\. It has shoal-test-one 1\.2\.3\..*nodeModules: \["shoal-test-one@1\.2\.3"\]/s,
    );
  });

  test.each([
    ["2.0.0", true],
    ["1.3.3", true],
    ["1.2.3-beta.1", true],
    ["1.2.4", false],
  ])("of version %s instead of 1.2.3: refused is %s", (version, isRefused) => {
    use("shoal-test-one");
    installed("node/work", "shoal-test-one", version);
    installed("elsewhere", "shoal-test-one", version);
    const text = elsewhere({ packageRoots: [join(root, "elsewhere")], packages: [["", "shoal-test-one", "1.2.3"]] });
    if (isRefused) {
      expect(text).toMatch(/^RuntimeEnvError the versions of a package differ between nodes: Cannot import "shoal-test-one": /);
      expect(text).toMatch(
        /is of version 1\.2\.3 on the driver's node aaaaaaaa \(host-a\) and of version \S+ on node bbbbbbbb \(host-b\) \(.*elsewhere\/node_modules/,
      );
      expect(text).toContain(`nodeModules: ["shoal-test-one@1.2.3"]`);
    } else {
      expect(text).toBe(`shoal-test-one ${version}`);
    }
  });

  test("of folders inside the driver's have versions of their own", () => {
    write("driver/app/part/main.ts", `import value from "shoal-test-one"; export const shipped = [() => value][0];`);
    write("driver/app/src/main.ts", `export { shipped } from "../part/main.ts";`);
    installed("driver/app", "shoal-test-one", "2.0.0");
    installed("driver/app/part", "shoal-test-one", "1.2.3");
    captured();
    installed("elsewhere/part", "shoal-test-one", "1.2.3");
    const packages: [string, string, string][] = [
      ["", "shoal-test-one", "2.0.0"],
      ["part", "shoal-test-one", "1.2.3"],
    ];
    expect(elsewhere({ packageRoots: [join(root, "elsewhere")], packages })).toBe("shoal-test-one 1.2.3");
  });

  test("that the user chose for the environment are used whatever the driver has", () => {
    use("shoal-test-one");
    installed("chosen", "shoal-test-one", "9.0.0");
    const options = { packageRoots: [join(root, "chosen")], packages: [["", "shoal-test-one", "1.2.3"] as [string, string, string]] };
    expect(elsewhere({ ...options, chosenFolder: join(root, "chosen") })).toBe("shoal-test-one 9.0.0");
  });
});
