/** The test plays a busy process; the collector decides when it collects. */
import { beforeEach, expect, test } from "vitest";
import { HandleCollector } from "./handle-collector.ts";
import { HANDLE_GARBAGE_BYTES, HANDLES_BEFORE_COLLECTION } from "../limits.ts";

let handles: number;
let collections: number;
let heapBytes: number;
/** Handles that the program keeps; a collection ends all others. */
let kept: number;
let due: (() => void)[];
let collector: HandleCollector;

beforeEach(() => {
  [handles, collections, heapBytes, kept, due] = [0, 0, 0, 0, []];
  collector = new HandleCollector({
    collect: () => {
      collections += 1;
      return heapBytes;
    },
    later: (run) => due.push(run),
  });
});

/** @returns the most handles that there were at one time */
function make(count: number): number {
  let most = 0;
  for (let made = 0; made < count; made += 1) {
    collector.added((handles += 1));
    most = Math.max(most, handles);
    for (const run of due.splice(0)) {
      run();
      handles = kept;
    }
  }
  return most;
}

test("a process that makes few references never collects", () => {
  make(HANDLES_BEFORE_COLLECTION - 1);
  expect(collections).toBe(0);
});

test("dropped references stay within a limit, however many are made", () => {
  expect(make(100 * HANDLES_BEFORE_COLLECTION)).toBe(HANDLES_BEFORE_COLLECTION);
  expect(collections).toBe(100);
});

test("references that are kept do not count again", () => {
  kept = 3 * HANDLES_BEFORE_COLLECTION;
  handles = kept;
  make(10 * HANDLES_BEFORE_COLLECTION);
  expect(collections).toBe(10);
});

test("a large heap is collected after as many bytes of garbage as it holds", () => {
  heapBytes = 10 * HANDLES_BEFORE_COLLECTION * HANDLE_GARBAGE_BYTES;
  make(HANDLES_BEFORE_COLLECTION);
  expect(collections).toBe(1);
  make(10 * HANDLES_BEFORE_COLLECTION - 1);
  expect(collections).toBe(1);
  make(1);
  expect(collections).toBe(2);
});

test("one collection is planned at a time", () => {
  for (let made = 0; made < 5 * HANDLES_BEFORE_COLLECTION; made += 1) collector.added((handles += 1));
  expect(due).toHaveLength(1);
});
