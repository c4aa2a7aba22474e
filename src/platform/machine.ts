/** Facts of this machine that decide how much a node offers, and the flags with which a worker must be started to load what the driver loads. */
import { availableParallelism, hostname, totalmem } from "node:os";

export function cpuCount(): number {
  return availableParallelism();
}

export function memoryBytes(): number {
  return totalmem();
}

export function machineName(): string {
  return hostname();
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

/** Of the flags this process was started with, those that decide how modules load. */
export function workerExecArgv(execArgv: readonly string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index < execArgv.length; index += 1) {
    const flag = execArgv[index] as string;
    if (LOADER_FLAGS_WITH_VALUE.has(flag)) {
      const value = execArgv[index + 1];
      index += 1;
      if (value === undefined || ((flag === "--conditions" || flag === "-C") && RUNNER_CONDITIONS.has(value))) continue;
      kept.push(flag, value);
    } else if (LOADER_FLAG.test(flag)) {
      kept.push(flag);
    }
  }
  kept.push("--disable-warning=ExperimentalWarning");
  return kept;
}
