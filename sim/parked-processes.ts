/**
 * An account of the parked processes of each node, kept from the events of the lease managers and apart from their own books.
 *
 * A worker is parked from its word on until it gets a slot or ends. The account checks two rules. The first worker is shared only when as many are
 * parked as the bound for nested tasks says. And a task that a parked worker could take starts no process once the pool has its CPUs and the bound.
 * A worker that goes on during a tick does so without a CPU (`isOverdrawn`), until it parks again.
 *
 * Some runs share earlier or start more, and are not checked. With placement groups, environments or parts of CPUs a parked worker may be of no use.
 * A node that watches memory may lack it for a process.
 */
import { type AmbientProcess, currentProcess } from "./ambient.ts";
import type { ProcessId } from "../src/runtime/base/ids.ts";
import type { LeaseEffect, LeaseEvent } from "../src/runtime/node/leases/lease-events.ts";
import { PARKED_PER_CPU, PARKED_SHARE_OF_NESTED } from "../src/runtime/node/leases/limits.ts";

interface Account {
  readonly parked: Set<ProcessId>;
  readonly overdrawn: Set<ProcessId>;
  /** Parked, and not to be shared: the worker wants to go on, takes no call, or has not reported yet. */
  readonly unfree: Set<ProcessId>;
  readonly retiring: Set<ProcessId>;
  /** Workers of the pool that are ready, without retiring ones. */
  readonly ready: Set<ProcessId>;
  starting: number;
  hasPlaces: boolean;
}

export class ParkedProcesses {
  readonly #accounts = new Map<AmbientProcess | undefined, Account>();
  readonly #cpus: (node: AmbientProcess | undefined) => number;
  readonly #violate: (text: string) => void;
  readonly #watchesMemory: () => boolean;

  constructor(cpus: (node: AmbientProcess | undefined) => number, watchesMemory: () => boolean, violate: (text: string) => void) {
    this.#cpus = cpus;
    this.#watchesMemory = watchesMemory;
    this.#violate = violate;
  }

  /** Whether the worker runs without a CPU. */
  isOverdrawn(worker: ProcessId): boolean {
    return Array.from(this.#accounts.values()).some(({ overdrawn }) => overdrawn.has(worker));
  }

  see(event: LeaseEvent, effects: readonly LeaseEffect[]): void {
    const node = currentProcess();
    const account = this.#accounts.get(node) ?? {
      parked: new Set(),
      overdrawn: new Set(),
      unfree: new Set(),
      retiring: new Set(),
      ready: new Set(),
      starting: 0,
      hasPlaces: this.#watchesMemory(),
    };
    this.#accounts.set(node, account);
    this.#hear(event, account);
    const cpus = Math.max(1, Math.ceil(this.#cpus(node)));
    const bound = cpus * PARKED_PER_CPU;
    // The effects name the slot of a shared worker before the grant.
    if (effects.some(isOfPlaces)) account.hasPlaces = true;
    for (const effect of effects) this.#check(event, effect, account, { cpus, bound });
  }

  #hear(event: LeaseEvent, account: Account): void {
    const { parked, overdrawn, unfree, retiring, ready } = account;
    if (event.kind === "workerReady" || event.kind === "workerStartFailed") account.starting -= 1;
    if (event.kind === "workerReady") ready.add(event.worker);
    if (event.kind === "workerRetiring") ready.delete(event.worker);
    if (event.kind === "parked" || event.kind === "unpark") overdrawn.delete(event.worker);
    if (event.kind === "workerRetiring") retiring.add(event.worker);
    if (event.kind === "parked" && event.left > 0) {
      parked.add(event.worker);
      if (!retiring.has(event.worker)) unfree.delete(event.worker);
    } else if (event.kind === "unpark" || event.kind === "workerRetiring") unfree.add(event.worker);
    else if (event.kind === "parked") parked.delete(event.worker);
    else if (event.kind === "processGone") for (const set of [parked, overdrawn, unfree, retiring, ready]) set.delete(event.process);
  }

  #check(event: LeaseEvent, effect: LeaseEffect, account: Account, { cpus, bound }: { cpus: number; bound: number }): void {
    const { parked, overdrawn, unfree, ready } = account;
    if (effect.kind === "workerRetiring" || effect.kind === "endWorker" || effect.kind === "placeActor") ready.delete(effect.worker);
    if (effect.kind === "spawn") account.starting += 1;
    if (effect.kind === "leaseEnded" && effect.isLast) unfree.add(effect.worker);
    if (effect.kind === "slot") {
      if (!effect.isAnswer && parked.has(effect.worker) && parked.size < bound * PARKED_SHARE_OF_NESTED && !account.hasPlaces)
        this.#violate(`a parked process is shared while ${parked.size} of ${bound} are parked`);
      parked.delete(effect.worker);
      unfree.delete(effect.worker);
      if (event.kind === "tick" && effect.isAnswer) overdrawn.add(effect.worker);
    }
    const free = parked.size - Array.from(parked).filter((worker) => unfree.has(worker)).length;
    const pool = ready.size + account.starting;
    if (effect.kind === "spawn" && free > bound && pool > cpus + bound && !account.hasPlaces)
      this.#violate(`process ${pool} of a pool of ${cpus + bound} is started while ${free} are parked`);
  }
}

/** Whether a shape asks for whole CPUs. */
function isWhole(key: string): boolean {
  return /^CPU:\d*0000(?!\d)/.test(key);
}

/** Whether bundles, environments or parts of a CPU are at work, for which the pool follows other rules. */
function isOfPlaces(effect: LeaseEffect): boolean {
  if (effect.kind === "spawn") return effect.environment !== "";
  if (effect.kind !== "grant") return false;
  return effect.spec.bundle !== undefined || effect.spec.environment !== "" || !isWhole(effect.spec.key);
}
