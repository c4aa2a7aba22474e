/**
 * Routes about the cluster as a whole: versions, metadata, and its nodes with their resources.
 *
 * The shapes are Ray's; what Ray does not have is beside it under other names.
 */
import { packageVersion } from "../../../runtime/os/own-files.ts";
import { MESSAGE } from "../../../runtime/wire/messages.ts";
import type { ClusterStatusHeader } from "../../../runtime/wire/cluster/cluster-messages.ts";
import type { ClusterQuestions } from "../../connection/cluster-link.ts";
import { jsonAnswer, rayAnswer } from "../http-answers.ts";
import { CLUSTER_ANSWERS_WITHIN_MS } from "../limits.ts";
import type { Route } from "../router.ts";

/** Version of Ray's REST interface, for which Ray's clients ask first, and of the Ray whose routes these are. */
const REST_VERSION = "4";
const RAY_VERSION = "2.60.0";

export function clusterRoutes({ link, clusterName }: { link: ClusterQuestions; clusterName: string }): Route[] {
  const version = { version: REST_VERSION, ray_version: RAY_VERSION, ray_commit: "shoal", session_name: clusterName };
  const ofVersion = (path: string): Route => ({
    method: "GET",
    path,
    role: "view",
    summary: "The version of the interface.",
    answers: "`version`, `ray_version`, `ray_commit`, `session_name` and `shoal_version`.",
    handle: () => jsonAnswer({ ...version, shoal_version: packageVersion() }),
  });
  return [
    ofVersion("/api/version"),
    ofVersion("/api/ray/version"),
    {
      method: "GET",
      path: "/api/v0/cluster_metadata",
      role: "view",
      summary: "The versions of what runs, and the system of the head's machine.",
      answers: "Ray's envelope; `data` has `rayVersion`, `shoalVersion`, `nodeVersion`, `os` and `sessionName`.",
      handle: () =>
        rayAnswer({
          rayVersion: RAY_VERSION,
          shoalVersion: packageVersion(),
          nodeVersion: process.version,
          os: process.platform,
          sessionName: clusterName,
        }),
    },
    {
      method: "GET",
      path: "/api/cluster_status",
      role: "view",
      summary: "The nodes with used and total resources, waiting demands, and nodes that have gone.",
      answers:
        "Ray's envelope; `data.clusterStatus` has `loadMetricsReport` with `usage` and `resourceDemand`, and ours: `nodes`, `gone`, `startedMs`.",
      isQuery: true,
      handle: async () => {
        const status = await link.ask(MESSAGE.CLUSTER_STATUS, undefined, { timeoutMs: CLUSTER_ANSWERS_WITHIN_MS });
        return rayAnswer({ autoscalingStatus: null, autoscalingError: null, clusterStatus: statusOf(status) }, "Got cluster status.");
      },
    },
  ];
}

function statusOf({ nodes, waiting, gone, startedMs }: ClusterStatusHeader): object {
  const usage: Record<string, [used: number, total: number]> = {};
  for (const { total, free } of nodes)
    for (const [name, amount] of Object.entries(total)) {
      const sum = (usage[name] ??= [0, 0]);
      sum[0] += amount - (free[name] ?? 0);
      sum[1] += amount;
    }
  const resourceDemand = waiting.map(({ resources, count }) => [resources, count]);
  return { loadMetricsReport: { usage, resourceDemand, pgDemand: [], requestDemand: [] }, nodes, waiting, gone, startedMs };
}
