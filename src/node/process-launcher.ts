/** Starts workers as child processes of the daemon, which is slim: a spawn costs it about a millisecond, a large driver tens. */
import type { JobId, NodeId, ProcessId } from "../base/ids.ts";
import { DaemonMark } from "../platform/run-mark.ts";
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
  /** The file by which an interruption meets the call that it is meant for. */
  runMark: string;
}

export function createProcessLauncher(options: {
  entry: string;
  execArgv: readonly string[];
  configure: (workerId: ProcessId) => WorkerConfiguration;
  onSpawned: (pid: number) => void;
}): WorkerLauncher {
  return {
    launch: ({ workerId, onLine, onExit }) => {
      const configuration = options.configure(workerId);
      const mark = new DaemonMark(configuration.runMark);
      let isGone = false;
      const child = new Child({
        entry: options.entry,
        execArgv: options.execArgv,
        configuration,
        onLine,
        onMessage: () => {},
        onExit: (exit) => {
          mark.remove();
          isGone = true;
          onExit(exit);
        },
      });
      options.onSpawned(child.pid);
      return {
        pid: child.pid,
        kill: () => child.kill("SIGKILL"),
        interrupt: (call) => {
          if (!isGone && mark.wishEnd(call)) child.kill("SIGINT");
        },
        runsOther: (call) => !isGone && mark.runsOther(call),
      };
    },
  };
}
