/**
 * Starts Python workers: single processes, or forks of a process of their environment with preloaded imports.
 *
 * The Python part of `process-launcher.ts`. Forks if the environment names imports and the system can fork. Otherwise it starts an interpreter for each worker, which
 * takes some 50 ms and the time of the imports.
 */
import { ForkedWorkers } from "../../os/processes/forked-workers.ts";
import { Child, type ChildOptions } from "../../os/processes/worker-process.ts";
import type { LaunchSettings } from "../environments/environment-table.ts";

/** A process of a worker, as the launcher uses it. */
export type StartedWorker = Pick<Child, "kill"> & { readonly pid: number };

interface PythonWorkersOptions {
  /** The program of a worker. */
  readonly entry: string;
  /** The program of the process that forks them. */
  readonly zygoteEntry: string;
  /** Told of each process, once it is there. */
  readonly onSpawned: (pid: number) => void;
}

interface PythonStart {
  /** Key of the environment. */
  readonly environment: string;
  readonly settings: LaunchSettings & { readonly interpreter: string };
  /** The worker's configuration at its start. */
  readonly configuration: { readonly address: string };
  readonly listeners: Pick<ChildOptions, "onLine" | "onExit">;
}

export class PythonWorkers {
  readonly #options: PythonWorkersOptions;
  readonly #forking = new Map<string, ForkedWorkers>();

  constructor(options: PythonWorkersOptions) {
    this.#options = options;
  }

  start({ environment, settings, configuration, listeners }: PythonStart): StartedWorker {
    const { interpreter: program, preload = [], envVars: env, workingDirectory: cwd } = settings;
    const { onSpawned } = this.#options;
    if (preload.length > 0 && process.platform === "linux") {
      const worker = this.#forkingFor(environment, settings, configuration.address).fork({
        configuration,
        onForked: onSpawned,
        ...listeners,
      });
      return {
        get pid() {
          return worker.pid;
        },
        kill: (signal) => worker.kill(signal === "SIGINT" || signal === "SIGUSR1" ? signal : "SIGKILL"),
      };
    }
    const child = new Child({
      program,
      entry: this.#options.entry,
      execArgv: [],
      configuration,
      env,
      cwd,
      ...listeners,
      onMessage: () => {},
    });
    onSpawned(child.pid);
    return child;
  }

  close(): void {
    for (const forking of this.#forking.values()) forking.close();
  }

  #forkingFor(environment: string, settings: PythonStart["settings"], address: string): ForkedWorkers {
    const known = this.#forking.get(environment);
    if (known !== undefined) return known;
    const { interpreter: program, preload = [], envVars: env, workingDirectory: cwd } = settings;
    const made: ForkedWorkers = new ForkedWorkers({
      program,
      entry: this.#options.zygoteEntry,
      preload,
      env,
      cwd,
      socket: `${address}-fork`,
      onEnd: () => {
        if (this.#forking.get(environment) === made) this.#forking.delete(environment);
      },
    });
    this.#forking.set(environment, made);
    return made;
  }
}
