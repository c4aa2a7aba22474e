/** Tests that a read returns the written value, in parts if it is long, and that a forgotten record is gone. */
import { describe, expect, test } from "vitest";
import type { ActorId, NodeId, ProcessId } from "../../base/ids.ts";
import type { DefinitionHeader } from "../../wire/calls/definition-messages.ts";
import type { ActorOptionsHeader, PayloadHeader } from "../../wire/messages.ts";
import type { KeyValue } from "../key-values.ts";
import { KEY_VALUES_BYTES_MAX } from "../limits.ts";
import { HEAD_PREFIX } from "./head-records.ts";
import { RecordedTables } from "./recorded-tables.ts";
import type { StoreWrite } from "../../control-plane/control-store.ts";
import { MemoryStore } from "../../control-plane/memory-store.ts";

const idOf = (digit: string): string => digit.repeat(32);
const creator = idOf("c") as ProcessId;
const args: PayloadHeader = { inBand: 3, buffers: [], graph: false, error: false, definitions: [], refs: [], stored: undefined };

function options(more: Partial<ActorOptionsHeader> = {}): ActorOptionsHeader {
  return {
    name: undefined,
    namespace: "n",
    getIfExists: false,
    resources: { CPU: 1 },
    shape: "CPU:10000",
    group: undefined,
    maxRestarts: 3,
    isDetached: true,
    interface: {
      className: "C",
      methods: { m: { a: 1 } },
      groups: { default: 1 },
      maxTaskRetries: 0,
      maxPendingCalls: -1,
      allowOutOfOrderExecution: false,
    },
    ...more,
  };
}

class Bench {
  readonly store = new MemoryStore();
  readonly tables = new RecordedTables();

  async keep(): Promise<StoreWrite[]> {
    const writes = this.tables.takeWrites();
    if (writes.length > 0) await this.store.transaction({ writes });
    return writes;
  }

  async next(): Promise<RecordedTables> {
    const next = new RecordedTables();
    next.restore(await this.store.list(HEAD_PREFIX));
    return next;
  }

  create(id: string, { name, bytes = 3 }: { name?: string; bytes?: number } = {}): void {
    const spec = { definition: "d", args, deps: [args], body: new Uint8Array(bytes).fill(7) };
    this.tables.actors.handle({ kind: "create", id: id as ActorId, creator, options: options({ name }), spec });
  }
}

const facts = { id: idOf("e") as ProcessId, holderId: idOf("e") as ProcessId, pid: 1, address: "a", remoteAddress: "r" };

describe("records of the head", () => {
  test("an actor comes back as it was: its options, its arguments, its name and its place", async () => {
    const bench = new Bench();
    bench.create("a", { name: "x" });
    bench.tables.actors.handle({ kind: "placed", id: "a" as ActorId, worker: facts });
    bench.tables.actors.handle({ kind: "started", id: "a" as ActorId, incarnation: 0, nowMs: 5 });
    await bench.keep();
    const next = await bench.next();
    const { watchers: _w, startedMs: _s, ...before } = bench.tables.actors.get("a" as ActorId) ?? {};
    expect(next.actors.named("x", "n")).toMatchObject(before);
    expect(next.actors.byWorker(facts.id)?.id).toBe("a");
    expect(next.takeWrites()).toEqual([]);
  });

  test("a change writes what is small, and not the arguments", async () => {
    const bench = new Bench();
    bench.create("a", { bytes: 100_000 });
    expect((await bench.keep()).map(({ key }) => key)).toEqual(["head.spec.a", "head.actor.a"]);
    bench.tables.actors.handle({ kind: "placed", id: "a" as ActorId, worker: facts });
    const [change, ...none] = await bench.keep();
    expect(change?.key).toBe("head.actor.a");
    expect(change?.value?.byteLength).toBeLessThan(400);
    expect(none).toEqual([]);
  });

  test("long arguments are spread over keys of one commit, and all of them go at the actor's death", async () => {
    const bench = new Bench();
    bench.create("a", { bytes: 1_500_000 });
    expect((await bench.keep()).map(({ key }) => key)).toEqual(["head.spec.a", "head.spec.a.1", "head.spec.a.2", "head.actor.a"]);
    const next = await bench.next();
    expect(next.actors.get("a" as ActorId)?.spec?.body).toEqual(new Uint8Array(1_500_000).fill(7));
    next.actors.handle({ kind: "kill", id: "a" as ActorId, restart: false });
    await bench.store.transaction({ writes: next.takeWrites() });
    const keys = (await bench.store.list(HEAD_PREFIX)).map(({ key }) => key);
    expect(keys.toSorted()).toEqual(["head.actor.a", "head.spec.a"]);
    expect((await bench.next()).actors.get("a" as ActorId)).toMatchObject({
      phase: "dead",
      spec: undefined,
      reason: "it was killed by kill()",
    });
  });

  test("values by name come back as they were put, long ones in parts, and not those that were deleted", async () => {
    const bench = new Bench();
    const value = (key: string, bytes: number): KeyValue => ({
      namespace: "n.s",
      key,
      form: "bytes",
      by: key,
      body: new Uint8Array(bytes).fill(7),
    });
    for (const [key, bytes] of [
      ["long", 700_000],
      ["a/ü.b", 3],
      ["gone", 1],
    ] as const)
      bench.tables.values.put(value(key, bytes), { overwrite: true });
    await bench.keep();
    bench.tables.values.delete({ namespace: "n.s", key: "gone" });
    bench.tables.values.put(value("long", 10), { overwrite: false });
    expect((await bench.keep()).map(({ value: written }) => written)).toEqual([undefined]);
    const next = await bench.next();
    expect(next.values.list({ namespace: "n.s", prefix: "" })).toEqual(["a/ü.b", "long"]);
    expect(next.values.get({ namespace: "n.s", key: "long" })).toEqual(value("long", 700_000));
    expect(next.takeWrites()).toEqual([]);
    // Restored values count towards the limit on all values.
    const large = { ...value("large", 0), body: { byteLength: KEY_VALUES_BYTES_MAX } as Uint8Array };
    expect(next.values.roomObstacle(large)).toContain("they would take");
    expect(next.values.roomObstacle(large)).toBe(bench.tables.values.roomObstacle(large));
    next.values.put({ ...value("long", 5), by: "another" }, { overwrite: true });
    await bench.store.transaction({ writes: next.takeWrites() });
    const keys = (await bench.store.list(HEAD_PREFIX)).map(({ key }) => key);
    expect(keys).toHaveLength(2);
  });

  test("one that is ending has no name, and the order of creation stays", async () => {
    const bench = new Bench();
    for (const id of ["c", "a", "b"]) bench.create(id, { name: id });
    bench.tables.actors.handle({ kind: "placed", id: "a" as ActorId, worker: facts });
    bench.tables.actors.handle({ kind: "leaving", worker: facts.id, leaving: undefined });
    await bench.keep();
    const next = await bench.next();
    expect(Array.from(next.actors.all(), ({ id }) => id)).toEqual(["c", "a", "b"]);
    expect(next.actors.namesIn("n", 9)).toEqual(["c", "b"]);
  });

  test("ids for which another actor was found mean it also after a restart", async () => {
    const bench = new Bench();
    const existing = idOf("a") as ActorId;
    bench.create(existing, { name: "x" });
    bench.tables.actors.handle({ kind: "found", id: "other" as ActorId, existing, creator });
    await bench.keep();
    expect((await bench.next()).actors.aliasOf("other" as ActorId)).toEqual({ existing, creator });
    bench.tables.actors.handle({ kind: "unheld", id: "other" as ActorId });
    await bench.keep();
    expect((await bench.next()).actors.aliasOf("other" as ActorId)).toBeUndefined();
  });

  test("the oldest of the dead are forgotten in the store, too, also those of an earlier head", async () => {
    const bench = new Bench();
    const die = (tables: RecordedTables, index: number): void => {
      const id = `a${index}` as ActorId;
      const spec = { definition: "d", args, deps: [], body: new Uint8Array() };
      tables.actors.handle({ kind: "create", id, creator, options: options(), spec });
      tables.actors.handle({ kind: "kill", id, restart: false });
    };
    for (let index = 0; index < 10_000; index += 1) {
      die(bench.tables, index);
      await bench.keep();
    }
    const next = await bench.next();
    for (let index = 10_000; index < 10_010; index += 1) die(next, index);
    await bench.store.transaction({ writes: next.takeWrites() });
    const keys = (await bench.store.list("head.actor")).map(({ key }) => key);
    expect(keys).toHaveLength(10_000);
    expect(keys).not.toContain("head.actor.a9");
    expect(keys).toContain("head.actor.a10");
  });

  test("dead nodes come back with the time at which they were found dead, in that order", async () => {
    const bench = new Bench();
    // The order of keys is reversed. A record of a version without times is the oldest.
    for (const [name, goneMs] of [
      ["c", 1],
      ["b", 2],
      ["a", 3],
      ["d", undefined],
    ] as const)
      bench.tables.node({ nodeId: idOf(name) as NodeId, incarnation: "1", state: "dead", reason: "so", info: undefined, goneMs });
    await bench.keep();
    const { nodes } = new RecordedTables().restore(await bench.store.list(HEAD_PREFIX));
    expect(nodes.map(({ nodeId, goneMs }) => [nodeId, goneMs])).toEqual([
      [idOf("d"), undefined],
      [idOf("c"), 1],
      [idOf("b"), 2],
      [idOf("a"), 3],
    ]);
  });

  test("definitions come back under both of their names", async () => {
    const bench = new Bench();
    const header: DefinitionHeader = {
      number: 4,
      id: "f",
      contentId: "hash",
      name: "f",
      inBand: 2,
      buffers: [],
      dependencies: [],
      refs: [],
      stored: undefined,
    };
    bench.tables.definitions.define(header, new Uint8Array([1, 2]));
    expect(await bench.keep()).toHaveLength(2);
    bench.tables.definitions.define(header, new Uint8Array([1, 2]));
    expect(await bench.keep()).toEqual([]);
    const next = await bench.next();
    const found: unknown[] = [];
    for (const id of ["f", "hash"]) next.definitions.fetch(id, (definition) => found.push((definition as { body: Uint8Array }).body));
    expect(found).toEqual([new Uint8Array([1, 2]), new Uint8Array([1, 2])]);
  });

  test("what environments mean is kept once", async () => {
    const bench = new Bench();
    bench.tables.environments.described({ key: "k", description: { packages: ["a"] } });
    expect(await bench.keep()).toHaveLength(1);
    bench.tables.environments.described({ key: "k", description: { packages: ["a"] } });
    expect(await bench.keep()).toEqual([]);
    const next = await bench.next();
    next.environments.fetch("k", (description) => expect(description).toEqual({ packages: ["a"] }));
    expect(next.environments.has("k")).toBe(true);
    expect(next.takeWrites()).toEqual([]);
  });

  test("placement groups come back, those that are not reserved to be placed again", async () => {
    const bench = new Bench();
    const header = {
      name: "g",
      namespace: "n",
      strategy: "PACK" as const,
      bundles: [{ CPU: 1 }],
      labels: [{}],
      isDetached: true,
      owner: undefined,
    };
    const nodeIds = [idOf("a") as NodeId, idOf("b") as NodeId];
    bench.tables.groups.handle({ kind: "create", header: { ...header, id: "1" } });
    bench.tables.groups.handle({ kind: "reserved", id: "1", nodeIds });
    bench.tables.groups.handle({ kind: "lost", id: "1", indices: [1] });
    bench.tables.groups.handle({ kind: "create", header: { ...header, id: "2", name: undefined } });
    await bench.keep();
    const { groups } = await bench.next();
    expect(groups.named("g", "n")).toMatchObject({ header: { state: "rescheduling", nodeIds: [nodeIds[0], undefined] } });
    expect(groups.get("2")?.header.state).toBe("pending");
  });
});

test("a record that no head has written is not taken for one", () => {
  const node = { nodeId: "not an id" as NodeId, incarnation: "1", state: "dead" as const, reason: "so", info: undefined };
  const bench = new Bench();
  bench.tables.node(node);
  const entries = bench.tables.takeWrites().flatMap(({ key, value }) => (value === undefined ? [] : [{ key, value, revision: 1 }]));
  expect(() => new RecordedTables().restore(entries)).toThrow(/^Cannot read the record head\.node\..*nodeId is not an id/);
});
