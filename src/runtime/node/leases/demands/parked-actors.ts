/**
 * Actors whose constructors wait for lost arguments: each gives back its resources, and gets them again before its constructor begins.
 *
 * A part of the lease manager. The makers of the arguments may need the very GPU on which the actor was placed, and a constructor that has not begun keeps nothing
 * there. Pure. Invariant: an actor without an allocation has been parked and not been resumed.
 */
import type { ActorId, ProcessId } from "../../../base/ids.ts";
import { type ResourcePool, unitIds } from "../../../scheduling/resource-pool.ts";
import type { LeaseEffect } from "../lease-events.ts";
import type { ActorHeld } from "../lease-records.ts";

export class ParkedActors {
  readonly #actors: ReadonlyMap<ActorId, ActorHeld>;
  /** Number of actors that have asked for their resources again; too high after one of them has ended. */
  #resuming = 0;

  constructor(actors: ReadonlyMap<ActorId, ActorHeld>) {
    this.#actors = actors;
  }

  park(worker: ProcessId): void {
    const actor = this.#actorOn(worker);
    if (actor?.allocation === undefined) return;
    actor.pool.release(actor.allocation);
    actor.allocation = undefined;
  }

  /** The arguments are there. */
  wants(worker: ProcessId): void {
    const actor = this.#actorOn(worker);
    if (actor === undefined || actor.allocation !== undefined) return;
    actor.isResuming = true;
    this.#resuming += 1;
  }

  /** Lets those go on for which there is room. */
  resume(poolFor: (actor: ActorHeld) => ResourcePool | undefined): LeaseEffect[] {
    const effects: LeaseEffect[] = [];
    if (this.#resuming === 0) return effects;
    this.#resuming = 0;
    for (const actor of this.#actors.values()) {
      if (!actor.isResuming) continue;
      const pool = poolFor(actor);
      if (pool === undefined) {
        this.#resuming += 1;
        continue;
      }
      const { spec, worker } = actor;
      actor.isResuming = false;
      actor.pool = pool;
      actor.allocation = pool.allocate(spec.resources);
      effects.push({ kind: "slot", worker, shape: spec.key, isAnswer: true, isLeased: true, accelerators: unitIds(actor.allocation) });
    }
    return effects;
  }

  #actorOn(worker: ProcessId): ActorHeld | undefined {
    for (const actor of this.#actors.values()) if (actor.worker === worker) return actor;
    return undefined;
  }
}
