/**
 * The two runtimes under test behind one face: how to run a round of a figure, how to start a whole program, and how
 * large the installation is. What differs between Shoal and Ray is here and nowhere else in the harness.
 * Called by `compare.ts` and by the figures that are measured from outside.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Child } from "./child.ts";
import type { DriverFigure, Measurement, Plan } from "./figure.ts";
import type { RayEnvironment } from "./ray-environment.ts";
import { fastModeVariables, ofBothModes } from "./ray-modes.ts";

const FULL_LIMIT_MS = 240_000;
const QUICK_LIMIT_MS = 90_000;

/** Programs of `programs/` (Shoal) and `ray/` (Ray): they print "ready" and end, some only at the end of their input. `data-beside` is of `ray/` alone. */
type Program = "first-calls" | "idle" | "data-pipelines" | "data-beside" | "train";

interface InstalledSize {
  readonly megabytes: number;
  readonly packagesCount: number;
}

export interface Subject {
  readonly side: "shoal" | "ray";
  /** A Python with torch and pyarrow; undefined where there is none. */
  readonly python: string | undefined;
  runRound(figure: DriverFigure, plan: Plan): Promise<Measurement>;
  start(program: Program, plan: Plan, args?: readonly string[]): Child;
  installedSize(): Promise<InstalledSize>;
}

/** The context of a subject. The harness owns the scratch folder, and removes it at the end of the run. */
interface SubjectContext {
  readonly repositoryRoot: string;
  readonly scratchDirectory: string;
}

export function newScratchDirectory(): Promise<string> {
  // Short: socket paths below it must stay under 108 characters.
  return mkdtemp(join(tmpdir(), "shoal-bench-"));
}

/** @param python - of the environment with Ray, so that both sides have the same packages. Default: what `SHOAL_BENCH_PYTHON` names */
export function shoalSubject(context: SubjectContext, python: string | undefined = process.env["SHOAL_BENCH_PYTHON"]): Subject {
  const { repositoryRoot } = context;
  const start = (script: string, args: readonly string[], timeLimitMs: number) =>
    new Child({
      command: process.execPath,
      args: [join(repositoryRoot, "bench", script), ...args],
      environment: python === undefined ? process.env : { ...process.env, SHOAL_BENCH_PYTHON: python },
      workingDirectory: repositoryRoot,
      timeLimitMs,
    });
  return {
    side: "shoal",
    python,
    start: (program, plan, args = []) => start(`programs/${program}.ts`, args, limitOf(plan)),
    runRound: (figure, plan) => measureInChild((args) => start("round.ts", args, limitOf(plan, figure)), { context, figure, plan }),
    installedSize: () => shoalInstalledSize(repositoryRoot),
  };
}

export function raySubject(context: SubjectContext, environment: RayEnvironment): Subject {
  const variables: NodeJS.ProcessEnv = {
    ...process.env,
    // A token of this run's own, so that Ray writes none into the user's home.
    RAY_AUTH_TOKEN: randomBytes(32).toString("hex"),
    RAY_USAGE_STATS_ENABLED: "0",
    // For clients that both sides start.
    SHOAL_BENCH_NODE: process.execPath,
    // Ray's dashboard leaves temporary folders behind; there they go with the scratch folder.
    TMPDIR: context.scratchDirectory,
    SHOAL_BENCH_RAY_TEMP: join(context.scratchDirectory, "ray"),
  };
  const start = (script: string, args: readonly string[], how: { timeLimitMs: number; more?: Readonly<Record<string, string>> }) =>
    new Child({
      command: environment.python,
      args: [join(context.repositoryRoot, "bench", "ray", script), ...args],
      environment: { ...variables, ...how.more },
      workingDirectory: context.repositoryRoot,
      timeLimitMs: how.timeLimitMs,
    });
  const measure = (figure: DriverFigure, plan: Plan, more: Readonly<Record<string, string>> = {}) =>
    measureInChild((args) => start("round.py", args, { timeLimitMs: limitOf(plan, figure), more }), { context, figure, plan });
  return {
    side: "ray",
    python: environment.python,
    start: (program, plan, args = []) => start(`${program.replaceAll("-", "_")}.py`, args, { timeLimitMs: limitOf(plan) }),
    runRound: async (figure, plan) => {
      const byDefault = await measure(figure, plan);
      if (figure.fastMode === undefined || environment.haproxy === null) return byDefault;
      return ofBothModes(figure, { byDefault, fast: await measure(figure, plan, fastModeVariables(context.scratchDirectory)) });
    },
    installedSize: () => rayInstalledSize(environment),
  };
}

function limitOf(plan: Plan, { limitMs }: { readonly limitMs?: number } = {}): number {
  return limitMs ?? (plan.quick ? QUICK_LIMIT_MS : FULL_LIMIT_MS);
}

/** The result comes back in a file: both runtimes write freely to the standard streams. */
async function measureInChild(
  start: (args: readonly string[]) => Child,
  round: { context: SubjectContext; figure: DriverFigure; plan: Plan },
): Promise<Measurement> {
  const { name } = round.figure;
  const resultFile = join(round.context.scratchDirectory, `${name}.json`);
  await rm(resultFile, { force: true });
  await using child = start([name, JSON.stringify(round.plan), resultFile]);
  await child.succeeded();
  const measurement = JSON.parse(await readFile(resultFile, "utf8")) as Measurement;
  const leftProcessesCount = await child.close();
  if (leftProcessesCount === 0) return measurement;
  return { ...measurement, details: { ...measurement.details, leftProcessesCount } };
}

/** The files that `npm install shoal` would bring: those of the package, and its production dependencies. */
async function shoalInstalledSize(repositoryRoot: string): Promise<InstalledSize> {
  const pack = await promisify(execFile)("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: repositoryRoot,
    maxBuffer: 64 << 20,
  });
  // npm 11 and before print a list, later ones an object by package name.
  const printed = JSON.parse(pack.stdout) as Record<string, { unpackedSize: number }>;
  const unpackedSizeBytes = Object.values(printed)[0]?.unpackedSize;
  if (unpackedSizeBytes === undefined) throw new Error(`Cannot weigh the package: npm pack printed ${pack.stdout}`);
  const dependencies = new Set<string>();
  await collectDependencies(repositoryRoot, repositoryRoot, dependencies);
  let sizeBytes = unpackedSizeBytes;
  for (const name of dependencies) sizeBytes += await folderSizeBytes(join(repositoryRoot, "node_modules", name));
  return { megabytes: sizeBytes / 1e6, packagesCount: 1 + dependencies.size };
}

async function collectDependencies(repositoryRoot: string, packageRoot: string, found: Set<string>): Promise<void> {
  const manifest = JSON.parse(await readFile(join(packageRoot, "package.json"), "utf8")) as {
    dependencies?: Record<string, string>;
    optionalDependencies?: Record<string, string>;
  };
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
    if (found.has(name)) continue;
    found.add(name);
    await collectDependencies(repositoryRoot, join(repositoryRoot, "node_modules", name), found);
  }
}

/** Not part of Ray's core: pip brings itself, numpy is there for the benchmark's arrays, the rest is what Ray Data brings, and torch. */
const NOT_RAY =
  /^(pip|setuptools|numpy|pyarrow|pandas|fsspec|dateutil|python_dateutil|six|pytz|tzdata|PIL|pillow|polars|_polars_runtime_32|polars_runtime_32|duckdb|_duckdb|adbc_driver_duckdb|_distutils_hack|distutils-precedence|__pycache__|torch|torchgen|functorch|isympy|sympy|mpmath|networkx|jinja2|markupsafe|nvidia|nvidia_cuda_cupti|nvidia_cuda_runtime)([-._]|$)/;

async function rayInstalledSize(environment: RayEnvironment): Promise<InstalledSize> {
  let sizeBytes = 0;
  let packagesCount = 0;
  for (const name of await readdir(environment.sitePackages)) {
    if (NOT_RAY.test(name)) continue;
    if (name.endsWith(".dist-info")) packagesCount++;
    sizeBytes += await folderSizeBytes(join(environment.sitePackages, name));
  }
  return { megabytes: sizeBytes / 1e6, packagesCount };
}

async function folderSizeBytes(path: string): Promise<number> {
  const status = await stat(path);
  if (!status.isDirectory()) return status.size;
  let sizeBytes = 0;
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) sizeBytes += (await stat(join(entry.parentPath, entry.name))).size;
  }
  return sizeBytes;
}
