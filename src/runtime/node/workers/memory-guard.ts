/**
 * Watches the memory of the node and of its workers, and ends workers before the machine runs out of it.
 *
 * The shell around `memory-policy.ts`: knows each worker's work and limit, looks a few times a second while work runs, and ends the chosen workers with a reason that
 * names the users of memory. It does not look at an idle node, and does nothing on systems that do not report processes' memory.
 */
import type { MemoryProbe } from "../../os/machine/memory-usage.ts";
import type { ActorId, ProcessId } from "../../base/ids.ts";
import { RESOURCE_UNIT } from "../../base/resources.ts";
import type { LeaseEffect } from "../leases/lease-events.ts";
import type { LeaseManager } from "../leases/lease-manager.ts";
import { WORKER_BASE_BYTES } from "./limits.ts";
import type { WorkerPool } from "./worker-pool.ts";
import { chooseVictims, listProcesses, type MemoryState, type Victim, victimReason, type WorkerMemory } from "./memory-policy.ts";

export interface MemoryGuardOptions {
  probe: MemoryProbe;
  /** Part of the machine's memory beyond which workers are ended. */
  threshold: number;
  /** For tests: the machine is taken to have so much, all of which is used by workers alone. */
  pretendedBytes: number | undefined;
}

/** Parts of the daemon that it looks at. */
interface MemoryGuardPorts {
  workers: WorkerPool;
  leases: LeaseManager;
  peers: ReadonlyMap<ProcessId, { readonly kind: string; readonly pid: number }>;
  describe: (actor: ActorId) => string | undefined;
}

/** A process that fills memory at 2 GB/s gets 500 MB further between two looks; Ray looks as often. */
const LOOK_EVERY_MS = 250;
/** After one was ended for the machine: the kernel needs a moment to have its pages back. */
const SETTLE_LOOKS = 2;
/** Limit on listed processes: of the session, and of all others on the machine. */
const LISTED_MAX = 10;
const OTHERS_LISTED_MAX = 5;

interface Limit {
  worker: ProcessId;
  limitBytes: number;
}

/** Whether the machine has memory for one process more; looked up again after a moment. */
export function roomForProcesses({ probe, threshold, pretendedBytes }: MemoryGuardOptions, nowMs: () => number): () => boolean {
  let lookAtMs = Number.NEGATIVE_INFINITY;
  let hasRoom = true;
  return () => {
    if (nowMs() < lookAtMs) return hasRoom;
    lookAtMs = nowMs() + LOOK_EVERY_MS;
    const machine = pretendedBytes === undefined ? probe.machine() : undefined;
    hasRoom = machine === undefined || machine.usedBytes + WORKER_BASE_BYTES <= threshold * machine.totalBytes;
    return hasRoom;
  };
}

export class MemoryGuard {
  readonly #options: MemoryGuardOptions;
  readonly #ports: MemoryGuardPorts;
  readonly #leaseLimits = new Map<number, Limit>();
  readonly #actors = new Map<ProcessId, { name: string; order: number; limitBytes: number | undefined }>();
  /** Under which something runs that may not run twice. */
  readonly #onceLeases = new Set<number>();
  readonly #wanted = new Map<ActorId, number>();
  #placed = 0;
  #looksToSettle = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: MemoryGuardOptions, ports: MemoryGuardPorts) {
    this.#options = options;
    this.#ports = ports;
  }

  /** Something begins to run: from now on there is something to look at. */
  granted({ leaseId, worker, spec }: Extract<LeaseEffect, { kind: "grant" }>): void {
    const memoryBytes = (spec.rest.amounts.get("memory") ?? 0) / RESOURCE_UNIT;
    if (memoryBytes > 0) this.#leaseLimits.set(leaseId, { worker, limitBytes: this.#baseOf(worker) + memoryBytes });
    this.#watch();
  }

  /** Marks work under a lease that may not run twice: its worker is ended last. */
  runsOnce(leaseId: number): void {
    this.#onceLeases.add(leaseId);
  }

  /** An actor is to be placed, and may use so much. */
  actorWanted(actor: ActorId, resources: Readonly<Record<string, number>>): void {
    const memoryBytes = resources["memory"] ?? 0;
    if (memoryBytes > 0) this.#wanted.set(actor, memoryBytes);
  }

  actorPlaced({ actor, worker }: Extract<LeaseEffect, { kind: "placeActor" }>): void {
    const memoryBytes = this.#wanted.get(actor);
    this.#wanted.delete(actor);
    this.#placed += 1;
    const limitBytes = memoryBytes === undefined ? undefined : this.#baseOf(worker) + memoryBytes;
    this.#actors.set(worker, { name: `actor ${this.#ports.describe(actor) ?? ""}`, order: this.#placed, limitBytes });
    this.#watch();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #watch(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  #look(): void {
    const state = this.#state();
    if (state.workers.every(({ kind }) => kind === "idle")) {
      this.close();
      return;
    }
    this.#looksToSettle = Math.max(0, this.#looksToSettle - 1);
    for (const victim of chooseVictims(state, this.#looksToSettle === 0)) {
      if (victim.because === "machine") this.#looksToSettle = SETTLE_LOOKS;
      this.#end(victim, state);
    }
  }

  #state(): MemoryState {
    const { probe, threshold, pretendedBytes } = this.#options;
    const leases = this.#ports.leases.leases();
    const byWorker = Map.groupBy(leases, ({ worker }) => worker);
    const open = new Set(leases.map(({ id }) => id));
    for (const id of this.#leaseLimits.keys()) if (!open.has(id)) this.#leaseLimits.delete(id);
    for (const id of this.#onceLeases) if (!open.has(id)) this.#onceLeases.delete(id);
    const workers: WorkerMemory[] = [];
    const alive = new Set<ProcessId>();
    for (const { id, pid } of this.#ports.workers.readyWorkers) {
      alive.add(id);
      const usedBytes = probe.processBytes(pid);
      if (usedBytes === undefined) continue;
      const own = byWorker.get(id) ?? [];
      const actor = this.#actors.get(id);
      const newest = own.at(-1);
      if (actor !== undefined) workers.push({ id, pid, kind: "actor", owner: undefined, usedBytes, isRetriable: false, ...actor });
      else if (newest === undefined)
        workers.push({
          id,
          pid,
          name: "idle worker",
          kind: "idle",
          owner: undefined,
          order: 0,
          usedBytes,
          isRetriable: true,
          limitBytes: undefined,
        });
      else {
        const { owner, id: order } = newest;
        const isRetriable = !own.some((lease) => this.#onceLeases.has(lease.id));
        workers.push({
          id,
          pid,
          name: "worker with tasks",
          kind: "task",
          owner,
          order,
          usedBytes,
          isRetriable,
          limitBytes: this.#limitOf(own),
        });
      }
    }
    for (const id of this.#actors.keys()) if (!alive.has(id)) this.#actors.delete(id);
    const pretended = (totalBytes: number): MemoryState["machine"] => {
      return { usedBytes: workers.reduce((total, { usedBytes }) => total + usedBytes, 0), totalBytes, what: "the machine" };
    };
    return { machine: pretendedBytes === undefined ? probe.machine() : pretended(pretendedBytes), threshold, workers };
  }

  /** Tasks that share a worker share its limit: that of the one which may use the most, and none if one has none. */
  #limitOf(leases: readonly { id: number }[]): number | undefined {
    let limitBytes = 0;
    for (const { id } of leases) {
      const limit = this.#leaseLimits.get(id);
      if (limit === undefined) return undefined;
      limitBytes = Math.max(limitBytes, limit.limitBytes);
    }
    return limitBytes;
  }

  #baseOf(worker: ProcessId): number {
    const pid = this.#ports.workers.readyWorkers.find(({ id }) => id === worker)?.pid;
    return Math.max(WORKER_BASE_BYTES, (pid === undefined ? undefined : this.#options.probe.processBytes(pid)) ?? 0);
  }

  #end(victim: Victim, state: MemoryState): void {
    const { worker, because } = victim;
    const { probe } = this.#options;
    const peers = Array.from(this.#ports.peers.values()).filter(({ kind }) => kind === "driver");
    const drivers = peers.map(({ pid }) => ({ pid, name: "the driver", usedBytes: probe.processBytes(pid) ?? 0 }));
    const own = [...state.workers, ...drivers].sort((a, b) => b.usedBytes - a.usedBytes).slice(0, LISTED_MAX);
    const ownPids = new Set(own.map(({ pid }) => pid));
    const others = probe.largest(LISTED_MAX).filter(({ pid }) => !ownPids.has(pid));
    const largest = [...own, ...others.slice(0, OTHERS_LISTED_MAX)].sort((a, b) => b.usedBytes - a.usedBytes);
    const reason = victimReason(victim, state);
    this.#ports.workers.killForMemory(worker.id, reason, {
      because,
      usedBytes: worker.usedBytes,
      limitBytes: because === "limit" ? (worker.limitBytes ?? 0) : (state.machine?.totalBytes ?? 0) * state.threshold,
      processes: listProcesses(largest),
    });
  }
}
