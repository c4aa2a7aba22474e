/**
 * Modules that only the test runner can load: a real Vitest runs test files in a folder of their own, whose functions import an enum, a file without its
 * extension and JSON without an attribute. Where the project has tsx, workers use it; elsewhere the error names the cure.
 */
import { execFile } from "node:child_process";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);
let folder: string;

beforeEach(async () => {
  folder = await fs.mkdtemp(path.join(os.tmpdir(), "shoal-loader-"));
  await write("package.json", `{ "type": "module" }`);
  await write("lib/suffix.ts", `export const suffix: string = "!";`);
  await write("lib/data.json", `{ "five": 5 }`);
  await write(
    "lib/color.ts",
    `import { suffix } from "./suffix"; import data from "./data.json";
     export const mode = (): unknown => import.meta.env?.MODE;
     export enum Color { Red = 1, Green = 2 }
     export function shade(color: Color): string { return Color[color] + suffix + data.five; }`,
  );
});
afterEach(() => fs.rm(folder, { recursive: true, force: true }));

async function write(name: string, text: string): Promise<void> {
  const file = path.join(folder, name);
  await fs.mkdir(path.dirname(file), { recursive: true });
  await fs.writeFile(file, text);
}

/** Runs the body of a test with Vitest, where these packages are installed. */
async function inVitest(body: string, packages: readonly string[]): Promise<string> {
  await fs.mkdir(path.join(folder, "node_modules"));
  await fs.symlink(ROOT, path.join(folder, "node_modules/shoal"));
  for (const name of packages) await fs.symlink(path.join(ROOT, "node_modules", name), path.join(folder, "node_modules", name));
  await write(
    "user.test.ts",
    `import { afterAll, expect, test } from "vitest"; import { remote, shutdown } from "shoal"; import { Color, shade } from "./lib/color";
     afterAll(() => shutdown());
     test("user", async () => { ${body} });`,
  );
  const environment: NodeJS.ProcessEnv = { ...process.env, NODE_OPTIONS: "", NO_COLOR: "1" };
  for (const name of Object.keys(environment)) if (name.startsWith("VITEST")) delete environment[name];
  const parameters = [path.join(ROOT, "node_modules/vitest/vitest.mjs"), "run", "--root", folder];
  const { stdout, stderr } = await run(process.execPath, parameters, { cwd: folder, env: environment, timeout: 50_000 }).catch(
    (error: { stdout: string; stderr: string }) => error,
  );
  return stdout + stderr;
}

test("workers load them with tsx, where the project has it", { timeout: 60_000 }, async () => {
  const output = await inVitest(
    `expect(await remote(() => shade(Color.Red)).remote()).toBe("Red!5");
     expect(await remote(async () => (await import("./lib/color")).shade(2)).remote()).toBe("Green!5");
     expect(await remote(() => import.meta.env.MODE).remote()).toBe("test");`,
    ["vitest", "tsx"],
  );
  expect(output).toMatch(/Tests\s+1 passed/);
  expect(output).toMatch(/WARNING: lib\/color\.ts reads import\.meta\.env, which Vite provides in this process alone/);
});

test("workers load them in a CommonJS package, too, the first as well", { timeout: 60_000 }, async () => {
  await write("package.json", `{ "type": "commonjs" }`);
  const output = await inVitest(
    `const { suffix } = await import("./lib/suffix");
     expect(await remote(() => shade(Color.Red)).remote()).toBe("Red!5");
     expect(await remote(() => suffix).remote()).toBe("!");`,
    ["vitest", "tsx"],
  );
  expect(output).toMatch(/Tests\s+1 passed/);
});

test("elsewhere the error names the module, the function and the cure", { timeout: 60_000 }, async () => {
  const output = await inVitest(`await remote(function paint() { return shade(Color.Red); }).remote();`, ["vitest"]);
  expect(output).toMatch(/SerializationError: Cannot import ".*lib\/color\.ts" for function paint of .*user\.test\.ts: /);
  expect(output).toContain('init({ runtimeEnv: { execArgv: ["--import=tsx"] } })');
});

test("workers of a program that ts-node runs have it, too", { timeout: 60_000 }, async () => {
  await fs.mkdir(path.join(folder, "node_modules"));
  await fs.symlink(ROOT, path.join(folder, "node_modules/shoal"));
  await write("node_modules/ts-node/package.json", `{ "name": "ts-node" }`);
  await write("node_modules/ts-node/register/transpile-only.js", `globalThis.registered = true;`);
  await write(
    "main.mjs",
    `import { remote, shutdown } from "shoal";
     process[Symbol.for("ts-node.register.instance")] = {};
     process.execArgv.push("/somewhere/node_modules/ts-node/dist/bin.js"); // as the command does for processes that the program forks
     console.log("registered: " + await remote(() => globalThis.registered).remote());
     await shutdown();`,
  );
  const { stdout } = await run(process.execPath, ["main.mjs"], { cwd: folder, timeout: 50_000 });
  expect(stdout).toContain("registered: true");
});
