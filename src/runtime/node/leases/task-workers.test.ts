/** The lease manager's decisions about retiring workers. */
import { describe, expect, test } from "vitest";
import type { ActorId, ProcessId } from "../../base/ids.ts";
import { resourceVector } from "../../base/resources.ts";
import { leaseKey, type LeaseSpec, parseLeaseSpec } from "../../scheduling/lease-spec.ts";
import type { LeaseEffect, LeaseEvent } from "./lease-events.ts";
import { LeaseManager } from "./lease-manager.ts";
import { checked } from "../../../../sim/checked.ts";

const spec: LeaseSpec = parseLeaseSpec(leaseKey(resourceVector({ CPU: 1 }), {}));
const driver = "driver" as ProcessId;
const worker = (number: number): ProcessId => `worker${number}` as ProcessId;
const demand = (backlog: number): LeaseEvent => ({ kind: "demand", owner: driver, nested: false, spec, backlog, nowMs: 0 });
const kinds = (effects: readonly LeaseEffect[]): string[] => effects.map(({ kind }) => kind);

/** Makes a manager of one CPU with a lease on its worker. */
function leased(): LeaseManager {
  const manager = checked(new LeaseManager({ total: resourceVector({ CPU: 1 }), cpuCount: 1 }));
  manager.start();
  manager.handle({ kind: "workerReady", worker: worker(1), environment: "" });
  expect(kinds(manager.handle(demand(1)))).toEqual(["grant"]);
  return manager;
}

describe("a retiring worker", () => {
  test("has its leases taken back, once, and another is started at once", () => {
    const manager = leased();
    const effects = manager.handle({ kind: "workerRetiring", worker: worker(1) });
    expect(effects).toEqual([
      { kind: "revoke", leaseId: 1, worker: worker(1), owner: driver },
      { kind: "spawn", environment: "" },
    ]);
    expect(kinds(manager.handle({ kind: "tick", nowMs: 1 }))).toEqual([]);
  });

  test("ends when its lease has been returned, and gives back what it held", () => {
    const manager = leased();
    manager.handle({ kind: "workerRetiring", worker: worker(1) });
    expect(manager.handle({ kind: "leaseReturned", leaseId: 1, owner: driver })).toEqual([{ kind: "workerRetiring", worker: worker(1) }]);
    expect(manager.available()).toEqual({ CPU: 1 });
  });

  test("is given to nobody, not even as an actor's process", () => {
    const manager = leased();
    manager.handle({ kind: "workerRetiring", worker: worker(1) });
    manager.handle(demand(3));
    manager.handle({ kind: "actorWanted", actor: "actor" as ActorId, spec, placement: spec });
    expect(kinds(manager.handle({ kind: "leaseReturned", leaseId: 1, owner: driver }))).toEqual(["workerRetiring"]);
    const effects = manager.handle({ kind: "workerReady", worker: worker(2), environment: "" });
    expect(effects).toMatchObject([{ kind: "placeActor", worker: worker(2) }, { kind: "spawn" }]);
  });

  test("keeps what is parked there until that has ended, and is not shared meanwhile", () => {
    const manager = leased();
    manager.handle({ kind: "workerRetiring", worker: worker(1) });
    expect(kinds(manager.handle({ kind: "parked", worker: worker(1), left: 1, isReport: false }))).toEqual([]);
    expect(kinds(manager.handle({ kind: "workerReady", worker: worker(2), environment: "" }))).toEqual([]);
    expect(manager.handle(demand(1))).toMatchObject([{ kind: "grant", worker: worker(2) }]);
    expect(kinds(manager.handle({ kind: "leaseReturned", leaseId: 1, owner: driver }))).toEqual(["leaseEnded"]);
    // The worker reports one remaining task, which goes on once the CPU is free, and finally none.
    expect(kinds(manager.handle({ kind: "parked", worker: worker(1), left: 1, isReport: true }))).toEqual([]);
    manager.handle({ kind: "unpark", worker: worker(1), spec });
    expect(kinds(manager.handle({ kind: "leaseReturned", leaseId: 2, owner: driver }))).toEqual(["slot"]);
    expect(kinds(manager.handle({ kind: "parked", worker: worker(1), left: 0, isReport: false }))).toEqual(["workerRetiring"]);
    expect(manager.available()).toEqual({ CPU: 1 });
  });

  test("that dies before is a dead worker like any other", () => {
    const manager = leased();
    manager.handle({ kind: "workerRetiring", worker: worker(1) });
    expect(kinds(manager.handle({ kind: "processGone", process: worker(1) }))).toEqual([]);
    expect(manager.available()).toEqual({ CPU: 1 });
    // The message may arrive after the worker's end, or from another process.
    expect(kinds(manager.handle({ kind: "workerRetiring", worker: worker(1) }))).toEqual([]);
    expect(kinds(manager.handle({ kind: "workerRetiring", worker: driver }))).toEqual([]);
  });
});

describe("a worker that has created an actor", () => {
  test("becomes no other actor's process, and makes no room for another environment", () => {
    const manager = leased();
    manager.handle({ kind: "actorCreated", creator: worker(1) });
    manager.handle({ kind: "leaseReturned", leaseId: 1, owner: driver });
    manager.handle({ kind: "actorWanted", actor: "actor" as ActorId, spec, placement: spec });
    expect(manager.handle({ kind: "workerReady", worker: worker(2), environment: "" })).toMatchObject([
      { kind: "placeActor", worker: worker(2) },
    ]);
    manager.handle({ kind: "actorGone", actor: "actor" as ActorId });

    const other = parseLeaseSpec(leaseKey(resourceVector({ CPU: 1 }), { environment: "other" }));
    const wanted: LeaseEvent = { kind: "demand", owner: driver, nested: false, spec: other, backlog: 1, nowMs: 0 };
    expect(manager.handle(wanted)).toEqual([{ kind: "spawn", environment: "other" }]);
    expect(manager.handle(demand(1))).toMatchObject([{ kind: "grant", worker: worker(1) }]);
  });
});

describe("a worker whose task waits", () => {
  const nested = (owner: ProcessId, backlog = 1): LeaseEvent => ({ kind: "demand", owner, nested: true, spec, backlog, nowMs: 0 });
  const parked = (number: number): LeaseEvent => ({ kind: "parked", worker: worker(number), left: 1, isReport: false });
  const ready = (number: number): LeaseEvent => ({ kind: "workerReady", worker: worker(number), environment: "" });
  const spawn = { kind: "spawn", environment: "" };

  function oneCpu(parkedPerCpu: number, mayGrow = (): boolean => true): LeaseManager {
    const manager = checked(new LeaseManager({ total: resourceVector({ CPU: 1 }), cpuCount: 1, parkedPerCpu, mayGrow }));
    manager.start();
    manager.handle(ready(1));
    manager.handle(demand(1));
    return manager;
  }

  test("keeps its process, and its child gets another", () => {
    const manager = oneCpu(2);
    expect(manager.handle(nested(worker(1)))).toEqual([]);
    expect(manager.handle(parked(1))).toEqual([spawn]);
    expect(manager.handle({ kind: "tick", nowMs: 40 })).toEqual([]);
    expect(manager.handle(ready(2))).toMatchObject([{ kind: "grant", owner: worker(1), worker: worker(2) }]);
  });

  test("has one process started in its place, however many children it has", () => {
    const manager = oneCpu(2);
    manager.handle(nested(worker(1), 5));
    expect(manager.handle(parked(1))).toEqual([spawn]);
  });

  test("has a spare process beside it before its children ask for one", () => {
    const manager = oneCpu(2);
    manager.handle(nested(worker(1), 0));
    expect(manager.handle(parked(1))).toEqual([spawn]);
    manager.handle(ready(2));
    expect(manager.handle(nested(worker(1)))).toMatchObject([{ kind: "grant", worker: worker(2) }]);
  });

  test("shares its process once as many are parked as the bound says", () => {
    const manager = oneCpu(1);
    manager.handle(nested(worker(1)));
    manager.handle(parked(1));
    manager.handle(ready(2));
    manager.handle(nested(worker(2)));
    expect(manager.handle(parked(2))).toMatchObject([
      { kind: "slot", worker: worker(2), isAnswer: false, isLeased: true },
      { kind: "grant", owner: worker(2), worker: worker(2) },
    ]);
    // The worker's own lease has the CPU by which its task goes on.
    expect(manager.handle({ kind: "unpark", worker: worker(2), spec })).toEqual([
      { kind: "slot", worker: worker(2), shape: spec.key, isAnswer: true, isLeased: true },
    ]);
    // The first has its process for itself no more: the next that waits in the second could have another one.
    expect(manager.handle({ kind: "unpark", worker: worker(1), spec })).toMatchObject([
      { kind: "revoke", leaseId: 2, worker: worker(2), owner: worker(1) },
      { kind: "apart", worker: worker(2) },
    ]);
  });

  test("goes on after a moment although its child, which never ends, has the CPU, and gets the next one that is free", () => {
    const manager = oneCpu(2);
    manager.handle(nested(worker(1)));
    manager.handle(parked(1));
    manager.handle(ready(2));
    manager.handle({ kind: "unpark", worker: worker(1), spec });
    expect(kinds(manager.handle({ kind: "tick", nowMs: 1000 }))).not.toContain("slot");
    expect(manager.hasUnmetDemand).toBe(true);
    expect(manager.handle({ kind: "tick", nowMs: 1100 })).toEqual([
      { kind: "slot", worker: worker(1), shape: spec.key, isAnswer: true, isLeased: true },
    ]);
    expect([manager.hasUnmetDemand, manager.available()]).toEqual([false, { CPU: 0 }]);
    expect(kinds(manager.handle(demand(1)))).toEqual([]);
    expect(kinds(manager.handle({ kind: "leaseReturned", leaseId: 2, owner: worker(1) }))).toEqual([]);
    expect(manager.available()).toEqual({ CPU: 0 });
    // The worker had the CPU by then, and gives it back when its task waits again.
    expect(kinds(manager.handle(parked(1)))).toEqual(["grant"]);
  });

  test("shares its process where the machine has no memory for another", () => {
    const manager = oneCpu(2, () => false);
    manager.handle(nested(worker(1)));
    expect(manager.handle(parked(1))).toMatchObject([{ kind: "slot" }, { kind: "grant", worker: worker(1) }]);
  });

  test("has a process of its own beside an idle worker of another environment, which ends", () => {
    const manager = oneCpu(1);
    manager.handle({ kind: "workerReady", worker: worker(2), environment: "other" });
    manager.handle(nested(worker(1)));
    expect(manager.handle(parked(1))).toEqual([
      { kind: "endWorker", worker: worker(2), reason: "a worker of another runtime environment was needed" },
      spawn,
    ]);
    expect(manager.handle(ready(3))).toMatchObject([{ kind: "grant", owner: worker(1), worker: worker(3) }]);
  });

  test("leaves no process in excess behind: one without work for two looks ends", () => {
    const manager = oneCpu(2);
    manager.handle(nested(worker(1)));
    manager.handle(parked(1));
    manager.handle(ready(2));
    manager.handle({ kind: "leaseReturned", leaseId: 2, owner: worker(1) });
    expect(manager.hasSurplus).toBe(true);
    expect(manager.handle({ kind: "trim" })).toEqual([]);
    expect(manager.handle({ kind: "trim" })).toEqual([{ kind: "workerRetiring", worker: worker(2) }]);
    expect(manager.hasSurplus).toBe(false);
  });
});
