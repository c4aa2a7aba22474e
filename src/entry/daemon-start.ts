/**
 * The beginning of a daemon's process: its configuration is read and, on one machine, its first workers are started, before the modules are loaded that make a daemon of it.
 *
 * Owns the line to the parent; `entry/daemon-process.ts` goes on from here, decides what the parent's end means from then on, and gives the early workers away.
 * Imports little, as a program's first task waits for each millisecond until its worker has begun.
 */
import { EarlyWorkers } from "../node/workers/early-workers.ts";
import { type SpareProcess, startSpareProcess } from "../node/workers/spare-process.ts";
import { useCodeCache } from "../platform/files/code-cache.ts";
import { type ParentLine, readParentLine } from "../platform/processes/worker-process.ts";
import type { DaemonConfiguration } from "./daemon-process.ts";

interface DaemonStart {
  readonly configuration: DaemonConfiguration;
  /** Writes a line to the parent. */
  readonly send: (line: string, onWritten?: () => void) => void;
  readonly cpus: number;
  readonly workerEntry: string;
  /** Absent in a cluster, where a node does not know whether anybody will want any. */
  readonly earlyWorkers: EarlyWorkers<SpareProcess> | undefined;
}

useCodeCache();
let parentGone = (): void => process.exit(0);

/** Until then the process ends with its parent at once. */
export function whenParentGone(callback: () => void): void {
  parentGone = callback;
}

export const daemonStart: DaemonStart = begin(await readParentLine<DaemonConfiguration>(() => parentGone()));

function begin({ configuration, send }: ParentLine<DaemonConfiguration>): DaemonStart {
  // From a file of `dist/shared`, too.
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const workerEntry = new URL(`../entry/worker.${extension}`, import.meta.url).pathname;
  const cpus = configuration.resources["CPU"] ?? 1;
  const spare = { entry: workerEntry, execArgv: configuration.workerExecArgv, cpus };
  const earlyWorkers =
    configuration.cluster === undefined
      ? new EarlyWorkers({
          cpus,
          start: (gone) => startSpareProcess(spare, gone),
          end: ({ child }: SpareProcess) => child.kill("SIGKILL"),
        })
      : undefined;
  return { configuration, send, cpus, workerEntry, earlyWorkers };
}
