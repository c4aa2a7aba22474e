/**
 * The bundles of placement groups on this node: resources taken out of the node's pool, with a separate pool for each bundle.
 *
 * A group waits until all its bundles fit at once, and keeps them until it is released. Work in the group takes resources from its bundles, never from the node. In a
 * cluster the head prepares a group on all its nodes and then commits it: prepared resources are held, but nothing runs in them yet. Groups are served in order of
 * arrival. A group that does not fit does not block others by itself: `lease-fairness.ts` decides whether they may overtake it. Pure state inside the lease manager.
 */
import type { ResourceVector } from "../../../base/resources.ts";
import { type Allocation, ResourcePool } from "../../../scheduling/resource-pool.ts";

export interface BundleSpec {
  readonly index: number;
  readonly resources: ResourceVector;
}

interface Bundle {
  readonly index: number;
  readonly allocation: Allocation;
  readonly pool: ResourcePool;
}

export interface WaitingGroup {
  readonly group: string;
  /** The head's number for it; 0 on the only node, where what fits is committed at once. */
  readonly attempt: number;
  /** Named in the node's reports once it is dealt with; 0 for none. */
  readonly placement: number;
  readonly bundles: readonly BundleSpec[];
  /** All bundles together. */
  readonly sum: ResourceVector;
  readonly sinceMs: number;
}

export interface Preparation {
  readonly group: string;
  readonly attempt: number;
  readonly placement: number;
  readonly bundles: readonly BundleSpec[];
  /** Whether resources that tasks give back are collected for the group. */
  readonly mayWait: boolean;
  readonly nowMs: number;
}

export class BundleReservations {
  readonly #node: ResourcePool;
  readonly #waiting: WaitingGroup[] = [];
  readonly #prepared = new Map<string, readonly Bundle[]>();
  readonly #reserved = new Map<string, readonly Bundle[]>();

  constructor(node: ResourcePool) {
    this.#node = node;
  }

  want(group: string, bundles: readonly BundleSpec[], nowMs: number): void {
    if (this.#reserved.has(group) || this.#waiting.some((waiting) => waiting.group === group)) return;
    this.#waiting.push({ group, attempt: 0, placement: 0, bundles, sum: sumOf(bundles), sinceMs: nowMs });
  }

  /** Holds them now if they fit; undefined where the group waits for that, which only one that the head collects for may. */
  prepare({ group, attempt, placement, bundles, mayWait, nowMs }: Preparation): boolean | undefined {
    const key = attemptKey(group, attempt);
    if (this.#prepared.has(key)) return true;
    const taken = this.#take(bundles);
    if (taken !== undefined) {
      this.#prepared.set(key, taken);
      return true;
    }
    if (!mayWait) return false;
    if (!this.#isWaiting(group, attempt)) this.#waiting.push({ group, attempt, placement, bundles, sum: sumOf(bundles), sinceMs: nowMs });
    return undefined;
  }

  /** Lets work run in the prepared bundles. */
  commit(group: string, attempt: number): void {
    const bundles = this.#prepared.get(attemptKey(group, attempt));
    this.#prepared.delete(attemptKey(group, attempt));
    if (bundles === undefined) return;
    const all = [...(this.#reserved.get(group) ?? []), ...bundles];
    this.#reserved.set(
      group,
      all.sort((a, b) => a.index - b.index),
    );
  }

  /** @returns the placement, when it was still waiting */
  abort(group: string, attempt: number): number | undefined {
    const at = this.#waiting.findIndex((waiting) => waiting.group === group && waiting.attempt === attempt);
    this.#releasePrepared(attemptKey(group, attempt));
    return at < 0 ? undefined : this.#waiting.splice(at, 1)[0]?.placement;
  }

  #isWaiting(group: string, attempt: number): boolean {
    return this.#waiting.some((waiting) => waiting.group === group && waiting.attempt === attempt);
  }

  get waiting(): readonly WaitingGroup[] {
    return this.#waiting;
  }

  get reserved(): Iterable<string> {
    return this.#reserved.keys();
  }

  isReserved(group: string): boolean {
    return this.#reserved.has(group);
  }

  /** The pools of a group's bundle, or of all where the index is -1; empty while it waits. */
  poolsOf(group: string, index: number): readonly ResourcePool[] {
    const bundles = this.#reserved.get(group) ?? [];
    return bundles.filter((bundle) => index < 0 || bundle.index === index).map((bundle) => bundle.pool);
  }

  /** Everything that groups have taken out of the node. */
  *allocations(): Iterable<Allocation> {
    for (const held of [this.#reserved, this.#prepared])
      for (const bundles of held.values()) for (const bundle of bundles) yield bundle.allocation;
  }

  /** Returns the held bundles for a head that does not know this node yet, and waiting attempts, which only an earlier head wanted. */
  contents(): { held: [group: string, index: number, attempt: number][]; waiting: { group: string; attempt: number }[] } {
    return { held: Array.from(this.#held()), waiting: this.#waiting.map(({ group, attempt }) => ({ group, attempt })) };
  }

  /** Lists held bundles. The attempt of committed ones is 0. */
  *#held(): Iterable<[group: string, index: number, attempt: number]> {
    for (const [group, bundles] of this.#reserved) for (const { index } of bundles) yield [group, index, 0];
    for (const [key, bundles] of this.#prepared) {
      const at = key.lastIndexOf("/");
      for (const { index } of bundles) yield [key.slice(0, at), index, Number(key.slice(at + 1))];
    }
  }

  /** Returns the resources of the group's first bundle, also where the head has not committed the group yet. */
  allocationOf(group: string): Allocation | undefined {
    const prepared = Array.from(this.#prepared).find(([key]) => key.slice(0, key.lastIndexOf("/")) === group)?.[1];
    return (this.#reserved.get(group) ?? prepared)?.[0]?.allocation;
  }

  /** Returns the sum of a group's bundles. */
  amountsOf(group: string): ReadonlyMap<string, number> {
    const taken = (this.#reserved.get(group) ?? []).map(({ index, allocation }) => ({ index, resources: allocation.vector }));
    return sumOf(taken).amounts;
  }

  /** Takes the bundles of all groups that fit now; returns those groups. */
  reserve(): WaitingGroup[] {
    const done: WaitingGroup[] = [];
    for (let index = 0; index < this.#waiting.length; ) {
      const waiting = this.#waiting[index] as WaitingGroup;
      const bundles = this.#take(waiting.bundles);
      if (bundles === undefined) {
        index += 1;
        continue;
      }
      this.#waiting.splice(index, 1);
      if (waiting.attempt === 0) this.#reserved.set(waiting.group, bundles);
      else this.#prepared.set(attemptKey(waiting.group, waiting.attempt), bundles);
      done.push(waiting);
    }
    return done;
  }

  /** @returns the placements that were still waiting */
  release(group: string): number[] {
    const dropped: number[] = [];
    for (let at = this.#waiting.length - 1; at >= 0; at -= 1) {
      if (this.#waiting[at]?.group !== group) continue;
      for (const { placement } of this.#waiting.splice(at, 1)) dropped.push(placement);
    }
    for (const key of Array.from(this.#prepared.keys())) if (key.startsWith(attemptKey(group, ""))) this.#releasePrepared(key);
    for (const bundle of this.#reserved.get(group) ?? []) this.#node.release(bundle.allocation);
    this.#reserved.delete(group);
    return dropped;
  }

  #releasePrepared(key: string): void {
    for (const bundle of this.#prepared.get(key) ?? []) this.#node.release(bundle.allocation);
    this.#prepared.delete(key);
  }

  #take(specs: readonly BundleSpec[]): Bundle[] | undefined {
    const bundles: Bundle[] = [];
    // Large ones first: they need whole accelerators, which fractions would break up.
    for (const { index, resources } of specs.toSorted(
      (a, b) => (b.resources.amounts.get("GPU") ?? 0) - (a.resources.amounts.get("GPU") ?? 0),
    )) {
      if (!this.#node.fits(resources)) {
        for (const bundle of bundles) this.#node.release(bundle.allocation);
        return undefined;
      }
      const allocation = this.#node.allocate(resources);
      bundles.push({ index, allocation, pool: new ResourcePool(resources, allocation.units) });
    }
    return bundles.sort((a, b) => a.index - b.index);
  }
}

function attemptKey(group: string, attempt: number | ""): string {
  return `${group}/${attempt}`;
}

function sumOf(bundles: readonly BundleSpec[]): ResourceVector {
  const amounts = new Map<string, number>();
  for (const { resources } of bundles) for (const [name, units] of resources.amounts) amounts.set(name, (amounts.get(name) ?? 0) + units);
  return { key: "", amounts };
}
