import { describe, expect, test } from "vitest";
import type { ActorId, NodeId, NodeTag, ProcessId } from "../../base/ids.ts";
import type { GroupCreateHeader } from "../../wire/messages.ts";
import { type GroupEvent, PlacementGroupTable } from "./placement-group-table.ts";

const owner = "actor" as ActorId;
const node = "node" as NodeId;
const other = "other" as NodeId;

function create(id: string, more: Partial<GroupCreateHeader> = {}): GroupEvent {
  const bundles = [{ CPU: 2 }, { CPU: 2 }];
  const header = {
    id,
    name: undefined,
    namespace: "n",
    strategy: "PACK" as const,
    bundles,
    labels: [{}, {}],
    isDetached: false,
    owner,
    ...more,
  };
  return { kind: "create", header };
}

function kinds(table: PlacementGroupTable, event: GroupEvent): string[] {
  return table.handle(event).map((effect) => effect.kind);
}

describe("the placement-group table", () => {
  test("a group is pending until its bundles are reserved, and knows then where they lie", () => {
    const table = new PlacementGroupTable();
    expect(kinds(table, create("g"))).toEqual(["reserve"]);
    expect(table.get("g")?.header).toMatchObject({ state: "pending", nodeIds: [] });
    expect(kinds(table, { kind: "reserved", id: "g", nodeIds: [node, node] })).toEqual(["settled"]);
    expect(table.get("g")?.header).toMatchObject({ state: "created", nodeIds: ["node" as NodeId, "node" as NodeId] });
    expect([kinds(table, { kind: "reserved", id: "g", nodeIds: [node, node] }), kinds(table, create("g"))]).toEqual([[], []]);
  });

  test("bundles of a dead node are placed again, and whoever looks then waits for that", () => {
    const table = new PlacementGroupTable();
    table.handle(create("g"));
    table.handle({ kind: "reserved", id: "g", nodeIds: [node, other] });
    expect(kinds(table, { kind: "lost", id: "g", indices: [0] })).toEqual([]);
    expect(table.get("g")?.header).toMatchObject({ state: "rescheduling", nodeIds: [undefined, other] });
    expect(kinds(table, { kind: "reserved", id: "g", nodeIds: [other, other] })).toEqual(["settled"]);
    expect(table.get("g")?.header).toMatchObject({ state: "created", nodeIds: [other, other] });
    table.handle({ kind: "remove", id: "g", reason: "x" });
    expect(kinds(table, { kind: "lost", id: "g", indices: [0] })).toEqual([]);
    expect(table.get("g")?.header.state).toBe("removed");
  });

  test("tells which processes of a node made groups that are still there, whose end is theirs", () => {
    const table = new PlacementGroupTable();
    const [tag, driver] = ["a".repeat(16) as NodeTag, `${"a".repeat(16)}1` as ProcessId];
    table.handle(create("g", { owner: driver }));
    table.handle(create("h", { owner: `${"b".repeat(16)}1` as ProcessId }));
    table.handle(create("i", { owner: `${"a".repeat(16)}2` as ProcessId }));
    table.handle({ kind: "remove", id: "i", reason: "x" });
    expect([...table.ownersOf(tag)]).toEqual([driver]);
    expect(kinds(table, { kind: "ownerGone", owner: driver })).toEqual(["settled", "release"]);
    expect([...table.ownersOf(tag)]).toEqual([]);
  });

  test("removal is told once, and after it nothing comes back", () => {
    const table = new PlacementGroupTable();
    table.handle(create("g"));
    expect(kinds(table, { kind: "remove", id: "g", reason: "x" })).toEqual(["settled", "release"]);
    expect([
      kinds(table, { kind: "remove", id: "g", reason: "x" }),
      kinds(table, { kind: "reserved", id: "g", nodeIds: [node, node] }),
    ]).toEqual([[], []]);
    expect(kinds(table, { kind: "remove", id: "unknown", reason: "x" })).toEqual([]);
  });

  test("one that is removed before it is known is never there", () => {
    const table = new PlacementGroupTable();
    expect([table.isRemoved("g"), kinds(table, { kind: "remove", id: "g", reason: "early" }), table.isRemoved("g")]).toEqual([
      false,
      [],
      true,
    ]);
    expect(kinds(table, create("g"))).toEqual(["settled", "release"]);
    expect(table.get("g")).toMatchObject({ header: { state: "removed" }, reason: "early" });
    for (let index = 0; index < 1_001; index += 1) table.handle({ kind: "remove", id: `other ${index}`, reason: "x" });
    expect([table.isRemoved("other 0"), table.isRemoved("other 1")]).toEqual([false, true]);
  });

  test("a name belongs to one living group of a namespace", () => {
    const table = new PlacementGroupTable();
    table.handle(create("first", { name: "x" }));
    expect(kinds(table, create("second", { name: "x" }))).toEqual(["settled", "release"]);
    expect(table.get("second")?.reason).toContain("exists already");
    expect(kinds(table, create("elsewhere", { name: "x", namespace: "other" }))).toEqual(["reserve"]);
    table.handle({ kind: "remove", id: "first", reason: "x" });
    expect(table.named("x", "n")).toBeUndefined();
    expect(kinds(table, create("third", { name: "x" }))).toEqual(["reserve"]);
  });

  test("it ends with its owner unless it is detached or the session's", () => {
    const table = new PlacementGroupTable();
    table.handle(create("mortal"));
    table.handle(create("detached", { isDetached: true }));
    table.handle(create("everybody's", { owner: undefined }));
    expect(kinds(table, { kind: "ownerGone", owner: "other" as ActorId })).toEqual([]);
    expect(kinds(table, { kind: "ownerGone", owner })).toEqual(["settled", "release"]);
    expect(table.list().map(({ state }) => state)).toEqual(["removed", "pending", "pending"]);
  });
});
