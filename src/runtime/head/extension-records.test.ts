/** Tests that tables of extensions are separate, hold only values of their shape, and return with the next head. */
import { expect, test } from "vitest";
import { number, text } from "../wire/header-shape.ts";
import type { StoreEntry } from "../control-plane/control-store.ts";
import { RecordedTables } from "./tables/recorded-tables.ts";

test("what is set is there for the next head, and what is deleted is not", () => {
  const tables = new RecordedTables();
  const sums = tables.extensionRecords.table("counter", "sums", number);
  const names = tables.extensionRecords.table("counter", "names", text);
  sums.set("a/b.c ä", 1);
  sums.set("b", 2);
  names.set("b", "two");
  sums.set("b", 3);
  expect(sums.delete("b")).toBe(true);
  expect(sums.delete("b")).toBe(false);
  const stored = new Map<string, Uint8Array>();
  for (const { key, value } of tables.takeWrites()) {
    if (value === undefined) stored.delete(key);
    else stored.set(key, value);
  }
  expect(tables.takeWrites()).toEqual([]);

  const next = new RecordedTables();
  next.restore(Array.from(stored, ([key, value]) => ({ key, value }) as StoreEntry));
  expect(next.takeWrites()).toEqual([]);
  const sumsAgain = next.extensionRecords.table("counter", "sums", number);
  expect(Array.from(sumsAgain.entries())).toEqual([["a/b.c ä", 1]]);
  expect(next.extensionRecords.table("counter", "names", text).get("b")).toBe("two");
  expect(() => next.extensionRecords.table("counter", "names", number)).toThrow(
    'its table names has a record "b" of another version: the value is not a finite number: received "two"',
  );
});

test("what cannot be kept is refused before anything changes", () => {
  const table = new RecordedTables().extensionRecords.table("counter", "sums", number);
  expect(() => table.set("a", "1" as never)).toThrow('Cannot set "a" in table sums: the value is not a finite number: received "1"');
  expect(() => table.set("k".repeat(1000), 1)).toThrow("Cannot set a key of 1000 characters in table sums: some 800 are the most");
  expect(() => new RecordedTables().extensionRecords.table("counter", "a/b", number)).toThrow('Cannot open table "a/b"');
  expect(table.size).toBe(0);
});
