/**
 * The parts of a runtime that differ from process to process: its identity, the way to its node, the folders of the store, and the
 * receivers of news.
 *
 * `init.ts` fills it for drivers, `session/worker-runtime.ts` for workers, and simulations do it themselves. Each part of the runtime reads
 * its own options.
 */
import type { IdSource, JobId, NodeId, ProcessId } from "../runtime/base/ids.ts";
import type { RuntimeEnvSpec } from "../runtime/environment/runtime-env.ts";
import type { Transport } from "../runtime/os/network/transport.ts";
import type { BusyPoll } from "../runtime/rpc/busy-poll.ts";
import type { Frame } from "../runtime/wire/frame.ts";
import type { HelloHeader, LogHeader } from "../runtime/wire/messages.ts";
import type { OwnWorker } from "./calls/submission/task-submitter.ts";

export interface RuntimeOptions {
  role: "driver" | "worker";
  mode: "process" | "inProcess";
  processId: ProcessId;
  nodeId: NodeId;
  daemonId: ProcessId;
  jobId: JobId;
  token: string;
  ids: IdSource;
  namespace: string;
  /** In which environment this process is, and what it submits unless it says otherwise. */
  runtimeEnv?: RuntimeEnvSpec | undefined;
  /** The labels of this process' node. */
  labels: Readonly<Record<string, string>>;
  /** Where this process listens for calls; empty for drivers. */
  address: string;
  /** The same for processes of other nodes. */
  remoteAddress?: string | undefined;
  daemonTransport: Transport;
  /** Awake between calls and their answers; absent where they come within this process. */
  busyPoll?: BusyPoll | undefined;
  memoryDirectory: string;
  spillDirectory: string;
  storeQuotaBytes: number;
  /** How often a task runs again that was ended as the machine was full; -1: without end. */
  taskOomRetries: number;
  /** Functions run as they are and are never captured, as all processes share one heap. Default: in in-process mode. */
  runsLocally?: boolean | undefined;
  /** In-process mode: looks at each function that runs or travels as it is. */
  checkLocal?: ((source: object) => void) | undefined;
  /** For workers: this worker itself, for its nested tasks. */
  ownWorker?: OwnWorker | undefined;
  /** For workers: messages about slots, actors and the end of this process. */
  onWorkerMessage?: (frame: Frame, header: unknown) => void;
  onLog: (entry: LogHeader) => void;
  onWarning: (text: string) => void;
  onDaemonLost: (reason: string) => void;
  /** @returns the bytes of the heap that are in use afterwards */
  collectGarbage: () => number;
  /** Collects young objects alone; absent where nothing depends on it. */
  collectYoungGarbage?: () => void;
}

/** How this process introduces itself to its daemon and to workers. */
export function helloOf({ processId, role, address, remoteAddress, jobId, ids }: RuntimeOptions): HelloHeader {
  return {
    processId,
    holderId: processId,
    kind: role,
    pid: process.pid,
    address,
    ...(remoteAddress === undefined ? {} : { remoteAddress }),
    taskIdPrefix: ids.prefix,
    jobId,
  };
}
