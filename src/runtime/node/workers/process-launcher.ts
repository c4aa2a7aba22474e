/**
 * Starts workers as child processes of the daemon. The daemon is slim: a spawn costs it about a millisecond, and a
 * large driver tens.
 *
 * The file decides the flags of a process: its heap limit, and those flags of the driver that say how modules load. The worker pool calls
 * the launcher and owns these processes. Each process has two files: an interruption meets its call by one, and answers outlive the process
 * in the other. Both are removed with the process.
 */
import type { JobId, NodeId, ProcessId } from "../../base/ids.ts";
import type { ForeignCode } from "../../closure/modules/foreign-code.ts";
import { usableMemoryBytes, workerHeapFlags } from "../../os/machine/machine.ts";
import { OutboxFile } from "../../os/processes/memory/outbox.ts";
import { DaemonInterruptSlot } from "../../os/processes/memory/interrupt-slot.ts";
import { inspectorFlags } from "../../os/inspector/inspector-flags.ts";
import { NodeInspector } from "../../os/inspector/node-inspector.ts";
import { PythonInspector, StackFile } from "../../os/inspector/python-inspector.ts";
import type { TlsIdentity } from "../../os/network/tls-identity.ts";
import { Child } from "../../os/processes/worker-process.ts";
import type { EnvironmentDescription, LaunchSettings } from "../environments/environment-table.ts";
import { PythonWorkers, type StartedWorker } from "./python-workers.ts";
import type { EarlyWorkers } from "./early-workers.ts";
import { type Listeners, type SpareProcess, startSpareProcess } from "./spare-process.ts";
import { SpareWorkers } from "./spare-workers.ts";
import type { WorkerLauncher } from "./worker-pool.ts";

/** The configuration that a worker process gets when it starts. */
export interface WorkerConfiguration {
  processId: ProcessId;
  nodeId: NodeId;
  daemonId: ProcessId;
  jobId: JobId;
  token: string;
  namespace: string;
  labels: Record<string, string>;
  daemonAddress: string;
  /** Address on which the worker listens. */
  address: string;
  /** Address for processes of other nodes; undefined on one machine. */
  remoteAddress: string | undefined;
  /** TLS of the node, for links with processes of other nodes. */
  identity: TlsIdentity | undefined;
  memoryDirectory: string;
  spillDirectory: string;
  storeQuotaBytes: number;
  taskOomRetries: number;
  /** File through which an interruption meets its call. */
  interruptSlot: string;
  /** File that keeps sent messages until the system has taken them. */
  outbox: string;
  /** File through which the node limits how long its workers may run; undefined on one machine. */
  executionLease: string | undefined;
  /** Runtime environment of the worker, which its calls inherit; undefined for the default one. */
  runtimeEnv: EnvironmentDescription | undefined;
  /** Folder whose packages the worker's code finds first. */
  packageFolder: string | undefined;
  /** Place of the driver's files, when it differs from the driver's own. */
  foreignCode: ForeignCode | undefined;
  /** URLs of the extensions' modules. */
  extensions: readonly string[];
  /** Folder in which a process runs that was started elsewhere; absent for one that was started there. */
  workingDirectory?: string | undefined;
}

interface ProcessLauncherOptions {
  entry: string;
  /** Folder of the programs of workers that speak Python. */
  pythonFolder: string;
  execArgv: readonly string[];
  /** Number of workers that the node has when all of its CPUs are busy. */
  cpus: number;
  configure: (workerId: ProcessId, settings: LaunchSettings | undefined) => WorkerConfiguration;
  onSpawned: (pid: number) => void;
  /**
   * Number of processes started ahead for jobs. It is 0 where there is one job, which starts its own workers ahead.
   */
  spares: number;
  /** Spare processes for workers of the default environment. */
  early?: EarlyWorkers<SpareProcess> | undefined;
}

interface Start {
  readonly environment: string;
  readonly settings: LaunchSettings | undefined;
  readonly configuration: WorkerConfiguration;
}

/** Pause between taking a spare process and starting another. */
const SPARES_AFTER_MS = 1000;

export class ProcessLauncher implements WorkerLauncher {
  readonly #options: ProcessLauncherOptions;
  readonly #memoryBytes = usableMemoryBytes();
  readonly #spares: SpareWorkers<SpareProcess>;
  readonly #python: PythonWorkers;

  constructor(options: ProcessLauncherOptions) {
    this.#options = options;
    const { spares: count, pythonFolder, onSpawned } = options;
    this.#spares = new SpareWorkers({
      count,
      start: (gone) => startSpareProcess(options, gone),
      end: ({ child }) => child.kill("SIGKILL"),
      later: (callback) => {
        const timer = setTimeout(callback, SPARES_AFTER_MS).unref();
        return () => clearTimeout(timer);
      },
    });
    this.#python = new PythonWorkers({
      entry: `${pythonFolder}/entry/worker.py`,
      zygoteEntry: `${pythonFolder}/entry/zygote.py`,
      onSpawned,
    });
  }

  /** Starts the spare processes. */
  start(): void {
    this.#spares.fill();
  }

  /** Resolves when the spare processes have ended. */
  async close(): Promise<void> {
    this.#python.close();
    await Promise.all([this.#spares.close(), this.#options.early?.close()]);
  }

  readonly launch: WorkerLauncher["launch"] = ({ workerId, environment, settings, onLine, onExit }) => {
    const configuration = this.#options.configure(workerId, settings);
    const slot = new DaemonInterruptSlot(configuration.interruptSlot);
    const outbox = new OutboxFile(configuration.outbox);
    const stacks = new StackFile(configuration.memoryDirectory, workerId);
    let isGone = false;
    const signal = (): void => {
      if (!isGone) child.kill("SIGUSR1");
    };
    const isPython = settings?.interpreter !== undefined;
    const inspector = isPython ? new PythonInspector({ path: stacks.path, signal }) : new NodeInspector(signal);
    const child = this.#start(
      { environment, settings, configuration },
      {
        onLine: (stream, line) => {
          const own = stream === "stderr" && inspector instanceof NodeInspector ? inspector.printed(line) : line;
          if (own !== undefined) onLine(stream, own);
        },
        onExit: (exit) => {
          const left = { running: slot.running(), begun: slot.begun(), sharing: slot.sharing(), unread: outbox.unread() };
          slot.remove();
          outbox.remove();
          if (isPython) stacks.remove();
          isGone = true;
          if (inspector instanceof NodeInspector) inspector.ended();
          onExit({ ...exit, ...left });
        },
      },
    );
    return {
      get pid() {
        return child.pid;
      },
      kill: () => child.kill("SIGKILL"),
      inspector,
      interrupt: (call) => {
        if (isGone) return false;
        const isSent = slot.requestInterrupt(call);
        if (isSent) child.kill("SIGINT");
        return isSent || slot.hasDeferred;
      },
      isAt: (call) => !isGone && slot.isAt(call),
      runsOther: (call) => !isGone && slot.runsOther(call),
    };
  };

  #start({ environment, settings, configuration }: Start, listeners: Listeners): StartedWorker {
    if (settings?.interpreter !== undefined)
      return this.#python.start({ environment, settings: { ...settings, interpreter: settings.interpreter }, configuration, listeners });
    const child = this.#takeSpare(settings, configuration, listeners) ?? this.#startNode(settings, configuration, listeners);
    this.#options.onSpawned(child.pid);
    return child;
  }

  #takeSpare(settings: LaunchSettings | undefined, configuration: WorkerConfiguration, listeners: Listeners): Child | undefined {
    const { early, execArgv } = this.#options;
    const isOther = settings !== undefined && !canTakeSpare(settings, execArgv);
    const spare = settings === undefined ? early?.take() : isOther ? undefined : this.#spares.take();
    spare?.take(listeners);
    spare?.child.configure({ ...configuration, workingDirectory: settings?.workingDirectory });
    return spare?.child;
  }

  #startNode(settings: LaunchSettings | undefined, configuration: WorkerConfiguration, listeners: Listeners): Child {
    const { entry, cpus, execArgv: ownFlags } = this.#options;
    // A worker must load modules in the same way as its job's driver.
    const execArgv = [...(settings?.description.job?.execArgv ?? ownFlags), ...(settings?.description.execArgv ?? [])];
    const nodeOptions = settings?.envVars["NODE_OPTIONS"] ?? process.env["NODE_OPTIONS"];
    return new Child({
      entry,
      program: settings?.program,
      execArgv: [
        ...execArgv,
        ...workerHeapFlags({ memoryBytes: this.#memoryBytes, cpus, execArgv, nodeOptions }),
        ...inspectorFlags(execArgv, nodeOptions),
      ],
      configuration,
      ...(settings === undefined ? {} : { env: settings.envVars, cwd: settings.workingDirectory }),
      ...listeners,
      onMessage: () => {},
    });
  }
}

/** Whether an environment needs a fresh process: libraries and Node itself read variables and flags at the start. */
function canTakeSpare({ envVars, description, program }: LaunchSettings, execArgv: readonly string[]): boolean {
  const flags = description.job?.execArgv;
  const isPlain = Object.keys(envVars).length === 0 && program === undefined && description.execArgv === undefined;
  return isPlain && flags !== undefined && JSON.stringify(flags) === JSON.stringify(execArgv);
}
