/**
 * The ways in which users run TypeScript, as programs to start: what each needs on disk, and its command line.
 *
 * Owns one temporary folder with compiled or differently typed copies of the matrix; the caller removes it. Called by `matrix.test.ts`.
 */
import { execFile } from "node:child_process";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const ROOT = path.join(FOLDER, "../..");
const MATRIX = path.join(FOLDER, "matrix");
const TSCONFIG = path.join(MATRIX, "tsconfig.json");

interface Program {
  readonly file: string;
  readonly nodeOptions: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

export type LoaderName =
  | "type stripping"
  | "tsx, ES modules"
  | "tsx, CommonJS"
  | "tsx, standard decorators"
  | "tsc, ES modules"
  | "tsc, CommonJS"
  | "tsc, standard decorators"
  | "tsc for older engines, standard decorators";

/** Writes a loader's files below `folder` and returns the command that starts it. */
export async function prepare(loader: LoaderName, folder: string): Promise<Program> {
  const compiled = { SHOAL_MATRIX_COMPILED: "1" };
  switch (loader) {
    case "type stripping":
      return { file: path.join(MATRIX, "main-esm.ts"), nodeOptions: [], environment: {} };
    case "tsx, ES modules":
      return {
        file: path.join(MATRIX, "main-esm.ts"),
        nodeOptions: ["--import", "tsx"],
        environment: { ...compiled, TSX_TSCONFIG_PATH: TSCONFIG },
      };
    case "tsx, CommonJS": {
      const copy = await makePackage(folder, { name: "tsx-commonjs", type: "commonjs" });
      const environment = { TSX_TSCONFIG_PATH: path.join(copy, "tsconfig.json") };
      return { file: path.join(copy, "main-cjs.ts"), nodeOptions: ["--import", "tsx"], environment };
    }
    case "tsx, standard decorators":
      return { file: path.join(MATRIX, "standard-decorators.ts"), nodeOptions: ["--import", "tsx"], environment: compiled };
    case "tsc, standard decorators":
    case "tsc for older engines, standard decorators": {
      const target = loader === "tsc, standard decorators" ? "ES2022" : "ES2017";
      const output = await makePackage(folder, { name: `tsc-decorators-${target}`, type: "module" });
      await compile("standard-decorators.ts", output, ["--target", target, "--module", "nodenext"]);
      return { file: path.join(output, "standard-decorators.js"), nodeOptions: [], environment: compiled };
    }
    case "tsc, ES modules": {
      const output = await makePackage(folder, { name: "tsc-esm", type: "module" });
      await compile("main-esm.ts", output, [...LEGACY, "--module", "nodenext"]);
      return { file: path.join(output, "main-esm.js"), nodeOptions: [], environment: compiled };
    }
    case "tsc, CommonJS": {
      const output = await makePackage(folder, { name: "tsc-commonjs", type: "commonjs" });
      await compile("main-cjs.ts", output, [...LEGACY, "--module", "commonjs", "--moduleResolution", "bundler", "--esModuleInterop"]);
      return { file: path.join(output, "main-cjs.js"), nodeOptions: [], environment: {} };
    }
  }
}

/** TypeScript's older decorators, which most programs that have any still use. */
const LEGACY = ["--target", "ES2022", "--experimentalDecorators"];

export function temporaryFolder(): Promise<string> {
  return fs.mkdtemp(path.join(os.tmpdir(), "shoal-closures-"));
}

interface Outcome {
  readonly name: string;
  readonly isRight: boolean;
  readonly received?: string;
}

/** Runs a program and collects the lines that `cases.ts` prints. */
export async function outcomesOf(program: Program, node: string): Promise<{ outcomes: Outcome[]; output: string }> {
  // The driver's own stacks are compared with the worker's, so both follow source maps.
  const parameters = ["--enable-source-maps", ...program.nodeOptions, program.file];
  const environment: NodeJS.ProcessEnv = { ...process.env, ...program.environment, NODE_OPTIONS: "" };
  for (const name of Object.keys(environment)) if (name.startsWith("VITEST")) delete environment[name];
  const result = await run(node, parameters, { cwd: ROOT, env: environment, timeout: 100_000, maxBuffer: 1 << 26 }).catch(
    (error: { stdout: string; stderr: string }) => error,
  );
  const lines = result.stdout.split("\n").filter((line) => line.startsWith("@case "));
  const outcomes = lines.map((line) => JSON.parse(line.slice("@case ".length)) as Outcome);
  return {
    outcomes,
    output:
      result.stdout
        .split("\n")
        .filter((line) => !line.startsWith("@case "))
        .join("\n") + result.stderr,
  };
}

/** Files that the matrix imports besides Node's own modules. */
const PACKAGES: Readonly<Record<string, string>> = { shoal: ROOT, acorn: path.join(ROOT, "node_modules/acorn") };

/** Copies the matrix as a separate package into a folder where `shoal` is installed. */
async function makePackage(folder: string, { name, type }: { name: string; type: "module" | "commonjs" }): Promise<string> {
  const target = path.join(folder, name);
  await fs.cp(MATRIX, target, { recursive: true });
  await fs.mkdir(path.join(target, "node_modules"));
  for (const [dependency, place] of Object.entries(PACKAGES)) {
    await fs.symlink(place, path.join(target, "node_modules", dependency));
  }
  await fs.writeFile(path.join(target, "package.json"), JSON.stringify({ private: true, type }));
  return target;
}

async function compile(file: string, folder: string, moduleOptions: readonly string[]): Promise<void> {
  const compiler = path.join(ROOT, "node_modules/typescript/bin/tsc");
  const options = ["--ignoreConfig", "--noCheck", "--skipLibCheck"];
  const output = ["--rewriteRelativeImportExtensions", "--sourceMap", "--rootDir", folder];
  const program = [compiler, ...options, ...moduleOptions, ...output, path.join(folder, file)];
  await run(process.execPath, program, { cwd: folder }).catch((error: { stdout: string }) => {
    throw new Error(`tsc failed: ${error.stdout}`);
  });
}
