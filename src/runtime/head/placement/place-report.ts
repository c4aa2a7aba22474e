/**
 * Explains a waiting demand in a cluster: candidate nodes, their free resources, and resources that no node has.
 *
 * Made for `why`, from the reports of nodes, so no state is kept. Only the node knows who holds its resources. Pure; called by the head's
 * server.
 */
import type { NodeId } from "../../base/ids.ts";
import { amountsOf, type NodeView, RESOURCE_UNIT } from "../../base/resources.ts";
import { meetsAnySelector, selectorsOf, selectorText, selectorsText } from "../../scheduling/fallbacks.ts";
import { matchesLabels } from "../../scheduling/label-selector.ts";
import type { LeaseSpec } from "../../scheduling/lease-spec.ts";
import type { GroupHeader } from "../../wire/messages.ts";
import type { PlaceNodeHeader, PlaceReportHeader } from "../../wire/calls/why-messages.ts";
import type { NodeState } from "./cluster-view.ts";

interface KnownNode {
  readonly view: NodeView;
  readonly hostname: string;
  readonly state: NodeState;
}

/** More are counted only. */
const NODES_SHOWN = 8;

export function placeReport(
  spec: LeaseSpec,
  { nodes, group }: { nodes: readonly KnownNode[]; group: (id: string) => GroupHeader | undefined },
): PlaceReportHeader {
  const { bundle, fallbacks, node, resources } = spec;
  const places = bundle === undefined ? undefined : new Set(group(bundle.group)?.nodeIds);
  const isPlace = ({ view }: KnownNode): boolean => {
    if (places !== undefined) return places.has(view.id as NodeId);
    return (node === undefined || node.soft || node.id === view.id) && meetsAnySelector(spec, view.labels);
  };
  const found = nodes.filter(isPlace);
  const names = Array.from(resources.amounts.keys());
  const isLarge = ({ view }: KnownNode): boolean =>
    names.every((name) => (view.total.get(name) ?? 0) >= (resources.amounts.get(name) ?? 0));
  // Tasks in a group take from its bundles, so free resources of their nodes do not count.
  const isInfeasible = bundle === undefined && !found.some(isLarge);
  const candidates = isInfeasible ? found : found.filter((candidate) => bundle !== undefined || isLarge(candidate));
  return {
    needs: amountsOf(resources.amounts),
    infeasible: isInfeasible ? infeasibleText(spec, found.length) : undefined,
    selectors:
      fallbacks === undefined
        ? undefined
        : selectorsOf(spec).map((selector) => ({
            text: selectorText(selector),
            nodeCount: nodes.filter(({ view }) => matchesLabels(selector, view.labels)).length,
          })),
    nodes: candidates.slice(0, NODES_SHOWN).map((candidate) => nodeHeader(candidate, names)),
    nodeCount: candidates.length,
  };
}

function infeasibleText(spec: LeaseSpec, count: number): string {
  const { resources, labels, node } = spec;
  const needs = Array.from(resources.amounts, ([name, units]) => `${units / RESOURCE_UNIT} ${name}`).join(" and ");
  if (node !== undefined && !node.soft)
    return count === 0 ? `waits for node ${node.id}, which is not there` : `waits for ${needs} on node ${node.id}, which has less`;
  if (labels !== undefined && count === 0) return `waits for a node ${selectorsText(spec)}, and there is none`;
  return `waits for ${needs}, and no node${labels === undefined ? "" : " with such labels"} has that even when it is empty`;
}

function nodeHeader({ view, hostname, state }: KnownNode, names: readonly string[]): PlaceNodeHeader {
  const of = (amounts: ReadonlyMap<string, number>): Record<string, number> =>
    Object.fromEntries(names.map((name) => [name, (amounts.get(name) ?? 0) / RESOURCE_UNIT]));
  return { nodeId: view.id, hostname, state, total: of(view.total), free: of(view.free) };
}
