/**
 * On which nodes the bundles of a placement group go: PACK, SPREAD, STRICT_PACK and STRICT_SPREAD.
 *
 * All or nothing: a placement names a node for every bundle, and no node gets more than it has free. The strict strategies find a placement
 * whenever there is one; PACK and SPREAD are greedy (packing vectors is NP-hard), large bundles first. Pure; called by the placement-group table.
 */
import type { NodeView, ResourceVector } from "../base/resources.ts";
import { type Labels, matchesLabels } from "./label-selector.ts";

export type BundleStrategy = "PACK" | "SPREAD" | "STRICT_PACK" | "STRICT_SPREAD";

export interface BundleRequest {
  readonly resources: ResourceVector;
  readonly labels: Labels;
}

/** The node of each bundle, or why there is none: `pending` fits on the nodes as they would be when empty, `infeasible` does not. */
export type BundlePlacement = { kind: "placed"; nodeIds: string[] } | { kind: "pending" } | { kind: "infeasible" };

export function placeBundles(bundles: readonly BundleRequest[], strategy: BundleStrategy, nodes: readonly NodeView[]): BundlePlacement {
  const nodeIds = place(bundles, strategy, nodes.map(roomOf));
  if (nodeIds !== undefined) return { kind: "placed", nodeIds };
  const empty = nodes.map((node) => roomOf({ ...node, free: node.total }));
  return { kind: place(bundles, strategy, empty) === undefined ? "infeasible" : "pending" };
}

/** A node during a placement, with its remaining resources. */
interface Room {
  readonly id: string;
  readonly labels: Labels;
  readonly left: Map<string, number>;
  readonly total: ReadonlyMap<string, number>;
  bundles: number;
}

function roomOf(node: NodeView): Room {
  return { id: node.id, labels: node.labels, left: new Map(node.free), total: node.total, bundles: 0 };
}

function place(bundles: readonly BundleRequest[], strategy: BundleStrategy, rooms: Room[]): string[] | undefined {
  switch (strategy) {
    case "STRICT_PACK": {
      const fitting = rooms.filter((room) => takeAll(bundles, { ...room, left: new Map(room.left) }));
      const chosen = fullest(fitting);
      return chosen === undefined ? undefined : bundles.map(() => chosen.id);
    }
    case "STRICT_SPREAD":
      return match(bundles, rooms);
    case "PACK":
      return pack(bundles, rooms);
    case "SPREAD":
      return spread(bundles, rooms);
  }
}

/** As many as possible on the node that takes most of them, then on the next. */
function pack(bundles: readonly BundleRequest[], rooms: Room[]): string[] | undefined {
  const nodeIds = new Array<string>(bundles.length);
  let left = largestFirst(bundles);
  while (left.length > 0) {
    let best: { room: Room; taken: number[] } | undefined;
    for (const room of rooms) {
      const trial = { ...room, left: new Map(room.left) };
      const taken = left.filter((index) => take(bundles[index] as BundleRequest, trial));
      if (best === undefined || taken.length > best.taken.length) best = { room, taken };
    }
    if (best === undefined || best.taken.length === 0) return undefined;
    for (const index of best.taken) {
      take(bundles[index] as BundleRequest, best.room);
      nodeIds[index] = best.room.id;
    }
    const done = new Set(best.taken);
    left = left.filter((index) => !done.has(index));
  }
  return nodeIds;
}

/** Each on the node that has the fewest of them so far; of equals, on the emptiest. */
function spread(bundles: readonly BundleRequest[], rooms: Room[]): string[] | undefined {
  const nodeIds = new Array<string>(bundles.length);
  for (const index of largestFirst(bundles)) {
    const bundle = bundles[index] as BundleRequest;
    let best: Room | undefined;
    for (const room of rooms) {
      if (!fits(bundle, room)) continue;
      const isBetter = best === undefined || room.bundles < best.bundles || (room.bundles === best.bundles && usage(room) < usage(best));
      if (isBetter) best = room;
    }
    if (best === undefined) return undefined;
    take(bundle, best);
    nodeIds[index] = best.id;
  }
  return nodeIds;
}

/** Places each bundle on a separate node: a matching, found by augmenting paths. */
function match(bundles: readonly BundleRequest[], rooms: readonly Room[]): string[] | undefined {
  const bundleOf = new Map<Room, number>();
  const roomsOf = bundles.map((bundle) => rooms.filter((room) => fits(bundle, room)).sort((a, b) => usage(a) - usage(b)));
  const augment = (index: number, tried: Set<Room>): boolean => {
    for (const room of roomsOf[index] as Room[]) {
      if (tried.has(room)) continue;
      tried.add(room);
      const holder = bundleOf.get(room);
      if (holder !== undefined && !augment(holder, tried)) continue;
      bundleOf.set(room, index);
      return true;
    }
    return false;
  };
  for (let index = 0; index < bundles.length; index += 1) if (!augment(index, new Set())) return undefined;
  const nodeIds = new Array<string>(bundles.length);
  for (const [room, index] of bundleOf) nodeIds[index] = room.id;
  return nodeIds;
}

function takeAll(bundles: readonly BundleRequest[], room: Room): boolean {
  return bundles.every((bundle) => take(bundle, room));
}

function take(bundle: BundleRequest, room: Room): boolean {
  if (!fits(bundle, room)) return false;
  for (const [name, units] of bundle.resources.amounts) room.left.set(name, (room.left.get(name) ?? 0) - units);
  room.bundles += 1;
  return true;
}

function fits(bundle: BundleRequest, room: Room): boolean {
  if (!matchesLabels(bundle.labels, room.labels)) return false;
  for (const [name, units] of bundle.resources.amounts) if ((room.left.get(name) ?? 0) < units) return false;
  return true;
}

/** Returns the used fraction of a node's scarcest resource, from 0 to 1. */
function usage(room: Room): number {
  let most = 0;
  for (const [name, total] of room.total) if (total > 0) most = Math.max(most, 1 - (room.left.get(name) ?? 0) / total);
  return most;
}

function fullest(rooms: readonly Room[]): Room | undefined {
  let best: Room | undefined;
  for (const room of rooms) if (best === undefined || usage(room) > usage(best)) best = room;
  return best;
}

function largestFirst(bundles: readonly BundleRequest[]): number[] {
  const size = (bundle: BundleRequest): number => {
    const { amounts } = bundle.resources;
    // An accelerator is scarcer than any number of CPUs; memory is counted in bytes and says nothing beside them.
    return (amounts.get("GPU") ?? 0) * 1e6 + (amounts.get("CPU") ?? 0);
  };
  return Array.from(bundles.keys()).sort((a, b) => size(bundles[b] as BundleRequest) - size(bundles[a] as BundleRequest));
}
