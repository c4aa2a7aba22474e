/**
 * Demands that wait for room in the cluster: leases that nodes asked for, and actors, in order of arrival.
 *
 * Kept by shape, because a node with room is offered to shapes, and by placement group, because its demands wait for the group. Bounded: a
 * demand that arrives when it is full has to ask again. Owned by the cluster scheduler, which decides. An autoscaler and `status` read the
 * sums by shape.
 */
import type { ActorId, NodeId, ProcessId } from "../../base/ids.ts";
import { SetMap } from "../../base/collections/set-map.ts";
import type { LeaseAskHeader } from "../../wire/cluster/cluster-messages.ts";
import type { Shape } from "./cluster-view.ts";

export interface LeaseAsk extends Omit<LeaseAskHeader, "number"> {
  /** The node's number for its question. */
  readonly id: number;
  readonly from: NodeId;
}

export interface ActorAsk {
  readonly actor: ActorId;
  readonly shape: string;
  /** Shape that must exist on the node, if that is more than the demand holds. */
  readonly placementShape: string;
}

export interface Waiter {
  readonly key: string;
  readonly shapeKey: string;
  readonly shape: Shape;
  readonly ask: LeaseAsk | undefined;
  readonly actor: ActorAsk | undefined;
  readonly sinceMs: number;
  /** Not before this is it sent to a full node. */
  probeAtMs: number;
  isInfeasible: boolean;
}

export interface WaitingDemand {
  readonly shape: string;
  readonly count: number;
  /** How many of them are actors. */
  readonly actors: number;
  readonly sinceMs: number;
  readonly isInfeasible: boolean;
}

const WAITERS_MAX = 20_000;

export function leaseKeyOf(ask: { from: NodeId; owner: ProcessId; shape: string }): string {
  return `${ask.from}/${ask.owner}/${ask.shape}`;
}

export function actorKeyOf(actor: ActorId): string {
  return `actor/${actor}`;
}

export class PlacementWaiters {
  /** In order of arrival. */
  readonly #all = new Map<string, Waiter>();
  readonly #byShape = new Map<string, Map<string, Waiter>>();
  readonly #byGroup = new Map<string, Map<string, Waiter>>();
  readonly #byOwner = new SetMap<ProcessId, string>();

  get isFull(): boolean {
    return this.#all.size >= WAITERS_MAX;
  }

  get size(): number {
    return this.#all.size;
  }

  all(): Iterable<Waiter> {
    return this.#all.values();
  }

  add(waiter: Waiter): void {
    this.#all.set(waiter.key, waiter);
    if (waiter.ask !== undefined) this.#byOwner.add(waiter.ask.owner, waiter.key);
    const index = waiter.shape.spec.bundle === undefined ? this.#byShape : this.#byGroup;
    const at = indexKeyOf(waiter);
    const others = index.get(at);
    if (others === undefined) index.set(at, new Map([[waiter.key, waiter]]));
    else others.set(waiter.key, waiter);
  }

  remove(key: string): Waiter | undefined {
    const waiter = this.#all.get(key);
    if (waiter === undefined) return undefined;
    this.#all.delete(key);
    if (waiter.ask !== undefined) this.#byOwner.delete(waiter.ask.owner, key);
    const index = waiter.shape.spec.bundle === undefined ? this.#byShape : this.#byGroup;
    const at = indexKeyOf(waiter);
    const others = index.get(at);
    others?.delete(key);
    if (others?.size === 0) index.delete(at);
    return waiter;
  }

  /** Removes the demands of a process that ended. */
  ownerGone(owner: ProcessId): void {
    for (const key of Array.from(this.#byOwner.get(owner))) this.remove(key);
  }

  /** Whether earlier demands of the same shape wait, so that a new one queues behind them. */
  hasWaiting(shapeKey: string): boolean {
    for (const waiter of this.#byShape.get(shapeKey)?.values() ?? []) if (!waiter.isInfeasible) return true;
    return false;
  }

  shapes(): Iterable<readonly [string, ReadonlyMap<string, Waiter>]> {
    return this.#byShape;
  }

  /** Goes to the end of the order in which shapes are offered room. */
  rotate(shapeKey: string): void {
    const waiters = this.#byShape.get(shapeKey);
    if (waiters === undefined) return;
    this.#byShape.delete(shapeKey);
    this.#byShape.set(shapeKey, waiters);
  }

  /** Placement groups in which requests wait. */
  groups(): string[] {
    return Array.from(this.#byGroup.keys());
  }

  ofGroup(group: string): Waiter[] {
    return Array.from(this.#byGroup.get(group)?.values() ?? []);
  }

  demands(): WaitingDemand[] {
    const found = new Map<string, { shape: string; count: number; actors: number; sinceMs: number; isInfeasible: boolean }>();
    for (const { shapeKey, ask, sinceMs, isInfeasible } of this.#all.values()) {
      const known = found.get(shapeKey);
      const count = ask?.count ?? 1;
      const actors = ask === undefined ? 1 : 0;
      if (known === undefined) found.set(shapeKey, { shape: shapeKey, count, actors, sinceMs, isInfeasible });
      else {
        known.count += count;
        known.actors += actors;
        known.sinceMs = Math.min(known.sinceMs, sinceMs);
      }
    }
    return Array.from(found.values());
  }
}

function indexKeyOf(waiter: Waiter): string {
  return waiter.shape.spec.bundle?.group ?? waiter.shapeKey;
}
