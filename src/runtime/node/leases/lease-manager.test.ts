import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ActorId, ProcessId } from "../../base/ids.ts";
import { resourceVector } from "../../base/resources.ts";
import { leaseKey, type LeasePlace, type LeaseSpec, parseLeaseSpec } from "../../scheduling/lease-spec.ts";
import type { LeaseEffect, LeaseEvent } from "./lease-events.ts";
import { LeaseManager } from "./lease-manager.ts";
import { BORROW_AFTER_MS } from "./limits.ts";
import { checked } from "../../../../sim/checked.ts";

function specOf(resources: Record<string, number>, place: LeasePlace = {}): LeaseSpec {
  return parseLeaseSpec(leaseKey(resourceVector(resources), place));
}

const ONE_CPU = specOf({ CPU: 1 });
const driver = "driver" as ProcessId;

function worker(number: number): ProcessId {
  return `worker${number}` as ProcessId;
}

function demand(owner: ProcessId, backlog: number, nested = false): LeaseEvent {
  return { kind: "demand", owner, nested, spec: ONE_CPU, backlog, nowMs: 0 };
}

function grants(effects: readonly LeaseEffect[]): Extract<LeaseEffect, { kind: "grant" }>[] {
  return effects.filter((effect) => effect.kind === "grant");
}

function managerWithWorkers(cpuCount: number, parkedPerCpu?: number): LeaseManager {
  const manager = checked(new LeaseManager({ total: resourceVector({ CPU: cpuCount }), cpuCount, parkedPerCpu }));
  manager.start();
  for (let number = 1; number <= cpuCount; number += 1) manager.handle({ kind: "workerReady", worker: worker(number), environment: "" });
  return manager;
}

describe("the lease manager", () => {
  test("prewarms two workers, or one where there is one CPU", () => {
    const effectsFor = (cpuCount: number) => new LeaseManager({ total: resourceVector({ CPU: cpuCount }), cpuCount }).start();
    expect(effectsFor(8)).toEqual([
      { kind: "spawn", environment: "" },
      { kind: "spawn", environment: "" },
    ]);
    expect(effectsFor(1)).toEqual([{ kind: "spawn", environment: "" }]);
  });

  test("grants as many leases as there are CPUs, and the next when one is returned", () => {
    const manager = managerWithWorkers(2);
    const first = grants(manager.handle(demand(driver, 5)));
    expect(first.map((grant) => grant.worker)).toEqual([worker(1), worker(2)]);
    expect(manager.available()).toEqual({ CPU: 0 });
    const next = grants(manager.handle({ kind: "leaseReturned", leaseId: first[0]?.leaseId ?? 0, owner: driver }));
    expect(next).toHaveLength(1);
  });

  test("a worker whose tasks wait is not shared between a placement group and the rest", () => {
    const manager = checked(new LeaseManager({ total: resourceVector({ CPU: 2 }), cpuCount: 2, parkedPerCpu: 0 }));
    manager.start();
    for (const number of [1, 2]) manager.handle({ kind: "workerReady", worker: worker(number), environment: "" });
    manager.handle(demand(driver, 2));
    manager.handle({ kind: "parked", worker: worker(1), left: 1, isReport: true });
    const bundles = [{ index: 0, resources: resourceVector({ CPU: 1 }) }];
    manager.handle({ kind: "groupWanted", group: "group", bundles, nowMs: 0 });
    const spec = specOf({ CPU: 1 }, { bundle: { group: "group", index: 0, capture: false } });
    const effects = manager.handle({ kind: "demand", owner: driver, nested: false, spec, backlog: 1, nowMs: 0 });
    // The group has the CPU that the waiting task will want: behind it, the task of the group would wait for its own end.
    expect(effects).toEqual([{ kind: "spawn", environment: "" }]);
    expect(grants(manager.handle({ kind: "workerReady", worker: worker(3), environment: "" }))).toMatchObject([{ worker: worker(3) }]);
  });

  test("a lease is returned by its owner only", () => {
    const manager = managerWithWorkers(1);
    const [grant] = grants(manager.handle(demand(driver, 1)));
    manager.handle({ kind: "leaseReturned", leaseId: grant?.leaseId ?? 0, owner: worker(9) });
    expect(manager.available()).toEqual({ CPU: 0 });
  });

  test("on one CPU a worker whose task waits is leased to itself where no process more is allowed", () => {
    const manager = managerWithWorkers(1, 0);
    manager.handle(demand(driver, 1));
    expect(grants(manager.handle(demand(worker(1), 1, true)))).toHaveLength(0);
    const effects = manager.handle({ kind: "parked", worker: worker(1), left: 1, isReport: true });
    expect(effects.filter((effect) => effect.kind === "spawn")).toHaveLength(0);
    expect(effects).toContainEqual(expect.objectContaining({ kind: "slot", worker: worker(1), isAnswer: false }));
    expect(grants(effects)).toMatchObject([{ owner: worker(1), worker: worker(1) }]);
  });

  describe("a task that an actor calls, which holds the last CPU for life,", () => {
    const placed = (): { manager: LeaseManager; owner: ProcessId } => {
      const manager = managerWithWorkers(1);
      const actor = "actor" as ActorId;
      const [effect] = manager.handle({ kind: "actorWanted", actor, spec: ONE_CPU, placement: ONE_CPU });
      expect(effect).toMatchObject({ kind: "placeActor", worker: worker(1) });
      manager.handle({ kind: "workerReady", worker: worker(2), environment: "" });
      return { manager, owner: worker(1) };
    };

    test("borrows a CPU after a while, and the next one at once", () => {
      const { manager, owner } = placed();
      expect(grants(manager.handle(demand(owner, 2, true)))).toEqual([]);
      expect(grants(manager.handle({ kind: "tick", nowMs: BORROW_AFTER_MS - 1 }))).toEqual([]);
      const [grant, another] = grants(manager.handle({ kind: "tick", nowMs: BORROW_AFTER_MS }));
      expect(grant).toMatchObject({ owner, worker: worker(2) });
      // As many as the node has CPUs, and no more.
      expect(another).toBeUndefined();
      expect(manager.available()).toEqual({ CPU: 0 });
      expect(grants(manager.handle({ kind: "leaseReturned", leaseId: grant?.leaseId ?? 0, owner }))).toMatchObject([{ owner }]);
      // The node has no more CPUs for that.
      expect(manager.available()).toEqual({ CPU: 0 });
      manager.handle({ kind: "actorGone", actor: "actor" as ActorId });
      expect(manager.available()).toEqual({ CPU: 1 });
    });

    test("borrows for its own tasks, too, while it waits for them", () => {
      const { manager, owner } = placed();
      manager.handle(demand(owner, 1, true));
      manager.handle({ kind: "tick", nowMs: BORROW_AFTER_MS });
      manager.handle({ ...demand(worker(2), 1, true), nowMs: BORROW_AFTER_MS } as LeaseEvent);
      manager.handle({ kind: "parked", worker: worker(2), left: 1, isReport: true });
      manager.handle({ kind: "workerReady", worker: worker(3), environment: "" });
      expect(grants(manager.handle({ kind: "tick", nowMs: 2 * BORROW_AFTER_MS }))).toMatchObject([{ owner: worker(2), worker: worker(3) }]);
    });

    test("waits where a driver calls it, and while tasks hold a CPU, as those end", () => {
      const { manager } = placed();
      manager.handle(demand(driver, 1));
      expect(grants(manager.handle({ kind: "tick", nowMs: 10 * BORROW_AFTER_MS }))).toEqual([]);
      const two = managerWithWorkers(2);
      two.handle(demand(driver, 1));
      two.handle({ kind: "actorWanted", actor: "actor" as ActorId, spec: ONE_CPU, placement: ONE_CPU });
      two.handle({ kind: "workerReady", worker: worker(3), environment: "" });
      two.handle(demand(worker(2), 1, true));
      expect(grants(two.handle({ kind: "tick", nowMs: 10 * BORROW_AFTER_MS }))).toEqual([]);
    });
  });

  test("a parked worker goes on before anything new starts", () => {
    const manager = managerWithWorkers(1);
    manager.handle(demand(driver, 1));
    manager.handle({ kind: "parked", worker: worker(1), left: 1, isReport: true });
    manager.handle({ kind: "unpark", worker: worker(1), spec: ONE_CPU });
    expect(manager.available()).toEqual({ CPU: 0 });
    expect(grants(manager.handle(demand(driver, 3)))).toHaveLength(0);
  });

  test("nested demand goes before a driver's", () => {
    const manager = managerWithWorkers(2);
    const [first] = grants(manager.handle(demand(driver, 10)));
    manager.handle(demand(worker(2), 1, true));
    const next = grants(manager.handle({ kind: "leaseReturned", leaseId: first?.leaseId ?? 0, owner: driver }));
    expect(next.map((grant) => grant.owner)).toEqual([worker(2)]);
  });

  test("an owner with many leases gives one back to an owner with none", () => {
    const manager = managerWithWorkers(2);
    manager.handle(demand(driver, 100));
    manager.handle(demand("other" as ProcessId, 1));
    const revokes = (nowMs: number) => manager.handle({ kind: "tick", nowMs }).filter((effect) => effect.kind === "revoke");
    expect(revokes(1000)).toMatchObject([{ kind: "revoke", owner: driver }]);
    expect(revokes(1001)).toEqual([]);
  });

  test("the workers of an owner that does not attend to its leases are asked to let go of it", () => {
    const manager = managerWithWorkers(2);
    // The owner computes: it got a lease, and its last demand exceeds its present need.
    manager.handle(demand(worker(1), 3, true));
    manager.handle(demand(driver, 1));
    expect(manager.handle({ kind: "tick", nowMs: 10 })).toEqual([]);
    const asked = manager.handle({ kind: "tick", nowMs: 1000 }).filter((effect) => effect.kind === "reclaim");
    expect(asked).toContainEqual(expect.objectContaining({ kind: "reclaim", worker: worker(1), owner: worker(1) }));
    // The later grant is another lease. The owner's own tasks may run there until its report says otherwise.
    expect(manager.handle({ kind: "leaseReclaimed", worker: worker(1), owner: worker(1), leaseId: 0 })).toEqual([]);
    const ended = manager.handle({ kind: "leaseReclaimed", worker: worker(1), owner: worker(1), leaseId: 10 });
    expect(ended).toEqual([{ kind: "leaseEnded", worker: worker(1), isLast: true }]);
    const effects = manager.handle({ kind: "parked", worker: worker(1), left: 0, isReport: true });
    expect(grants(effects).map((grant) => grant.owner)).toEqual([driver]);
  });

  test("a worker that submitted tasks of its own is given to nobody before it has said what is left there", () => {
    const manager = managerWithWorkers(1);
    const [lease] = grants(manager.handle(demand(driver, 1)));
    manager.handle(demand(worker(1), 1, true));
    const ended = manager.handle({ kind: "leaseReturned", leaseId: lease?.leaseId ?? 0, owner: driver });
    expect(ended).toEqual([{ kind: "leaseEnded", worker: worker(1), isLast: true }]);
    // Meanwhile the nested task runs there with the lease's resources.
    expect(manager.available()).toEqual({ CPU: 0 });
    manager.handle(demand(worker(1), 0, true));
    manager.handle({ kind: "parked", worker: worker(1), left: 1, isReport: true });
    const actor = { kind: "actorWanted", actor: "a" as ActorId, spec: ONE_CPU, placement: ONE_CPU } as const;
    expect(manager.handle(actor).map(({ kind }) => kind)).not.toContain("placeActor");
    expect(manager.handle({ kind: "parked", worker: worker(1), left: 0, isReport: true }).map(({ kind }) => kind)).toContain("placeActor");
  });

  test("a worker that gave its slot back before it heard that its last lease had ended is given to nobody before it has said so once more", () => {
    const manager = managerWithWorkers(1);
    const [lease] = grants(manager.handle(demand(driver, 1)));
    manager.handle(demand(worker(1), 1, true));
    manager.handle({ kind: "leaseReturned", leaseId: lease?.leaseId ?? 0, owner: driver });
    manager.handle(demand(worker(1), 0, true));
    const other = manager.handle(demand("other" as ProcessId, 1));
    const crossed = manager.handle({ kind: "parked", worker: worker(1), left: 0, isReport: false });
    expect([...grants(other), ...grants(crossed)]).toEqual([]);
    const [next] = grants(manager.handle({ kind: "parked", worker: worker(1), left: 0, isReport: true }));
    expect(next?.owner).toBe("other");
    expect(manager.available()).toEqual({ CPU: 0 });
  });

  test("what can never fit is said once, with the missing resource", () => {
    const manager = managerWithWorkers(2);
    const spec = specOf({ GPU: 1 });
    const event: LeaseEvent = { kind: "demand", owner: driver, nested: false, spec, backlog: 1, nowMs: 0 };
    expect(manager.handle(event)).toMatchObject([{ kind: "infeasible", obstacle: { kind: "resource", name: "GPU", wanted: 1, total: 0 } }]);
    expect(manager.handle({ ...event, backlog: 2 })).toEqual([]);
  });

  test("fractions of a CPU run side by side on further workers", () => {
    const manager = managerWithWorkers(1);
    const spec = specOf({ CPU: 0.5 });
    const effects = manager.handle({ kind: "demand", owner: driver, nested: false, spec, backlog: 2, nowMs: 0 });
    expect(grants(effects)).toHaveLength(1);
    expect(effects.filter((effect) => effect.kind === "spawn")).toHaveLength(1);
    expect(grants(manager.handle({ kind: "workerReady", worker: worker(2), environment: "" }))).toHaveLength(1);
  });

  test("hundreds of actors that wait are placed in their order, one a worker, and those of another environment beside them", () => {
    const manager = managerWithWorkers(1);
    const free = specOf({});
    const other = { ...free, environment: "e" };
    const names = Array.from({ length: 300 }, (_, index) => `actor${index}` as ActorId);
    const effects = names.flatMap((actor) => manager.handle({ kind: "actorWanted", actor, spec: free, placement: free }));
    effects.push(...manager.handle({ kind: "actorWanted", actor: "last" as ActorId, spec: other, placement: other }));
    expect(effects.filter(({ kind }) => kind === "spawn")).toHaveLength(300);
    effects.push(...manager.handle({ kind: "workerReady", worker: worker(1000), environment: "e" }));
    for (let number = 2; number <= 300; number += 1)
      effects.push(...manager.handle({ kind: "workerReady", worker: worker(number), environment: "" }));
    const placed = effects.flatMap((effect) => (effect.kind === "placeActor" ? [effect.actor] : []));
    expect(placed).toEqual([names[0], "last", ...names.slice(1)]);
  });

  test("an actor takes a worker out of the pool, and its resources come back with its end", () => {
    const manager = managerWithWorkers(2);
    const actor = "actor" as ActorId;
    const spec = specOf({ CPU: 2 });
    expect(manager.handle({ kind: "actorWanted", actor, spec, placement: spec })).toContainEqual({
      kind: "placeActor",
      actor,
      worker: worker(1),
    });
    expect(manager.available()).toEqual({ CPU: 0 });
    manager.handle({ kind: "actorGone", actor });
    expect(manager.available()).toEqual({ CPU: 2 });
  });

  test("an actor whose constructor waits for lost arguments holds nothing, and begins once it has all of it again", () => {
    const manager = checked(new LeaseManager({ total: resourceVector({ CPU: 2, GPU: 1 }), cpuCount: 2 }));
    manager.start();
    for (const number of [1, 2]) manager.handle({ kind: "workerReady", worker: worker(number), environment: "" });
    const actor = "actor" as ActorId;
    const spec = specOf({ CPU: 1, GPU: 1 });
    manager.handle({ kind: "actorWanted", actor, spec, placement: spec });
    expect(manager.available()).toEqual({ CPU: 1, GPU: 0 });
    const makes = { kind: "demand", owner: driver, nested: false, spec: specOf({ GPU: 1 }), backlog: 1, nowMs: 0 } as const;
    expect(grants(manager.handle(makes))).toEqual([]);
    const [grant] = grants(manager.handle({ kind: "parked", worker: worker(1), left: 0, isReport: false }));
    expect(grant?.worker).toBe(worker(2));
    expect(manager.available()).toEqual({ CPU: 2, GPU: 0 });
    expect(manager.handle({ kind: "unpark", worker: worker(1), spec })).toEqual([]);
    const slot = { kind: "slot", worker: worker(1), shape: spec.key, isAnswer: true, isLeased: true, accelerators: { GPU: ["0"] } };
    expect(manager.handle({ kind: "leaseReturned", leaseId: grant?.leaseId ?? 0, owner: driver })).toContainEqual(slot);
    expect(manager.available()).toEqual({ CPU: 1, GPU: 0 });
    manager.handle({ kind: "parked", worker: worker(1), left: 0, isReport: false });
    manager.handle({ kind: "actorGone", actor });
    expect(manager.available()).toEqual({ CPU: 2, GPU: 1 });
  });

  test("when the owner of a running task dies, its worker ends", () => {
    const manager = managerWithWorkers(2);
    manager.handle(demand(worker(1), 1, true));
    const effects = manager.handle({ kind: "processGone", process: worker(1) });
    expect(effects).not.toContainEqual(expect.objectContaining({ kind: "grant" }));
    expect(manager.available()).toEqual({ CPU: 2 });
  });

  test("whatever happens, no resource is held twice and all come back in the end", () => {
    const owners = [driver, worker(1), worker(2)];
    const stepArbitrary = fc.oneof(
      fc.record({ kind: fc.constant("demand" as const), owner: fc.constantFrom(...owners), backlog: fc.nat(4) }),
      fc.record({ kind: fc.constant("return" as const), index: fc.nat(9) }),
      fc.record({ kind: fc.constant("park" as const), index: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ kind: fc.constant("unpark" as const), index: fc.integer({ min: 1, max: 3 }) }),
    );
    fc.assert(
      fc.property(fc.array(stepArbitrary, { maxLength: 60 }), (steps) => {
        const manager = managerWithWorkers(3);
        const open: { leaseId: number; owner: ProcessId }[] = [];
        const run = (event: LeaseEvent): void => {
          for (const { leaseId, owner } of grants(manager.handle(event))) open.push({ leaseId, owner });
          const free = manager.available()["CPU"] ?? 0;
          expect(free).toBeGreaterThanOrEqual(0);
          expect(free).toBeLessThanOrEqual(3);
        };
        for (const step of steps) {
          if (step.kind === "demand") run(demand(step.owner, step.backlog, step.owner !== driver));
          else if (step.kind === "park") run({ kind: "parked", worker: worker(step.index), left: 1, isReport: true });
          else if (step.kind === "unpark") run({ kind: "unpark", worker: worker(step.index), spec: ONE_CPU });
          else if (open.length > 0) run({ kind: "leaseReturned", ...(open.splice(step.index % open.length, 1)[0] as (typeof open)[0]) });
        }
        for (const owner of owners) run(demand(owner, 0));
        while (open.length > 0) run({ kind: "leaseReturned", ...(open.shift() as (typeof open)[0]) });
        // A worker that asked for its slot gives it back when it is idle.
        for (const number of [1, 2, 3, 1, 2, 3]) run({ kind: "parked", worker: worker(number), left: 0, isReport: true });
        expect(manager.available()).toEqual({ CPU: 3 });
      }),
    );
  });
});

test("workers of a job that has ended end when they are idle, and others stay", () => {
  const manager = checked(new LeaseManager({ total: resourceVector({ CPU: 3 }), cpuCount: 3 }));
  manager.start();
  const spec = specOf({ CPU: 1 }, { environment: "job" });
  for (const number of [1, 2]) manager.handle({ kind: "workerReady", worker: worker(number), environment: "job" });
  manager.handle({ kind: "workerReady", worker: worker(3), environment: "" });
  const [grant] = grants(manager.handle({ kind: "demand", owner: driver, nested: false, spec, backlog: 1, nowMs: 0 }));
  const busy = grant?.worker as ProcessId;
  const idle = busy === worker(1) ? worker(2) : worker(1);
  const ends = (effects: readonly LeaseEffect[]): unknown[] =>
    effects.flatMap((effect) => (effect.kind === "endWorker" ? [effect.worker] : []));
  expect(ends(manager.handle({ kind: "environmentEnded", environment: "job" }))).toEqual([idle]);
  expect(ends(manager.handle({ kind: "processGone", process: driver }))).toEqual([busy]);
});
