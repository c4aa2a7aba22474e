import { describe, expect, test } from "vitest";
import type { ActorId, ProcessId } from "../base/ids.ts";
import type { ActorOptionsHeader, PayloadHeader } from "../wire/messages.ts";
import { type ActorEffect, ActorTable } from "./actor-table.ts";

const id = "actor" as ActorId;
const creator = "creator" as ProcessId;
const worker = "worker" as ProcessId;
const args: PayloadHeader = { inBand: 0, buffers: [], graph: false, error: false, definitions: [], refs: [], stored: undefined };

function options(more: Partial<ActorOptionsHeader> = {}): ActorOptionsHeader {
  return {
    name: undefined,
    namespace: "n",
    getIfExists: false,
    resources: {},
    maxRestarts: 0,
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
  const table = new ActorTable();
  table.handle({ kind: "create", id, creator, options: options(more), spec: { definition: "d", args, deps: [], body: new Uint8Array() } });
  table.handle({ kind: "placed", id, worker });
  table.handle({ kind: "started", id, incarnation: 0 });
  return table;
}

function kinds(effects: readonly ActorEffect[]): string[] {
  return effects.map((effect) => effect.kind);
}

describe("the actor table", () => {
  test("an actor is placed, started, and known to its creator", () => {
    expect(alive().get(id)).toMatchObject({ phase: "alive", incarnation: 0, worker });
  });

  test("creating twice is creating once", () => {
    const table = alive();
    expect(
      table.handle({ kind: "create", id, creator, options: options(), spec: { definition: "d", args, deps: [], body: new Uint8Array() } }),
    ).toEqual([]);
  });

  test("without restarts its process' end is its death, and its name is free again", () => {
    const table = alive({ name: "x" });
    expect(table.named("x", "n")?.id).toBe(id);
    expect(kinds(table.handle({ kind: "workerExited", worker, exit: undefined, intended: false }))).toEqual(["state", "gone"]);
    expect(table.get(id)?.phase).toBe("dead");
    expect(table.named("x", "n")).toBeUndefined();
  });

  test("with restarts it gets a next incarnation, as often as allowed", () => {
    const table = alive({ maxRestarts: 1 });
    expect(kinds(table.handle({ kind: "workerExited", worker, exit: undefined, intended: false }))).toEqual(["state", "gone", "place"]);
    expect(table.get(id)).toMatchObject({ phase: "restarting", incarnation: 1 });
    const second = "second" as ProcessId;
    table.handle({ kind: "placed", id, worker: second });
    expect(table.handle({ kind: "started", id, incarnation: 0 })).toEqual([]);
    table.handle({ kind: "started", id, incarnation: 1 });
    expect(table.get(id)?.phase).toBe("alive");
    table.handle({ kind: "workerExited", worker: second, exit: undefined, intended: false });
    expect(table.get(id)?.phase).toBe("dead");
  });

  test("an end of its own choice is no reason to restart it", () => {
    const table = alive({ maxRestarts: -1 });
    table.handle({ kind: "workerExited", worker, exit: undefined, intended: true });
    expect(table.get(id)?.phase).toBe("dead");
  });

  test("a failed constructor is its death, with the error", () => {
    const table = new ActorTable();
    table.handle({
      kind: "create",
      id,
      creator,
      options: options({ maxRestarts: 5 }),
      spec: { definition: "d", args, deps: [], body: new Uint8Array() },
    });
    table.handle({ kind: "placed", id, worker });
    const effects = table.handle({ kind: "startFailed", id, incarnation: 0, error: { header: args, body: new Uint8Array([1]) } });
    expect(kinds(effects)).toEqual(["state", "gone", "end"]);
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
});
