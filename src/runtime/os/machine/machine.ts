/** Facts about this machine that decide a node's resources, and the flags that let a worker load the driver's modules. */
import { availableParallelism, hostname, totalmem } from "node:os";

export function cpuCount(): number {
  return availableParallelism();
}

/** The name of this machine in its network, as names of files and messages have it. */
export function machineName(): string {
  return hostname();
}

const MEGABYTE = 1024 * 1024;
/** V8's own limit on a machine with enough memory; a single large task on an idle machine must not get less. */
const HEAP_MIN_MEGABYTES = 4096;
const HEAP_FLAG = /(^|\s)--max[-_](old[-_]space[-_]size|heap[-_]size)/;

/**
 * Flags for the limit of a worker's JavaScript heap: the worker's share of the machine, or of the control group, if each CPU had one
 * worker. The share is at least 4 GB, V8's own default on any machine, and at most three quarters of all memory. A limit in `NODE_OPTIONS`,
 * or on the driver's command line, takes precedence.
 */
export function workerHeapFlags(options: {
  memoryBytes: number;
  cpus: number;
  /** The flags that it is started with otherwise. */
  execArgv: readonly string[];
  nodeOptions: string | undefined;
}): string[] {
  const { memoryBytes: totalBytes, cpus, execArgv, nodeOptions } = options;
  if (HEAP_FLAG.test(nodeOptions ?? "") || execArgv.some((flag) => HEAP_FLAG.test(flag))) return [];
  const share = totalBytes / MEGABYTE / Math.max(1, cpus);
  const most = (totalBytes / MEGABYTE) * 0.75;
  return [`--max-old-space-size=${Math.floor(Math.min(Math.max(share, HEAP_MIN_MEGABYTES), most))}`];
}

/** Memory for this process and its children: the machine's, or less in a container. */
export function usableMemoryBytes(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

const LOADER_FLAGS_WITH_VALUE = new Set([
  "--import",
  "--require",
  "-r",
  "--loader",
  "--experimental-loader",
  "--conditions",
  "-C",
  "--env-file",
]);
const LOADER_FLAG =
  /^--(import|require|loader|experimental-[a-z-]+|conditions|env-file|no-warnings|preserve-symlinks|no-experimental-[a-z-]+)(=|$)/;
/** Test runners add conditions that would change how packages resolve in a worker. */
const RUNNER_CONDITIONS = new Set(["node", "module", "development|production", "browser"]);

/** Picks the flags of this process that affect how modules load, and how large the heap may be. */
export function workerExecArgv(execArgv: readonly string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index < execArgv.length; index += 1) {
    const flag = execArgv[index] as string;
    if (LOADER_FLAGS_WITH_VALUE.has(flag)) {
      const value = execArgv[index + 1];
      index += 1;
      if (value === undefined || ((flag === "--conditions" || flag === "-C") && RUNNER_CONDITIONS.has(value))) continue;
      kept.push(flag, value);
    } else if (LOADER_FLAG.test(flag) || HEAP_FLAG.test(flag)) {
      kept.push(flag);
    }
  }
  kept.push("--disable-warning=ExperimentalWarning");
  return kept;
}
