/**
 * The provider `ssh`: a node on each of the cluster file's machines, reached by the system's ssh.
 *
 * The machines are the only memory: each says which instance has it. A list is made of the last looks, which go on beside it, so that
 * a machine that does not answer delays nothing. A launch takes a free machine and is answered at once; it is pending until its node has joined.
 * A launch whose autoscaler died is listed as failed, and ended by the next one.
 */
import { messageOf } from "../../../../runtime/base/texts/describe.ts";
import type { SetupConfig, SshAccess } from "../../config/cluster-config.ts";
import type { LaunchAnswer, LaunchRequest, NodeProvider, ProviderNode } from "../../provider.ts";
import { FIRST_LOOK_WITHIN_MS, MACHINE_LOOKS_EVERY_MS } from "./limits.ts";
import { type Claim, Machine } from "./machine.ts";
import { Connections, RemoteShell } from "./remote-shell.ts";

interface SshProviderOptions {
  readonly clusterName: string;
  readonly hosts: readonly string[];
  readonly access: SshAccess;
  readonly setup: SetupConfig;
  readonly log: (text: string) => void;
}

/** A launch of this process. */
interface Launch {
  readonly machine: Machine;
  readonly claim: Claim;
  readonly abort: AbortController;
  readonly done: Promise<void>;
  failure: string | undefined;
  isDone: boolean;
}

export class SshProvider implements NodeProvider {
  readonly #options: SshProviderOptions;
  readonly #machines: readonly Machine[];
  readonly #launches = new Map<string, Launch>();
  readonly #watchers = new Set<() => void>();
  #lookedMs = Number.NEGATIVE_INFINITY;
  #looking: Promise<unknown> | undefined;

  constructor(options: SshProviderOptions) {
    this.#options = options;
    const connections = new Connections();
    const { hosts, access, setup } = options;
    this.#machines = hosts.map((host) => new Machine(new RemoteShell(host, access, connections), setup));
  }

  check(): void {
    // The table of keys has said all.
  }

  async list(): Promise<ProviderNode[]> {
    const looking = this.#look();
    if (this.#machines.some(({ sight }) => sight.kind === "unknown")) {
      const timer = Promise.withResolvers<void>();
      const timeout = setTimeout(timer.resolve, FIRST_LOOK_WITHIN_MS);
      await Promise.race([looking, timer.promise]);
      clearTimeout(timeout);
    }
    return this.#machines.flatMap((machine) => this.#nodeOf(machine) ?? []);
  }

  async launch(wanted: readonly LaunchRequest[]): Promise<LaunchAnswer[]> {
    // Before anything is known every machine would look free.
    await this.list();
    return wanted.map((request) => this.#launch(request));
  }

  async terminate(instanceIds: readonly string[]): Promise<void> {
    const ends = await Promise.allSettled(instanceIds.map((id) => this.#end(id)));
    const failed = ends.find(({ status }) => status === "rejected");
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  }

  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  async close(): Promise<void> {
    for (const { abort } of this.#launches.values()) abort.abort();
    await Promise.allSettled(Array.from(this.#launches.values(), ({ done }) => done));
    await this.#looking;
  }

  #look(): Promise<unknown> {
    if (this.#looking !== undefined) return this.#looking;
    if (performance.now() - this.#lookedMs < MACHINE_LOOKS_EVERY_MS) return Promise.resolve();
    const looks = this.#machines.filter(({ busyWith }) => busyWith === undefined).map((machine) => this.#lookAt(machine));
    this.#looking = Promise.all(looks).finally(() => {
      this.#looking = undefined;
      this.#lookedMs = performance.now();
    });
    return this.#looking;
  }

  async #lookAt(machine: Machine): Promise<void> {
    const before = machine.sight;
    await machine.look();
    const { sight, shell } = machine;
    if (sight.kind === "unreachable" && before.kind !== "unreachable")
      this.#options.log(`The machine ${shell.host} does not answer: ${sight.cause}`);
    if (sight.kind !== before.kind) this.#changed();
  }

  #nodeOf(machine: Machine): ProviderNode | undefined {
    const { host } = machine.shell;
    const launch = machine.busyWith === undefined ? undefined : this.#launches.get(machine.busyWith);
    if (launch !== undefined) {
      const { instance, type } = launch.claim;
      const state = launch.failure === undefined ? "pending" : "failed";
      return { instanceId: instance, providerId: host, type, state, address: host, reason: launch.failure };
    }
    const { sight } = machine;
    if (sight.kind !== "claimed" || sight.claim.cluster !== this.#options.clusterName) return undefined;
    const { instance, type } = sight.claim;
    const own = { instanceId: instance, providerId: host, type, address: host };
    if (sight.node === "alive") return { ...own, state: "running" };
    const reason = sight.node === "dead" ? `its node has ended: ${sight.cause}` : "its launch was broken off";
    return { ...own, state: "failed", reason };
  }

  #launch(request: LaunchRequest): LaunchAnswer {
    const { instanceId, type } = request;
    const known = this.#machineOf(instanceId);
    if (known !== undefined) return { instanceId, providerId: known.shell.host };
    const machine = this.#freeMachine(request.nodeConfig);
    if (machine === undefined) return { instanceId, cause: "capacity", message: this.#whyNone(request.nodeConfig) };
    const claim = { cluster: this.#options.clusterName, instance: instanceId, type };
    const abort = new AbortController();
    machine.busyWith = instanceId;
    const done = machine.bringUp(claim, request, abort.signal).then(
      () => {
        launch.isDone = true;
        machine.busyWith = undefined;
        this.#launches.delete(instanceId);
      },
      (error: unknown) => {
        launch.isDone = true;
        launch.failure = messageOf(error);
        machine.failedMs = performance.now();
      },
    );
    const launch: Launch = { machine, claim, abort, done: done.finally(() => this.#changed()), failure: undefined, isDone: false };
    this.#launches.set(instanceId, launch);
    return { instanceId, providerId: machine.shell.host };
  }

  async #end(instanceId: string): Promise<void> {
    const launch = this.#launches.get(instanceId);
    if (launch !== undefined) {
      launch.abort.abort();
      await launch.done;
    }
    const machine = launch?.machine ?? this.#machineOf(instanceId);
    if (machine === undefined) return;
    const claim = launch?.claim ?? (machine.sight.kind === "claimed" ? machine.sight.claim : undefined);
    if (claim === undefined) return;
    machine.busyWith ??= instanceId;
    try {
      await machine.stop(claim);
    } finally {
      this.#launches.delete(instanceId);
      machine.busyWith = undefined;
      this.#changed();
    }
  }

  #machineOf(instanceId: string): Machine | undefined {
    const { clusterName } = this.#options;
    return this.#machines.find(
      ({ busyWith, sight }) =>
        busyWith === instanceId || (sight.kind === "claimed" && sight.claim.instance === instanceId && sight.claim.cluster === clusterName),
    );
  }

  /** Returns the free machine with the oldest failure. */
  #freeMachine(nodeConfig: unknown): Machine | undefined {
    const isFree = ({ busyWith, sight }: Machine): boolean =>
      busyWith === undefined &&
      (sight.kind === "free" || (sight.kind === "claimed" && sight.node === "dead" && sight.claim.cluster !== this.#options.clusterName));
    return this.#machinesFor(nodeConfig)
      .filter(isFree)
      .sort((a, b) => a.failedMs - b.failedMs)[0];
  }

  #machinesFor(nodeConfig: unknown): readonly Machine[] {
    const { worker_ips: hosts } = nodeConfig as { worker_ips?: readonly string[] };
    return hosts === undefined ? this.#machines : this.#machines.filter(({ shell }) => hosts.includes(shell.host));
  }

  #whyNone(nodeConfig: unknown): string {
    const machines = this.#machinesFor(nodeConfig);
    const others = machines.flatMap(({ shell, sight }) => {
      if (sight.kind === "unreachable") return [`${shell.host} does not answer: ${sight.cause}`];
      if (sight.kind !== "claimed" || sight.claim.cluster === this.#options.clusterName) return [];
      return [`${shell.host} is used by ${sight.claim.cluster === "" ? "something else" : `the cluster ${sight.claim.cluster}`}`];
    });
    return [`none of ${machines.length} machines is free`, ...others].join("; ");
  }

  #changed(): void {
    for (const changed of this.#watchers) changed();
  }
}
