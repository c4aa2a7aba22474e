/**
 * On which nodes the missing bundles of a placement group may go, given where its other bundles are.
 *
 * The policies are those of `runtime/scheduling/bundle-placement.ts`. They compare nodes with each other, so a few hundred nodes of a large
 * cluster are offered first, and all of them only if those do not suffice. A group that lost a node keeps its shape: STRICT_SPREAD and
 * SPREAD avoid the nodes that it has, PACK fills them first. Pure.
 */
import type { NodeId } from "../../base/ids.ts";
import { type BundlePlacement, type BundleRequest, type BundleStrategy, placeBundles } from "../../scheduling/bundle-placement.ts";
import type { ClusterView, NodeRow } from "./cluster-view.ts";

/** Offered first. */
const FIRST_NODES = 256;

interface MissingBundles {
  readonly requests: readonly BundleRequest[];
  readonly strategy: BundleStrategy;
  /** Where the group's other bundles are. */
  readonly taken: ReadonlySet<NodeId>;
  /** `freeOfActors`: as if all tasks had ended. */
  readonly amounts: "free" | "freeOfActors";
}

export function placeMissing(missing: MissingBundles, view: ClusterView, turn: number): BundlePlacement {
  const { strategy, taken } = missing;
  const rows = view.alive.items;
  if (strategy === "STRICT_SPREAD" || strategy === "SPREAD") {
    const apart = among(missing, view, { rows: rows.filter((row) => !taken.has(row.id)), turn });
    if (strategy === "STRICT_SPREAD" || apart.kind === "placed" || taken.size === 0) return apart;
  }
  if (strategy === "PACK" && taken.size > 0) {
    const together = among(missing, view, { rows: rows.filter((row) => taken.has(row.id)), turn: 0 });
    if (together.kind === "placed") return together;
  }
  return among(missing, view, { rows, turn });
}

function among(missing: MissingBundles, view: ClusterView, { rows, turn }: { rows: readonly NodeRow[]; turn: number }): BundlePlacement {
  const { requests, strategy, amounts } = missing;
  const viewsOf = (some: readonly NodeRow[]) => some.map((row) => view.nodeView(row, amounts));
  const first = Math.max(FIRST_NODES, 4 * requests.length);
  if (rows.length > first) {
    const from = (turn * first) % rows.length;
    const some = [...rows.slice(from, from + first), ...rows.slice(0, Math.max(0, from + first - rows.length))];
    const placement = placeBundles(requests, strategy, viewsOf(some));
    if (placement.kind === "placed") return placement;
  }
  return placeBundles(requests, strategy, viewsOf(rows));
}
