/**
 * The processes of a cluster on this machine: a head, and nodes that join it.
 *
 * Each is a child of the process that starts it and ends with that process, for every cause. The command line keeps one process above them;
 * tests have them as direct children. The remains of a killed node (workers, files, shared memory) are removed here.
 */
import { newJobId, newNodeId, newProcessId, type NodeId } from "../../runtime/base/ids.ts";
import { ShoalError } from "../../runtime/base/errors.ts";
import { offerOf } from "../../runtime/node/node-offer.ts";
import type { DaemonConfiguration } from "../../entry/daemon-start.ts";
import type { HeadChange, HeadConfiguration, HeadStart } from "../../entry/head.ts";
import { START_ENDS_WITHIN_MS } from "./limits.ts";
import { defaultStoreBytes } from "../../runtime/objects/store/store-quota.ts";
import { type NetworkFaultsPlace, networkFaultsEnvironment } from "../../runtime/os/network/network-faults.ts";
import { workerExecArgv } from "../../runtime/os/machine/machine.ts";
import { randomHex } from "../../runtime/os/random.ts";
import { ownModule } from "../../runtime/os/own-files.ts";
import { createSessionDirectories, killLeftWorkers, removeSessionDirectories } from "../../runtime/os/files/sessions/session-directory.ts";
import { removeNodeFile } from "../../runtime/os/files/clusters/node-file.ts";
import { readFailureLine, startFailedError } from "../../runtime/os/processes/start-failure.ts";
import { Child } from "../../runtime/os/processes/worker-process.ts";

/** Exit of a process that was asked to end, or has nothing left to do. */
export const ENDED_IN_ORDER = "exit code 0";

export interface LocalProcess {
  readonly pid: number;
  kill(signal: NodeJS.Signals): void;
  /** Whether it keeps this process from ending. */
  setKeepsProcessAlive(keeps: boolean): void;
  /** Resolves with the way the process ended, after all its remains are gone: `ENDED_IN_ORDER`, another code, a signal. */
  readonly ended: Promise<string>;
}

export interface LocalHead extends LocalProcess, Readonly<HeadStart> {
  /** Time since which it has led, as far as it has reported, on the clock of `performance.now()`. */
  readonly leadsSinceMs: number | undefined;
}

export interface LocalNodeProcess extends LocalProcess {
  readonly nodeId: NodeId;
}

export interface StartHeadOptions extends Omit<HeadConfiguration, "headId"> {
  /** Set for a process that tests cut off from others. */
  readonly networkFaults?: NetworkFaultsPlace | undefined;
  readonly onLine: (line: string) => void;
  /** Ends a head that has not started yet. */
  readonly signal?: AbortSignal | undefined;
  /** Where others may take over: it leads from now on, or no more. */
  readonly onChange?: ((change: HeadChange) => void) | undefined;
}

/** Resources and labels of a node. Default: those of this machine. */
export interface NodeOptions {
  readonly numCpus?: number | undefined;
  readonly numGpus?: number | undefined;
  readonly resources?: Readonly<Record<string, number>> | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly objectStoreMemoryBytes?: number | undefined;
  readonly spillDirectory?: string | undefined;
  /** How many waiting tasks per CPU keep a process of their own. Default: 2. */
  readonly waitingProcessesPerCpu?: number | undefined;
  /** Whether it runs jobs in the very folders of drivers on its machine. Default: true. `false`: in copies that travel, as between machines. */
  readonly sharesFolders?: boolean | undefined;
  /** Modules of extensions, as URLs. Default: none. */
  readonly extensions?: readonly string[] | undefined;
  /** Modules of extensions that workers do not load. Default: none. */
  readonly ownExtensions?: readonly string[] | undefined;
}

/** Place and limits of a node's history. */
export interface HistoryPlace {
  readonly folder: string;
  readonly bytesMax?: number | undefined;
  readonly keptMs?: number | undefined;
}

interface StartNodeOptions extends NodeOptions {
  /** Token of every hello; a node with a join token gets it from the head. */
  readonly token?: string | undefined;
  /** Where the cluster has certificates (`HeadStart.needsCertificates`, or the head is on another machine). */
  readonly joinToken?: string | undefined;
  /** Several where several heads may lead. */
  readonly headAddress: string | readonly string[];
  readonly listenAddress: string;
  readonly networkFaults?: NetworkFaultsPlace | undefined;
  /** Folder for workers' output. Default: no files. */
  readonly logs?: string | undefined;
  /** Default: none. */
  readonly history?: HistoryPlace | undefined;
  readonly onLine: (line: string) => void;
  /** Ends a node that has not joined yet. */
  readonly signal?: AbortSignal | undefined;
}

/** @throws ShoalError when it ends before it listens */
export async function startHead({ onLine, onChange, networkFaults, signal, ...options }: StartHeadOptions): Promise<LocalHead> {
  let leadsSinceMs = options.hasRivals === true ? undefined : performance.now();
  const configuration: HeadConfiguration = { headId: newNodeId(randomHex), ...options };
  const { child, message, ended } = await startChild({
    module: "entry/head",
    what: "the head",
    configuration,
    onLine,
    networkFaults,
    signal,
    clean: () => {},
    onLater: (line) => {
      const change = JSON.parse(line) as HeadChange;
      leadsSinceMs = change.leads ? performance.now() : undefined;
      onChange?.(change);
    },
  });
  return {
    ...child,
    ...(JSON.parse(message) as HeadStart),
    ended,
    get leadsSinceMs() {
      return leadsSinceMs;
    },
  };
}

/** @throws ShoalError when it ends before it has joined */
export async function startNode(options: StartNodeOptions): Promise<LocalNodeProcess> {
  const { token = "", joinToken, headAddress, listenAddress, networkFaults, onLine, signal } = options;
  const nodeId = newNodeId(randomHex);
  const directories = createSessionDirectories(randomHex(6), options.spillDirectory);
  const { numCpus, numGpus, resources = {}, labels = {} } = options;
  const configuration: DaemonConfiguration = {
    nodeId,
    daemonId: newProcessId(randomHex, nodeId),
    jobId: newJobId(randomHex),
    token,
    namespace: "",
    directories,
    ...offerOf({ numCpus, numGpus, resources, labels }, nodeId),
    objectStoreMemoryBytes: options.objectStoreMemoryBytes ?? defaultStoreBytes(),
    memoryUsageThreshold: 0.95,
    taskOomRetries: -1,
    waitingProcessesPerCpu: options.waitingProcessesPerCpu ?? 2,
    workerExecArgv: workerExecArgv([]),
    sharesFolders: options.sharesFolders,
    logs: options.logs,
    history: options.history,
    extensions: options.extensions ?? [],
    ownExtensions: options.ownExtensions,
    cluster: { headAddresses: typeof headAddress === "string" ? [headAddress] : headAddress, listenAddress, joinToken },
  };
  const clean = (): void => {
    killLeftWorkers(directories);
    removeSessionDirectories(directories);
    // A daemon was killed, and its file has the cluster's token.
    removeNodeFile(nodeId);
  };
  const { child, ended } = await startChild({
    module: "entry/daemon",
    what: "the node",
    configuration,
    onLine,
    networkFaults,
    signal,
    clean,
  });
  return { ...child, nodeId, ended };
}

/**
 * Starts a process beside head and node, and resolves with the first message that it sends to its parent.
 *
 * @throws ShoalError when it ends before
 */
export async function startBeside({
  module,
  what,
  configuration,
  onLine,
  signal,
}: Pick<ChildStart, "module" | "what" | "configuration" | "onLine" | "signal">): Promise<{ process: LocalProcess; message: string }> {
  const { child, message, ended } = await startChild({
    module,
    what,
    configuration,
    onLine,
    signal,
    networkFaults: undefined,
    clean: () => {},
  });
  return { process: { ...child, ended }, message };
}

interface ChildStart {
  /** Main module of the process, below the folder of the code. */
  module: string;
  what: string;
  configuration: unknown;
  networkFaults: NetworkFaultsPlace | undefined;
  onLine: (line: string) => void;
  signal: AbortSignal | undefined;
  clean: () => void;
  /** Hears messages after the start. */
  onLater?: (message: string) => void;
}

interface StartedChild {
  child: Omit<LocalProcess, "ended">;
  message: string;
  ended: Promise<string>;
}

function startChild({ module, what, configuration, networkFaults, onLine, onLater, signal, clean }: ChildStart): Promise<StartedChild> {
  const lines: string[] = [];
  let failure: ShoalError | undefined;
  let hasStarted = false;
  const { promise: ended, resolve: onEnded } = Promise.withResolvers<string>();
  return new Promise((resolve, reject) => {
    const child = new Child({
      entry: ownModule(module),
      execArgv: ["--disable-warning=ExperimentalWarning"],
      configuration,
      env: networkFaults === undefined ? {} : networkFaultsEnvironment(networkFaults),
      onLine: (_stream, line) => {
        lines.push(line);
        onLine(line);
      },
      onMessage: (message) => {
        const told = readFailureLine(message);
        if (told !== undefined) {
          failure = startFailedError(told);
          return;
        }
        if (hasStarted) return onLater?.(message);
        hasStarted = true;
        stopWaiting();
        const { pid } = child;
        const kill = (name: NodeJS.Signals): void => child.kill(name);
        resolve({ child: { pid, kill, setKeepsProcessAlive: (keeps) => child.setKeepsProcessAlive(keeps) }, message, ended });
      },
      onExit: ({ exitCode, signal: endedBy }) => {
        stopWaiting();
        clean();
        const how = endedBy === undefined ? `exit code ${exitCode ?? "unknown"}` : `signal ${endedBy}`;
        onEnded(how);
        reject(
          failure ??
            new ShoalError(
              `Cannot start ${what}: its process ended with ${how}${lines.length > 0 ? `:\n${lines.slice(-10).join("\n")}` : ""}`,
              {
                reason: `its process ended with ${how}`,
                hint: "See what it printed.",
              },
            ),
        );
      },
    });
    const stopWaiting = endOnAbort(child, signal);
  });
}

/** Ends a child when its waiter gives up. Returns a function to call once it has started or ended. */
function endOnAbort(child: Child, signal: AbortSignal | undefined): () => void {
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => {
    child.kill("SIGTERM");
    timer = setTimeout(() => child.kill("SIGKILL"), START_ENDS_WITHIN_MS);
  };
  if (signal?.aborted === true) end();
  else signal?.addEventListener("abort", end, { once: true });
  return () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
  };
}
