/** Tests recovery by the next head: nothing acknowledged is lost, and no actor runs twice, wherever heads die. */
import { describe, expect, test } from "vitest";
import { simulateHeads } from "../../../../sim/head-world.ts";
import type { ActorId, NodeId, ProcessId } from "../../base/ids.ts";
import type { WorkerFactsHeader } from "../../wire/cluster/cluster-messages.ts";
import type { ActorOptionsHeader, PayloadHeader } from "../../wire/messages.ts";
import { ActorTable } from "../actors/actor-table.ts";
import { actorsOfDigests, type DigestActor, reconcile, type RecoveryStep, unplaced } from "./recovery.ts";
import { checked } from "../../../../sim/checked.ts";

const nodeId = "0123456789abcdef0000000000000000" as NodeId;
const driver = `0123456789abcdef${"d".repeat(16)}` as ProcessId;
const id = "actor" as ActorId;
const args: PayloadHeader = { inBand: 0, buffers: [], graph: false, error: false, definitions: [], refs: [], stored: undefined };
const options: ActorOptionsHeader = {
  name: "x",
  namespace: "n",
  getIfExists: false,
  resources: {},
  shape: "",
  group: undefined,
  maxRestarts: 1,
  isDetached: false,
  interface: { className: "C", methods: {}, groups: {}, maxTaskRetries: 0, maxPendingCalls: -1, allowOutOfOrderExecution: false },
};

function worker(number: number): WorkerFactsHeader {
  const process = `0123456789abcdef${String(number).padStart(16, "0")}` as ProcessId;
  return { id: process, holderId: process, pid: number, address: "", remoteAddress: "" };
}

function tableWith(...workers: WorkerFactsHeader[]): ActorTable {
  const table = checked(new ActorTable());
  table.handle({ kind: "create", id, creator: driver, options, spec: { definition: "d", args, deps: [], body: new Uint8Array() } });
  for (const placed of workers) table.handle({ kind: "placed", id, worker: placed });
  return table;
}

function kinds(table: ActorTable, actors: DigestActor[], processes = [driver]): string[] {
  return reconcile({ nodeId, processes, actors, bundles: [] }, { actors: table, owners: [] }).map(({ kind }: RecoveryStep) => kind);
}

const there = (number: number): DigestActor => ({ actorId: id, worker: worker(number), accelerators: undefined });

describe("a node that registers with a new head", () => {
  test("has an actor of the tables: it is adopted, and told to start again unless it is known to have", () => {
    const table = tableWith(worker(1));
    expect(kinds(table, [there(1)])).toEqual(["adopt", "startAgain"]);
    table.handle({ kind: "started", id, incarnation: 0, nowMs: 0 });
    expect(kinds(table, [there(1)])).toEqual(["adopt"]);
    table.handle({ kind: "unheld", id });
    expect(kinds(table, [there(1)])).toEqual(["adopt", "endAgain"]);
  });

  test("has a worker for an actor without one", () => {
    const table = tableWith();
    expect(unplaced(table)).toMatchObject([{ kind: "place" }]);
    expect(kinds(table, [there(1)])).toEqual(["adopt", "placed"]);
  });

  test("has not what the tables say", () => {
    expect(kinds(tableWith(worker(1)), [])).toEqual(["workerExited"]);
  });

  test("has what the tables do not know, or have elsewhere, or know to be dead", () => {
    expect(kinds(checked(new ActorTable()), [there(1)])).toEqual(["endWorker"]);
    expect(kinds(tableWith(worker(1)), [there(1), there(2)])).toEqual(["adopt", "startAgain", "endWorker"]);
    const dead = tableWith(worker(1));
    dead.handle({ kind: "kill", id, restart: false });
    expect(kinds(dead, [there(1)])).toEqual(["endWorker"]);
  });

  test("has lost a process that had made an actor, or owned something", () => {
    expect(kinds(tableWith(worker(1)), [there(1)], [])).toEqual(["adopt", "startAgain", "processGone"]);
    const steps = reconcile({ nodeId, processes: [], actors: [], bundles: [] }, { actors: checked(new ActorTable()), owners: [driver] });
    expect(steps).toEqual([{ kind: "processGone", process: driver }]);
  });
});

test("without tables the later of two incarnations is the actor, under its name", () => {
  const digest = (number: number, incarnation: number): DigestActor => ({
    ...there(number),
    facts: { incarnation, creator: driver, options },
  });
  const [first, second] = [digest(1, 3), digest(2, 4)];
  const records = actorsOfDigests([
    { nodeId, processes: [], actors: [second], bundles: [] },
    { nodeId, processes: [], actors: [first], bundles: [] },
  ]);
  expect(records).toMatchObject([{ id, incarnation: 4, phase: "alive", restartsLeft: 0, worker: { pid: 2 } }]);
  const table = checked(new ActorTable());
  table.restore(records, new Map());
  expect(table.named("x", "n")?.id).toBe(id);
  expect(kinds(table, [first, second])).toEqual(["endWorker", "adopt"]);
});

describe("heads that die at any line, workers that crash, nodes that do not come back", () => {
  test("nothing acknowledged is lost, and no actor ever runs twice", async () => {
    let crashes = 0;
    for (let seed = 1; seed <= 60; seed += 1) {
      const result = await simulateHeads({ seed });
      expect({ seed, violations: result.violations }).toEqual({ seed, violations: [] });
      crashes += result.crashes;
    }
    expect(crashes).toBeGreaterThan(200);
  });

  test.each([
    ["effectsFirst", 1],
    ["emptyDigests", 6],
    ["unexpectedNodes", 1],
  ] as const)("%s is found", async (mutation, seed) => {
    expect((await simulateHeads({ seed, mutation })).violations).not.toEqual([]);
  });
});
