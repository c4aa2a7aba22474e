/**
 * What the head can ask of this node, as calls of the daemon's parts.
 *
 * The same object serves a head inside the daemon and the head of a cluster, whose commands `remote-head.ts` turns into these calls.
 */
import type { NodeId, ProcessId } from "../base/ids.ts";
import { resourceVector } from "../base/resources.ts";
import type { HeadPeer, NodeServices } from "../rpc/head-service.ts";
import { parseLeaseSpec } from "../scheduling/lease-spec.ts";
import type { NodeHeader } from "../wire/messages.ts";
import type { ClusterLeases } from "./leases/cluster-leases.ts";
import type { LeaseEvent } from "./leases/lease-events.ts";
import type { LeaseManager } from "./leases/lease-manager.ts";
import type { MemoryGuard } from "./workers/memory-guard.ts";
import type { ClusterRouter } from "./membership/cluster-router.ts";
import type { RefService } from "./references/ref-service.ts";

interface NodeServicesOptions {
  readonly nodeId: NodeId;
  readonly daemonId: ProcessId;
  readonly info: NodeHeader;
  readonly leases: LeaseManager;
  readonly refs: RefService;
  readonly nowMs: () => number;
  readonly lease: (event: LeaseEvent) => void;
  readonly peer: (id: ProcessId) => HeadPeer | undefined;
  readonly warn: (text: string) => void;
  readonly memory: () => MemoryGuard | undefined;
  readonly router: () => ClusterRouter;
  /** Undefined on the only node, which asks nobody. */
  readonly clusterLeases: () => ClusterLeases | undefined;
  readonly tellProcesses: (type: number, header: unknown) => void;
  readonly endActor: NodeServices["endActor"];
  readonly drain: NodeServices["drain"];
}

export function nodeServices(options: NodeServicesOptions): NodeServices {
  const { nodeId, daemonId, info, leases, refs, nowMs, lease, peer, warn } = options;
  const specs = (bundles: readonly { index: number; resources: Record<string, number> }[]) =>
    bundles.map(({ index, resources }) => ({ index, resources: resourceVector(resources) }));
  return {
    nodeId,
    daemonId,
    info,
    peer,
    warn,
    hold: (ref, holder) => refs.count({ ...ref, holder, count: 1 }),
    release: (ref, holder) => refs.count({ ...ref, holder, count: -1 }),
    placeActor: (actor, { shape, resources, sent }) => {
      const spec = parseLeaseSpec(shape);
      // Who asked for no CPUs needs one to be placed, be it for a moment.
      const placement =
        "CPU" in resources || spec.bundle !== undefined ? spec : { ...spec, resources: resourceVector({ ...resources, CPU: 1 }) };
      options.memory()?.actorWanted(actor, resources);
      const wanted = { kind: "actorWanted" as const, actor, spec, placement };
      lease(sent === undefined ? wanted : { ...wanted, sent: { ...sent, nowMs: nowMs() } });
    },
    actorGone: (actor) => lease({ kind: "actorGone", actor }),
    view: () => leases.view(),
    reserveGroup: (group, bundles) => lease({ kind: "groupWanted", group, bundles: specs(bundles), nowMs: nowMs() }),
    prepareGroup: (group, { bundles, facts: _facts, ...preparation }) =>
      lease({ kind: "groupPrepare", group, bundles: specs(bundles), ...preparation, nowMs: nowMs() }),
    commitGroup: (group, attempt) => lease({ kind: "groupCommit", group, attempt }),
    abortGroup: (group, attempt) => lease({ kind: "groupAbort", group, attempt }),
    releaseGroup: (group) => lease({ kind: "groupReleased", group }),
    leasesPlaced: (question, answer) => options.clusterLeases()?.answered(question, answer),
    tellAll: options.tellProcesses,
    endActor: options.endActor,
    drain: options.drain,
    processGone: (process) => options.router().processGone(process),
    nodesChanged: (nodes) => options.router().nodesChanged(nodes),
  };
}
