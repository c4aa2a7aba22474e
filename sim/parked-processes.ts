/**
 * The processes that parked tasks keep for themselves, as the events of the lease managers tell of them: an account beside theirs.
 *
 * A worker is parked from its word on until it gets a slot or ends. The first worker is shared only when as many are parked as the bound for nested tasks says, and beyond the bound no
 * process is started for a task that a parked worker could take. A worker that goes on during a tick does so without a CPU (`isOverdrawn`), until it parks
 * again. Runs with placement groups, environments or parts of CPUs are not held to the bound: there a parked worker may be of no use.
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
  hasPlaces: boolean;
}

export class ParkedProcesses {
  readonly #accounts = new Map<AmbientProcess | undefined, Account>();
  readonly #cpus: (node: AmbientProcess | undefined) => number;
  readonly #violate: (text: string) => void;

  constructor(cpus: (node: AmbientProcess | undefined) => number, violate: (text: string) => void) {
    this.#cpus = cpus;
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
      hasPlaces: false,
    };
    this.#accounts.set(node, account);
    this.#hear(event, account);
    const bound = Math.max(1, Math.ceil(this.#cpus(node))) * PARKED_PER_CPU;
    // The effects name the slot of a shared worker before the grant.
    if (effects.some(isOfPlaces)) account.hasPlaces = true;
    for (const effect of effects) this.#check(event, effect, account, bound);
  }

  #hear(event: LeaseEvent, { parked, overdrawn, unfree, retiring }: Account): void {
    if (event.kind === "parked" || event.kind === "unpark" || event.kind === "workerRetiring") overdrawn.delete(event.worker);
    if (event.kind === "workerRetiring") retiring.add(event.worker);
    if (event.kind === "parked" && event.left > 0) {
      parked.add(event.worker);
      if (!retiring.has(event.worker)) unfree.delete(event.worker);
    } else if (event.kind === "unpark" || event.kind === "workerRetiring") unfree.add(event.worker);
    else if (event.kind === "parked") parked.delete(event.worker);
    else if (event.kind === "processGone") for (const set of [parked, overdrawn, unfree, retiring]) set.delete(event.process);
  }

  #check(event: LeaseEvent, effect: LeaseEffect, account: Account, bound: number): void {
    const { parked, overdrawn, unfree } = account;
    if (effect.kind === "leaseEnded" && effect.isLast) unfree.add(effect.worker);
    if (effect.kind === "slot") {
      if (!effect.isAnswer && parked.has(effect.worker) && parked.size < bound * PARKED_SHARE_OF_NESTED && !account.hasPlaces)
        this.#violate(`a parked process is shared while ${parked.size} of ${bound} are parked`);
      parked.delete(effect.worker);
      unfree.delete(effect.worker);
      if (event.kind === "tick" && effect.isAnswer) overdrawn.add(effect.worker);
    }
    const free = parked.size - Array.from(parked).filter((worker) => unfree.has(worker)).length;
    if (effect.kind === "spawn" && free > bound && !account.hasPlaces)
      this.#violate(`a process is started while ${free} of ${bound} are parked`);
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
