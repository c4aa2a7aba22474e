/**
 * The package, a program and all files in a folder whose name a URL or a shell would escape. Runs on each Node, on two nodes of a cluster
 * to which the program's code travels, and under the program `shoal`, whose own folders have such names, too.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { natsServerBinary } from "../../scripts/nats-server.mjs";
import { WITHOUT_NATS } from "../control-plane/nats-servers.ts";
import { type ProgramRun, runProgram } from "../house/run-program.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { unless, WITHOUT_PYTHON } from "./python-places.ts";

// No backslash: Node runs no module under a folder with one in its name.
const ODD = `mein Ordner – 100% #1 ünï %41 ? 'q" $(x) ; & 😀`;
const MODULE = "mödul #2 100% 'x' ?.ts";
const PROGRAM = `programm "eins" #1 100%41.ts`;
const FOLDER = "daten #1 % ü";
const PYTHON = "py ü #1 %.py";

const nodes = new Map(
  [22, 24, 26].map((major) => [
    major,
    execFileSync(process.execPath, [join(REPOSITORY, "scripts", "node-path.mjs"), String(major)], { encoding: "utf8" }).trim(),
  ]),
);
let root: string;
let folder: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "test-shoal-odd-"));
  folder = join(root, ODD);
  mkdirSync(join(folder, FOLDER), { recursive: true });
  installPackage(join(folder, "node_modules"));
  for (const [name, text] of Object.entries(files())) writeFileSync(join(folder, name), text);
});
afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));

/** Installs the published files, as npm would lay them out. */
function installPackage(modules: string): void {
  const manifest = JSON.parse(readFileSync(join(REPOSITORY, "package.json"), "utf8")) as { files: string[]; dependencies: object };
  for (const name of [...manifest.files.filter((file) => !file.startsWith("!")), "package.json"]) {
    const published = name.replace(/\/?\*.*$/, "");
    cpSync(join(REPOSITORY, published), join(modules, "shoal", published), { recursive: true });
  }
  for (const name of Object.keys(manifest.dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(REPOSITORY, "node_modules", name), join(modules, name));
  }
}

/** A specifier of an import is a part of a URL. */
function specifier(name: string): string {
  return JSON.stringify(`./${encodeURIComponent(name)}`);
}

function files(): Record<string, string> {
  return {
    "package.json": '{ "type": "module" }',
    [MODULE]: `
      import { readFileSync } from "node:fs";
      export const words = (): string => readFileSync(new URL(${specifier(join(FOLDER, "wörter ?.txt")).replace("%2F", "/")}, import.meta.url), "utf8");
      export const fails = (): never => { throw new RangeError("too far"); };
      export class Counter { #count = 0; add(by: number): number { return (this.#count += by); } file() { return import.meta.filename; } }`,
    "gemein sam %.cjs": "exports.answer = () => 42; exports.Thing = class Thing { two() { return 2; } };",
    "haken #1 %.mjs": 'globalThis.hook = "hooked";',
    [PYTHON]:
      "import shoal\ndef double(x): return 2 * x\n@shoal.remote\ndef inner(x): return x + 1\ndef nested(x): return shoal.get(inner.remote(x))\n",
    [join(FOLDER, "wörter ?.txt")]: "words",
    [PROGRAM]: `
      import { init, remote, shutdown, python } from "shoal";
      import { basename } from "node:path";
      import { readdirSync } from "node:fs";
      import { pathToFileURL } from "node:url";
      import { Counter, words, fails } from ${specifier(MODULE)};
      import common from ${specifier("gemein sam %.cjs")};
      const address = process.env.SHOAL_TEST_ADDRESS;
      await init(address === undefined ? { numCpus: 2 } : { address });
      const there = address === undefined ? {} : { resources: { other: 1 } };
      const run = (work: (...args: any[]) => unknown, runtimeEnv = {}) => remote(work).options({ ...there, runtimeEnv }).remote();
      const said: Record<string, unknown> = {};
      const ask = async (what: string, answer: PromiseLike<unknown>) => { said[what] = await answer; };
      let variable = 5;
      await ask("main", run(() => [basename(import.meta.filename), decodeURIComponent(import.meta.url).endsWith("/" + basename(import.meta.filename)), variable, words()]));
      await ask("dynamic import", run(async () => (await import(${specifier(MODULE)})).words()));
      await ask("CommonJS", run(() => [common.answer(), new common.Thing().two()]));
      await ask("nested", run(async () => { const inner = 3; return await remote(() => remote(() => words() + inner + variable).remote()).remote(); }));
      await ask("error", run(fails).then(undefined, (error: Error) => [error.message, error.stack?.includes(${JSON.stringify(join(ODD, MODULE))}) || error.stack?.includes(encodeURI("mein Ordner"))]));
      const counter = remote(Counter).options(there).remote();
      await counter.add.remote(2);
      await ask("actor", Promise.all([counter.add.remote(3), counter.file.remote().then((file: string) => basename(file))]));
      await ask("working folder", run(() => readdirSync("."), { workingDir: ${JSON.stringify(FOLDER)} }));
      const hook = "--import=" + pathToFileURL("haken #1 %.mjs").href;
      await ask("flags", run(() => (globalThis as any).hook, { execArgv: [hook] }));
      await ask("NODE_OPTIONS", run(() => (globalThis as any).hook, { envVars: { NODE_OPTIONS: hook } }));
      const pythonOf = (place: string | URL, name: string, runtimeEnv = {}) => python.task<(x: number) => number>(place, name).options({ ...there, runtimeEnv }).remote(20);
      if (process.env.SHOAL_TEST_PYTHON !== undefined) await ask("Python", Promise.all([
        pythonOf(new URL(${specifier(PYTHON)}, import.meta.url), "double"),
        pythonOf(${JSON.stringify(PYTHON)}, "nested"),
        pythonOf(${JSON.stringify(PYTHON)}, "double", { pythonPreload: ["json"] }),
      ]));
      await ask("large", run(() => new Uint8Array(1e6)).then((bytes) => (bytes as Uint8Array).length));
      await shutdown();
      console.log(JSON.stringify(said));`,
    "cluster.ts": `
      import { spawn } from "node:child_process";
      import { once } from "node:events";
      import { TestCluster } from "shoal/testing";
      const cluster = await TestCluster.start({ head: { numCpus: 1 } });
      await cluster.addNode({ numCpus: 3, resources: { other: 100 }, sharesFolders: false });
      const env = { ...process.env, SHOAL_TEST_ADDRESS: cluster.address };
      [process.exitCode] = await once(spawn(process.execPath, [${JSON.stringify(PROGRAM)}], { stdio: "inherit", env }), "exit");
      await cluster.shutdown();`,
  };
}

const SAID = {
  main: [PROGRAM, true, 5, "words"],
  "dynamic import": "words",
  CommonJS: [42, 2],
  nested: "words35",
  error: [expect.stringContaining("too far") as string, true],
  actor: [5, MODULE],
  "working folder": ["wörter ?.txt"],
  flags: "hooked",
  NODE_OPTIONS: "hooked",
  ...(WITHOUT_PYTHON === undefined ? { Python: [40, 21, 40] } : {}),
  large: 1_000_000,
};

async function run(
  args: readonly string[],
  { major = 24, env = {} }: { major?: number; env?: Record<string, string> } = {},
): Promise<ProgramRun> {
  const program = nodes.get(major) ?? "";
  const path = [dirname(program), process.env["PATH"]].join(":");
  const asked = WITHOUT_PYTHON === undefined ? { SHOAL_TEST_PYTHON: "yes" } : {};
  return await runProgram(args, { cwd: folder, program, env: { PATH: path, ...asked, ...env } });
}

function said({ exitCode, stdout, stderr }: ProgramRun): unknown {
  if (exitCode !== 0) throw new Error(`the program failed: ${stdout}\n${stderr}`);
  return JSON.parse(stdout) as unknown;
}

test.each(Array.from(nodes.keys()))(`a program runs there under Node %i${unless(WITHOUT_PYTHON)}`, async (major) => {
  expect(said(await run([PROGRAM], { major }))).toEqual(SAID);
});

test("its code travels to a node that does not share its folders", async () => {
  expect(said(await run(["cluster.ts"]))).toEqual(SAID);
});

test(`it runs on two nodes that the program shoal has started with folders named so${WITHOUT_NATS === undefined ? "" : " (without NATS)"}`, async () => {
  const temporary = join(folder, "tmp ü");
  mkdirSync(temporary);
  const nats = join(folder, "nats #1");
  if (WITHOUT_NATS === undefined) symlinkSync(natsServerBinary(), nats);
  const env = {
    TMPDIR: temporary,
    XDG_STATE_HOME: join(folder, "state #1 %"),
    XDG_CACHE_HOME: join(folder, "cache ?"),
    SHOAL_NATS_BIN: WITHOUT_NATS === undefined ? nats : "",
  };
  const shoal = async (...args: string[]): Promise<ProgramRun> => {
    const done = await run([join(folder, "node_modules", "shoal", "dist", "ops", "cli", "main.js"), ...args], { env });
    expect([done.exitCode, done.stderr]).toEqual([0, ""]);
    return done;
  };
  try {
    const head = said(await shoal("start", "--head", "--port", "0", "--num-cpus", "1", "--json")) as { address: string; joinToken: string };
    await shoal("start", "--address", head.address, "--token", head.joinToken, "--num-cpus", "3", "--resources", '{"other":100}');
    expect((await shoal("status")).stdout).toContain("other 0/100");
    expect(said(await run([PROGRAM], { env: { ...env, SHOAL_TEST_ADDRESS: "auto" } }))).toEqual(SAID);
  } finally {
    await shoal("stop");
  }
});
