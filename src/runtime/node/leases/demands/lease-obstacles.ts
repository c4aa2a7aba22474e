/**
 * Obstacles that keep a lease from being granted here, now or ever: demands to refuse, demands that wait for a future node, and the texts for both.
 *
 * As in Ray, a demand that no node can meet stays pending with one warning, because a capable node may join. Only demands that no change can mend are refused: a hard
 * affinity to a missing node, a bundle that its group lacks, a removed group. Pure functions.
 */
import type { NodeId } from "../../../base/ids.ts";
import { meetsAnySelector, selectorText } from "../../../scheduling/fallbacks.ts";
import { type Labels, unmatchedLabel } from "../../../scheduling/label-selector.ts";
import type { LeaseSpec } from "../../../scheduling/lease-spec.ts";
import type { MissingResource, ResourcePool } from "../../../scheduling/resource-pool.ts";
import type { BundleReservations } from "../resources/bundle-reservations.ts";

export type Obstacle =
  | ({ kind: "resource"; group: string | undefined } & MissingResource)
  | { kind: "label"; key: string; condition: string; labels: Labels; fallbacks?: readonly Labels[] | undefined };

export interface Refusal {
  readonly code: "unschedulable" | "groupRemoved" | "environmentFailed";
  readonly reason: string;
  readonly hint: string;
}

export interface NodeFacts {
  readonly nodeId: NodeId;
  readonly labels: Labels;
  readonly pool: ResourcePool;
  readonly groups: BundleReservations;
  /** Groups that were here and are no more. */
  readonly released: ReadonlySet<string>;
  /** The node is to leave its cluster: nothing begins here any more. */
  isDraining?: boolean;
}

export function refusalOf(spec: LeaseSpec, facts: NodeFacts): Refusal | undefined {
  const { node, bundle } = spec;
  if (facts.isDraining === true)
    return { code: "unschedulable", reason: `node ${facts.nodeId} is being drained`, hint: "Let it run on any node that has room." };
  if (bundle !== undefined) {
    if (facts.released.has(bundle.group)) return groupRemoved(bundle.group);
    if (facts.groups.isReserved(bundle.group) && facts.groups.poolsOf(bundle.group, bundle.index).length === 0) {
      return {
        code: "unschedulable",
        reason: `placement group ${bundle.group} has no bundle ${bundle.index}`,
        hint: "Bundles are numbered from 0; without bundleIndex any bundle that has room is taken.",
      };
    }
  } else if (node !== undefined && !node.soft && node.id !== facts.nodeId) {
    return {
      code: "unschedulable",
      reason: `there is no node ${node.id} in the cluster`,
      hint: "nodes() lists those that are alive; with soft: true another one is taken when that one is gone.",
    };
  }
  return undefined;
}

function groupRemoved(group: string): Refusal {
  return {
    code: "groupRemoved",
    reason: `placement group ${group} was removed`,
    hint: "Create another one, or let the work go on until it has ended before remove().",
  };
}

/** Returns the obstacle that keeps a demand from ever being met on this node; undefined if it only has to wait. */
export function obstacleOf(spec: LeaseSpec, facts: NodeFacts): Obstacle | undefined {
  const { bundle, labels, resources } = spec;
  if (bundle !== undefined) {
    const pools = facts.groups.poolsOf(bundle.group, bundle.index);
    let missing: MissingResource | undefined;
    for (const pool of pools) {
      const lack = pool.missing(resources);
      if (lack === undefined) return undefined;
      missing ??= lack;
    }
    return missing === undefined ? undefined : { kind: "resource", group: bundle.group, ...missing };
  }
  const unmatched = unmatchedLabel(labels, facts.labels);
  if (unmatched !== undefined && !meetsAnySelector(spec, facts.labels))
    return { kind: "label", ...unmatched, labels: facts.labels, ...(spec.fallbacks === undefined ? {} : { fallbacks: spec.fallbacks }) };
  const missing = facts.pool.missing(resources);
  return missing === undefined ? undefined : { kind: "resource", group: undefined, ...missing };
}

/** Returns the end of a sentence such as "A task waits for ...". */
export function obstacleText(obstacle: Obstacle): string {
  if (obstacle.kind === "label") {
    const labels = Object.entries(obstacle.labels).map(([key, value]) => `${key}=${value}`);
    const has = labels.length === 0 ? "no labels" : `the labels ${labels.join(", ")}`;
    const otherwise = (obstacle.fallbacks ?? []).map((selector) => `, or else ${selectorText(selector)}`).join("");
    return `waits for a node whose label ${obstacle.key} is ${obstacle.condition}${otherwise}, but the node has ${has}. It stays pending; choose another label, or start Shoal with it.`;
  }
  const { name, wanted, total, group } = obstacle;
  if (group !== undefined)
    return `waits for ${wanted} ${name}, but no bundle of placement group ${group} has more than ${total}. It stays pending; ask for less, or make a larger bundle.`;
  return `waits for ${wanted} ${name}, but the node has ${total} in all. It stays pending; ask for less, or start Shoal with more ${name}.`;
}
