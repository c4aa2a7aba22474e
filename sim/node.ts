/**
 * A real node in a simulated world: its daemon, the drivers on it, and the workers that the daemon starts.
 *
 * Real code of `src` runs: daemon, lease manager, ref ledger, store ledger. In drivers and workers the whole runtime runs, with its
 * submitter, actor clients, lineage and executor, joined by the real connections and messages. Six things are modelled. Processes, sockets
 * and timers of the operating system are in `world.ts` and `ambient.ts`. The collector ends handles when programs dispose of them, and all
 * at the end. Functions run as they are, uncaptured. The disk of spilled objects, the builder of environments and the memory of the machine
 * are models, too. The native part of the store is off: large values are written to real files and copied from them.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { IdSource, type JobId, newProcessId, type NodeId, type ProcessId } from "../src/runtime/base/ids.ts";
import { Head } from "../src/runtime/head/head.ts";
import { setCurrentRuntime } from "../src/core/current-runtime.ts";
import type { RuntimeOptions } from "../src/core/runtime-options.ts";
import type { Runtime } from "../src/core/runtime.ts";
import { createRuntime } from "../src/core/session/create-runtime.ts";
import { startWorkerRuntime } from "../src/core/session/worker-runtime.ts";
import type { ClusterMembership } from "../src/runtime/node/membership/cluster-membership.ts";
import { onlyNode } from "../src/runtime/node/membership/only-node.ts";
import { NodeDaemon } from "../src/runtime/node/daemon.ts";
import type { EnvironmentDescription, EnvironmentResult } from "../src/runtime/node/environments/environment-table.ts";
import type { WorkerLauncher } from "../src/runtime/node/workers/worker-pool.ts";
import type { MemoryProbe } from "../src/runtime/os/machine/memory-usage.ts";
import type { Transport } from "../src/runtime/os/network/transport.ts";
import type { UnreadFrames } from "../src/runtime/base/outbox.ts";
import { proven } from "../src/runtime/rpc/handshake.ts";
import { listen, newInProcessAddress } from "./endpoint.ts";
import { SimulatedGuard } from "./guard.ts";
import type { ClusterNetwork } from "./network.ts";
import { SimulatedOutboxes } from "./outboxes.ts";
import { SimulatedSpillDisk } from "./spill-disk.ts";
import type { SimulatedProcess, World } from "./world.ts";

export interface NodeOptions {
  readonly folder: string;
  readonly resources: Record<string, number>;
  readonly storeBytes: number;
  /** Part of the workers that end before they are up. */
  readonly failedStarts: number;
  /** Whether the node ends workers for their memory. */
  readonly watchesMemory: boolean;
  /** Whether what workers send outlives them. */
  readonly hasOutboxes: boolean;
  /** Whether code of tasks can be interrupted, and which of them began last is known. */
  readonly hasGuards: boolean;
}

/** State that the nodes of a run share. */
export interface NodeContext {
  readonly world: World;
  readonly jobId: JobId;
  readonly nodeId: NodeId;
  readonly daemonId: ProcessId;
  readonly randomHex: (byteCount: number) => string;
  /** Runtimes of all nodes: the process that made a function keeps it, as functions are not sent. */
  readonly runtimes: Runtime[];
  readonly newWorkerName: () => string;
  readonly onSpawned: (id: ProcessId, worker: SimulatedProcess) => void;
  /** Undefined on one machine. */
  readonly network: ClusterNetwork | undefined;
  /** A worker has ended, and left this in its outboxes. */
  readonly onUnread: (worker: SimulatedProcess, unread: readonly UnreadFrames[]) => void;
}

/** The token of all simulated sessions. */
export const TOKEN = "simulated";
/** Memory of each simulated machine. */
const MACHINE_BYTES = 1e9;

type SharedOptions = Pick<
  RuntimeOptions,
  | "nodeId"
  | "daemonId"
  | "jobId"
  | "token"
  | "namespace"
  | "labels"
  | "daemonTransport"
  | "memoryDirectory"
  | "spillDirectory"
  | "storeQuotaBytes"
  | "taskOomRetries"
  | "collectGarbage"
>;

export interface Driver {
  readonly process: SimulatedProcess;
  readonly runtime: Runtime;
  readonly node: SimulatedNode;
  /** Whether its daemon or the connection to it has ended: no wait on the node ends any more. */
  hasLostNode: boolean;
}

export class SimulatedNode {
  readonly process: SimulatedProcess;
  readonly daemon: NodeDaemon;
  readonly workers = new Map<ProcessId, SimulatedProcess>();
  readonly drivers: Driver[] = [];
  readonly #context: NodeContext;
  readonly #world: World;
  readonly #options: NodeOptions;
  readonly #membership: ClusterMembership | undefined;
  /** Whether workers still fail to start. */
  hasFailedStarts = true;

  constructor(name: string, context: NodeContext, options: NodeOptions) {
    const { world, nodeId, daemonId, randomHex, network } = context;
    this.#context = context;
    this.#world = world;
    this.#options = options;
    mkdirSync(this.#directories.memory, { recursive: true });
    mkdirSync(this.#directories.spill, { recursive: true });
    this.process = world.spawn(name, name);
    const { resources, storeBytes } = options;
    const folders = { memoryDirectory: this.#directories.memory, spillDirectory: this.#directories.spill };
    const membership = this.process.run(() => network?.membership({ nodeId, daemonId, resources, storeBytes, folders, node: () => this }));
    this.#membership = membership;
    this.daemon = this.process.run(
      () =>
        new NodeDaemon({
          nodeId,
          processId: daemonId,
          token: TOKEN,
          hostname: "simulated",
          address: "simulated",
          resources: options.resources,
          labels: {},
          accelerators: undefined,
          objectStoreMemoryBytes: options.storeBytes,
          newProcessId: () => newProcessId(randomHex, nodeId),
          nowMs: () => world.nowMs,
          launcher: this.#launcher(),
          spillDisk: new SimulatedSpillDisk(this.#directories, this.process),
          buildEnvironment: (_, description) => this.#buildEnvironment(description),
          memory: options.watchesMemory ? { probe: this.#memoryProbe(), threshold: 0.9, pretendedBytes: undefined } : undefined,
          unlinkArena: (arena, kind) => rmSync(join(this.#directories[kind === "memory" ? "memory" : "spill"], arena), { force: true }),
          createHead: (services) => membership?.headFor(services) ?? Head.hostedBy(services, { nowMs: () => world.nowMs }),
          onAbandoned: () => this.process.say("its last driver has gone"),
          cluster: membership?.cluster ?? onlyNode(folders),
          isOfDriver: membership === undefined,
        }),
    );
  }

  get nodeId(): NodeId {
    return this.#context.nodeId;
  }

  get daemonId(): ProcessId {
    return this.#context.daemonId;
  }

  get resources(): Readonly<Record<string, number>> {
    return this.#options.resources;
  }

  get isAlive(): boolean {
    return this.process.isAlive;
  }

  start(): void {
    this.process.run(() => {
      this.daemon.start();
      void this.#membership?.join();
    });
  }

  /** The machine is switched off. */
  kill(): void {
    this.process.kill();
    for (const worker of this.workers.values()) worker.kill();
    for (const { process } of this.drivers) process.kill();
  }

  /** The daemon alone ends; the kernel ends its workers with it. */
  killDaemon(): void {
    this.process.kill();
    for (const worker of this.workers.values()) worker.kill();
  }

  get #directories(): { memory: string; spill: string } {
    return { memory: join(this.#options.folder, "memory"), spill: join(this.#options.folder, "spill") };
  }

  addDriver(name: string): Driver {
    const { jobId, nodeId, randomHex, runtimes } = this.#context;
    const process = this.#world.spawn(name, this.process.machine);
    const runtime = process.run(() => {
      const ids = new IdSource(randomHex, jobId);
      const processId = newProcessId(randomHex, nodeId);
      const made = createRuntime({
        ...this.#runtimeOptions(process, processId),
        role: "driver",
        mode: "process",
        runsLocally: true,
        processId,
        ids,
        address: "",
        onLog: () => {},
        onWarning: (text) => process.say(`warning: ${text.split("\n").slice(0, 2).join(" ")}`),
        onDaemonLost: (reason) => {
          driver.hasLostNode = true;
          process.say(`lost its daemon: ${reason}`);
        },
      });
      setCurrentRuntime(made);
      return made;
    });
    runtimes.push(runtime);
    const driver: Driver = { process, runtime, node: this, hasLostNode: false };
    this.drivers.push(driver);
    return driver;
  }

  #runtimeOptions(process: SimulatedProcess, processId: ProcessId): SharedOptions {
    const { nodeId, daemonId, jobId } = this.#context;
    return {
      nodeId,
      daemonId,
      jobId,
      token: TOKEN,
      namespace: "simulated",
      labels: {},
      daemonTransport: this.#connectDaemon(process, processId),
      memoryDirectory: this.#directories.memory,
      spillDirectory: this.#directories.spill,
      storeQuotaBytes: this.#options.storeBytes,
      taskOomRetries: -1,
      collectGarbage: () => 0,
    };
  }

  #connectDaemon(process: SimulatedProcess, processId: ProcessId): Transport {
    const [near, far] = this.#world.connect(process, this.process);
    this.process.run(() => this.daemon.accept(far));
    return process.run(() => proven(near, { token: TOKEN, processId, action: "connect to the daemon", timeoutMs: 0 }));
  }

  #launcher(): WorkerLauncher {
    return {
      launch: ({ workerId, settings, onExit }) => {
        const { random } = this.#world;
        const process = this.#world.spawn(this.#context.newWorkerName(), this.process.machine);
        this.workers.set(workerId, process);
        process.setting = settings?.envVars["SIMULATED"];
        process.onDeath = (death) => {
          this.#context.onUnread(process, death.unread);
          // The system tells the parent whenever it likes: before or after the sockets close.
          this.process.schedule(random.next() * 20, () => onExit(death));
        };
        const fails = this.hasFailedStarts && random.next() < this.#options.failedStarts;
        process.schedule(5 + random.next() * 60, () => {
          if (fails) process.exit(1);
          else this.#startWorker(workerId, process);
        });
        this.#context.onSpawned(workerId, process);
        return {
          pid: this.workers.size,
          kill: () => {
            process.wasEndedByNode = true;
            process.kill();
          },
        };
      },
    };
  }

  #memoryProbe(): MemoryProbe {
    const living = (): SimulatedProcess[] => Array.from(this.workers.values()).filter((process) => process.isAlive);
    return {
      machine: () => ({
        usedBytes: living().reduce((total, process) => total + process.memoryBytes, 0),
        totalBytes: MACHINE_BYTES,
        what: "the machine",
      }),
      processBytes: (pid) => Array.from(this.workers.values())[pid - 1]?.memoryBytes,
      largest: () => [],
    };
  }

  async #buildEnvironment(description: EnvironmentDescription): Promise<EnvironmentResult> {
    const { random } = this.#world;
    await new Promise<void>((resolve) => this.process.schedule(random.next() * 200, resolve));
    if (this.hasFailedStarts && random.next() < this.#options.failedStarts) return { failed: "the simulated builder failed", output: [] };
    const { envVars } = description as { envVars?: Record<string, string> };
    return { built: { description, envVars: envVars ?? {}, workingDirectory: undefined, packageFolder: undefined } };
  }

  #startWorker(processId: ProcessId, process: SimulatedProcess): void {
    const address = newInProcessAddress();
    const { hasOutboxes, hasGuards } = this.#options;
    process.marksCalls = hasGuards;
    const host = startWorkerRuntime({
      ...this.#runtimeOptions(process, processId),
      processId,
      address,
      ...(this.#context.network === undefined ? {} : { remoteAddress: address }),
      localFunction: (id) => this.#functionOf(id),
      outboxes: hasOutboxes ? new SimulatedOutboxes(process) : undefined,
      guard: hasGuards ? new SimulatedGuard(process) : undefined,
      // As in a worker process (entry/worker.ts): the system has its answers two turns later.
      exit: () => setImmediate(() => setImmediate(() => process.exit(0))),
    });
    this.#context.runtimes.push(process.runtime as Runtime);
    const died = process.onDeath;
    void listen(address, (transport) => host.accept(transport)).then((listener) => {
      process.onDeath = (death) => {
        listener.close();
        died(death);
      };
    });
  }

  #functionOf(id: string): ((...args: unknown[]) => unknown) | undefined {
    for (const runtime of this.#context.runtimes) {
      const found = runtime.values.functions.localFunction(id);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}
