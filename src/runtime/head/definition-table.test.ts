/** How long the head keeps definitions. */
import { expect, test } from "vitest";
import { type NodeTag, nodeTagOf, type ObjectId, type ProcessId } from "../base/ids.ts";
import type { DefinitionHeader } from "../wire/calls/definition-messages.ts";
import { WireError } from "../wire/wire-error.ts";
import { DefinitionTable, type StoredDefinition } from "./definition-table.ts";

const OWNER = "0123456789abcdef0000000000000001" as ProcessId;
const NODE: NodeTag = nodeTagOf(OWNER);
const OTHER = "fedcba9876543210" as NodeTag;
const BODY = new Uint8Array([1, 2, 3]);

function header(id: string, contentId: string, reference?: string): DefinitionHeader {
  return {
    number: 0,
    id,
    contentId,
    name: "f",
    inBand: 3,
    buffers: [],
    dependencies: [],
    refs: [],
    stored: undefined,
    reference: reference as ObjectId | undefined,
    owner: OWNER,
  };
}

function textOf(found: StoredDefinition | WireError): string {
  return found instanceof WireError ? found.message : found.header.id;
}

test("a definition is there as long as its reference is held", () => {
  const table = new DefinitionTable();
  table.define(header("1", "c", "r"), BODY);
  expect([table.has("1"), table.has("c")]).toEqual([true, true]);
  table.unheld("r" as ObjectId, OTHER);
  expect(table.has("1")).toBe(true);
  table.unheld("r" as ObjectId, NODE);
  expect([table.has("1"), table.has("c"), table.size]).toEqual([false, false, 0]);
});

test("of equal content each has its own end, and the content ends with the last", () => {
  const table = new DefinitionTable();
  table.define(header("1", "c", "r"), BODY);
  table.define(header("2", "c", "s"), BODY);
  table.unheld("r" as ObjectId, NODE);
  expect([table.has("1"), table.has("2"), table.has("c")]).toEqual([false, true, true]);
  table.unheld("s" as ObjectId, NODE);
  expect(table.has("c")).toBe(false);
});

test("a class that several processes sent ends with the last of their references", () => {
  const table = new DefinitionTable();
  table.define(header("c", "c", "r"), BODY);
  table.define(header("c", "c", "s"), BODY);
  table.unheld("r" as ObjectId, NODE);
  expect(table.has("c")).toBe(true);
  table.unheld("s" as ObjectId, NODE);
  expect(table.has("c")).toBe(false);
});

test("what a dead node counted goes, but what an actor starts again from", () => {
  const table = new DefinitionTable();
  for (const id of ["1", "2"]) table.define(header(id, `c${id}`, `r${id}`), BODY);
  table.define(header("3", "c3"), BODY);
  table.nodeGone(NODE, (id) => id === "2");
  expect(["1", "2", "3"].map((id) => table.has(id))).toEqual([false, true, true]);
});

test("one that comes after the question for it answers that", () => {
  const table = new DefinitionTable();
  const found: string[] = [];
  table.fetch("1", (definition) => found.push(textOf(definition)));
  table.define(header("1", "c", "r"), BODY);
  expect(found).toEqual(["1"]);
});

test("a function that has gone is refused by its name, and a class is waited for", () => {
  const table = new DefinitionTable();
  const found: string[] = [];
  table.define(header("1", "c", "r"), BODY);
  table.define(header("k", "k", "s"), BODY);
  table.nodeGone(NODE, () => false);
  for (const id of ["1", "k"]) table.fetch(id, (definition) => found.push(textOf(definition)));
  expect(found).toEqual([expect.stringMatching(/^Cannot run f: its definition is gone: .* export it from a module/)]);
  table.define(header("k", "k", "t"), BODY);
  expect(found).toHaveLength(2);
});

test("of functions that have gone the last thousand are known", () => {
  const table = new DefinitionTable();
  for (let number = 0; number <= 1000; number += 1) {
    table.define(header(`f${number}`, `c${number}`, `r${number}`), BODY);
    table.unheld(`r${number}` as ObjectId, NODE);
  }
  const found: string[] = [];
  for (const id of ["f0", "f1", "f1000"]) table.fetch(id, () => found.push(id));
  expect(found).toEqual(["f1", "f1000"]);
});
