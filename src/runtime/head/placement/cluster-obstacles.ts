/**
 * Why the cluster cannot place something, in words; and which nodes a placement group's bundles leave to choose from.
 *
 * As in Ray, a demand that no node can hold stays pending, with a warning. Refused are only demands that no change can satisfy: a hard
 * affinity to a node that is gone, a bundle that the group does not have, a group that was removed. Pure functions, called by the cluster
 * scheduler.
 */
import type { NodeId } from "../../base/ids.ts";
import { RESOURCE_UNIT, type ResourceVector } from "../../base/resources.ts";
import { selectorsOf, selectorsText } from "../../scheduling/fallbacks.ts";
import type { LeaseSpec } from "../../scheduling/lease-spec.ts";
import type { ActorRefusal } from "../../wire/messages.ts";
import type { ClusterView, Shape } from "./cluster-view.ts";

/** A placement group as the scheduler sees it. */
export interface GroupPlace {
  readonly state: "pending" | "created" | "removed";
  /** The node of a bundle is undefined while it is being placed. */
  readonly bundles: readonly { readonly resources: ResourceVector; readonly nodeId: NodeId | undefined }[];
}

export interface GroupPlaces {
  get(group: string): GroupPlace | undefined;
}

type BundleNodes =
  | { kind: "nodes"; nodeIds: readonly NodeId[] }
  | { kind: "wait" }
  | { kind: "infeasible"; text: string }
  | { kind: "refused"; refusal: ActorRefusal };

/** The nodes with a bundle of the group that could hold the lease. */
export function bundlesFor(spec: LeaseSpec, groups: GroupPlaces): BundleNodes {
  const { bundle, resources } = spec;
  const group = bundle === undefined ? undefined : groups.get(bundle.group);
  // A handle may travel faster than the group's creation.
  if (bundle === undefined || group === undefined || group.state === "pending") return { kind: "wait" };
  if (group.state === "removed") return { kind: "refused", refusal: groupRefusal(bundle.group) };
  const candidates = bundle.index < 0 ? group.bundles : group.bundles.slice(bundle.index, bundle.index + 1);
  if (candidates.length === 0) return { kind: "refused", refusal: noSuchBundle(bundle.group, bundle.index) };
  const large = candidates.filter((candidate) => lacking(candidate.resources, resources) === undefined);
  if (large.length === 0) return { kind: "infeasible", text: bundleTooSmall(bundle.group, candidates, resources) };
  const nodeIds = new Set<NodeId>();
  for (const { nodeId } of large) if (nodeId !== undefined) nodeIds.add(nodeId);
  return nodeIds.size === 0 ? { kind: "wait" } : { kind: "nodes", nodeIds: Array.from(nodeIds) };
}

export function noSuchNode(nodeId: string): ActorRefusal {
  return {
    code: "unschedulable",
    reason: `there is no node ${nodeId} in the cluster`,
    hint: "nodes() lists those that are alive; with soft: true another one is taken when that one is gone.",
  };
}

function groupRefusal(group: string): ActorRefusal {
  return {
    code: "groupRemoved",
    reason: `placement group ${group} was removed`,
    hint: "Create another one, or let the work go on until it has ended before remove().",
  };
}

function noSuchBundle(group: string, index: number): ActorRefusal {
  return {
    code: "unschedulable",
    reason: `placement group ${group} has no bundle ${index}`,
    hint: "Bundles are numbered from 0; without bundleIndex any bundle that has room is taken.",
  };
}

/** Ends a sentence that begins with the waiting demand: "A task waits for ...". */
export function whyInfeasible({ spec }: Shape, view: ClusterView): string {
  const { labels, node, resources } = spec;
  if (node !== undefined && !node.soft)
    return `waits for node ${node.id}, which can never hold it. It stays pending; ask for less, or for another node.`;
  if (labels !== undefined && selectorsOf(spec).every((selector) => view.matching(selector ?? {}).length === 0))
    return `waits for a node ${selectorsText(spec)}, but no node of the cluster has it. It stays pending; choose another label, or add a node with it.`;
  for (const [name, units] of resources.amounts) {
    const most = view.mostOf(name);
    if (most < units)
      return `waits for ${units / RESOURCE_UNIT} ${name}, but no node of the cluster has more than ${most / RESOURCE_UNIT}. It stays pending; ask for less, or add a larger node.`;
  }
  const all = Array.from(resources.amounts, ([name, units]) => `${units / RESOURCE_UNIT} ${name}`);
  const where = labels === undefined ? "on one node" : "on one node with such labels";
  return `waits for ${all.join(" and ")} ${where}, but no node of the cluster has all of it. It stays pending; ask for less, or add a larger node.`;
}

function bundleTooSmall(group: string, bundles: readonly { resources: ResourceVector }[], wanted: ResourceVector): string {
  const name = lacking((bundles[0] as { resources: ResourceVector }).resources, wanted) as string;
  const most = Math.max(...bundles.map(({ resources }) => resources.amounts.get(name) ?? 0));
  const units = wanted.amounts.get(name) ?? 0;
  return `waits for ${units / RESOURCE_UNIT} ${name}, but no bundle of placement group ${group} has more than ${most / RESOURCE_UNIT}. It stays pending; ask for less, or make a larger bundle.`;
}

function lacking(has: ResourceVector, wanted: ResourceVector): string | undefined {
  for (const [name, units] of wanted.amounts) if ((has.amounts.get(name) ?? 0) < units) return name;
  return undefined;
}
