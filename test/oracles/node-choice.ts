/**
 * On which node a lease is granted: affinity, labels, spreading, and the default that packs up to a point and then spreads.
 *
 * The default is Ray's hybrid. Nodes whose use stays below half after the lease count as equally empty and are filled in order, the asker's
 * own first. Fuller nodes are ranked by use, and one of the best few is drawn, so that many askers with the same stale view choose
 * different nodes. A node that has most of the arguments goes before them. Pure: the caller brings a number for the draw, which changes
 * from call to call.
 *
 * The plain form of the policies, which looks at all nodes: the tests compare `src/runtime/head/placement/node-picker.ts` with it.
 */
import type { NodeView } from "../../src/runtime/base/resources.ts";
import { alternativeKeys } from "../../src/runtime/scheduling/fallbacks.ts";
import { matchesLabels } from "../../src/runtime/scheduling/label-selector.ts";
import { type LeaseSpec, parseLeaseSpec } from "../../src/runtime/scheduling/lease-spec.ts";

interface ChoiceHints {
  /** The asker's own node. */
  readonly localNodeId?: string | undefined;
  /** Bytes of the arguments that lie on each node. */
  readonly argumentBytes?: ReadonlyMap<string, number> | undefined;
  /** Differs from call to call: spreads choices and breaks ties. */
  readonly turn: number;
}

type NodeChoice =
  | { kind: "node"; nodeId: string }
  /** Some node could hold it, and none has it free now. */
  | { kind: "wait" }
  /** No node could ever hold it as they are. */
  | { kind: "infeasible" }
  /** A hard affinity to a node that is not there. */
  | { kind: "refused" };

/** Below this use nodes are packed, above it spread. */
const PACK_UNTIL = 0.5;
/** Share of the ranked nodes among which the draw chooses. */
const TOP_SHARE = 0.2;
/** Arguments smaller than this are no reason to go to them. */
const LOCALITY_FROM_BYTES = 1024 * 1024;

export function chooseNode(spec: LeaseSpec, nodes: readonly NodeView[], hints: ChoiceHints): NodeChoice {
  const alternatives = alternativeKeys(spec);
  if (alternatives === undefined) return chooseAmongLabelled(spec, nodes, hints);
  let waits: NodeChoice | undefined;
  for (const key of alternatives) {
    const choice = chooseAmongLabelled(parseLeaseSpec(key), nodes, hints);
    if (choice.kind === "node" || choice.kind === "refused") return choice;
    if (choice.kind === "wait") waits = choice;
  }
  return waits ?? { kind: "infeasible" };
}

function chooseAmongLabelled(spec: LeaseSpec, nodes: readonly NodeView[], hints: ChoiceHints): NodeChoice {
  const matching = nodes.filter((node) => matchesLabels(spec.labels, node.labels));
  const pinned = spec.node === undefined ? undefined : matching.find((node) => node.id === spec.node?.id);
  if (spec.node !== undefined && !spec.node.soft) {
    if (!nodes.some((node) => node.id === spec.node?.id)) return { kind: "refused" };
    return pinned === undefined ? { kind: "infeasible" } : among([pinned], spec, () => pinned);
  }
  // A soft affinity waits for its node as long as that could hold it.
  if (pinned !== undefined && holds(pinned.total, spec)) return among([pinned], spec, () => pinned);
  return among(matching, spec, (free) => (spec.spread === true ? spread(free, hints) : hybrid(free, spec, hints)));
}

function among(nodes: readonly NodeView[], spec: LeaseSpec, choose: (free: readonly NodeView[]) => NodeView): NodeChoice {
  const feasible = nodes.filter((node) => holds(node.total, spec));
  if (feasible.length === 0) return { kind: "infeasible" };
  const free = feasible.filter((node) => holds(node.free, spec));
  return free.length === 0 ? { kind: "wait" } : { kind: "node", nodeId: choose(free).id };
}

/** Round robin over the nodes that have room. */
function spread(free: readonly NodeView[], { turn }: ChoiceHints): NodeView {
  const ordered = free.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return ordered[turn % ordered.length] as NodeView;
}

function hybrid(free: readonly NodeView[], spec: LeaseSpec, hints: ChoiceHints): NodeView {
  const nearest = mostBytes(free, hints);
  if (nearest !== undefined) return nearest;
  const ranked = free
    .map((node) => ({ node, use: useWith(node, spec) }))
    .map(({ node, use }) => ({ node, score: use < PACK_UNTIL ? 0 : use, isLocal: node.id === hints.localNodeId }))
    .sort((a, b) => a.score - b.score || Number(b.isLocal) - Number(a.isLocal) || (a.node.id < b.node.id ? -1 : 1));
  const best = ranked[0] as (typeof ranked)[0];
  if (best.score === 0) return best.node;
  const top = ranked.slice(0, Math.max(1, Math.ceil(ranked.length * TOP_SHARE)));
  return (top[hints.turn % top.length] as (typeof ranked)[0]).node;
}

function mostBytes(free: readonly NodeView[], { argumentBytes }: ChoiceHints): NodeView | undefined {
  if (argumentBytes === undefined) return undefined;
  let most: NodeView | undefined;
  let mostSize = LOCALITY_FROM_BYTES - 1;
  for (const node of free) {
    const size = argumentBytes.get(node.id) ?? 0;
    if (size <= mostSize) continue;
    most = node;
    mostSize = size;
  }
  return most;
}

/** The use of the scarcest resource once the lease is there, from 0 to 1. */
function useWith(node: NodeView, spec: LeaseSpec): number {
  let most = 0;
  for (const [name, total] of node.total) {
    if (total === 0) continue;
    const free = (node.free.get(name) ?? 0) - (spec.resources.amounts.get(name) ?? 0);
    most = Math.max(most, 1 - free / total);
  }
  return most;
}

function holds(amounts: ReadonlyMap<string, number>, spec: LeaseSpec): boolean {
  for (const [name, units] of spec.resources.amounts) if ((amounts.get(name) ?? 0) < units) return false;
  return true;
}
