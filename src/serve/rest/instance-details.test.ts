import { expect, test } from "vitest";
import { ServeState } from "../controller/serve-state.ts";
import type { ServeEffect } from "../controller/serve-events.ts";
import type { DeploymentTarget } from "../deployments/deployment-config.ts";
import { type DeploymentOptions, resolveDeploymentOptions } from "../deployments/deployment-options.ts";
import { resolveHttpOptions } from "../proxy/options/http-options.ts";
import { instanceDetails } from "./instance-details.ts";

let ids = 0;
const state = new ServeState({ newId: () => String((ids += 1)) });

function target(name: string, options: DeploymentOptions, calls: readonly string[] = []): DeploymentTarget {
  return { name, config: resolveDeploymentOptions(name, options).config, version: "v1", versionKey: undefined, streaming: [], calls };
}

function details(): any {
  return instanceDetails({
    nodeId: "n1",
    hosts: new Map([["n1", "10.0.0.1"]]),
    http: resolveHttpOptions(undefined),
    grpc: undefined,
    proxies: {},
    applications: new Map(
      state.apps.map((app) => [
        app,
        {
          status: state.status(app) as NonNullable<ReturnType<ServeState["status"]>>,
          record: state.record(app),
          config: undefined,
          deployedMs: 0,
          deployment: (name: string) => state.deployment(app, name),
        },
      ]),
    ),
    capacity: { percent: 50, direction: "up" },
    originMs: 1_000_000,
    health: { nowMs: 60_000, startMs: 0, stepMs: 59_900, steps: 600, sleptMs: 100, delayMs: 2, memoryBytes: 1024 ** 2 },
  });
}

function startAll(effects: readonly ServeEffect[], nowMs: number): void {
  for (const effect of effects)
    if (effect.kind === "start") state.apply({ kind: "started", replica: effect.start.id, nodeId: "n1", pid: ids, lacks: [] }, nowMs);
}

test("an application has the graph of its deployments, their scaling and their last dead replicas, as Ray's schema has them", () => {
  const autoscalingConfig = { minReplicas: 1, maxReplicas: 3, targetOngoingRequests: 1, upscaleDelayMs: 0, lookBackPeriodMs: 100 };
  const deployments = [target("Model", { autoscalingConfig }), target("Api", {}, ["Model"])];
  const app = { name: "shop", routePrefix: "/", ingress: "Api", deployments, deployedMs: 0, config: undefined };
  startAll(state.apply({ kind: "deploy", target: app }, 0), 0);
  state.apply({ kind: "load", source: "p", report: [["shop", "Model", 0, 7]] }, 50);
  state.apply({ kind: "tick" }, 50);
  const scaled = details().applications.shop.deployments.Model.autoscaling_detail;
  for (let death = 0; death < 12; death += 1) {
    const [id = ""] = state.deployment("shop", "Api")?.replicas.keys() ?? [];
    const nowMs = (death + 1) * 100_000;
    startAll(state.apply({ kind: "ended", replica: id, reason: "it was killed" }, nowMs), nowMs);
  }
  const found = details();
  const { deployment_topology: topology, deployments: described } = found.applications.shop;
  expect(topology).toEqual({
    app_name: "shop",
    ingress_deployment: "Api",
    nodes: {
      Model: { name: "Model", app_name: "shop", outbound_deployments: [], is_ingress: false },
      Api: { name: "Api", app_name: "shop", outbound_deployments: [{ name: "Model", app_name: "shop" }], is_ingress: true },
    },
  });
  expect(scaled).toEqual({
    scaling_status: "UPSCALING",
    decisions: [
      {
        timestamp_s: 1000.05,
        reason: "7 requests, waiting or under way, ask for 7 replicas",
        prev_num_replicas: 1,
        curr_num_replicas: 3,
        policy: "default",
      },
    ],
    metrics: { total_requests: 7, desired_replicas: 7 },
  });
  expect(described.Api.autoscaling_detail).toBeNull();
  expect(described.Api.recent_dead_replicas).toHaveLength(10);
  expect(described.Api.recent_dead_replicas[0]).toMatchObject({ state: "STOPPED", node_ip: "10.0.0.1", pid: expect.any(Number) });
  expect(described.Api.replicas).toHaveLength(1);
  expect(found).toMatchObject({ target_capacity: 50, controller_health_metrics: { num_control_loops: 600, loops_per_second: 10 } });
});
