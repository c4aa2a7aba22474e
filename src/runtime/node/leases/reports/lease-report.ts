/**
 * The node's report of a waiting demand, for `why`: the lease manager's explanation with names instead of ids.
 *
 * The daemon makes it on request, and nothing is kept. The question names an actor by its id, a task by its shape.
 */
import type { ActorId, ProcessId } from "../../../base/ids.ts";
import type { HeadService } from "../../../rpc/head-service.ts";
import { parseLeaseSpec } from "../../../scheduling/lease-spec.ts";
import type { LeaseReportHeader } from "../../../wire/calls/why-messages.ts";
import type { EnvironmentService } from "../../environments/environment-service.ts";
import type { LeaseManager } from "../lease-manager.ts";
import { obstacleText } from "../demands/lease-obstacles.ts";

interface ReportSources {
  readonly leases: LeaseManager;
  readonly head: HeadService;
  readonly peers: ReadonlyMap<ProcessId, { readonly pid: number }>;
  /** The runtime environments of a node that has others beside it. */
  readonly environments: Pick<EnvironmentService, "underWay"> | undefined;
}

export function leaseReport(asked: { shape: string } | { actor: ActorId }, sources: ReportSources): LeaseReportHeader {
  const { leases, head, peers, environments } = sources;
  const isClustered = environments !== undefined;
  const shape = "shape" in asked ? asked.shape : head.shapeOf(asked.actor);
  if (shape === undefined) {
    return {
      refusal: undefined,
      obstacle: undefined,
      pendingGroup: undefined,
      lacking: [],
      holders: [],
      workersStarting: 0,
      isClustered,
    };
  }
  const spec = parseLeaseSpec(shape);
  const { refusal, obstacle, pendingGroup, lacking, holders, workersStarting } = leases.explain(spec);
  return {
    refusal: refusal?.reason,
    obstacle: obstacle === undefined ? undefined : obstacleText(obstacle),
    pendingGroup,
    lacking: [...lacking],
    holders: holders.map(({ kind, id, resources }) => ({ kind, id, name: nameOf(kind, id), resources })),
    workersStarting,
    isClustered,
    environment: environments?.underWay(spec.environment),
  };

  function nameOf(kind: "tasks" | "actor" | "group", id: string): string {
    if (kind === "group") return `placement group ${id}`;
    if (kind === "actor") return `actor ${head.describe(id as ActorId) ?? id}`;
    const pid = peers.get(id as ProcessId)?.pid;
    return pid === undefined ? "tasks" : `tasks in process ${pid}`;
  }
}
