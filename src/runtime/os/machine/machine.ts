/** Facts of this machine that decide how much a node offers, and the flags with which a worker must be started to load what the driver loads. */
import { availableParallelism, hostname, totalmem } from "node:os";

export function cpuCount(): number {
  return availableParallelism();
}

/** The name of this machine in its network, as names of files and messages have it. */
export function machineName(): string {
  return hostname();
}

const MEGABYTE = 1024 * 1024;
/** What V8 takes by itself on a machine with memory enough; a single large task on an idle machine must not have less. */
const HEAP_MIN_MEGABYTES = 4096;
const HEAP_FLAG = /(^|\s)--max[-_](old[-_]space[-_]size|heap[-_]size)/;

/**
 * The limit of a worker's JavaScript heap: its share of the machine, or of the control group, if all CPUs had one worker each; 4 GB at least, and never more than
 * three quarters of all memory. V8's own default stops at 4 GB on any machine. Whoever sets a limit (in `NODE_OPTIONS`, or for the driver on its command line) has that one.
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

/** What this process and its children may use: the machine's memory, or less in a container. */
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
/** Test runners add conditions of their own that would change what packages resolve to in a worker. */
const RUNNER_CONDITIONS = new Set(["node", "module", "development|production", "browser"]);

/** Of the flags this process was started with, those that decide how modules load, and how large the heap may be. */
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
