/**
 * Words the reason why a demand waits in a cluster: the holders of resources on this program's node, and the free resources of the others.
 *
 * The file is pure. `why.ts` asks the node and the head, and passes their answers here. In a cluster with an autoscaler the reason ends with
 * the autoscaler's verdict, and nothing "can never run".
 */
import type { LeaseReportHeader, PlaceNodeHeader, PlaceReportHeader, WhyHeader } from "../../runtime/wire/calls/why-messages.ts";
import { heldText, leaseReason } from "./why-reason.ts";

type Reason = Pick<WhyHeader, "state" | "reason" | "details">;

const AWAY = "the head of the cluster does not answer, so nothing is placed on other nodes until it, or another one, does";

export function placeReason(here: LeaseReportHeader, cluster: PlaceReportHeader | "away" | undefined, nodeId: string): Reason {
  const found = reasonOf(here, cluster, nodeId);
  if (cluster !== "away" && cluster?.stalled !== undefined) return { ...found, reason: `${found.reason}; the head ${cluster.stalled}` };
  const selectors = cluster === "away" ? undefined : cluster?.selectors;
  if (selectors === undefined) return found;
  const tried = selectors.map(({ text, nodeCount }) => `${nodeCount === 1 ? "1 node" : `${nodeCount} nodes`} ${text}`);
  return { ...found, reason: `${found.reason}; tried in this order: ${tried.join(", ")}`, details: { ...found.details, selectors } };
}

function reasonOf(here: LeaseReportHeader, cluster: PlaceReportHeader | "away" | undefined, nodeId: string): Reason {
  const reason = reasonWithoutAutoscaler(here, cluster, nodeId);
  if (typeof cluster !== "object" || cluster.autoscaler === undefined || reason.state === "waits for a worker") return reason;
  const state = reason.state === "can never run" ? "waits for resources" : reason.state;
  return { ...reason, state, reason: `${reason.reason}; the autoscaler: ${cluster.autoscaler}` };
}

function reasonWithoutAutoscaler(here: LeaseReportHeader, cluster: PlaceReportHeader | "away" | undefined, nodeId: string): Reason {
  const local = leaseReason(here);
  const isHere = local.state === "waits for a worker";
  if (isHere && here.environment !== undefined) {
    const reason =
      here.environment === "asked"
        ? "nobody has told yet what its runtime environment is"
        : "its runtime environment is being set up: files are copied, or packages installed";
    return { ...local, reason };
  }
  if (cluster === undefined) return local;
  if (cluster === "away") return isHere ? local : { ...local, state: "waits for resources", reason: AWAY };
  const details = { ...local.details, nodes: cluster.nodes };
  if (cluster.infeasible !== undefined) return { state: "can never run", reason: `as things are, it ${cluster.infeasible}`, details };
  if (local.state === "waits for a placement group" && cluster.nodes.length === 0) return { ...local, details };
  const open = cluster.nodes.filter(({ state }) => state === "alive");
  if (open.length === 0)
    return { state: "waits for resources", reason: `no node that could have it takes new work: ${nodesText(cluster, nodeId)}`, details };
  // The node does not report the free resources of a bundle.
  if (local.state === "waits for a placement group" || here.pendingGroup !== undefined)
    return { state: "waits for a worker", reason: `it is on its way to a bundle of its group: ${open.map(nameOf).join(", ")}`, details };
  if (isHere) return { ...local, details };
  const free = open.find(
    (one) => one.nodeId !== nodeId && Object.entries(cluster.needs).every(([name, amount]) => (one.free[name] ?? 0) >= amount),
  );
  if (free !== undefined) return { state: "waits for a worker", reason: `it is on its way to ${nameOf(free)}, which has room`, details };
  const reason = `no node has room for it: ${nodesText(withOwn(cluster, here, nodeId), nodeId)}${heldText(here.holders).replace("; held by", "; held on this node by")}`;
  return { state: "waits for resources", reason, details };
}

/** The head knows of this node only its last report. */
function withOwn(cluster: PlaceReportHeader, { lacking }: LeaseReportHeader, own: string): PlaceReportHeader {
  const known = Object.fromEntries(lacking.map(({ name, free }) => [name, free]));
  return { ...cluster, nodes: cluster.nodes.map((one) => (one.nodeId === own ? { ...one, free: { ...one.free, ...known } } : one)) };
}

function nodesText({ nodes, nodeCount }: PlaceReportHeader, own: string): string {
  const texts = nodes.map((one) => `${nameOf(one)}${one.nodeId === own ? ", this one," : ""} ${stateText(one)}${freeText(one)}`);
  return nodeCount > nodes.length ? `${texts.join("; ")}; and ${nodeCount - nodes.length} others` : texts.join("; ");
}

function nameOf({ nodeId }: PlaceNodeHeader): string {
  return `node ${nodeId.slice(0, 12)}`;
}

function stateText({ state }: PlaceNodeHeader): string {
  if (state === "draining") return "is being drained, with ";
  return state === "suspect" ? "is not heard of at present, with " : "has ";
}

function freeText({ free, total }: PlaceNodeHeader): string {
  const parts = Object.entries(total).map(([name, amount]) => `${free[name] ?? 0} of ${amount} ${name} free`);
  return parts.length === 0 ? "room" : parts.join(" and ");
}
