/** A plan launches and drains the right nodes, and says why each demand waits. */
import { describe, expect, test } from "vitest";
import { resourceVector } from "../../../runtime/base/resources.ts";
import { type LeasePlace, leaseKey } from "../../../runtime/scheduling/lease-spec.ts";
import type { ClusterConfig, NodeTypeConfig } from "../config/cluster-config.ts";
import { type Instance, INSTANCE_LABEL, TYPE_LABEL } from "../instances/instance.ts";
import { plan } from "./plan.ts";
import type { Snapshot, SnapshotGroup, SnapshotNode } from "./snapshot.ts";

type Resources = Record<string, number>;

function type(name: string, resources: Resources, changes: Partial<NodeTypeConfig> = {}): NodeTypeConfig {
  return { name, resources, labels: {}, minWorkers: 0, maxWorkers: 10, idleTimeoutMs: 60_000, priority: 0, nodeConfig: {}, ...changes };
}

function config(nodeTypes: readonly NodeTypeConfig[], changes: Partial<ClusterConfig> = {}): ClusterConfig {
  return {
    clusterName: "c",
    maxWorkers: 100,
    upscalingSpeed: 1000,
    provider: { type: "local-processes", config: {} },
    headNodeType: "head",
    head: { resources: {}, labels: {} },
    nodeTypes,
    ...changes,
  };
}

function shape(resources: Resources, place: LeasePlace = {}): string {
  return leaseKey(resourceVector(resources), place);
}

function instance(id: string, ofType: string, state: Instance["state"] = "RUNNING"): Instance {
  return { id, type: ofType, state, createdMs: 0, sinceMs: 0, ...(state === "RUNNING" && { nodeId: `node-${id}` }) };
}

function node(id: string, total: Resources, changes: Partial<SnapshotNode> & { type?: string } = {}): SnapshotNode {
  const { type: ofType, ...rest } = changes;
  const labels = {
    "shoal.io/node-id": `node-${id}`,
    ...(ofType !== undefined && { [INSTANCE_LABEL]: id, [TYPE_LABEL]: ofType }),
    ...rest.labels,
  };
  return { nodeId: `node-${id}`, state: "alive", total, free: total, ...rest, labels };
}

function snapshot(changes: Partial<Snapshot> = {}): Snapshot {
  return { nodes: [], waiting: [], groups: [], requested: [], instances: [], backOffs: new Map(), isComplete: true, ...changes };
}

function group(strategy: SnapshotGroup["strategy"], bundles: Resources[], changes: Partial<SnapshotGroup> = {}): SnapshotGroup {
  return { id: "g", strategy, bundles, labels: bundles.map(() => ({})), nodeIds: bundles.map(() => undefined), ...changes };
}

const CPU = type("cpu", { CPU: 4 });
const GPU = type("gpu", { CPU: 8, GPU: 1 });

describe("waiting shapes", () => {
  test("take free room first, then instances on the way, then new nodes", () => {
    const demand = snapshot({
      nodes: [node("a", { CPU: 4 }, { free: { CPU: 2 } })],
      instances: [instance("b", "cpu", "REQUESTED")],
      waiting: [[shape({ CPU: 1 }), 10]],
    });
    const { launches, verdicts } = plan(demand, config([CPU]), 0);
    expect(launches).toEqual([{ type: "cpu", count: 1 }]);
    expect(verdicts).toEqual([{ key: "CPU:10000", what: "CPU: 1", count: 10, text: "launching (2 of cpu)" }]);
    expect(plan({ ...demand, waiting: [[shape({ CPU: 1 }), 2]] }, config([CPU]), 0)).toMatchObject({
      launches: [],
      verdicts: [{ text: "fits on nodes of the cluster" }],
    });
  });

  test("work of a node that is drained gets room before the node goes, once", () => {
    const drained = node("a", { CPU: 4 }, { type: "cpu", state: "draining", free: { CPU: 1 } });
    const instances = [instance("a", "cpu", "DRAINING")];
    const launchesWith = (changes: Partial<Snapshot>): unknown =>
      plan(snapshot({ nodes: [drained], instances, ...changes }), config([CPU]), 0).launches;
    expect(launchesWith({})).toEqual([{ type: "cpu", count: 1 }]);
    expect(launchesWith({ instances: [...instances, instance("b", "cpu", "REQUESTED")] })).toEqual([]);
    const other = node("b", { CPU: 4 }, { type: "cpu", free: { CPU: 3 }, idleMs: 100_000 });
    expect(launchesWith({ nodes: [drained, other] })).toEqual([]);
    // The replacement is idle until the work comes, and stays.
    const both = snapshot({ nodes: [drained, other], instances: [...instances, instance("b", "cpu")] });
    expect(plan(both, config([CPU]), 0).drains).toEqual([]);
    expect(plan(snapshot({ ...both, nodes: [other] }), config([CPU]), 0).drains).toEqual(["b"]);
    const idle = node("a", { CPU: 4 }, { type: "cpu", state: "draining" });
    expect(launchesWith({ nodes: [idle] })).toEqual([]);
    // The leaving node does not count for a floor.
    expect(plan(snapshot({ nodes: [idle], instances }), config([type("cpu", { CPU: 4 }, { minWorkers: 1 })]), 0).launches).toEqual([
      { type: "cpu", count: 1 },
    ]);
  });

  test("a node that is ended is no room", () => {
    const demand = snapshot({
      nodes: [node("a", { CPU: 4 }, { type: "cpu" })],
      instances: [instance("a", "cpu", "DRAINING")],
      waiting: [[shape({ CPU: 1 }), 1]],
    });
    expect(plan(demand, config([CPU]), 0).launches).toEqual([{ type: "cpu", count: 1 }]);
  });

  test("types with GPUs come last for work without, and the type that is left least empty comes first", () => {
    const large = type("large", { CPU: 32 });
    const launched = (resources: Resources, count: number): unknown =>
      plan(snapshot({ waiting: [[shape(resources), count]] }), config([GPU, large, CPU]), 0).launches;
    expect(launched({ CPU: 4 }, 1)).toEqual([{ type: "cpu", count: 1 }]);
    expect(launched({ CPU: 8 }, 1)).toEqual([{ type: "large", count: 1 }]);
    expect(launched({ CPU: 1 }, 32)).toEqual([{ type: "large", count: 1 }]);
    expect(launched({ GPU: 0.5 }, 3)).toEqual([{ type: "gpu", count: 2 }]);
  });

  test("priority decides among equal types, then the order of the file", () => {
    const types = [type("a", { CPU: 4 }), type("b", { CPU: 4 }, { priority: 1 }), type("c", { CPU: 4 }, { priority: 1 })];
    expect(plan(snapshot({ waiting: [[shape({ CPU: 1 }), 1]] }), config(types), 0).launches).toEqual([{ type: "b", count: 1 }]);
  });

  test("large work is placed first, and small work fills the rest", () => {
    const waiting = [
      [shape({ CPU: 1 }), 4],
      [shape({ CPU: 4 }), 1],
      [shape({ GPU: 1, CPU: 4 }), 1],
    ] as const;
    expect(plan(snapshot({ waiting }), config([CPU, GPU]), 0).launches).toEqual([
      { type: "cpu", count: 1 },
      { type: "gpu", count: 1 },
    ]);
  });

  test("labels and their fallbacks choose types", () => {
    const types = [type("a", { CPU: 1 }, { labels: { zone: "a" } }), type("b", { CPU: 1 }, { labels: { zone: "b" } })];
    const verdictOf = (place: LeasePlace): unknown => {
      const { launches, verdicts } = plan(snapshot({ waiting: [[shape({ CPU: 1 }, place), 1]] }), config(types), 0);
      return launches[0]?.type ?? verdicts[0]?.text;
    };
    expect(verdictOf({ labels: { zone: "b" } })).toBe("b");
    expect(verdictOf({ labels: { zone: "c" }, fallbacks: [{ zone: "!a" }] })).toBe("b");
    expect(verdictOf({ labels: { zone: "c" } })).toBe("no node type has CPU: 1 and labels zone=c");
    expect(verdictOf({ labels: { [TYPE_LABEL]: "b" } })).toBe("b");
    expect(verdictOf({ node: { id: "f".repeat(32), soft: false } })).toContain("which no launch can replace");
  });

  test("a shape without resources needs a node all the same", () => {
    expect(plan(snapshot({ waiting: [["", 3]] }), config([CPU]), 0).launches).toEqual([{ type: "cpu", count: 1 }]);
    expect(plan(snapshot({ waiting: [["", 3]], nodes: [node("a", { CPU: 1 })] }), config([CPU]), 0).launches).toEqual([]);
  });
});

describe("limits", () => {
  const waiting = [[shape({ CPU: 4 }), 50]] as const;
  test.each([
    ["of the type", config([CPU]), 5, "launching (10 of cpu); 40 more: at max_workers of cpu"],
    ["of the cluster", config([CPU], { maxWorkers: 3 }), 3, "launching (3 of cpu); 47 more: at max_workers of the cluster"],
    ["of none", config([type("cpu", { CPU: 4 }, { maxWorkers: 0 })]), undefined, "at max_workers of cpu"],
  ])("%s hold, and the verdict names them", (_name, file, count, text) => {
    const { launches, verdicts } = plan(snapshot({ waiting }), file, 0);
    expect([launches[0]?.count, verdicts[0]?.text]).toEqual([count, text]);
  });

  test("instances that are being ended still count", () => {
    const instances = [instance("a", "cpu", "TERMINATING"), instance("b", "cpu", "DRAINING")];
    expect(plan(snapshot({ waiting, instances }), config([CPU], { maxWorkers: 3 }), 0).launches).toEqual([{ type: "cpu", count: 1 }]);
  });

  test("at most upscaling_speed launches for each node are under way, and five in any case", () => {
    const launchedWith = (running: number, coming: number): number => {
      const names = Array.from({ length: running + coming }, (_, index) => `i${index}`);
      const instances = names.map((id, index) => instance(id, "cpu", index < running ? "RUNNING" : "ALLOCATED"));
      const nodes = names.slice(0, running).map((id) => node(id, { CPU: 4 }, { type: "cpu", free: {} }));
      const file = config([type("cpu", { CPU: 4 }, { maxWorkers: 100 })], { upscalingSpeed: 1 });
      return plan(snapshot({ waiting, instances, nodes }), file, 0).launches[0]?.count ?? 0;
    };
    expect([launchedWith(0, 0), launchedWith(0, 3), launchedWith(20, 0), launchedWith(20, 20)]).toEqual([5, 2, 20, 0]);
  });

  test("a type that backs off is passed over, and named where no other fits", () => {
    const backOffs = new Map([["cpu", { untilMs: 1_000, cause: "quota", message: "no more CPUs" }]]);
    const demand = snapshot({ waiting: [[shape({ CPU: 4 }), 1]], backOffs });
    expect(plan(demand, config([CPU, GPU]), 0).launches).toEqual([{ type: "gpu", count: 1 }]);
    expect(plan(demand, config([CPU]), 0).verdicts[0]?.text).toBe("backing off cpu until 1970-01-01T00:00:01.000Z: quota: no more CPUs");
    expect(plan(demand, config([CPU]), 1_001).launches).toEqual([{ type: "cpu", count: 1 }]);
  });
});

describe("placement groups", () => {
  test.each([
    ["PACK", 2],
    ["SPREAD", 2],
    ["STRICT_SPREAD", 3],
    ["STRICT_PACK", 0],
  ] as const)("%s of three bundles of two CPUs adds %d nodes of four", (strategy, count) => {
    const bundles = [{ CPU: 2 }, { CPU: 2 }, { CPU: 2 }];
    const { launches, verdicts } = plan(snapshot({ groups: [group(strategy, bundles)] }), config([CPU]), 0);
    expect(launches[0]?.count ?? 0).toBe(strategy === "SPREAD" ? launches[0]?.count : count);
    if (strategy === "STRICT_PACK") expect(verdicts[0]?.text).toBe("no node type has CPU: 2");
  });

  test("a group is placed whole or not at all, and leaves its room to others", () => {
    const demand = snapshot({ groups: [group("STRICT_SPREAD", [{ CPU: 4 }, { CPU: 4 }, { CPU: 4 }])], waiting: [[shape({ CPU: 4 }), 2]] });
    const { launches, verdicts } = plan(demand, config([CPU], { maxWorkers: 2 }), 0);
    expect(launches).toEqual([{ type: "cpu", count: 2 }]);
    expect(verdicts.map(({ text }) => text)).toEqual(["at max_workers of the cluster", "launching (2 of cpu)"]);
  });

  test("bundles that have nodes stay: only the missing ones are placed, elsewhere for a strict spread", () => {
    const nodes = [node("a", { CPU: 8 })];
    const lost = group("STRICT_SPREAD", [{ CPU: 2 }, { CPU: 2 }], { nodeIds: ["node-a", undefined] });
    expect(plan(snapshot({ nodes, groups: [lost] }), config([CPU]), 0).launches).toEqual([{ type: "cpu", count: 1 }]);
    const packed = group("STRICT_PACK", [{ CPU: 2 }, { CPU: 2 }], { nodeIds: ["node-a", undefined] });
    expect(plan(snapshot({ nodes, groups: [packed] }), config([CPU]), 0).launches).toEqual([]);
  });

  test("labels of bundles choose types", () => {
    const types = [type("a", { CPU: 4 }, { labels: { zone: "a" } }), type("b", { CPU: 4 }, { labels: { zone: "b" } })];
    const labelled = group("PACK", [{ CPU: 1 }, { CPU: 1 }], { labels: [{ zone: "a" }, { zone: "b" }] });
    expect(plan(snapshot({ groups: [labelled] }), config(types), 0).launches.map(({ type: name }) => name)).toEqual(["a", "b"]);
  });
});

describe("floors and requests", () => {
  test("min_workers are launched without demand, and replaced when one dies", () => {
    const file = config([type("cpu", { CPU: 4 }, { minWorkers: 2 })]);
    expect(plan(snapshot(), file, 0).launches).toEqual([{ type: "cpu", count: 2 }]);
    const instances = [instance("a", "cpu"), instance("b", "cpu", "TERMINATING")];
    expect(plan(snapshot({ instances, nodes: [node("a", { CPU: 4 }, { type: "cpu" })] }), file, 0).launches).toEqual([
      { type: "cpu", count: 1 },
    ]);
  });

  test("a request counts whole nodes, whatever runs there, and holds idle ones", () => {
    const requested = Array.from({ length: 6 }, () => ({ resources: { CPU: 1 } }));
    const nodes = [node("a", { CPU: 4 }, { type: "cpu", free: {} })];
    const demand = snapshot({ nodes, instances: [instance("a", "cpu")], requested });
    expect(plan(demand, config([CPU]), 0).launches).toEqual([{ type: "cpu", count: 1 }]);
    const idle = [node("a", { CPU: 4 }, { type: "cpu", idleMs: 1e6 }), node("b", { CPU: 4 }, { type: "cpu", idleMs: 1e6 })];
    const both = snapshot({ nodes: idle, instances: [instance("a", "cpu"), instance("b", "cpu")], requested });
    expect(plan(both, config([CPU]), 0)).toMatchObject({ launches: [], drains: [] });
    expect(plan({ ...both, requested: [] }, config([CPU]), 0).drains).toHaveLength(2);
  });

  test("a request with labels gets nodes of the right type", () => {
    const types = [CPU, type("east", { CPU: 4 }, { labels: { zone: "east" } })];
    const requested = [{ resources: { CPU: 1 }, labels: { zone: "east" } }];
    expect(plan(snapshot({ requested }), config(types), 0).launches).toEqual([{ type: "east", count: 1 }]);
  });
});

describe("idle nodes", () => {
  const idle = (id: string, idleMs: number | undefined): SnapshotNode =>
    node(id, { CPU: 4 }, { type: "cpu", ...(idleMs !== undefined && { idleMs }) });
  const running = ["a", "b", "c"].map((id) => instance(id, "cpu"));

  test("go after their time, the longest idle first, down to the floor", () => {
    const nodes = [idle("a", 59_000), idle("b", 61_000), idle("c", 70_000)];
    expect(plan(snapshot({ nodes, instances: running }), config([CPU]), 0).drains).toEqual(["c", "b"]);
    const floor = type("cpu", { CPU: 4 }, { minWorkers: 2 });
    expect(plan(snapshot({ nodes, instances: running }), config([floor]), 0).drains).toEqual(["c"]);
  });

  test("stay while they hold anything, while demand fits there, and while the view is not complete", () => {
    const nodes = [idle("a", undefined), idle("b", 61_000)];
    const demand = snapshot({ nodes: [nodes[1] as SnapshotNode], instances: running.slice(1, 2), waiting: [[shape({ CPU: 1 }), 1]] });
    expect(plan(demand, config([CPU]), 0).drains).toEqual([]);
    expect(plan(snapshot({ nodes, instances: running.slice(0, 2) }), config([CPU]), 0).drains).toEqual(["b"]);
    expect(plan(snapshot({ nodes, instances: running.slice(0, 2), isComplete: false }), config([CPU]), 0)).toMatchObject({
      drains: [],
      launches: [],
    });
  });

  test("go at once beyond a lowered limit; queued instances beyond the limit are cancelled", () => {
    const nodes = [idle("a", 0), idle("b", 5), idle("c", undefined)];
    const file = config([type("cpu", { CPU: 4 }, { maxWorkers: 2 })]);
    expect(plan(snapshot({ nodes, instances: running }), file, 0).drains).toEqual(["b"]);
    const queued = [...running.slice(0, 2), instance("q", "cpu", "QUEUED")];
    expect(plan(snapshot({ nodes: nodes.slice(0, 2), instances: queued }), file, 0).cancels).toEqual(["q"]);
    expect(plan(snapshot({ nodes, instances: running }), config([GPU]), 0).drains).toEqual(["b", "a"]);
  });

  test("nodes that nobody launched stay", () => {
    expect(plan(snapshot({ nodes: [node("head", { CPU: 1 }, { idleMs: 1e9 })] }), config([CPU]), 0).drains).toEqual([]);
  });
});

test("5,000 nodes, 1,000 shapes and a million tasks are planned within half a second of processor time", () => {
  const instances = Array.from({ length: 5_000 }, (_, index) => instance(`i${index}`, "cpu"));
  const nodes = instances.map(({ id }, index) =>
    node(id, { CPU: 64, memory: 1e9 }, { type: "cpu", free: { CPU: index % 64, memory: 1e9 - index } }),
  );
  const waiting = Array.from({ length: 1_000 }, (_, index) => [shape({ CPU: 1 + index / 1_000, memory: 1e5 + index }), 1_000] as const);
  const types = Array.from({ length: 5 }, (_, index) => type(`t${index}`, { CPU: 32 + index, memory: 1e9 }, { maxWorkers: 10_000 }));
  const demand = snapshot({ instances, nodes, waiting });
  const file = config([...types, type("cpu", { CPU: 64, memory: 1e9 }, { maxWorkers: 5_000 })], { maxWorkers: 10_000 });
  const times = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    const { launches } = plan(demand, file, 0);
    const { user, system } = process.cpuUsage(before);
    const tookMs = (user + system) / 1000;
    expect(launches.reduce((sum, { count }) => sum + count, 0)).toBe(5_000);
    return tookMs;
  });
  expect(Math.min(...times)).toBeLessThan(500);
});
