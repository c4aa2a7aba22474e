/**
 * Decides which nodes a cluster needs: launches, drains of idle nodes, and a verdict for each demand.
 *
 * A pure function of a snapshot, the cluster file and the time. Floors come first (`min_workers`), then `requestResources`, counted against
 * whole nodes, then waiting demand against free room: placement groups, and shapes from the largest on. Last comes the work of nodes that are
 * drained. Room is sought on nodes, then on
 * instances on the way, then on new nodes. A node goes when it was idle for its time, nothing of the demand was placed there, and no floor
 * needs it. Without a complete view nothing is decided.
 */
import { amountsOf, resourceVector } from "../../../runtime/base/resources.ts";
import { meetsAnySelector, selectorsOf } from "../../../runtime/scheduling/fallbacks.ts";
import { type LeaseSpec, parseLeaseSpec } from "../../../runtime/scheduling/lease-spec.ts";
import type { ClusterConfig } from "../config/cluster-config.ts";
import { type Instance, INSTANCE_LABEL, isComing, TYPE_LABEL } from "../instances/instance.ts";
import { LAUNCHES_MIN } from "../limits.ts";
import { launchesAllowed, NewNodes } from "./new-nodes.ts";
import { placeGroup } from "./place-group.ts";
import { type Need, type Room, Rooms } from "./rooms.ts";
import type { Plan, Snapshot, SnapshotNode, Verdict } from "./snapshot.ts";
import { FITS, launchingText, obstacleText, wantedText } from "./verdict-text.ts";

const NOTHING: Plan = { launches: [], drains: [], cancels: [], verdicts: [] };

export function plan(snapshot: Snapshot, config: ClusterConfig, nowMs: number): Plan {
  if (!snapshot.isComplete) return NOTHING;
  const nodeOf = nodesByInstance(snapshot.nodes);
  const coming = snapshot.instances.filter((instance) => isComing(instance) && !nodeOf.has(instance.id));
  const floors = new Map(config.nodeTypes.map(({ name, minWorkers }) => [name, Math.max(0, minWorkers - liveOf(snapshot, name))]));
  const requested = placeRequest(snapshot, { config, coming, floors, nowMs });
  const rooms = new Rooms();
  const nodes = new NewNodes(rooms, { config, snapshot, nowMs });
  const leaving = new Set(snapshot.instances.filter(({ state }) => state === "DRAINING" || state === "TERMINATING").map(({ id }) => id));
  for (const node of snapshot.nodes)
    if (node.state === "alive" && !leaving.has(node.labels[INSTANCE_LABEL] ?? "")) addNode(rooms, node, node.free);
  for (const instance of coming) nodes.coming(instance);
  for (const [type, count] of requested.added) nodes.addOf(type, count);
  const verdicts = placeDemand(snapshot, rooms, nodes);
  placeLeavingWork(snapshot, rooms, nodes);
  const inUse = usedNodes(rooms);
  const allowed = launchesAllowed(snapshot, config.upscalingSpeed, LAUNCHES_MIN);
  return {
    launches: trimmed(nodes.added, allowed),
    drains: idleInstances(snapshot, { config, nodeOf, isNeeded: (nodeId) => inUse.has(nodeId) || requested.nodeIds.has(nodeId) }),
    cancels: surplusQueued(snapshot, config),
    verdicts,
  };
}

function nodesByInstance(nodes: readonly SnapshotNode[]): Map<string, SnapshotNode> {
  const found = new Map<string, SnapshotNode>();
  for (const node of nodes) {
    const id = node.labels[INSTANCE_LABEL];
    if (id !== undefined) found.set(id, node);
  }
  return found;
}

/** Instances of a type that run or will. */
function liveOf({ instances }: Snapshot, type: string): number {
  return instances.filter((instance) => instance.type === type && (instance.state === "RUNNING" || isComing(instance))).length;
}

function addNode(rooms: Rooms, { nodeId, labels }: SnapshotNode, amounts: Readonly<Record<string, number>>): void {
  rooms.add("node", labels[TYPE_LABEL], { labels, amounts: rooms.vector(amounts), member: nodeId });
}

/** Counts the floors and the request against whole nodes. @returns the nodes to add, and those that the request holds */
function placeRequest(
  snapshot: Snapshot,
  {
    config,
    coming,
    floors,
    nowMs,
  }: { config: ClusterConfig; coming: readonly Instance[]; floors: ReadonlyMap<string, number>; nowMs: number },
): { added: Map<string, number>; nodeIds: Set<string> } {
  const rooms = new Rooms();
  const nodes = new NewNodes(rooms, { config, snapshot, nowMs });
  if (snapshot.requested.length > 0) {
    for (const node of snapshot.nodes) if (node.state !== "draining") addNode(rooms, node, node.total);
    for (const instance of coming) nodes.coming(instance);
  }
  for (const [type, count] of floors) nodes.addOf(type, count);
  const alike = new Map<string, { bundle: Snapshot["requested"][number]; count: number }>();
  for (const bundle of snapshot.requested) {
    const key = JSON.stringify([resourceVector(bundle.resources).key, bundle.labels ?? {}]);
    const known = alike.get(key);
    if (known === undefined) alike.set(key, { bundle, count: 1 });
    else known.count += 1;
  }
  const sorted = Array.from(alike.values()).sort((a, b) => sizeOf(b.bundle.resources) - sizeOf(a.bundle.resources));
  for (const { bundle, count } of sorted) {
    const need = rooms.need(resourceVector(bundle.resources).amounts);
    const left = rooms.place(need, [bundle.labels], count, () => {});
    if (left > 0) nodes.place(need, [bundle.labels], left, () => {});
  }
  return { added: new Map(nodes.added.map(({ type, count }) => [type, count])), nodeIds: usedNodes(rooms) };
}

function placeDemand(snapshot: Snapshot, rooms: Rooms, nodes: NewNodes): Verdict[] {
  const verdicts = snapshot.groups.map((group) => {
    const { isPlaced, added, coming, obstacle } = placeGroup(group, rooms, nodes);
    const missing = group.bundles.filter((_, index) => group.nodeIds[index] === undefined);
    const wanted = { resources: missing[0] ?? {}, labels: group.labels[group.nodeIds.indexOf(undefined)] };
    let text = FITS;
    if (!isPlaced) text = obstacle === undefined ? "waits for its other bundles' node" : obstacleText(obstacle, wanted);
    else if (added.size > 0) text = launchingText(added);
    else if (coming.size > 0) text = `launching (${Array.from(coming).join(", ")})`;
    return { key: group.id, what: `placement group of ${group.bundles.length} bundles (${group.strategy})`, count: 1, text };
  });
  const shapes = snapshot.waiting.map(([key, count]) => ({ key, count, spec: parseLeaseSpec(key) }));
  shapes.sort((a, b) => unitsOf(b.spec) - unitsOf(a.spec));
  rooms.setLeast([...shapes.map(({ spec }) => rooms.need(spec.resources.amounts)), ...leavingWork(snapshot, rooms)]);
  for (const { key, count, spec } of shapes) {
    const text = placeShape(spec, count, { rooms, nodes, snapshot });
    verdicts.push({ key, what: wantedText({ resources: amountsOf(spec.resources.amounts), labels: spec.labels }), count, text });
  }
  return verdicts;
}

/** Work of nodes that are drained comes back as demand when they go, so room for it is made before. */
function placeLeavingWork(snapshot: Snapshot, rooms: Rooms, nodes: NewNodes): void {
  for (const need of leavingWork(snapshot, rooms)) {
    const left = rooms.place(need, [undefined], 1, () => {});
    if (left > 0) nodes.place(need, [undefined], left, () => {});
  }
}

function leavingWork({ nodes }: Snapshot, rooms: Rooms): Need[] {
  return nodes.flatMap(({ state, total, free }) => {
    if (state !== "draining") return [];
    const used = Object.entries(total).map(([name, amount]) => [name, amount - (free[name] ?? 0)] as const);
    const { amounts } = resourceVector(Object.fromEntries(used.filter(([, amount]) => amount > 0)));
    return amounts.size === 0 ? [] : [rooms.need(amounts)];
  });
}

function placeShape(
  spec: LeaseSpec,
  count: number,
  { rooms, nodes, snapshot }: { rooms: Rooms; nodes: NewNodes; snapshot: Snapshot },
): string {
  if (spec.node?.soft === false) return `waits for node ${spec.node.id}, which no launch can replace`;
  const need = rooms.need(spec.resources.amounts);
  const selectors = selectorsOf(spec);
  const types = new Map<string, number>();
  const left = rooms.place(need, selectors, count, (row) => {
    if (row.kind !== "node") types.set(row.type as string, (types.get(row.type as string) ?? 0) + row.members.length);
  });
  if (left === 0) return types.size === 0 ? FITS : launchingText(types);
  const result = nodes.place(need, selectors, left, (type, added) => types.set(type, (types.get(type) ?? 0) + added));
  if (result.left === 0) return launchingText(types);
  const wanted = { resources: amountsOf(spec.resources.amounts), labels: spec.labels };
  const runs = snapshot.nodes.some(
    ({ state, total, labels }) => state === "alive" && isLarge(total, wanted.resources) && meetsAnySelector(spec, labels),
  );
  const why =
    result.obstacle.kind === "noType" && runs ? "waits for room: no node type has as much" : obstacleText(result.obstacle, wanted);
  return types.size === 0 ? why : `${launchingText(types)}; ${result.left} more: ${why}`;
}

function isLarge(total: Readonly<Record<string, number>>, wanted: Readonly<Record<string, number>>): boolean {
  return Object.entries(wanted).every(([name, amount]) => (total[name] ?? 0) >= amount);
}

function usedNodes(rooms: Rooms): Set<string> {
  const isUsedNode = ({ kind, isUsed }: Room): boolean => kind === "node" && isUsed;
  return new Set(rooms.rows.filter(isUsedNode).flatMap(({ members }) => members));
}

interface IdleRules {
  readonly config: ClusterConfig;
  readonly nodeOf: ReadonlyMap<string, SnapshotNode>;
  readonly isNeeded: (nodeId: string) => boolean;
}

/** Nodes beyond the limits go as soon as they are idle, the others after their time, the longest idle first. */
function idleInstances(snapshot: Snapshot, { config, nodeOf, isNeeded }: IdleRules): string[] {
  const types = new Map(config.nodeTypes.map((type) => [type.name, { type, live: liveOf(snapshot, type.name) }]));
  let live = snapshot.instances.filter((instance) => instance.state === "RUNNING" || isComing(instance)).length;
  const idle = snapshot.instances
    .filter(({ state }) => state === "RUNNING")
    .map((instance) => ({ instance, node: nodeOf.get(instance.id) }))
    .filter(({ node }) => node?.state === "alive" && node.idleMs !== undefined)
    .sort((a, b) => (b.node?.idleMs ?? 0) - (a.node?.idleMs ?? 0));
  const drains: string[] = [];
  for (const { instance, node } of idle) {
    const known = types.get(instance.type);
    const isOver = known === undefined || known.live > known.type.maxWorkers || live > config.maxWorkers;
    const isLate = known !== undefined && (node?.idleMs ?? 0) >= known.type.idleTimeoutMs && !isNeeded(node?.nodeId ?? "");
    if (!isOver && !(isLate && known.live > known.type.minWorkers)) continue;
    drains.push(instance.id);
    live -= 1;
    if (known !== undefined) known.live -= 1;
  }
  return drains;
}

/** Wishes that nobody has asked a provider for yet, and that a new cluster file does not allow. */
function surplusQueued(snapshot: Snapshot, config: ClusterConfig): string[] {
  const cancels: string[] = [];
  const counts = new Map<string, number>();
  let all = 0;
  for (const { id, type, state } of snapshot.instances.toSorted((a, b) => Number(a.state === "QUEUED") - Number(b.state === "QUEUED"))) {
    const most = config.nodeTypes.find(({ name }) => name === type)?.maxWorkers ?? 0;
    const count = counts.get(type) ?? 0;
    if (state === "QUEUED" && (count >= most || all >= config.maxWorkers)) cancels.push(id);
    else {
      counts.set(type, count + 1);
      all += 1;
    }
  }
  return cancels;
}

function trimmed(launches: readonly { type: string; count: number }[], allowed: number): { type: string; count: number }[] {
  let left = allowed;
  return launches.flatMap(({ type, count }) => {
    const taken = Math.min(count, left);
    left -= taken;
    return taken > 0 ? [{ type, count: taken }] : [];
  });
}

function unitsOf({ resources }: LeaseSpec): number {
  const { amounts } = resources;
  // GPUs are scarcer than any number of CPUs; memory is counted in bytes and says nothing beside them.
  return (amounts.get("GPU") ?? 0) * 1e6 + (amounts.get("CPU") ?? 0);
}

function sizeOf(resources: Readonly<Record<string, number>>): number {
  return (resources["GPU"] ?? 0) * 1e6 + (resources["CPU"] ?? 0);
}
