/** When handles of stored objects are looked for, and that each end is told once. The native part's watches are played. */
import { beforeEach, describe, expect, test } from "vitest";
import { KEPT_BEFORE_COLLECTION_BYTES, YOUNG_BYTES_MAX } from "../limits.ts";
import { WatchedHandles } from "./watched-handles.ts";

const MEGABYTE = 1_048_576;
let watches: Map<object, () => void>;
let collections: string[];
let later: (() => void)[];
let looked: number;
let gone: number;
let heapBytes: number;
let handles: WatchedHandles;

beforeEach(() => {
  watches = new Map();
  collections = [];
  later = [];
  looked = 0;
  gone = 0;
  heapBytes = 0;
  handles = new WatchedHandles({
    memory: {
      watch: (object, onReleased) => {
        if (watches.has(object)) return false;
        watches.set(object, onReleased);
        return true;
      },
      unwatch: (object) => {
        const ended = watches.get(object);
        watches.delete(object);
        return ended;
      },
    },
    collectYoung: () => collections.push("young"),
    collect: () => {
      collections.push("full");
      return heapBytes;
    },
    later: (run) => later.push(run),
    onWatched: () => {
      looked += 1;
    },
  });
});

/** @returns the handle of an object of this size */
function watched(sizeBytes: number): object {
  const handle = {};
  expect(
    handles.watch(handle, sizeBytes, () => {
      gone += 1;
    }),
  ).toBe(true);
  return handle;
}

function end(handle: object): void {
  watches.get(handle)?.();
  watches.delete(handle);
}

describe("an end", () => {
  test("is told at the next look, once", () => {
    const handle = watched(MEGABYTE);
    expect([looked, handles.count]).toEqual([1, 1]);
    end(handle);
    expect([gone, handles.count]).toEqual([0, 1]);
    handles.release();
    handles.release();
    expect([gone, handles.count]).toEqual([1, 0]);
  });

  test("of a watch that was taken back is not told", () => {
    const handle = watched(MEGABYTE);
    expect(handles.unwatch(handle)).toBe(true);
    expect(handles.unwatch(handle)).toBe(false);
    handles.release();
    expect([gone, handles.count]).toEqual([0, 0]);
  });

  test("is left to others for what is watched already, and without the native part", () => {
    const handle = watched(MEGABYTE);
    expect(handles.watch(handle, MEGABYTE, () => {})).toBe(false);
    const none = new WatchedHandles({
      memory: undefined,
      collectYoung: () => {},
      collect: () => 0,
      later: (run) => run(),
      onWatched: () => {},
    });
    expect(none.watch({}, MEGABYTE, () => {})).toBe(false);
    expect(none.unwatch({})).toBe(false);
  });
});

describe("young garbage", () => {
  test("is collected after so many bytes of handles or of views, whichever are more", () => {
    const each = YOUNG_BYTES_MAX / 16;
    for (let index = 0; index < 32; index += 1) {
      const handle = watched(each);
      handles.mapped(each);
      end(handle);
      handles.unmapped(each);
    }
    expect(collections).toEqual(["young", "young"]);
  });

  test("that lived longer is collected with the whole heap, and what is left then is no reason for the next time", () => {
    const each = YOUNG_BYTES_MAX;
    const perCollection = KEPT_BEFORE_COLLECTION_BYTES / each;
    const kept = Array.from({ length: perCollection }, () => watched(each));
    expect(later).toHaveLength(1);
    for (const run of later.splice(0)) run();
    expect(collections.filter((kind) => kind === "full")).toHaveLength(1);
    kept.push(...Array.from({ length: perCollection - 1 }, () => watched(each)));
    expect(later).toEqual([]);
    kept.push(watched(each));
    for (const run of later.splice(0)) run();
    expect(collections.filter((kind) => kind === "full")).toHaveLength(2);
    for (const handle of kept) end(handle);
    handles.release();
    expect(gone).toBe(2 * perCollection);
  });

  test("waits for more in a larger heap, whose collection takes longer", () => {
    heapBytes = 3 * KEPT_BEFORE_COLLECTION_BYTES;
    const perCollection = KEPT_BEFORE_COLLECTION_BYTES / YOUNG_BYTES_MAX;
    const keepsOf = (collectionsCount: number) => Array.from({ length: collectionsCount * perCollection }, () => watched(YOUNG_BYTES_MAX));
    keepsOf(1);
    for (const run of later.splice(0)) run();
    keepsOf(2);
    expect(later).toEqual([]);
    keepsOf(1);
    expect(later).toHaveLength(1);
  });
});
