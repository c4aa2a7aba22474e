/**
 * Programs that a bundler has made one file of. With Shoal in it, the first use says what to tell the bundler; with Shoal left out, they run.
 */
import { mkdtempSync, rmSync, symlinkSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type BuildOptions } from "esbuild";
import { afterAll, expect, test } from "vitest";
import { type ProgramRun, runProgram } from "../house/run-program.ts";
import { REPOSITORY } from "../house/source-files.ts";

const folder = mkdtempSync(join(tmpdir(), "shoal-bundled-"));
mkdirSync(join(folder, "node_modules"));
symlinkSync(REPOSITORY, join(folder, "node_modules", "shoal"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PROGRAM = `
  import { init, remote, shutdown } from "shoal";
  import { Pool } from "shoal/util";
  console.log("loaded", typeof Pool);
  async function main() {
    await init(process.env.IN_PROCESS ? { mode: "inProcess" } : { numCpus: 1 });
    console.log(await remote((value) => value * 2).remote(21));
    await shutdown();
  }
  main().catch((error) => console.log(error.name, error.code, error.message, error.hint));
`;
const SAYS =
  /^loaded function\nBundledError BUNDLED Cannot start Shoal: [^]*Mark shoal as external[^]*esbuild: --external:shoal[^]*serverExternalPackages/;
/** Where its modules were before they were bundled. */
const HERE = JSON.stringify(pathToFileURL(join(REPOSITORY, "dist", "shared", "chunk.js")).href);
let bundles = 0;

/** Into a file that lies where nothing of Shoal's is beside it. */
async function bundle(options: BuildOptions): Promise<string> {
  bundles += 1;
  const outfile = join(folder, "out", `bundle-${bundles}${options.format === "cjs" ? ".cjs" : ".mjs"}`);
  const source = join(folder, "program.mjs");
  writeFileSync(source, PROGRAM);
  await build({ bundle: true, platform: "node", logLevel: "silent", entryPoints: [source], outfile, ...options });
  return outfile;
}

async function bundled(options: BuildOptions, env: Record<string, string> = {}): Promise<ProgramRun> {
  return await runProgram([await bundle(options)], { cwd: folder, env });
}

test.each(["esm", "cjs"] as const)("Shoal in a bundle (%s) says at its first use to mark it as external", async (format) => {
  const run = await bundled({ format });
  expect(run).toMatchObject({ exitCode: 0, stderr: "" });
  expect(run.stdout).toMatch(SAYS);
});

test("Shoal in a bundle that took what the address of a module was says it, too", async () => {
  // As webpack does.
  const run = await bundled({ format: "cjs", define: { "import.meta.url": HERE } });
  expect(run).toMatchObject({ exitCode: 0, stderr: "" });
  expect(run.stdout).toMatch(SAYS);
});

test("Shoal in a bundle of modules that are evaluated as text says it, too", async () => {
  // As webpack does in development.
  const file = await bundle({ format: "cjs", define: { "import.meta.url": HERE, __webpack_require__: "Object" } });
  const program = join(folder, "evaluate.cjs");
  const text = `require("node:fs").readFileSync(${JSON.stringify(file)}, "utf8") + "\\n//# sourceURL=webpack-internal:///text"`;
  writeFileSync(program, `new Function("require", "module", "exports", ${text})(require, module, exports);`);
  const run = await runProgram([program], { cwd: folder });
  expect(run).toMatchObject({ exitCode: 0, stderr: "" });
  expect(run.stdout).toMatch(SAYS);
});

test.each(["esm", "cjs"] as const)("in-process mode, which starts no program, runs in a bundle (%s)", async (format) => {
  const run = await bundled({ format }, { IN_PROCESS: "1" });
  expect(run).toMatchObject({ exitCode: 0, stdout: "loaded function\n42\n" });
});

test.each<[string, BuildOptions]>([
  ["external: shoal", { external: ["shoal"] }],
  ["packages: external", { packages: "external" }],
])("a bundle with %s runs", async (_name, options) => {
  for (const format of ["esm", "cjs"] as const) {
    expect(await bundled({ ...options, format })).toEqual({ exitCode: 0, signal: null, stdout: "loaded function\n42\n", stderr: "" });
  }
});
