import { describe, expect, test } from "vitest";
import { type ActorId, nodeTagOf, type ProcessId } from "../../base/ids.ts";
import type { WorkerFactsHeader } from "../../wire/cluster/cluster-messages.ts";
import type { ActorOptionsHeader, PayloadHeader, WorkerExitedHeader } from "../../wire/messages.ts";
import { type ActorEffect, ActorTable } from "./actor-table.ts";
import { checked } from "../../../../sim/checked.ts";

const id = "actor" as ActorId;
const creator = "creator" as ProcessId;
const worker = "worker" as ProcessId;
const facts = (of: ProcessId): WorkerFactsHeader => ({ id: of, holderId: of, pid: 1, address: "", remoteAddress: "" });
const args: PayloadHeader = { inBand: 0, buffers: [], graph: false, error: false, definitions: [], refs: [], stored: undefined };

const spec = { definition: "d", args, deps: [], body: new Uint8Array() };

function options(more: Partial<ActorOptionsHeader> = {}): ActorOptionsHeader {
  return {
    name: undefined,
    namespace: "n",
    getIfExists: false,
    resources: {},
    shape: "",
    group: undefined,
    maxRestarts: 0,
    isDetached: false,
    interface: {
      className: "C",
      methods: {},
      groups: { default: 1 },
      maxTaskRetries: 0,
      maxPendingCalls: -1,
      allowOutOfOrderExecution: false,
    },
    ...more,
  };
}

function alive(more: Partial<ActorOptionsHeader> = {}): ActorTable {
  const table = checked(new ActorTable());
  table.handle({ kind: "create", id, creator, options: options(more), spec });
  table.handle({ kind: "placed", id, worker: facts(worker) });
  table.handle({ kind: "started", id, incarnation: 0, nowMs: 0 });
  return table;
}

function kinds(effects: readonly ActorEffect[]): string[] {
  return effects.map((effect) => effect.kind);
}

describe("the actor table", () => {
  test("an actor is placed, started, and known to its creator", () => {
    expect(alive().get(id)).toMatchObject({ phase: "alive", incarnation: 0, worker: facts(worker) });
  });

  test("creating twice is creating once", () => {
    const table = alive();
    expect(table.handle({ kind: "create", id, creator, options: options(), spec })).toEqual([]);
  });

  test("without restarts its process' end is its death, and its name is free again", () => {
    const table = alive({ name: "x" });
    expect(table.named("x", "n")?.id).toBe(id);
    expect(kinds(table.handle({ kind: "workerExited", worker, exit: undefined, intended: false, nowMs: 0 }))).toEqual([
      "state",
      "gone",
      "ended",
    ]);
    expect(table.get(id)?.phase).toBe("dead");
    expect(table.named("x", "n")).toBeUndefined();
  });

  test("how an earlier life of it ended is not why it was killed", () => {
    const table = alive({ maxRestarts: -1 });
    const exit = { workerId: worker, outOfMemory: {} } as unknown as WorkerExitedHeader;
    table.handle({ kind: "workerExited", worker, exit, intended: false, nowMs: 0 });
    expect(table.get(id)).toMatchObject({ phase: "restarting", exit });
    table.handle({ kind: "placed", id, worker: facts("second" as ProcessId) });
    table.handle({ kind: "started", id, incarnation: 1, nowMs: 0 });
    table.handle({ kind: "kill", id, restart: false });
    expect(table.get(id)).toMatchObject({ phase: "dead", reason: "it was killed by kill()", exit: undefined });
    const last = { workerId: "second", signal: "SIGKILL" } as unknown as WorkerExitedHeader;
    table.handle({ kind: "workerExited", worker: "second" as ProcessId, exit: last, intended: true, nowMs: 0 });
    expect(table.get(id)?.exit).toBe(last);
  });

  test("with restarts it gets a next incarnation, as often as allowed", () => {
    const table = alive({ maxRestarts: 1 });
    expect(kinds(table.handle({ kind: "workerExited", worker, exit: undefined, intended: false, nowMs: 0 }))).toEqual([
      "state",
      "gone",
      "place",
    ]);
    expect(table.get(id)).toMatchObject({ phase: "restarting", incarnation: 1 });
    const second = "second" as ProcessId;
    table.handle({ kind: "placed", id, worker: facts(second) });
    expect(table.handle({ kind: "started", id, incarnation: 0, nowMs: 0 })).toEqual([]);
    table.handle({ kind: "started", id, incarnation: 1, nowMs: 0 });
    expect(table.get(id)?.phase).toBe("alive");
    table.handle({ kind: "workerExited", worker: second, exit: undefined, intended: false, nowMs: 0 });
    expect(table.get(id)?.phase).toBe("dead");
  });

  test("an end of its own choice is no reason to restart it", () => {
    const table = alive({ maxRestarts: -1 });
    table.handle({ kind: "workerExited", worker, exit: undefined, intended: true, nowMs: 0 });
    expect(table.get(id)?.phase).toBe("dead");
  });

  test("a failed constructor is its death, with the error", () => {
    const table = checked(new ActorTable());
    table.handle({
      kind: "create",
      id,
      creator,
      options: options({ maxRestarts: 5 }),
      spec,
    });
    table.handle({ kind: "placed", id, worker: facts(worker) });
    const effects = table.handle({ kind: "startFailed", id, incarnation: 0, error: { header: args, body: new Uint8Array([1]) } });
    expect(kinds(effects)).toEqual(["state", "gone", "end", "ended"]);
    expect(table.get(id)?.error?.body).toEqual(new Uint8Array([1]));
  });

  test("the end of its creator ends it; the end of a watcher does not", () => {
    const table = alive();
    table.handle({ kind: "watch", id, process: "watcher" as ProcessId });
    table.handle({ kind: "processGone", process: "watcher" as ProcessId });
    expect(table.get(id)?.phase).toBe("alive");
    table.handle({ kind: "processGone", process: creator });
    expect(table.get(id)?.phase).toBe("dead");
  });

  test("one that nobody holds may finish its calls before it ends", () => {
    const effects = alive().handle({ kind: "unheld", id });
    expect(effects).toMatchObject([{ kind: "end", worker, afterPending: true }]);
  });

  test("a detached one outlives its creator and its handles, and its name stays", () => {
    const table = alive({ isDetached: true, name: "x" });
    expect(table.handle({ kind: "processGone", process: creator })).toEqual([]);
    expect(table.handle({ kind: "unheld", id })).toEqual([]);
    expect(table.named("x", "n")?.phase).toBe("alive");
    table.handle({ kind: "kill", id, restart: false });
    expect(table.get(id)?.phase).toBe("dead");
  });

  test("the name of one that ends is free before it has ended", () => {
    const unheld = alive({ name: "x" });
    unheld.handle({ kind: "unheld", id });
    expect(unheld.named("x", "n")).toBeUndefined();
    expect(unheld.get(id)?.phase).toBe("alive");
    const leaving = alive({ name: "x", maxRestarts: -1 });
    expect(leaving.handle({ kind: "leaving", worker, leaving: { ending: "exited", reason: "it left" } })).toEqual([]);
    expect(leaving.named("x", "n")).toBeUndefined();
    leaving.handle({ kind: "workerExited", worker, exit: undefined, intended: false, nowMs: 0 });
    expect(leaving.get(id)).toMatchObject({ phase: "dead", reason: "it left" });
  });

  test("a worker that declines to become the actor uses up no restart, and its end is not the actor's", () => {
    const table = checked(new ActorTable());
    table.handle({ kind: "create", id, creator, options: options({ name: "x" }), spec });
    table.handle({ kind: "placed", id, worker: facts(worker) });
    const declines = { kind: "leaving", worker, leaving: { ending: "declined" } } as const;
    expect(table.handle(declines)).toMatchObject([{ kind: "gone" }, { kind: "place", delayMs: 0 }]);
    const second = "second" as ProcessId;
    expect(kinds(table.handle({ kind: "placed", id, worker: facts(second) }))).toEqual(["start"]);
    expect(table.handle({ kind: "workerExited", worker, exit: undefined, intended: true, nowMs: 0 })).toEqual([]);
    table.handle({ kind: "started", id, incarnation: 0, nowMs: 0 });
    expect(table.get(id)).toMatchObject({ phase: "alive", incarnation: 0, worker: facts(second) });
    expect(table.named("x", "n")?.id).toBe(id);
  });

  test("a worker cannot decline an actor that has started there", () => {
    const table = alive();
    expect(table.handle({ kind: "leaving", worker, leaving: { ending: "declined" } })).toEqual([]);
    expect(table.get(id)).toMatchObject({ phase: "alive", worker: facts(worker) });
  });

  test("restarts take longer and longer, until it has lived for a while", () => {
    const table = alive({ maxRestarts: -1 });
    let nowMs = 0;
    const die = (): number => {
      const effects = table.handle({ kind: "workerExited", worker, exit: undefined, intended: false, nowMs });
      table.handle({ kind: "placed", id, worker: facts(worker) });
      return effects.find((effect) => effect.kind === "place")?.delayMs ?? -1;
    };
    const start = (): void => void table.handle({ kind: "started", id, incarnation: table.get(id)?.incarnation ?? 0, nowMs });
    const dieAfter = (livedMs: number): number => {
      nowMs += livedMs;
      const delayMs = die();
      start();
      return delayMs;
    };
    expect([1, 1, 1, 1].map(dieAfter)).toEqual([0, 100, 200, 400]);
    expect(dieAfter(10_000)).toBe(0);
    expect(dieAfter(1)).toBe(100);
    expect(Array.from({ length: 10 }, () => dieAfter(1)).at(-1)).toBe(1_000);
    // From then on its constructor never gets through.
    expect(Array.from({ length: 3 }, die)).toEqual([1_000, 10_000, 10_000]);
  });

  test("a kill with a restart counts as one, and leaves alone what is being made", () => {
    const table = alive({ maxRestarts: 1 });
    expect(table.handle({ kind: "kill", id, restart: true })).toMatchObject([{ kind: "end", worker, afterPending: false }]);
    table.handle({ kind: "workerExited", worker, exit: undefined, intended: false, nowMs: 0 });
    expect(table.get(id)).toMatchObject({ phase: "restarting", restartsLeft: 0 });
    expect(kinds(table.handle({ kind: "kill", id, restart: true }))).toContain("ended");
    const pending = checked(new ActorTable());
    pending.handle({ kind: "create", id, creator, options: options({ maxRestarts: 1 }), spec });
    expect(pending.handle({ kind: "kill", id, restart: true })).toEqual([]);
    expect(pending.get(id)?.phase).toBe("pending");
  });

  test("what its constructor was given is let go of once, at its death", () => {
    const table = alive();
    const effects = table.handle({ kind: "kill", id, restart: false });
    expect(effects.at(-1)).toMatchObject({ kind: "ended", spec: { definition: "d" } });
    expect(kinds(table.handle({ kind: "workerExited", worker, exit: undefined, intended: false, nowMs: 0 }))).toEqual(["state"]);
    expect(table.get(id)?.spec).toBeUndefined();
  });

  test("another id under which it was found keeps it until nobody holds that", () => {
    const table = alive({ name: "x" });
    const other = "other" as ActorId;
    table.handle({ kind: "watch", id: other, process: "early" as ProcessId });
    expect(table.handle({ kind: "found", id: other, existing: id, creator: "maker" as ProcessId })).toMatchObject([
      { kind: "hold" },
      { kind: "redirect", from: other, watchers: new Set(["early"]) },
    ]);
    expect([table.aliasesOf(nodeTagOf("maker")), table.aliasesOf(nodeTagOf("early"))]).toEqual([[other], []]);
    expect(kinds(table.handle({ kind: "unheld", id: other }))).toEqual(["release"]);
    expect(table.aliasesOf(nodeTagOf("maker"))).toEqual([]);
    expect(table.handle({ kind: "unheld", id: other })).toEqual([]);
  });
});
