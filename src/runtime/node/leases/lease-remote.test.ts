/** The lease manager as one of several nodes: other nodes' demands, demands without room here, and bundles in two phases. */
import { describe, expect, test } from "vitest";
import type { ActorId, NodeId, ProcessId } from "../../base/ids.ts";
import { resourceVector } from "../../base/resources.ts";
import { leaseKey, type LeasePlace, type LeaseSpec, parseLeaseSpec } from "../../scheduling/lease-spec.ts";
import type { LeaseEffect, LeaseEvent } from "./lease-events.ts";
import { LeaseManager } from "./lease-manager.ts";
import { checked } from "../../../../sim/checked.ts";

const local = "local" as ProcessId;
const remote = "remote" as ProcessId;

function specOf(resources: Record<string, number>, place: LeasePlace = {}): LeaseSpec {
  return parseLeaseSpec(leaseKey(resourceVector(resources), place));
}

const cpu = specOf({ CPU: 1 });

function managerOf(cpus: number, workers = cpus): LeaseManager {
  const total = resourceVector({ CPU: cpus });
  const manager = checked(new LeaseManager({ total, cpuCount: cpus, nodeId: "here" as NodeId, isClustered: true }));
  manager.start();
  for (let number = 1; number <= workers; number += 1)
    manager.handle({ kind: "workerReady", worker: `worker${number}` as ProcessId, environment: "" });
  return manager;
}

function demand(owner: ProcessId, backlog: number, more: { spec?: LeaseSpec; nowMs?: number; elsewhere?: number } = {}): LeaseEvent {
  return { kind: "demand", owner, nested: false, spec: cpu, backlog, nowMs: 0, ...more };
}

function sent(count: number, more: { spec?: LeaseSpec; nowMs?: number; waitMs?: number | undefined; placement?: number } = {}): LeaseEvent {
  return { kind: "remoteDemand", owner: remote, nested: false, spec: cpu, count, nowMs: 0, placement: 1, waitMs: 100, ...more };
}

function of<K extends LeaseEffect["kind"]>(effects: readonly LeaseEffect[], kind: K): Extract<LeaseEffect, { kind: K }>[] {
  return effects.filter((effect): effect is Extract<LeaseEffect, { kind: K }> => effect.kind === kind);
}

describe("demands of other nodes", () => {
  test("are granted like any other, and settled once they are", () => {
    const manager = managerOf(2);
    expect(of(manager.handle(sent(2, { placement: 5 })), "grant").map(({ owner }) => owner)).toEqual([remote, remote]);
    expect(manager.takeSettled()).toEqual([5]);
    expect(manager.takeSettled()).toEqual([]);
  });

  test("add up, and what gets nothing in time is dropped", () => {
    const manager = managerOf(1);
    manager.handle(demand(local, 1));
    manager.handle(sent(1, { placement: 1 }));
    manager.handle(sent(2, { placement: 2, nowMs: 20 }));
    expect(manager.handle({ kind: "tick", nowMs: 119 })).toEqual([]);
    expect(of(manager.handle({ kind: "tick", nowMs: 120 }), "spillDropped")).toMatchObject([{ owner: remote, count: 3 }]);
    expect(manager.takeSettled()).toEqual([1, 2]);
    expect(manager.hasUnmetDemand).toBe(false);
  });

  test("wait for a worker that starts, however long that takes", () => {
    const manager = managerOf(2, 1);
    manager.handle(sent(2));
    expect(of(manager.handle({ kind: "tick", nowMs: 5000 }), "spillDropped")).toEqual([]);
    const ready = manager.handle({ kind: "workerReady", worker: "worker9" as ProcessId, environment: "" });
    expect(of(ready, "grant")).toMatchObject([{ owner: remote }]);
  });

  test("are withdrawn by a count of 0", () => {
    const manager = managerOf(1);
    manager.handle(demand(local, 1));
    manager.handle(sent(3));
    manager.handle(sent(0));
    expect(manager.hasUnmetDemand).toBe(false);
  });

  test("only patient ones make others give back", () => {
    const manager = managerOf(2);
    manager.handle(demand(local, 5));
    manager.handle(sent(1, { waitMs: 100 }));
    expect(of(manager.handle({ kind: "tick", nowMs: 60 }), "revoke")).toEqual([]);
    manager.handle(sent(1, { waitMs: 1000, nowMs: 60 }));
    expect(of(manager.handle({ kind: "tick", nowMs: 110 }), "revoke")).toMatchObject([{ owner: local }]);
  });

  test("neither own nor remote ones starve: freed workers go to each in turn", () => {
    const manager = managerOf(1);
    const order: ProcessId[] = [];
    const note = (effects: readonly LeaseEffect[]): number | undefined => {
      const [grant] = of(effects, "grant");
      if (grant !== undefined) order.push(grant.owner);
      return grant?.leaseId;
    };
    let lease = note(manager.handle(demand(local, 10)));
    manager.handle(sent(10, { waitMs: 10_000 }));
    for (let round = 0; round < 5; round += 1) {
      const owner = order.at(-1) as ProcessId;
      lease = note(manager.handle({ kind: "leaseReturned", leaseId: lease as number, owner }));
    }
    expect(order.slice(1).filter((owner) => owner === remote).length).toBeGreaterThanOrEqual(2);
    expect(order.slice(1).filter((owner) => owner === local).length).toBeGreaterThanOrEqual(2);
  });

  test("an idle lease that is taken back drops what else that owner wanted here, and says so", () => {
    const manager = managerOf(1);
    const [grant] = of(manager.handle(sent(1)), "grant");
    manager.handle(sent(2));
    const worker = grant?.worker as ProcessId;
    const effects = manager.handle({ kind: "leaseReclaimed", worker, owner: remote, leaseId: grant?.leaseId as number });
    expect(of(effects, "spillDropped")).toMatchObject([{ owner: remote, count: 2 }]);
  });

  test("for a bundle that is not here they go back at once", () => {
    const inGroup = specOf({ CPU: 1 }, { bundle: { group: "g", index: 3, capture: false } });
    const manager = managerOf(2);
    manager.handle({ kind: "groupWanted", group: "g", bundles: [{ index: 0, resources: resourceVector({ CPU: 1 }) }], nowMs: 0 });
    expect(of(manager.handle(sent(1, { spec: inGroup })), "spillDropped")).toMatchObject([{ count: 1 }]);
  });
});

describe("what finds no room here", () => {
  test("is the backlog less what is free, though its workers have not started", () => {
    const manager = managerOf(4, 1);
    manager.handle(demand(local, 6));
    expect(manager.overflow()).toMatchObject([{ owner: local, backlog: 5, excess: 2, isHopeless: false }]);
  });

  test("labels and affinities of other nodes are neither refused nor warned about, but hopeless here", () => {
    const manager = managerOf(2);
    const there = specOf({ CPU: 1 }, { node: { id: "there", soft: false } });
    const large = specOf({ CPU: 64 });
    const effects = [...manager.handle(demand(local, 2, { spec: there })), ...manager.handle(demand(local, 1, { spec: large }))];
    expect(effects.filter(({ kind }) => kind === "refused" || kind === "infeasible" || kind === "grant")).toEqual([]);
    expect(manager.overflow().map(({ excess, isHopeless }) => [excess, isHopeless])).toEqual([
      [2, true],
      [1, true],
    ]);
  });

  test("whoever asks what it waits for is not told that it can never be: another node may hold it", () => {
    const manager = managerOf(2);
    const large = specOf({ CPU: 64 }, { labels: { zone: "b" } });
    expect(manager.explain(large)).toMatchObject({
      refusal: undefined,
      obstacle: undefined,
      lacking: [{ name: "CPU", wanted: 64, free: 2 }],
    });
  });

  test("what is not for this node is not granted here until it is let in", () => {
    const manager = managerOf(4);
    expect(of(manager.handle(demand(local, 3, { elsewhere: 2 })), "grant")).toHaveLength(1);
    expect(manager.overflow()).toMatchObject([{ backlog: 2, elsewhere: 2, excess: 0 }]);
    manager.handle({ kind: "grantedElsewhere", owner: local, spec: cpu });
    expect(manager.overflow()).toMatchObject([{ backlog: 1, elsewhere: 1 }]);
    expect(of(manager.handle({ kind: "elsewhere", owner: local, spec: cpu, count: 0 }), "grant")).toHaveLength(1);
    expect(manager.overflow()).toEqual([]);
  });
});

describe("actors that the head sends", () => {
  const actor = "actor" as ActorId;
  const wanted: LeaseEvent = { kind: "actorWanted", actor, spec: cpu, placement: cpu, sent: { placement: 3, waitMs: 100, nowMs: 0 } };

  test("go back when nothing comes free", () => {
    const manager = managerOf(1);
    manager.handle(demand(local, 1));
    manager.handle(wanted);
    expect(manager.hasUnmetDemand).toBe(true);
    expect(of(manager.handle({ kind: "tick", nowMs: 100 }), "actorFull")).toEqual([{ kind: "actorFull", actor }]);
    expect(manager.takeSettled()).toEqual([3]);
  });

  test("wait for a worker that starts, and are settled when they have it", () => {
    const manager = managerOf(1, 0);
    manager.handle(wanted);
    expect(of(manager.handle({ kind: "tick", nowMs: 500 }), "actorFull")).toEqual([]);
    expect(manager.takeSettled()).toEqual([]);
    const ready = manager.handle({ kind: "workerReady", worker: "worker9" as ProcessId, environment: "" });
    expect(of(ready, "placeActor")).toMatchObject([{ actor }]);
    expect(manager.takeSettled()).toEqual([3]);
  });
});

describe("bundles in two phases", () => {
  const inGroup = specOf({ CPU: 1 }, { bundle: { group: "g", index: -1, capture: false } });
  const bundles = [{ index: 1, resources: resourceVector({ CPU: 2 }) }];
  const prepare = (attempt: number, mayWait = false, placement = 0): LeaseEvent => ({
    kind: "groupPrepare",
    group: "g",
    attempt,
    placement,
    bundles,
    mayWait,
    nowMs: 0,
  });

  test("are held at once or refused, and used only when they are committed", () => {
    const manager = managerOf(3);
    expect(of(manager.handle(prepare(1)), "groupPrepared")).toEqual([{ kind: "groupPrepared", group: "g", attempt: 1, isHeld: true }]);
    expect(manager.available()).toEqual({ CPU: 1 });
    expect(of(manager.handle(demand(local, 1, { spec: inGroup })), "grant")).toEqual([]);
    expect(of(manager.handle({ kind: "groupCommit", group: "g", attempt: 1 }), "grant")).toHaveLength(1);
    expect(manager.bundles().held).toEqual([["g", 1, 0]]);
    expect(of(manager.handle(prepare(2)), "groupPrepared")).toMatchObject([{ attempt: 2, isHeld: false }]);
  });

  test("an attempt that failed elsewhere gives them back, and the group can be tried again", () => {
    const manager = managerOf(2);
    manager.handle(prepare(1));
    manager.handle({ kind: "groupAbort", group: "g", attempt: 1 });
    expect(manager.available()).toEqual({ CPU: 2 });
    manager.handle({ kind: "groupCommit", group: "g", attempt: 1 });
    expect(manager.bundles().held).toEqual([]);
    expect(of(manager.handle(prepare(2)), "groupPrepared")).toMatchObject([{ isHeld: true }]);
  });

  test("one that may wait is held when what runs has ended, and what comes back is kept for it", () => {
    const manager = managerOf(2);
    const [grant] = of(manager.handle(demand(local, 5)), "grant");
    expect(of(manager.handle(prepare(1, true)), "groupPrepared")).toEqual([]);
    manager.handle({ kind: "tick", nowMs: 60 });
    const leases = manager.leases().map(({ id }) => id);
    const effects = leases.flatMap((leaseId) => manager.handle({ kind: "leaseReturned", leaseId, owner: local }));
    expect(grant).toBeDefined();
    expect(of(effects, "groupPrepared")).toMatchObject([{ attempt: 1, isHeld: true }]);
  });

  test("an attempt after it is not refused, though no tick comes any more", () => {
    const manager = managerOf(2);
    manager.handle(demand(local, 2));
    manager.handle(prepare(1, true));
    manager.handle({ kind: "tick", nowMs: 60 });
    for (const { id: leaseId } of manager.leases()) manager.handle({ kind: "leaseReturned", leaseId, owner: local });
    manager.handle({ kind: "groupCommit", group: "g", attempt: 1 });
    manager.handle({ kind: "groupReleased", group: "g" });
    expect(manager.hasUnmetDemand).toBe(false);
    expect(of(manager.handle(prepare(2)), "groupPrepared")).toMatchObject([{ attempt: 2, isHeld: true }]);
  });

  test.each([
    ["is given up", { kind: "groupAbort", group: "g", attempt: 1 }],
    ["goes with its group", { kind: "groupReleased", group: "g" }],
  ] as const)("an attempt that waits and %s is settled", (_, end) => {
    const manager = managerOf(2);
    manager.handle(demand(local, 2));
    manager.handle(prepare(1, true, 7));
    expect(manager.takeSettled()).toEqual([]);
    manager.handle(end);
    expect(manager.takeSettled()).toEqual([7]);
    expect(manager.hasUnmetDemand).toBe(false);
  });

  test("more bundles of a group that is here already, and all go with it", () => {
    const manager = managerOf(4);
    manager.handle(prepare(1));
    manager.handle({ kind: "groupCommit", group: "g", attempt: 1 });
    const more = [{ index: 0, resources: resourceVector({ CPU: 1 }) }];
    manager.handle({ kind: "groupPrepare", group: "g", attempt: 2, placement: 0, bundles: more, mayWait: false, nowMs: 0 });
    manager.handle({ kind: "groupCommit", group: "g", attempt: 2 });
    expect(manager.bundles().held).toEqual([
      ["g", 0, 0],
      ["g", 1, 0],
    ]);
    manager.handle({ kind: "groupPrepare", group: "g", attempt: 3, placement: 0, bundles: more, mayWait: true, nowMs: 0 });
    expect(manager.bundles().held.at(-1)).toEqual(["g", 0, 3]);
    manager.handle({ kind: "groupReleased", group: "g" });
    expect(manager.available()).toEqual({ CPU: 4 });
  });

  test("what actors and groups hold is told apart from what tasks hold", () => {
    const manager = managerOf(4);
    manager.handle(prepare(1));
    manager.handle(demand(local, 1));
    expect(manager.amounts().free.get("CPU")).toBe(10_000);
    expect(manager.amounts().freeOfActors.get("CPU")).toBe(20_000);
  });
});
