/**
 * The GPU that the tests in this folder run on, or why they do not run: `npm run test:gpu`.
 *
 * Under Node's own test runner, so that they run where nothing but Node, Shoal and a Python with torch is installed. `SHOAL_TEST_GPU_PYTHON` names that Python (default: `python3`);
 * `SHOAL_TEST_GPU=pretend` runs the same programs on the CPU, for machines without a GPU. Figures worth writing down are printed in lines
 * that begin with `SEEN`.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { init, python, type RemoteFunction, shutdown } from "shoal";
import { TorchTrainer, type TorchTrainerOptions } from "shoal/train";

export const isPretended = process.env["SHOAL_TEST_GPU"] === "pretend";
export const device = isPretended ? "cpu" : "cuda";
const interpreter = process.env["SHOAL_TEST_GPU_PYTHON"];
/** For calls of Python. */
export const environment: { python?: string } = interpreter === undefined ? {} : { python: interpreter };
const pythonProgram: string = interpreter ?? "python3";

/** `GPU 0: NVIDIA H100 80GB HBM3 (UUID: ...)`, a line for each. */
const listed = isPretended
  ? ["GPU 0: pretended"]
  : outputOf("nvidia-smi", "-L")
      .split("\n")
      .filter((line) => line.startsWith("GPU "));

export const gpuCount: number = listed.length;

/** Why nothing runs; undefined where it does. */
const problem = problemHere();

function problemHere(): string | undefined {
  if (gpuCount === 0) return "nvidia-smi lists no GPU";
  const lacks =
    outputOf(pythonProgram, "-c", "import importlib.util as u; print('yes' if u.find_spec('torch') else 'no')").trim() !== "yes";
  return lacks ? `${pythonProgram} has no torch: SHOAL_TEST_GPU_PYTHON names one that has` : undefined;
}

export function outputOf(program: string, ...args: readonly string[]): string {
  return spawnSync(program, args, { encoding: "utf8", timeout: 60_000 }).stdout ?? "";
}

/** A line for each process with its memory. */
export function processesOnGpu(): string {
  return outputOf("nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader").trim();
}

/** A test that needs the GPU, and is skipped with the reason where there is none. */
export function onGpu(title: string, body: (context: TestContext) => Promise<void>, more: { timeout?: number; needs?: string } = {}): void {
  const { timeout = 90_000, needs } = more;
  const lacks = needs === undefined || problem !== undefined || hasModule(needs) ? undefined : `${pythonProgram} has no ${needs}`;
  const reason = problem ?? lacks;
  void test(title, { timeout, skip: reason ?? false }, body);
}

function hasModule(name: string): boolean {
  return outputOf(pythonProgram, "-c", `import importlib.util as u; print(u.find_spec('${name}') is not None)`).trim() === "True";
}

/** Starts a session for all tests of a file, with a folder for their files. */
export function useGpuSession(): string {
  const folder = mkdtempSync(join(tmpdir(), "test-shoal-gpu-"));
  before(async () => {
    if (problem === undefined) await init({ numCpus: 8, numGpus: gpuCount, logToDriver: false });
  });
  after(async () => {
    if (problem === undefined) await shutdown();
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

export function loopOf(file: string, name: string): RemoteFunction<[config: object], void> {
  return python.task<(config: object) => void>(loopFile(file), name);
}

export function loopFile(file: string): URL {
  return new URL(`loops/${file}.py`, import.meta.url);
}

let runs = 0;

/** A trainer with one rank on a whole GPU unless `scalingConfig` says otherwise; on the CPU where the GPU is pretended. */
export function gpuTrainer<M extends object>(
  [file, name]: readonly [string, string],
  storagePath: string,
  options: Partial<TorchTrainerOptions<object>> = {},
): TorchTrainer<object, M> {
  const { scalingConfig = { numWorkers: 1 }, torchConfig, ...others } = options;
  const resourcesPerWorker = isPretended ? { CPU: 1 } : (scalingConfig.resourcesPerWorker ?? { CPU: 1, GPU: 1 });
  return new TorchTrainer<object, M>({
    trainLoopPerWorker: loopOf(file, name),
    runConfig: { name: `${name}-${(runs += 1)}`, storagePath },
    runtimeEnv: environment,
    scalingConfig: { ...scalingConfig, useGpu: !isPretended, resourcesPerWorker },
    torchConfig: isPretended ? { ...torchConfig, backend: "gloo" } : torchConfig,
    ...others,
  });
}

/** Runs a loop file as a program under `torchrun`, on one rank. @returns the JSON in the last line of output */
export function underTorchrun(file: string, ...args: readonly string[]): unknown {
  const torchrun = ["-m", "torch.distributed.run", "--nnodes", "1", "--nproc-per-node", "1", "--master-addr", "127.0.0.1", "--master-port"];
  const run = spawnSync(pythonProgram, [...torchrun, String(freePort()), fileURLToPath(loopFile(file)), ...args], {
    encoding: "utf8",
    timeout: 90_000,
    env: { ...process.env, OMP_NUM_THREADS: "1" },
  });
  if (run.status !== 0) throw new Error(`torchrun failed: ${run.error?.message ?? run.stderr.slice(-2000)}`);
  return JSON.parse(run.stdout.trim().split("\n").at(-1) as string);
}

function freePort(): number {
  return Number(outputOf(pythonProgram, "-c", "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])"));
}

/** Prints a figure worth writing down. */
export function seen(what: string, value: unknown): void {
  console.log(`SEEN ${what}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
}
