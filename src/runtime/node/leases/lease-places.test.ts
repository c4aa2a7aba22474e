/** The lease manager beyond plain CPUs: environments, affinity, accelerators, bundles, and fairness towards groups that wait. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ActorId, NodeId, ProcessId } from "../../base/ids.ts";
import { resourceVector } from "../../base/resources.ts";
import { leaseKey, type LeasePlace, type LeaseSpec, parseLeaseSpec } from "../../scheduling/lease-spec.ts";
import type { LeaseEffect, LeaseEvent } from "./lease-events.ts";
import { LeaseManager } from "./lease-manager.ts";
import { obstacleText } from "./demands/lease-obstacles.ts";
import { checked } from "../../../../sim/checked.ts";

const driver = "driver" as ProcessId;

function specOf(resources: Record<string, number>, place: LeasePlace = {}): LeaseSpec {
  return parseLeaseSpec(leaseKey(resourceVector(resources), place));
}

function worker(number: number): ProcessId {
  return `worker${number}` as ProcessId;
}

function managerOf(total: Record<string, number>, workers: number): LeaseManager {
  const nodeId = "here" as NodeId;
  const manager = checked(new LeaseManager({ total: resourceVector(total), cpuCount: total["CPU"] ?? 0, nodeId, labels: { zone: "a" } }));
  manager.start();
  for (let number = 1; number <= workers; number += 1) manager.handle({ kind: "workerReady", worker: worker(number), environment: "" });
  return manager;
}

function demand(spec: LeaseSpec, backlog = 1, more: { owner?: ProcessId; nested?: boolean; nowMs?: number } = {}): LeaseEvent {
  return { kind: "demand", owner: driver, nested: false, spec, backlog, nowMs: 0, ...more };
}

function of<K extends LeaseEffect["kind"]>(effects: readonly LeaseEffect[], kind: K): Extract<LeaseEffect, { kind: K }>[] {
  return effects.filter((effect): effect is Extract<LeaseEffect, { kind: K }> => effect.kind === kind);
}

function bundles(...resources: Record<string, number>[]): { index: number; resources: ReturnType<typeof resourceVector> }[] {
  return resources.map((one, index) => ({ index, resources: resourceVector(one) }));
}

const inGroup = (resources: Record<string, number>, group = "g", index = -1) =>
  specOf(resources, { bundle: { group, index, capture: false } });

describe("environments", () => {
  const inside = specOf({ CPU: 1 }, { environment: "e" });

  test("a worker serves its own alone, and one is started where there is none", () => {
    const manager = managerOf({ CPU: 3 }, 2);
    const effects = manager.handle(demand(inside));
    expect(of(effects, "grant")).toEqual([]);
    expect(of(effects, "spawn")).toEqual([{ kind: "spawn", environment: "e" }]);
    const ready = manager.handle({ kind: "workerReady", worker: worker(9), environment: "e" });
    expect(of(ready, "grant")).toMatchObject([{ worker: worker(9) }]);
    expect(of(manager.handle(demand(specOf({ CPU: 1 }), 1)), "grant")).toMatchObject([{ worker: worker(1) }]);
  });

  test("in a full pool an idle worker of another one makes room", () => {
    const manager = managerOf({ CPU: 2 }, 2);
    const effects = manager.handle(demand(inside));
    expect(of(effects, "endWorker")).toMatchObject([{ worker: worker(1) }]);
    expect(of(effects, "spawn")).toEqual([{ kind: "spawn", environment: "e" }]);
    expect(manager.handle(demand(inside, 1))).toEqual([]);
  });

  test("an actor gets a worker of its own, too", () => {
    const manager = managerOf({ CPU: 2 }, 2);
    const actor = "actor" as ActorId;
    const spec = specOf({}, { environment: "e" });
    expect(of(manager.handle({ kind: "actorWanted", actor, spec, placement: spec }), "spawn")).toEqual([
      { kind: "spawn", environment: "e" },
    ]);
    const ready = manager.handle({ kind: "workerReady", worker: worker(5), environment: "e" });
    expect(of(ready, "placeActor")).toMatchObject([{ actor, worker: worker(5) }]);
  });
});

describe("places", () => {
  test("a hard affinity to another node is refused, a soft one is not", () => {
    const manager = managerOf({ CPU: 2 }, 2);
    const there = (soft: boolean) => specOf({ CPU: 1 }, { node: { id: "there", soft } });
    expect(of(manager.handle(demand(there(false))), "refused")).toMatchObject([{ owner: driver, refusal: { code: "unschedulable" } }]);
    expect(manager.hasUnmetDemand).toBe(false);
    expect(of(manager.handle(demand(there(true))), "grant")).toHaveLength(1);
    const actor = "actor" as ActorId;
    const wanted = manager.handle({ kind: "actorWanted", actor, spec: there(false), placement: there(false) });
    expect(of(wanted, "actorRefused")).toMatchObject([{ actor }]);
  });

  test("labels that match only what it falls back on will do, where there is no other node", () => {
    const manager = managerOf({ CPU: 2 }, 2);
    const fitting = specOf({ CPU: 1 }, { labels: { zone: "b" }, fallbacks: [{ zone: "c" }, { zone: "a" }] });
    expect(of(manager.handle(demand(fitting)), "grant")).toHaveLength(1);
    const none = specOf({ CPU: 1 }, { labels: { zone: "b" }, fallbacks: [{ zone: "c" }] });
    const [told] = of(manager.handle(demand(none)), "infeasible");
    expect(told === undefined ? "" : obstacleText(told.obstacle)).toContain(
      "waits for a node whose label zone is b, or else whose label zone is c, but the node has the labels zone=a",
    );
  });

  test("labels that do not match wait, and are told once", () => {
    const manager = managerOf({ CPU: 2 }, 2);
    const elsewhere = specOf({ CPU: 1 }, { labels: { zone: "!a" } });
    expect(of(manager.handle(demand(elsewhere)), "infeasible")).toMatchObject([{ obstacle: { kind: "label", key: "zone" } }]);
    expect(manager.handle(demand(elsewhere, 2))).toEqual([]);
    expect(of(manager.handle(demand(specOf({ CPU: 1 }, { labels: { zone: "in(a,b)" } }))), "grant")).toHaveLength(1);
  });

  test("a GPU stays with a lease whose task waits; its CPU does not", () => {
    const manager = managerOf({ CPU: 1, GPU: 1 }, 1);
    const [grant] = of(manager.handle(demand(specOf({ CPU: 1, GPU: 1 }))), "grant");
    expect(grant?.accelerators).toEqual({ GPU: ["0"] });
    manager.handle({ kind: "parked", worker: worker(1), left: 1, isReport: true });
    expect(manager.available()).toEqual({ CPU: 1, GPU: 0 });
    expect(of(manager.handle(demand(specOf({ GPU: 1 }), 1, { owner: worker(1), nested: true })), "grant")).toEqual([]);
    manager.handle({ kind: "leaseReturned", leaseId: grant?.leaseId ?? 0, owner: driver });
    expect(manager.available()).toMatchObject({ CPU: 1 });
  });
});

describe("placement groups", () => {
  test("take all bundles or none, in their own order, and give them back", () => {
    const manager = managerOf({ CPU: 4 }, 2);
    expect(
      of(manager.handle({ kind: "groupWanted", group: "g", bundles: bundles({ CPU: 1 }, { CPU: 2 }), nowMs: 0 }), "groupReserved"),
    ).toHaveLength(1);
    expect(
      of(manager.handle({ kind: "groupWanted", group: "h", bundles: bundles({ CPU: 1 }, { CPU: 1 }), nowMs: 0 }), "groupReserved"),
    ).toEqual([]);
    expect(manager.available()).toEqual({ CPU: 1 });
    expect(of(manager.handle({ kind: "groupReleased", group: "g" }), "groupReserved")).toEqual([{ kind: "groupReserved", group: "h" }]);
    manager.handle({ kind: "groupReleased", group: "h" });
    expect(manager.available()).toEqual({ CPU: 4 });
  });

  test("tasks of it take from its bundles, others from what is left", () => {
    const manager = managerOf({ CPU: 2 }, 2);
    expect(of(manager.handle(demand(inGroup({ CPU: 1 }))), "grant")).toEqual([]);
    const effects = manager.handle({ kind: "groupWanted", group: "g", bundles: bundles({ CPU: 1 }), nowMs: 0 });
    expect(of(effects, "grant")).toHaveLength(1);
    expect(manager.available()).toEqual({ CPU: 1 });
    expect(of(manager.handle(demand(inGroup({ CPU: 1 }))), "grant")).toEqual([]);
    expect(of(manager.handle(demand(specOf({ CPU: 1 }))), "grant")).toHaveLength(1);
  });

  test("a bundle that it has not, and a group that was removed, are refused", () => {
    const manager = managerOf({ CPU: 2 }, 2);
    manager.handle({ kind: "groupWanted", group: "g", bundles: bundles({ CPU: 1 }), nowMs: 0 });
    expect(of(manager.handle(demand(inGroup({ CPU: 1 }, "g", 1))), "refused")).toMatchObject([{ refusal: { code: "unschedulable" } }]);
    const [grant] = of(manager.handle(demand(inGroup({ CPU: 1 }))), "grant");
    manager.handle(demand(inGroup({ CPU: 1 }), 3));
    const released = manager.handle({ kind: "groupReleased", group: "g" });
    expect(of(released, "endWorker")).toMatchObject([{ worker: grant?.worker }]);
    expect(of(released, "refused")).toMatchObject([{ refusal: { code: "groupRemoved" } }]);
    expect(of(manager.handle(demand(inGroup({ CPU: 0.5 }))), "refused")).toHaveLength(1);
    expect(manager.available()).toEqual({ CPU: 2 });
  });

  test("one that waits is collected for: leases are asked back, and only nested tasks are granted", () => {
    const manager = managerOf({ CPU: 2 }, 2);
    const first = of(manager.handle(demand(specOf({ CPU: 1 }), 100)), "grant");
    manager.handle({ kind: "groupWanted", group: "g", bundles: bundles({ CPU: 2 }), nowMs: 0 });
    expect(of(manager.handle({ kind: "tick", nowMs: 10 }), "revoke")).toEqual([]);
    expect(of(manager.handle({ kind: "tick", nowMs: 100 }), "revoke")).toHaveLength(1);
    expect(of(manager.handle({ kind: "tick", nowMs: 150 }), "revoke")).toHaveLength(1);
    const back = manager.handle({ kind: "leaseReturned", leaseId: first[0]?.leaseId ?? 0, owner: driver });
    expect(of(back, "grant")).toEqual([]);
    const nested = manager.handle(demand(specOf({ CPU: 1 }), 1, { owner: worker(2), nested: true }));
    expect(of(nested, "grant")).toHaveLength(1);
    manager.handle({ kind: "leaseReturned", leaseId: of(nested, "grant")[0]?.leaseId ?? 0, owner: worker(2) });
    const last = manager.handle({ kind: "leaseReturned", leaseId: first[1]?.leaseId ?? 0, owner: driver });
    expect(of(last, "groupReserved")).toHaveLength(0);
    // The worker's own tasks may be left there until its report says otherwise.
    expect(of(manager.handle({ kind: "parked", worker: worker(2), left: 0, isReport: true }), "groupReserved")).toHaveLength(1);
  });

  test("one that has its bundles holds back nobody, though no tick comes any more", () => {
    const manager = managerOf({ CPU: 2 }, 3);
    const spec = specOf({ CPU: 1 });
    const leases = of(manager.handle(demand(spec, 2)), "grant");
    manager.handle({ kind: "groupWanted", group: "g", bundles: bundles({ CPU: 1 }), nowMs: 0 });
    manager.handle({ kind: "tick", nowMs: 100 });
    const effects = leases.flatMap(({ leaseId }) => manager.handle({ kind: "leaseReturned", leaseId, owner: driver }));
    expect(of(effects, "groupReserved")).toHaveLength(1);
    expect(manager.hasUnmetDemand).toBe(false);
    const actor = "actor" as ActorId;
    expect(of(manager.handle({ kind: "actorWanted", actor, spec, placement: spec }), "placeActor")).toMatchObject([{ actor }]);
  });

  test("one that an actor is in the way of holds back nobody", () => {
    const manager = managerOf({ CPU: 2 }, 3);
    const spec = specOf({ CPU: 1 });
    manager.handle({ kind: "actorWanted", actor: "actor" as ActorId, spec, placement: spec });
    manager.handle({ kind: "groupWanted", group: "g", bundles: bundles({ CPU: 2 }), nowMs: 0 });
    manager.handle({ kind: "tick", nowMs: 100 });
    expect(of(manager.handle(demand(spec)), "grant")).toHaveLength(1);
  });

  test("lets others through from time to time, as it may be them that it waits for", () => {
    const manager = managerOf({ CPU: 2 }, 2);
    manager.handle(demand(specOf({ CPU: 1 }), 1));
    manager.handle({ kind: "groupWanted", group: "g", bundles: bundles({ CPU: 2 }), nowMs: 0 });
    manager.handle({ kind: "tick", nowMs: 100 });
    expect(of(manager.handle(demand(specOf({ CPU: 1 }), 1, { owner: worker(1) })), "grant")).toEqual([]);
    expect(of(manager.handle({ kind: "tick", nowMs: 3200 }), "grant")).toHaveLength(1);
  });

  test("what a demand waits for is explained", () => {
    const manager = managerOf({ CPU: 2, GPU: 1 }, 2);
    manager.handle({ kind: "groupWanted", group: "g", bundles: bundles({ CPU: 1, GPU: 1 }), nowMs: 0 });
    manager.handle({ kind: "groupWanted", group: "h", bundles: bundles({ GPU: 1 }), nowMs: 0 });
    expect(manager.explain(specOf({ GPU: 0.5 }))).toMatchObject({
      obstacle: undefined,
      lacking: [{ name: "GPU", wanted: 0.5, free: 0 }],
      holders: [{ kind: "group", id: "g", resources: { GPU: 1 } }],
    });
    expect(manager.explain(inGroup({ GPU: 1 }, "h"))).toMatchObject({ pendingGroup: "h", lacking: [{ name: "GPU" }] });
    expect(manager.explain(specOf({ CPU: 3 }))).toMatchObject({ obstacle: { name: "CPU", wanted: 3, total: 2 } });
  });
});

test("whatever happens, no resource is held twice and all come back in the end", () => {
  const shapes = [specOf({ CPU: 1 }), specOf({ CPU: 1, GPU: 0.5 }), specOf({ GPU: 1 }), inGroup({ CPU: 1 }), inGroup({ GPU: 0.5 }, "h", 1)];
  const groups = { g: bundles({ CPU: 1 }, { CPU: 1 }), h: bundles({ CPU: 1 }, { GPU: 1 }) };
  const owners = [driver, worker(1), worker(2)];
  const step = fc.oneof(
    fc.record({
      kind: fc.constant("demand" as const),
      owner: fc.constantFrom(...owners),
      spec: fc.constantFrom(...shapes),
      backlog: fc.nat(3),
    }),
    fc.record({ kind: fc.constant("return" as const), index: fc.nat(9) }),
    fc.record({ kind: fc.constant("park" as const), index: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ kind: fc.constant("unpark" as const), index: fc.integer({ min: 1, max: 4 }), spec: fc.constantFrom(...shapes) }),
    fc.record({ kind: fc.constant("want" as const), group: fc.constantFrom("g" as const, "h" as const) }),
    fc.record({ kind: fc.constant("release" as const), group: fc.constantFrom("g" as const, "h" as const) }),
    fc.record({ kind: fc.constant("actor" as const), spec: fc.constantFrom(...shapes), id: fc.nat(3) }),
    fc.record({ kind: fc.constant("actorGone" as const), id: fc.nat(3) }),
    fc.record({ kind: fc.constant("tick" as const), nowMs: fc.nat(10_000) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const total = { CPU: 3, GPU: 2 };
      const manager = managerOf(total, 3);
      const open: { leaseId: number; owner: ProcessId }[] = [];
      let started = 100;
      const run = (event: LeaseEvent): void => {
        const effects = manager.handle(event);
        for (const { leaseId, owner } of of(effects, "grant")) open.push({ leaseId, owner });
        for (const { environment } of of(effects, "spawn")) {
          started += 1;
          if (started < 130) run({ kind: "workerReady", worker: worker(started), environment });
        }
        const free = manager.available();
        for (const [name, amount] of Object.entries(total)) {
          expect(free[name]).toBeGreaterThanOrEqual(0);
          expect(free[name]).toBeLessThanOrEqual(amount);
        }
      };
      for (const action of steps) {
        switch (action.kind) {
          case "demand":
            run(demand(action.spec, action.backlog, { owner: action.owner, nested: action.owner !== driver }));
            break;
          case "return":
            if (open.length > 0) run({ kind: "leaseReturned", ...(open.splice(action.index % open.length, 1)[0] as (typeof open)[0]) });
            break;
          case "park":
            run({ kind: "parked", worker: worker(action.index), left: 1, isReport: true });
            break;
          case "unpark":
            run({ kind: "unpark", worker: worker(action.index), spec: action.spec });
            break;
          case "want":
            run({ kind: "groupWanted", group: action.group, bundles: groups[action.group], nowMs: 0 });
            break;
          case "release":
            run({ kind: "groupReleased", group: action.group });
            break;
          case "actor":
            run({ kind: "actorGone", actor: `a${action.id}` as ActorId });
            run({ kind: "actorWanted", actor: `a${action.id}` as ActorId, spec: action.spec, placement: action.spec });
            break;
          case "actorGone":
            run({ kind: "actorGone", actor: `a${action.id}` as ActorId });
            break;
          case "tick":
            run({ kind: "tick", nowMs: action.nowMs });
            break;
        }
      }
      for (const owner of owners) for (const spec of shapes) run(demand(spec, 0, { owner }));
      for (const id of [0, 1, 2, 3]) run({ kind: "actorGone", actor: `a${id}` as ActorId });
      while (open.length > 0) run({ kind: "leaseReturned", ...(open.shift() as (typeof open)[0]) });
      for (const group of ["g", "h"]) run({ kind: "groupReleased", group });
      // Each actor takes the resources that another gave back, and gives them back in turn.
      for (let round = 0; round < 4; round += 1)
        for (let number = 1; number <= 130; number += 1) run({ kind: "parked", worker: worker(number), left: 0, isReport: true });
      expect(manager.available()).toEqual(total);
    }),
    { numRuns: 200 },
  );
});
