/**
 * The process of a node daemon: started by `init()` with its configuration on the parent's line, ended with its last driver.
 *
 * Joins what may not know each other (the node and the head, sockets and child processes), and owns the session's folders: it removes them at the end,
 * whatever ended it short of SIGKILL; its driver does it then. Nothing here decides about tasks, refs or actors.
 */
import { hostname } from "node:os";
import { join } from "node:path";
import { type JobId, type NodeId, newProcessId, type ProcessId } from "../base/ids.ts";
import type { EnvironmentDescription, EnvironmentResult } from "../node/environment-table.ts";
import { Head } from "../control/head.ts";
import { NodeDaemon } from "../node/daemon.ts";
import { createProcessLauncher } from "../node/process-launcher.ts";
import { createSpillDisk } from "../object/spill-disk.ts";
import { listen } from "../platform/endpoint.ts";
import { createMemoryProbe, pretendedMemoryBytes } from "../platform/memory-usage.ts";
import { randomHex } from "../platform/random.ts";
import {
  claimSessionDirectories,
  removeArenaFile,
  removeSessionDirectories,
  type SessionDirectories,
  writeWorkerPids,
} from "../platform/session-directory.ts";
import type { UnitShares } from "../scheduling/resource-pool.ts";
import { Child, readParentLine } from "../platform/worker-process.ts";

export interface DaemonConfiguration {
  nodeId: NodeId;
  daemonId: ProcessId;
  jobId: JobId;
  token: string;
  namespace: string;
  directories: SessionDirectories;
  resources: Record<string, number>;
  labels: Record<string, string>;
  accelerators: UnitShares | undefined;
  objectStoreMemoryBytes: number;
  memoryUsageThreshold: number;
  taskOomRetries: number;
  workerExecArgv: string[];
}

/** Written to the parent once callers can connect. */
const READY = "ready";

let end = (): void => process.exit(0);
const { configuration, send } = await readParentLine<DaemonConfiguration>(() => end());
const { directories, token, nodeId, daemonId, jobId, namespace, objectStoreMemoryBytes } = configuration;
const address = join(directories.sockets, "daemon");
claimSessionDirectories(directories);
const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
let workerCount = 0;
let isEnding = false;

const daemon: NodeDaemon = new NodeDaemon({
  nodeId,
  processId: daemonId,
  token,
  hostname: hostname(),
  address,
  resources: configuration.resources,
  labels: configuration.labels,
  accelerators: configuration.accelerators,
  objectStoreMemoryBytes,
  newProcessId: () => newProcessId(randomHex, nodeId),
  nowMs: () => performance.now(),
  launcher: createProcessLauncher({
    entry: new URL(`./worker.${extension}`, import.meta.url).pathname,
    execArgv: configuration.workerExecArgv,
    configure: (processId, settings) => {
      workerCount += 1;
      return {
        processId,
        nodeId,
        daemonId,
        jobId,
        token,
        namespace,
        labels: configuration.labels,
        daemonAddress: address,
        address: join(directories.sockets, `w${workerCount}`),
        memoryDirectory: directories.memory,
        spillDirectory: directories.spill,
        storeQuotaBytes: objectStoreMemoryBytes,
        taskOomRetries: configuration.taskOomRetries,
        runMark: join(directories.memory, `run-${workerCount}`),
        runtimeEnv: settings?.description,
        packageFolder: settings?.packageFolder,
      };
    },
    onSpawned: (pid) => writeWorkerPids(directories, [...daemon.workerPids, pid]),
  }),
  spillDisk: createSpillDisk(directories),
  buildEnvironment: (key, description) => buildInProcess(key, description),
  memory: { probe: createMemoryProbe(), threshold: configuration.memoryUsageThreshold, pretendedBytes: pretendedMemoryBytes() },
  unlinkArena: (arena, kind) => removeArenaFile(directories, arena, kind),
  createHead: (node) => new Head(node),
  onAbandoned: () => end(),
});

/** In a process of its own, which ends with this one. */
function buildInProcess(key: string, description: EnvironmentDescription): Promise<EnvironmentResult> {
  const folder = join(directories.sockets, `environment-${key}`);
  return new Promise((resolve) => {
    let result: EnvironmentResult | undefined;
    const lines: string[] = [];
    new Child({
      entry: new URL(`./environment.${extension}`, import.meta.url).pathname,
      execArgv: ["--disable-warning=ExperimentalWarning"],
      configuration: { spec: description, folder },
      onLine: (_stream, line) => lines.push(line),
      onMessage: (line) => {
        result = JSON.parse(line) as EnvironmentResult;
      },
      onExit: () => resolve(result ?? { failed: "the process that built it ended before it was done", output: lines.slice(-20) }),
    });
  });
}

end = () => {
  if (isEnding) return;
  isEnding = true;
  void daemon.close().finally(() => {
    removeSessionDirectories(directories);
    process.exit(0);
  });
};
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => end());

// Workers need some 40 ms to start: they begin before this process listens.
daemon.start();
await listen(address, (transport) => daemon.accept(transport));
send(READY);
