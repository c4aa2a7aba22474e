/**
 * Starts workers as child processes of the daemon, which is slim: a spawn costs it about a millisecond, a large driver tens.
 *
 * Decides with which flags: those of their driver that say how modules load, and a limit of their heap. Called by the worker pool, which owns what is made here;
 * the files by which an interruption meets its call, and in which its answers outlive it, are removed with the process.
 */
import type { JobId, NodeId, ProcessId } from "../../base/ids.ts";
import type { ForeignCode } from "../../closure/foreign-code.ts";
import { usableMemoryBytes, workerHeapFlags } from "../../os/machine/machine.ts";
import { OutboxFile } from "../../os/processes/outbox.ts";
import { DaemonInterruptSlot } from "../../os/processes/interrupt-slot.ts";
import type { TlsIdentity } from "../../os/network/tls-identity.ts";
import { Child } from "../../os/processes/worker-process.ts";
import type { EnvironmentDescription, LaunchSettings } from "../environments/environment-table.ts";
import { PythonWorkers, type StartedWorker } from "./python-workers.ts";
import type { EarlyWorkers } from "./early-workers.ts";
import { type Listeners, type SpareProcess, startSpareProcess } from "./spare-process.ts";
import { SpareWorkers } from "./spare-workers.ts";
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
  interruptSlot: string;
  /** The file in which it keeps what it sends until the system has taken it. */
  outbox: string;
  /** The file by which the node tells until when its workers may run; undefined on one machine. */
  executionLease: string | undefined;
  /** Its runtime environment, which what it submits inherits; undefined for the default one. */
  runtimeEnv: EnvironmentDescription | undefined;
  /** The folder whose packages its code finds first. */
  packageFolder: string | undefined;
  /** Where the driver's files are, when they are not where the driver has them. */
  foreignCode: ForeignCode | undefined;
  /** Modules of extensions, as URLs. */
  extensions: readonly string[];
  /** The folder in which it is to run, for one that was started elsewhere; absent for one that was started there. */
  workingDirectory?: string | undefined;
}

interface ProcessLauncherOptions {
  entry: string;
  /** The folder of the programs of workers that speak Python. */
  pythonFolder: string;
  execArgv: readonly string[];
  /** How many workers the node has when all of its CPUs are at work. */
  cpus: number;
  configure: (workerId: ProcessId, settings: LaunchSettings | undefined) => WorkerConfiguration;
  onSpawned: (pid: number) => void;
  /** How many processes are started ahead for jobs; 0 where there is one job, which has workers of its own ahead. */
  spares: number;
  /** Processes that have been started already, for workers of the default environment. */
  early?: EarlyWorkers<SpareProcess> | undefined;
}

interface Start {
  readonly environment: string;
  readonly settings: LaunchSettings | undefined;
  readonly configuration: WorkerConfiguration;
}

/** Spare processes are started so long after one was taken. */
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

  /** Starts the spare ones. */
  start(): void {
    this.#spares.fill();
  }

  /** Resolves when the spare ones have ended. */
  async close(): Promise<void> {
    this.#python.close();
    await Promise.all([this.#spares.close(), this.#options.early?.close()]);
  }

  readonly launch: WorkerLauncher["launch"] = ({ workerId, environment, settings, onLine, onExit }) => {
    const configuration = this.#options.configure(workerId, settings);
    const slot = new DaemonInterruptSlot(configuration.interruptSlot);
    const outbox = new OutboxFile(configuration.outbox);
    let isGone = false;
    const child = this.#start(
      { environment, settings, configuration },
      {
        onLine,
        onExit: (exit) => {
          const left = { running: slot.running(), begun: slot.begun(), sharing: slot.sharing(), unread: outbox.unread() };
          slot.remove();
          outbox.remove();
          isGone = true;
          onExit({ ...exit, ...left });
        },
      },
    );
    return {
      get pid() {
        return child.pid;
      },
      kill: () => child.kill("SIGKILL"),
      interrupt: (call) => {
        if (!isGone && slot.requestInterrupt(call)) child.kill("SIGINT");
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
    // Of a job's driver: what it loads has to be loaded in the same way.
    const execArgv = [...(settings?.description.job?.execArgv ?? ownFlags), ...(settings?.description.execArgv ?? [])];
    const nodeOptions = settings?.envVars["NODE_OPTIONS"] ?? process.env["NODE_OPTIONS"];
    return new Child({
      entry,
      program: settings?.program,
      execArgv: [...execArgv, ...workerHeapFlags({ memoryBytes: this.#memoryBytes, cpus, execArgv, nodeOptions })],
      configuration,
      ...(settings === undefined ? {} : { env: settings.envVars, cwd: settings.workingDirectory }),
      ...listeners,
      onMessage: () => {},
    });
  }
}

/** Variables and flags have to be there when a process starts: libraries and Node itself look at them then. */
function canTakeSpare({ envVars, description, program }: LaunchSettings, execArgv: readonly string[]): boolean {
  const flags = description.job?.execArgv;
  const isPlain = Object.keys(envVars).length === 0 && program === undefined && description.execArgv === undefined;
  return isPlain && flags !== undefined && JSON.stringify(flags) === JSON.stringify(execArgv);
}
