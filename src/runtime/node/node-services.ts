/**
 * The head's commands to this node, as calls of the daemon's parts.
 *
 * The same object serves a head inside the daemon and the head of a cluster, whose commands `remote-head.ts` turns into these calls.
 */
import { resourceVector } from "../base/resources.ts";
import type { ExtensionHeader } from "../wire/calls/extension-messages.ts";
import type { NodeServices } from "../rpc/head-service.ts";
import { parseLeaseSpec } from "../scheduling/lease-spec.ts";
import type { NodeDaemonOptions } from "./daemon-options.ts";
import type { LeaseEvent } from "./leases/lease-events.ts";
import type { NodeLeases } from "./leases/node-leases.ts";
import type { ClusterRouter } from "./membership/cluster-router.ts";
import type { NodePeers } from "./node-peers.ts";
import type { RefService } from "./references/ref-service.ts";
import type { NodeWorkers } from "./workers/node-workers.ts";

/** The parts of the daemon that carry out the head's commands. */
interface ServingParts {
  readonly peers: NodePeers;
  readonly refs: RefService;
  readonly workers: NodeWorkers;
  readonly leases: NodeLeases;
  readonly router: ClusterRouter;
  readonly drain: NodeServices["drain"];
  readonly tellExtension: (told: ExtensionHeader) => void;
}

export function nodeServices(
  options: NodeDaemonOptions,
  { peers, refs, workers, leases, router, drain, tellExtension }: ServingParts,
): NodeServices {
  const { nodeId, processId: daemonId, nowMs, hostname, address, resources, labels, objectStoreMemoryBytes } = options;
  const lease = (event: LeaseEvent): void => leases.handle(event);
  const specs = (bundles: readonly { index: number; resources: Record<string, number> }[]) =>
    bundles.map(({ index, resources: wanted }) => ({ index, resources: resourceVector(wanted) }));
  return {
    nodeId,
    daemonId,
    info: { nodeId, alive: true, hostname, address, resources, labels, objectStoreMemoryBytes },
    peer: peers.peer,
    warn: peers.warn,
    hold: (ref, holder) => refs.count({ ...ref, holder, count: 1 }),
    release: (ref, holder) => refs.count({ ...ref, holder, count: -1 }),
    placeActor: (actor, { shape, resources: wanted, sent }) => {
      const spec = parseLeaseSpec(shape);
      // An actor without requested CPUs needs one for its placement, if only for a moment.
      const placement = "CPU" in wanted || spec.bundle !== undefined ? spec : { ...spec, resources: resourceVector({ ...wanted, CPU: 1 }) };
      leases.memory?.actorWanted(actor, wanted);
      const event = { kind: "actorWanted" as const, actor, spec, placement };
      lease(sent === undefined ? event : { ...event, sent: { ...sent, nowMs: nowMs() } });
    },
    actorGone: (actor) => lease({ kind: "actorGone", actor }),
    view: () => leases.manager.view(),
    reserveGroup: (group, bundles) => lease({ kind: "groupWanted", group, bundles: specs(bundles), nowMs: nowMs() }),
    prepareGroup: (group, { bundles, facts: _facts, ...preparation }) =>
      lease({ kind: "groupPrepare", group, bundles: specs(bundles), ...preparation, nowMs: nowMs() }),
    commitGroup: (group, attempt) => lease({ kind: "groupCommit", group, attempt }),
    abortGroup: (group, attempt) => lease({ kind: "groupAbort", group, attempt }),
    releaseGroup: (group) => lease({ kind: "groupReleased", group }),
    leasesPlaced: (question, answer) => leases.cluster?.answered(question, answer),
    tellAll: peers.tellProcesses,
    endActor: (worker, how) => workers.endActor(worker, how),
    drain,
    processGone: (process) => router.processGone(process),
    nodesChanged: (nodes) => router.nodesChanged(nodes),
    tellExtension,
  };
}
