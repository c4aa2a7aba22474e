/**
 * The first step of a daemon's process: reads the configuration and, on one machine, starts the first workers, before the daemon's modules are loaded.
 *
 * Owns the line to the parent. `entry/daemon-process.ts` continues, decides what the parent's end means from then on, and hands out the early workers. Imports
 * little, because a program's first task waits for every millisecond before its worker starts.
 */
import { rmSync } from "node:fs";
import type { LocalNodeOptions } from "../core/daemon-process.ts";
import type { ClusterConfiguration } from "../runtime/node/membership/cluster-membership.ts";
import { EarlyWorkers } from "../runtime/node/workers/early-workers.ts";
import { type SpareProcess, startSpareProcess } from "../runtime/node/workers/spare-process.ts";
import { useCodeCache } from "../runtime/os/files/code-cache.ts";
import { ownModule } from "../runtime/os/own-files.ts";
import type { SessionDirectories } from "../runtime/os/files/sessions/session-directory.ts";
import { type ParentLine, readParentLine } from "../runtime/os/processes/worker-process.ts";

export interface DaemonConfiguration extends Omit<LocalNodeOptions, "spillRoot" | "onLine"> {
  directories: SessionDirectories;
  workerExecArgv: string[];
  /** Whether it runs jobs in the very folders of drivers that are on its machine. Default: true. */
  sharesFolders?: boolean | undefined;
  /** Modules of extensions that the daemon has besides, and its workers do not. */
  ownExtensions?: readonly string[] | undefined;
  /** Folder of the run's logs, for workers' output. Default: no files. */
  logs?: string | undefined;
  /** Place and limits of the node's history. Default: no history. */
  history?: { folder: string; bytesMax?: number | undefined; keptMs?: number | undefined } | undefined;
  /** The node is one of a cluster. */
  cluster?: ClusterConfiguration | undefined;
}

interface DaemonStart {
  readonly configuration: DaemonConfiguration;
  /** Writes a line to the parent. */
  readonly send: (line: string, onWritten?: () => void) => void;
  readonly cpus: number;
  readonly workerEntry: string;
  /** Absent in a cluster, where a node does not know whether anybody will want any. */
  readonly earlyWorkers: EarlyWorkers<SpareProcess> | undefined;
  /** Ends a daemon that has not begun to be one: its session's folders, which its parent has made, go with it. */
  readonly end: () => void;
}

useCodeCache();
let parentGone = (): void => process.exit(0);

/** Until then `daemonStart.end` is called. */
export function whenParentGone(callback: () => void): void {
  parentGone = callback;
}

export const daemonStart: DaemonStart = begin(await readParentLine<DaemonConfiguration>(() => parentGone()));

function begin({ configuration, send }: ParentLine<DaemonConfiguration>): DaemonStart {
  const workerEntry = ownModule("entry/worker");
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
  const end = (): void => {
    // Early workers end with the line to their parent, which is this process.
    for (const directory of Object.values(configuration.directories)) rmSync(directory, { recursive: true, force: true });
    process.exit(0);
  };
  whenParentGone(end);
  return { configuration, send, cpus, workerEntry, earlyWorkers, end };
}
