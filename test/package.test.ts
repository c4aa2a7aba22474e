/**
 * Packs the package, installs it in an empty folder and runs the README's quick start there, under each Node that is supported.
 *
 * Runs the first TypeScript block of the README itself, so that a newcomer's first program is tested.
 */
import { execFile } from "node:child_process";
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { linksOf } from "./house/links.ts";
import { runProgram } from "./house/run-program.ts";
import { REPOSITORY } from "./house/source-files.ts";
import { SUBPATHS } from "./house/subpaths.ts";
import { runTool } from "./house/tool.ts";

const NODE_MAJORS = [22, 24, 26];
const INSTALLED_SIZE_MAX = 30 * 1024 * 1024;
const QUICK_START_OUTPUT = "[ 11, 12, 13 ]\n11\n";

const UTIL_PROGRAM = `
import { remote, shutdown } from "shoal";
import { Pool, Queue } from "shoal/util";

const pool = new Pool({ processes: 1 });
console.log(await pool.map((value: number) => value * value, [1, 2]));
const queue = new Queue<number>();
await remote((out: Queue<number>) => out.put(5)).remote(queue);
console.log(await queue.get());
await shutdown();
`;

const RL_PROGRAM = `
import { PPOConfig } from "shoal/rl";

const config = new PPOConfig()
  .environment("CartPole-v1")
  .envRunners({ numEnvsPerEnvRunner: 8 })
  .training({ lr: 3e-4, trainBatchSizePerLearner: 2000, numEpochs: 6 })
  .rlModule({ modelConfig: { fcnetHiddens: [64, 64], vfShareLayers: false } })
  .debugging({ seed: 1 });
await using algorithm = await config.buildAlgo();
let mean = 0;
for (let iteration = 0; mean < 60 && iteration < 30; iteration += 1) mean = (await algorithm.train()).envRunners.episodeReturnMean ?? 0;
console.log(mean >= 60);
`;

/** A separate package, as others would publish one. */
const LIBRARY = `
import { ShoalError } from "shoal";
import { count, isWorker, readOptions, registerErrorClass } from "shoal/internal";

export class SlotError extends ShoalError {
  static code = "SLOT";
}
registerErrorClass(SlotError);

const SAMPLE = { of: "a sample", options: { slots: count({ min: 1 }, 4) } };
export function takeSlot(options) {
  const { slots } = readOptions(options, SAMPLE);
  if (slots > 4) throw new SlotError(slots + " are not free in " + (isWorker() ? "a worker" : "a driver"));
  return slots;
}
`;

const LIBRARY_PROGRAM = `
import { get, remote, shutdown } from "shoal";
import { SlotError, takeSlot } from "sample-library";

const shown = (error: unknown): string => \`\${error instanceof SlotError} \${(error as Error).message}\`;
console.log(takeSlot(), takeSlot({ slots: 2 }));
const take = remote((options: object) => takeSlot(options));
for (const options of [{ slot: 2 }, { slots: 5 }]) await get(take.remote(options)).catch((error: unknown) => console.log(shown(error)));
await shutdown();
`;

const LIBRARY_OUTPUT = `4 2
false Task take failed: TypeError: Cannot set options of a sample: there is no option "slot": did you mean slots?
true 5 are not free in a worker
`;

/** The first run on a machine downloads two Nodes of about 100 MB unpacked each. */
const SETUP_TIMEOUT_MS = 300_000;

const execute = promisify(execFile);
const nodes = new Map<number, string>();
let folder: string;
let packed: string[];

beforeAll(async () => {
  for (const major of NODE_MAJORS) nodes.set(major, await nodeBinary(major));
  folder = await mkdtemp(join(tmpdir(), "shoal-package-"));
  const [report] = JSON.parse(await npm(["pack", "--json", "--ignore-scripts", "--pack-destination", folder], REPOSITORY)) as [PackReport];
  packed = report.files.map(({ path }) => path);
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "newcomer", private: true, type: "module" }));
  await npm(["install", "--prefer-offline", "--no-audit", "--no-fund", `./${report.filename}`], folder);
  await writeFile(join(folder, "quick-start.mts"), await quickStart());
}, SETUP_TIMEOUT_MS);

afterAll(() => rm(folder, { recursive: true, force: true }));

test.each(NODE_MAJORS)("the quick start runs under Node %i", async (major) => {
  const node = nodes.get(major) ?? "";
  const run = await runProgram(["quick-start.mts"], { cwd: folder, program: node, env: { PATH: withFirst(dirname(node)) } });
  expect(run).toEqual({ exitCode: 0, signal: null, stdout: QUICK_START_OUTPUT, stderr: "" });
});

test("shoal/util is there, and what it is made of travels to workers", async () => {
  await writeFile(join(folder, "util.ts"), UTIL_PROGRAM);
  const node = nodes.get(24) ?? "";
  const run = await runProgram(["util.ts"], { cwd: folder, program: node, env: { PATH: withFirst(dirname(node)) } });
  expect(run).toEqual({ exitCode: 0, signal: null, stdout: "[ 1, 4 ]\n5\n", stderr: "" });
});

test("an agent learns from the installed package alone", async () => {
  await writeFile(join(folder, "agent.ts"), RL_PROGRAM);
  const run = await runProgram(["agent.ts"], { cwd: folder, program: nodes.get(24) ?? "" });
  expect(run).toEqual({ exitCode: 0, signal: null, stdout: "true\n", stderr: "" });
});

test("a library outside the package stands on shoal and shoal/internal", async () => {
  const library = join(folder, "node_modules", "sample-library");
  await mkdir(library);
  await writeFile(
    join(library, "package.json"),
    JSON.stringify({ name: "sample-library", version: "1.0.0", type: "module", exports: "./index.js" }),
  );
  await writeFile(join(library, "index.js"), LIBRARY);
  await writeFile(join(folder, "library.ts"), LIBRARY_PROGRAM);
  const run = await runProgram(["library.ts"], { cwd: folder, program: nodes.get(24) ?? "" });
  expect(run).toEqual({ exitCode: 0, signal: null, stdout: LIBRARY_OUTPUT, stderr: "" });
});

test.each(NODE_MAJORS)("the program shoal is installed and runs under Node %i", async (major) => {
  const node = nodes.get(major) ?? "";
  const run = await runProgram([join("node_modules", ".bin", "shoal"), "version", "--json"], { cwd: folder, program: node });
  expect(run).toMatchObject({ exitCode: 0, signal: null, stderr: "" });
  expect(JSON.parse(run.stdout)).toMatchObject({ node: expect.stringMatching(`^${major}\\.`) as string });
});

/** The rest of the runtime stays as it is: the test holds that nothing is evaluated before the check. */
const PRETENDED: Record<string, string> = {
  "Node.js 20.20.2": `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.20.2" } });`,
  "Bun 1.3.0": `Object.defineProperty(process, "versions", { value: { ...process.versions, bun: "1.3.0" } });`,
  "Deno 2.5.0": `globalThis.Deno = { version: { deno: "2.5.0" } };`,
};

test.each(Object.keys(PRETENDED))("%s is refused in one line, before anything is loaded", async (name) => {
  // Features of newer versions of Node are gone, too: a use of one would fail with other words.
  const pretend = `data:text/javascript,${encodeURIComponent(`${PRETENDED[name]} delete process.getBuiltinModule;`)}`;
  const program = nodes.get(24) ?? "";
  const line = `Cannot load Shoal: it runs on Node.js 22.18 or newer, and not on Bun or Deno: received ${name}. Run the program with Node.js 22.18 or newer.`;
  for (const { specifier } of SUBPATHS) {
    const source = `import(${JSON.stringify(specifier)}).catch((error) => console.log(error.code, error.message))`;
    const run = await runProgram(["--import", pretend, "--input-type=module", "--eval", source], { cwd: folder, program });
    // Tensors and the client of external environments load everywhere, in browsers too.
    const stdout = ["shoal/tensor", "shoal/rl-client"].includes(specifier) ? "" : `UNSUPPORTED_RUNTIME ${line}\n`;
    expect(run).toEqual({ exitCode: 0, signal: null, stdout, stderr: "" });
  }
  const run = await runProgram(["--import", pretend, join("node_modules", ".bin", "shoal"), "version"], { cwd: folder, program });
  expect(run).toEqual({ exitCode: 1, signal: null, stdout: "", stderr: `shoal: ${line}\n` });
});

test("the quick start, and a program with every subpath, compile against the published types", async () => {
  const subpaths = SUBPATHS.map(({ specifier }) => specifier);
  expect(subpaths).toContain("shoal/util");
  await writeFile(join(folder, "subpaths.mts"), subpaths.map((subpath, index) => `export * as a${index} from "${subpath}";\n`).join(""));
  const options = ["--noEmit", "--strict", "--target", "es2024", "--lib", "es2024,esnext.disposable", "--module", "nodenext"];
  const types = ["--types", "node", "--typeRoots", join(REPOSITORY, "node_modules", "@types")];
  // Declarations of other packages that a public type reached would have to compile under each user's options, too.
  const strictest = ["--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--noImplicitOverride", "--verbatimModuleSyntax"];
  for (const more of [[], strictest]) {
    const args = [...options, ...more, ...types, "--pretty", "false", "quick-start.mts", "subpaths.mts"];
    const { output } = await runTool("typescript/bin/tsc", args, folder);
    expect(output).toBe("");
  }
});

test("the package holds what it needs to run, and nothing else", () => {
  expect(packed).toEqual(expect.arrayContaining(["package.json", "README.md", "LICENSE", "dist/index.js", "dist/index.d.ts"]));
  const allowed =
    /^(package\.json|LICENSE|[A-Z]+\.md|docs\/.*\.(md|svg|schema\.json)|deploy\/helm\/shoal\/.*\.(yaml|tpl)|examples\/(?!.*\.test\.)[\w-]+\.(ts|py|html)|dist\/.*\.(js|d\.ts|js\.map)|dist\/page\/(index\.html|LICENSE_preact|assets\/[\w-]+\.(js|css|svg))|dist\/vendor\/parquet-wasm\/(parquet_wasm\.cjs|parquet_wasm_bg\.wasm|LICENSE_\w+)|python\/(entry|shoal)\/[\w/]+\.py|prebuilds\/[^/]+\.(node|json))$/;
  expect(packed.filter((path) => !allowed.test(path))).toEqual([]);
});

test("the README's relative links name packed files", async () => {
  const links = linksOf("README.md", await readFile(join(REPOSITORY, "README.md"), "utf8"));
  expect(links.map(({ file }) => file).filter((file) => !packed.includes(file))).toEqual([]);
});

test(`the installed package and its dependencies take less than ${INSTALLED_SIZE_MAX / 1024 / 1024} MB`, async () => {
  expect(await sizeBytes(join(folder, "node_modules"))).toBeLessThan(INSTALLED_SIZE_MAX);
});

test("nothing that is installed has an install script", async () => {
  const lock = JSON.parse(await readFile(join(folder, "package-lock.json"), "utf8")) as {
    packages: Record<string, { hasInstallScript?: boolean }>;
  };
  expect(Object.entries(lock.packages).filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([]);
});

interface PackReport {
  filename: string;
  files: { path: string }[];
}

async function nodeBinary(major: number): Promise<string> {
  return (await execute(process.execPath, [join(REPOSITORY, "scripts", "node-path.mjs"), String(major)])).stdout.trim();
}

/** npm comes with the Node of the machine, or whoever called `npm test`. */
async function npm(args: readonly string[], cwd: string): Promise<string> {
  const script = process.env["npm_execpath"] ?? "";
  const [program, first] = script.endsWith("npm-cli.js") ? [process.execPath, [script]] : ["npm", []];
  return (await execute(program, [...first, ...args, "--loglevel=error"], { cwd })).stdout;
}

async function quickStart(): Promise<string> {
  const readme = await readFile(join(REPOSITORY, "README.md"), "utf8");
  const block = /```ts\n([\s\S]*?)```/.exec(readme)?.[1];
  if (block === undefined) throw new Error("Cannot find the quick start: README.md has no ```ts block");
  return block;
}

async function sizeBytes(path: string): Promise<number> {
  const found = await lstat(path);
  if (!found.isDirectory()) return found.size;
  const sizes = await Promise.all((await readdir(path)).map((name) => sizeBytes(join(path, name))));
  return sizes.reduce((sum, size) => sum + size, 0);
}

function withFirst(directory: string): string {
  return [directory, process.env["PATH"]].join(delimiter);
}
