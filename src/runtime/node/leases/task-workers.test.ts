/** Workers that retire, by what the lease manager decides about them. */
import { describe, expect, test } from "vitest";
import type { ActorId, ProcessId } from "../../base/ids.ts";
import { resourceVector } from "../../base/resources.ts";
import { leaseKey, type LeaseSpec, parseLeaseSpec } from "../../scheduling/lease-spec.ts";
import type { LeaseEffect, LeaseEvent } from "./lease-events.ts";
import { LeaseManager } from "./lease-manager.ts";

const spec: LeaseSpec = parseLeaseSpec(leaseKey(resourceVector({ CPU: 1 }), {}));
const driver = "driver" as ProcessId;
const worker = (number: number): ProcessId => `worker${number}` as ProcessId;
const demand = (backlog: number): LeaseEvent => ({ kind: "demand", owner: driver, nested: false, spec, backlog, nowMs: 0 });
const kinds = (effects: readonly LeaseEffect[]): string[] => effects.map(({ kind }) => kind);

/** One CPU, and a lease on its worker. */
function leased(): LeaseManager {
  const manager = new LeaseManager({ total: resourceVector({ CPU: 1 }), cpuCount: 1 });
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
    // It says that a task is left, which goes on once the CPU is free, and at last that none is.
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
    // Its word may come behind its end, and from what is no worker.
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
