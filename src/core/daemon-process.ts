/**
 * The node as a separate process: the driver starts it and reaches it over a socket, and all its processes end with it.
 *
 * It is separate because a computing driver must not stall it, and because only a slim process may spawn others: a spawn from a driver with a
 * large heap blocks it for tens of milliseconds.
 */
import { messageOf } from "../runtime/base/texts/describe.ts";
import type { JobId, NodeId, ProcessId } from "../runtime/base/ids.ts";
import { DeferredTransport } from "../runtime/os/network/deferred-transport.ts";
import { programExecArgv } from "./session/program-loaders.ts";
import { randomHex } from "../runtime/os/random.ts";
import { ownModule } from "../runtime/os/own-files.ts";
import { createSessionDirectories, killLeftWorkers, removeSessionDirectories } from "../runtime/os/files/sessions/session-directory.ts";
import { sessionRoots, sweepStaleSessions } from "../runtime/os/files/sessions/session-sweep.ts";
import type { Transport } from "../runtime/os/network/transport.ts";
import type { UnitShares } from "../runtime/scheduling/resource-pool.ts";
import { connectProven } from "../runtime/rpc/handshake.ts";
import { Child } from "../runtime/os/processes/worker-process.ts";

export interface LocalNode {
  readonly transport: Transport;
  readonly memoryDirectory: string;
  readonly spillDirectory: string;
  /** Resolves when the node and all its workers have ended and their files are gone. */
  ended(): Promise<void>;
  /** Called as this process exits: removes files that no other process removes. */
  abandon(): void;
}

export interface LocalNodeOptions {
  nodeId: NodeId;
  daemonId: ProcessId;
  jobId: JobId;
  token: string;
  namespace: string;
  resources: Record<string, number>;
  labels: Record<string, string>;
  accelerators: UnitShares | undefined;
  objectStoreMemoryBytes: number;
  memoryUsageThreshold: number;
  taskOomRetries: number;
  waitingProcessesPerCpu: number;
  spillRoot: string | undefined;
  /** Modules of extensions, as URLs. */
  extensions: readonly string[];
  onLine: (line: string) => void;
}

/** After its last answer a daemon has only files to remove. */
const ENDED_WITHIN_MS = 5000;

export function startDaemonProcess(options: LocalNodeOptions, driverId: ProcessId): LocalNode {
  const { onLine, spillRoot, ...configuration } = options;
  const directories = createSessionDirectories(randomHex(6), spillRoot);
  let hasExited = false;
  const { promise: exited, resolve: onExited } = Promise.withResolvers<void>();
  const child = new Child({
    entry: ownModule("entry/daemon"),
    execArgv: ["--disable-warning=ExperimentalWarning"],
    configuration: { ...configuration, directories, workerExecArgv: programExecArgv() },
    onLine: (_stream, line) => onLine(line),
    // Its only message says that it listens.
    onMessage: () => {
      connectLater(transport, `${directories.sockets}/daemon`, { token: options.token, processId: driverId });
    },
    onExit: (exit) => {
      hasExited = true;
      killLeftWorkers(directories);
      removeSessionDirectories(directories);
      transport.failed(exit.signal === undefined ? `it exited with code ${exit.exitCode ?? "unknown"}` : `it was ended by ${exit.signal}`);
      onExited();
    },
  });
  const transport = new DeferredTransport((keeps) => child.setKeepsProcessAlive(keeps));
  child.setKeepsProcessAlive(false);
  sweepStaleSessions(spillRoot === undefined ? sessionRoots() : [...sessionRoots(), spillRoot]);
  return {
    transport,
    memoryDirectory: directories.memory,
    spillDirectory: directories.spill,
    ended: async () => {
      if (hasExited) return;
      child.setKeepsProcessAlive(true);
      const timer = setTimeout(() => child.kill("SIGKILL"), ENDED_WITHIN_MS);
      await exited;
      clearTimeout(timer);
    },
    // The daemon notices the end and removes everything.
    abandon: () => {},
  };
}

export function connectLater(transport: DeferredTransport, path: string, identity: { token: string; processId: ProcessId }): void {
  connectProven(path, identity).then(
    (socket) => transport.connected(socket),
    (error: unknown) => transport.failed(messageOf(error)),
  );
}
