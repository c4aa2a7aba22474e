/**
 * Fairness between waiting demands on a node: chooses the leases to give back, and the demand for which they are collected.
 *
 * An owner with an endless backlog would keep its leases for ever, and small demands would always overtake a placement group that needs much at once. So a demand that
 * has waited for a moment makes the owner with the most leases return one. Freed resources are collected for the first waiting group that only tasks obstruct: then
 * nothing new is granted except nested demands, which running tasks need to end. Pure functions.
 */
import type { ProcessId } from "../../../base/ids.ts";
import { WAIT_BEFORE_REVOKE_MS } from "../../../scheduling/limits.ts";
import type { WaitingGroup } from "../resources/bundle-reservations.ts";

/**
 * How long resources are collected for a group before others are let through again, and for how long. A task that only ends when a later one has
 * run would otherwise block the group, and the group that task.
 */
const COLLECT_MS = 3000;
const LET_OTHERS_MS = 500;

interface LeaseView {
  readonly id: number;
  /** The shape. */
  readonly key: string;
  readonly owner: ProcessId;
  readonly worker: ProcessId;
  readonly group: string | undefined;
  revoked: boolean;
}

interface Reclaim {
  readonly worker: ProcessId;
  readonly owner: ProcessId;
  readonly leaseId: number;
}

interface DemandView {
  readonly owner: ProcessId;
  readonly group: string | undefined;
}

/** The group for which resources are collected now, if any: the oldest that would fit if all tasks ended. */
export function collectingGroup(
  waiting: readonly WaitingGroup[],
  nowMs: number,
  fitsWithoutTasks: (waiting: WaitingGroup) => boolean,
): WaitingGroup | undefined {
  const first = waiting.find(fitsWithoutTasks);
  if (first === undefined) return undefined;
  const waitedMs = nowMs - first.sinceMs;
  return waitedMs >= WAIT_BEFORE_REVOKE_MS && waitedMs % (COLLECT_MS + LET_OTHERS_MS) < COLLECT_MS ? first : undefined;
}

/** The lease whose owner is to return it: of the owner that has the most, and more than the one that starves. */
export function leaseToRevoke<L extends LeaseView>(leases: Iterable<L>, demand: DemandView): L | undefined {
  const counts = new Map<ProcessId, number>();
  const candidates: L[] = [];
  for (const lease of leases) {
    if (lease.revoked) continue;
    counts.set(lease.owner, (counts.get(lease.owner) ?? 0) + 1);
    // A lease inside a group frees nothing outside that group.
    if (lease.owner !== demand.owner && lease.group === demand.group) candidates.push(lease);
  }
  const own = counts.get(demand.owner) ?? 0;
  let victim: L | undefined;
  for (const lease of candidates) {
    const count = counts.get(lease.owner) ?? 0;
    if (count > own && (victim === undefined || count > (counts.get(victim.owner) ?? 0))) victim = lease;
  }
  return victim;
}

/**
 * The workers to be asked whether an owner's lease on them is idle: an owner that computes reads neither its timer nor a revoke. Not asked for are
 * the leases of the only one that starves, unless that one starves for another shape alone. With the newest lease meant: one that is granted later is another matter.
 */
export function leasesToReclaim(leases: Iterable<LeaseView>, starved: ReadonlyMap<ProcessId, ReadonlySet<string>>): Reclaim[] {
  const asked = new Map<string, Reclaim>();
  if (starved.size === 0) return [];
  for (const { id, key, worker, owner } of leases) {
    if (starved.size === 1 && starved.get(owner)?.has(key) === true) continue;
    const pair = `${worker}/${owner}`;
    asked.set(pair, { worker, owner, leaseId: Math.max(id, asked.get(pair)?.leaseId ?? 0) });
  }
  return Array.from(asked.values());
}
