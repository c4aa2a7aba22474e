/**
 * The demands for leases on a node: from the node's own processes, and from other nodes' processes whose daemons sent them here.
 *
 * A node's own demand is a level, of which the last counts. Remote demands are added up, because several answers of the head may send some here. The head's numbers of
 * settled remote demands are kept until the node's next report names them. The lease manager owns the table and grants.
 */
import type { ProcessId } from "../../../base/ids.ts";
import type { LeaseSpec } from "../../../scheduling/lease-spec.ts";
import { isPatient, untilMs } from "../../membership/head/remote-placement.ts";
import type { LeaseEvent } from "../lease-events.ts";
import type { Demand } from "../lease-records.ts";

type EventOf<K extends LeaseEvent["kind"]> = Extract<LeaseEvent, { kind: K }>;

export class DemandTable {
  /** Insertion order is the round robin: a demand that got a lease goes to the end. */
  readonly #demands = new Map<string, Demand>();
  readonly #settled = new Set<number>();

  [Symbol.iterator](): IterableIterator<[string, Demand]> {
    return this.#demands.entries();
  }

  values(): Iterable<Demand> {
    return this.#demands.values();
  }

  set(event: EventOf<"demand">): void {
    const { owner, nested, spec, backlog, nowMs } = event;
    const key = keyOf(owner, spec);
    const elsewhere = Math.min(event.elsewhere ?? 0, backlog);
    const known = this.#demands.get(key);
    if (backlog === 0) {
      this.#demands.delete(key);
    } else if (known === undefined) {
      const waits = { sinceMs: nowMs, waitsSinceMs: nowMs, warned: false };
      this.#demands.set(key, { owner, nested, spec, group: spec.bundle?.group, backlog, elsewhere, remote: undefined, ...waits });
    } else {
      known.backlog = backlog;
      known.elsewhere = elsewhere;
    }
  }

  addRemote(event: EventOf<"remoteDemand">): void {
    const { owner, nested, spec, count, nowMs, placement } = event;
    const key = keyOf(owner, spec);
    const known = this.#demands.get(key);
    if (count === 0) {
      if (known?.remote !== undefined) this.end(key);
      return;
    }
    const remote = known?.remote ?? { untilMs: 0, isPatient: false, placements: [] };
    remote.untilMs = Math.max(remote.untilMs, untilMs(event));
    remote.isPatient ||= isPatient(event);
    if (placement > 0) remote.placements.push(placement);
    if (known !== undefined) {
      known.backlog += count;
      return;
    }
    const waits = { sinceMs: nowMs, waitsSinceMs: nowMs, warned: false };
    this.#demands.set(key, { owner, nested, spec, group: spec.bundle?.group, backlog: count, elsewhere: 0, remote, ...waits });
  }

  /** Notes a grant: the demand goes to the end of the order, or is complete. */
  granted(key: string): void {
    const demand = this.#demands.get(key);
    if (demand === undefined) return;
    demand.backlog -= 1;
    if (demand.backlog <= 0) {
      this.end(key);
      return;
    }
    this.#demands.delete(key);
    this.#demands.set(key, demand);
  }

  grantedElsewhere(owner: ProcessId, spec: LeaseSpec): void {
    const key = keyOf(owner, spec);
    const demand = this.#demands.get(key);
    if (demand === undefined) return;
    demand.backlog -= 1;
    demand.elsewhere = Math.max(0, demand.elsewhere - 1);
    if (demand.backlog <= 0) this.end(key);
  }

  setElsewhere(owner: ProcessId, spec: LeaseSpec, count: number): void {
    const demand = this.#demands.get(keyOf(owner, spec));
    if (demand !== undefined) demand.elsewhere = Math.min(count, demand.backlog);
  }

  end(key: string): void {
    for (const placement of this.#demands.get(key)?.remote?.placements ?? []) this.settle(placement);
    this.#demands.delete(key);
  }

  endOf(owner: ProcessId): void {
    for (const [key, demand] of this.#demands) if (demand.owner === owner) this.end(key);
  }

  settle(placement: number | undefined): void {
    if (placement !== undefined && placement > 0) this.#settled.add(placement);
  }

  get hasSettled(): boolean {
    return this.#settled.size > 0;
  }

  takeSettled(): number[] {
    const settled = Array.from(this.#settled);
    this.#settled.clear();
    return settled;
  }
}

export function keyOf(owner: ProcessId, spec: LeaseSpec): string {
  return `${owner}/${spec.key}`;
}
