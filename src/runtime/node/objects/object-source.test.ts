import { expect, test } from "vitest";
import type { NodeTag, ObjectId } from "../../base/ids.ts";
import { MESSAGE, type WireLocation } from "../../wire/messages.ts";
import type { CopyKey } from "../../wire/objects/transfer-messages.ts";
import { ObjectSource } from "./object-source.ts";

const LOCATION: WireLocation = ["000000000000000a000000000000-1", 4096, 100, "memory"];
const KEY: CopyKey = ["0".repeat(40) as ObjectId, LOCATION];
const near = "000000000000000b" as NodeTag;

function source(stored: ReadonlySet<WireLocation>): { source: ObjectSource; told: unknown[] } {
  const told: unknown[] = [];
  const made = new ObjectSource({
    nodeTag: "000000000000000a" as NodeTag,
    memoryDirectory: "/nowhere",
    spillDirectory: "/nowhere",
    copyOf: () => undefined,
    adoptedSource: () => undefined,
    isStored: (location) => stored.has(location),
    hold: () => {},
    letGo: () => {},
    tell: (...message) => void told.push(message),
  });
  return { source: made, told };
}

test("a copy of an object that was freed before it was asked for goes, as nobody tells of that any more", () => {
  const { source: home, told } = source(new Set());
  home.copyState(near, [KEY, 1, "whole"]);
  expect(told).toEqual([[near, MESSAGE.COPY_FREED, KEY]]);
  expect(home.copiedCount).toBe(0);
  home.copyState(near, [KEY, 1, "gone"]);
  expect(told).toHaveLength(1);
});

test("a copy of an object that is there stays until that is freed", () => {
  const { source: home, told } = source(new Set([LOCATION]));
  home.copyState(near, [KEY, 1, "whole"]);
  expect(told).toEqual([]);
});
