/**
 * Starts workers as child processes of the daemon, which is slim: a spawn costs it about a millisecond, a large driver tens.
 *
 * Decides with which flags: those of their driver that say how modules load, and a limit of their heap. Called by the worker pool, which owns what is made here;
 * the file by which an interruption meets its call is removed with the process.
 */
import type { JobId, NodeId, ProcessId } from "../base/ids.ts";
import type { ForeignCode } from "../closure/foreign-code.ts";
import { usableMemoryBytes, workerHeapFlags } from "../platform/machine.ts";
import { DaemonMark } from "../platform/run-mark.ts";
import type { TlsIdentity } from "../platform/tls-identity.ts";
import { Child } from "../platform/worker-process.ts";
import type { EnvironmentDescription, LaunchSettings } from "./environment-table.ts";
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
  /** The same for processes of other nodes; undefined on one machine. */
  remoteAddress: string | undefined;
  /** The node's, where processes of other nodes are met with a certificate. */
  identity: TlsIdentity | undefined;
  memoryDirectory: string;
  spillDirectory: string;
  storeQuotaBytes: number;
  taskOomRetries: number;
  /** The file by which an interruption meets the call that it is meant for. */
  runMark: string;
  /** Its runtime environment, which what it submits inherits; undefined for the default one. */
  runtimeEnv: EnvironmentDescription | undefined;
  /** The folder whose packages its code finds first. */
  packageFolder: string | undefined;
  /** Where the driver's files are, when they are not where the driver has them. */
  foreignCode: ForeignCode | undefined;
}

export function createProcessLauncher(options: {
  entry: string;
  execArgv: readonly string[];
  /** How many workers the node has when all of its CPUs are at work. */
  cpus: number;
  configure: (workerId: ProcessId, settings: LaunchSettings | undefined) => WorkerConfiguration;
  onSpawned: (pid: number) => void;
}): WorkerLauncher {
  const memoryBytes = usableMemoryBytes();
  const withHeapLimit = (execArgv: readonly string[], settings: LaunchSettings | undefined): string[] => {
    const nodeOptions = settings?.envVars["NODE_OPTIONS"] ?? process.env["NODE_OPTIONS"];
    return [...execArgv, ...workerHeapFlags({ memoryBytes, cpus: options.cpus, execArgv, nodeOptions })];
  };
  return {
    launch: ({ workerId, settings, onLine, onExit }) => {
      const configuration = options.configure(workerId, settings);
      const mark = new DaemonMark(configuration.runMark);
      let isGone = false;
      const child = new Child({
        entry: options.entry,
        // Of a job's driver: what it loads has to be loaded in the same way.
        execArgv: withHeapLimit(settings?.description.job?.execArgv ?? options.execArgv, settings),
        configuration,
        ...(settings === undefined ? {} : { env: settings.envVars, cwd: settings.workingDirectory }),
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
