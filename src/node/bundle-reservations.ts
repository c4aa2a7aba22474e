/**
 * The bundles of placement groups on this node: resources taken out of the node's pool as a whole, each bundle a pool of its own.
 *
 * A group waits until all of its bundles fit at once, then has them until it is released; what runs in it takes from its bundles and never from
 * the node. Groups are served in the order in which they came, but one that does not fit yet holds nobody back by itself: whether others may
 * overtake it is `lease-fairness.ts`'. Pure state inside the lease manager.
 */
import type { ResourceVector } from "../base/resources.ts";
import { type Allocation, ResourcePool } from "../scheduling/resource-pool.ts";

export interface BundleWish {
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
  readonly bundles: readonly BundleWish[];
  /** All bundles together. */
  readonly sum: ResourceVector;
  readonly sinceMs: number;
}

export class BundleReservations {
  readonly #node: ResourcePool;
  readonly #waiting: WaitingGroup[] = [];
  readonly #reserved = new Map<string, readonly Bundle[]>();

  constructor(node: ResourcePool) {
    this.#node = node;
  }

  want(group: string, bundles: readonly BundleWish[], nowMs: number): void {
    if (this.#reserved.has(group) || this.#waiting.some((waiting) => waiting.group === group)) return;
    this.#waiting.push({ group, bundles, sum: sumOf(bundles), sinceMs: nowMs });
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
    for (const bundles of this.#reserved.values()) for (const bundle of bundles) yield bundle.allocation;
  }

  /** What a group has taken, bundles together. */
  amountsOf(group: string): ReadonlyMap<string, number> {
    const taken = (this.#reserved.get(group) ?? []).map(({ index, allocation }) => ({ index, resources: allocation.vector }));
    return sumOf(taken).amounts;
  }

  /** Takes the bundles of all groups that fit now; returns those groups. */
  reserve(mayTake: (waiting: WaitingGroup) => boolean): string[] {
    const done: string[] = [];
    for (let index = 0; index < this.#waiting.length; ) {
      const waiting = this.#waiting[index] as WaitingGroup;
      const bundles = mayTake(waiting) ? this.#take(waiting.bundles) : undefined;
      if (bundles === undefined) {
        index += 1;
        continue;
      }
      this.#waiting.splice(index, 1);
      this.#reserved.set(waiting.group, bundles);
      done.push(waiting.group);
    }
    return done;
  }

  release(group: string): void {
    const at = this.#waiting.findIndex((waiting) => waiting.group === group);
    if (at >= 0) this.#waiting.splice(at, 1);
    for (const bundle of this.#reserved.get(group) ?? []) this.#node.release(bundle.allocation);
    this.#reserved.delete(group);
  }

  #take(wishes: readonly BundleWish[]): Bundle[] | undefined {
    const bundles: Bundle[] = [];
    // Large ones first: they need whole accelerators, which fractions would break up.
    for (const { index, resources } of wishes.toSorted(
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

function sumOf(bundles: readonly BundleWish[]): ResourceVector {
  const amounts = new Map<string, number>();
  for (const { resources } of bundles) for (const [name, units] of resources.amounts) amounts.set(name, (amounts.get(name) ?? 0) + units);
  return { key: "", amounts };
}
