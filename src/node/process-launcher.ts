/** Starts workers as child processes of the daemon, which is slim: a spawn costs it about a millisecond, a large driver tens. */
import type { JobId, NodeId, ProcessId } from "../base/ids.ts";
import { Child } from "../platform/worker-process.ts";
import type { WorkerLauncher } from "./worker-pool.ts";

/** What a worker process is told at its start. */
export interface WorkerConfiguration {
  processId: ProcessId;
  nodeId: NodeId;
  daemonId: ProcessId;
  jobId: JobId;
  token: string;
  namespace: string;
  labels: Record<string, string>;
  daemonAddress: string;
  /** Where it is to listen. */
  address: string;
  memoryDirectory: string;
  spillDirectory: string;
  storeQuotaBytes: number;
}

export function createProcessLauncher(options: {
  entry: string;
  execArgv: readonly string[];
  configure: (workerId: ProcessId) => WorkerConfiguration;
  onSpawned: (pid: number) => void;
}): WorkerLauncher {
  return {
    launch: ({ workerId, onLine, onExit }) => {
      const child = new Child({
        entry: options.entry,
        execArgv: options.execArgv,
        configuration: options.configure(workerId),
        onLine,
        onMessage: () => {},
        onExit,
      });
      options.onSpawned(child.pid);
      return { pid: child.pid, kill: () => child.kill("SIGKILL") };
    },
  };
}
