/**
 * Writer and reader together on real files, with the native part and without it: nothing is lost, nothing leaks to others, nothing is left.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ObjectLostError } from "../../base/errors.ts";
import { collectGarbage } from "../../os/engine/garbage.ts";
import { memoryRoot } from "../../os/files/sessions/session-sweep.ts";
import { type SharedMemory, sharedMemory } from "../../os/shared-memory.ts";
import { ArenaReader, type StoredObject } from "./arena-reader.ts";
import { ArenaWriter } from "./arena-writer.ts";
import type { ObjectLocation } from "./layout.ts";
import { MAP_MIN_BYTES } from "../limits.ts";

const MEGABYTE = 1_048_576;
const native = sharedMemory();
const variants: [string, SharedMemory | undefined][] =
  native === undefined
    ? [["without the native part", undefined]]
    : [
        ["with the native part", native],
        ["without the native part", undefined],
      ];

let root = "";
let directories = { memoryDirectory: "", spillDirectory: "" };

beforeEach(() => {
  root = mkdtempSync(join(memoryRoot(), "shoal-store-test-"));
  directories = { memoryDirectory: join(root, "memory"), spillDirectory: join(root, "spill") };
  mkdirSync(directories.memoryDirectory);
  mkdirSync(directories.spillDirectory);
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

function bytes(length: number, seed = 1): Uint8Array {
  const result = new Uint8Array(length);
  for (let index = 0; index < length; index += 1) result[index] = (index * 31 + seed) & 255;
  return result;
}

function same(actual: Uint8Array | undefined, expected: Uint8Array): void {
  expect(actual !== undefined && Buffer.compare(actual, expected) === 0).toBe(true);
}

describe.each(variants)("%s", (_name, memory) => {
  let writer: ArenaWriter;
  let reader: ArenaReader;

  beforeEach(() => {
    writer = new ArenaWriter({ ...directories, processTag: "p1", quota: { freeBytes: () => 1024 * MEGABYTE }, memory });
    reader = new ArenaReader({ ...directories, memory });
  });

  afterEach(() => {
    writer.close();
    reader.close();
  });

  async function drained(count: number): Promise<number[]> {
    const tokens: number[] = [];
    for (let attempt = 0; attempt < 50 && tokens.length < count; attempt += 1) {
      collectGarbage();
      await nextTurn();
      tokens.push(...reader.drainReleased());
    }
    return tokens;
  }

  test("objects of all sizes come back exactly", () => {
    const sizes = [
      [0],
      [0, 0],
      [10],
      [70_000],
      [1, 4096, 5000, 0, 64],
      [MAP_MIN_BYTES - 100, 100],
      [20, 3 * MEGABYTE, 17],
      [100_000, 17 * MEGABYTE],
    ];
    const stored = sizes.map(([inBand = 0, ...lengths], index) => {
      const parts = { inBand: bytes(inBand, index), buffers: lengths.map((length, at) => bytes(length, index + at)) };
      return { parts, location: writer.write(parts.inBand, parts.buffers) };
    });
    for (const { parts, location } of stored) {
      const object = reader.read(location, 1);
      same(object.inBand, parts.inBand);
      expect(object.buffers.length).toBe(parts.buffers.length);
      for (const [index, buffer] of parts.buffers.entries()) same(object.buffers[index], buffer);
      expect(object.mapped).toBe(memory !== undefined && location.sizeBytes >= MAP_MIN_BYTES);
    }
  });

  test("any sequence of writes and releases keeps every living object intact", () => {
    const step = fc.record({
      isFree: fc.boolean(),
      pick: fc.nat(1000),
      lengths: fc.array(fc.oneof(fc.nat(300), fc.nat(20_000), fc.nat(1_300_000)), { minLength: 1, maxLength: 3 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const living: { location: ObjectLocation; seed: number; lengths: number[] }[] = [];
        let seed = 0;
        for (const { isFree, pick, lengths } of steps) {
          if (isFree && living.length > 0) {
            const [gone] = living.splice(pick % living.length, 1);
            if (gone !== undefined) writer.free(gone.location);
            continue;
          }
          seed += 1;
          const [inBand = 0, ...buffers] = lengths;
          living.push({
            location: writer.write(
              bytes(inBand, seed),
              buffers.map((length) => bytes(length, seed)),
            ),
            seed,
            lengths,
          });
        }
        for (const { location, seed: of, lengths } of living) {
          const object = reader.read(location, 1);
          for (const [index, part] of [object.inBand, ...object.buffers].entries()) same(part, bytes(lengths[index] as number, of));
          writer.free(location);
        }
        expect(writer.usedBytes).toBe(0);
      }),
      { numRuns: 15 },
    );
  });

  test("what a reader writes reaches neither the store nor another reader", () => {
    for (const length of [1000, 3 * MEGABYTE]) {
      const location = writer.write(bytes(10), [bytes(length)]);
      const first = reader.read(location, 1);
      const second = reader.read(location, 2);
      first.buffers[0]?.fill(0);
      first.inBand.fill(0);
      same(second.buffers[0], bytes(length));
      same(reader.read(location, 3).buffers[0], bytes(length));
    }
  });

  test("a reader reaches its own object through `.buffer`, and no byte of a neighbour", () => {
    for (const length of [5000, 100_000, 3 * MEGABYTE]) {
      writer.write(bytes(0), [bytes(5000)]);
      const location = writer.write(bytes(10), [bytes(length)]);
      const object = reader.read(location, 1);
      expect(object.buffers[0]?.buffer.byteLength).toBe(location.sizeBytes);
      expect(object.inBand.buffer).toBe(object.buffers[0]?.buffer);
    }
  });

  test("recycled pages show nothing of the object that was there", () => {
    for (const [index, length] of [100_000, 3 * MEGABYTE, 20 * MEGABYTE].entries()) {
      const ownWriter = new ArenaWriter({ ...directories, processTag: `w${index}`, quota: { freeBytes: () => 64 * MEGABYTE }, memory });
      const old = ownWriter.write(Buffer.alloc(100, 0xee), [Buffer.alloc(length, 0xee)]);
      ownWriter.free(old);
      const parts = [Buffer.alloc(length / 2 + 1), Buffer.alloc(length / 4 + 3), Buffer.alloc(50)];
      const fresh = ownWriter.write(Buffer.alloc(5), parts);
      expect(fresh.arena).toBe(old.arena);
      expect(fresh.offset).toBe(old.offset);
      const object = reader.read(fresh, 1);
      expect(new Uint8Array(object.inBand.buffer).includes(0xee)).toBe(false);
      ownWriter.close();
    }
  });

  test("large recycled objects come back exactly, also from memory of the user's threads", () => {
    writer.free(writer.write(bytes(100), [bytes(5 * MEGABYTE, 9)]));
    const shared = new Uint8Array(new SharedArrayBuffer(2 * MEGABYTE));
    shared.set(bytes(2 * MEGABYTE, 3));
    const location = writer.write(bytes(77), [bytes(1_100_001, 2), shared, bytes(3, 4)]);
    expect(location.offset).toBe(0);
    const object = reader.read(location, 1);
    same(object.inBand, bytes(77));
    same(object.buffers[0], bytes(1_100_001, 2));
    same(object.buffers[1], bytes(2 * MEGABYTE, 3));
    same(object.buffers[2], bytes(3, 4));
    writer.free(location);
    const own = writer.write(bytes(77), [bytes(1_100_001, 2), bytes(2 * MEGABYTE, 3)]);
    same(reader.read(own, 2).buffers[0], bytes(1_100_001, 2));
    same(reader.read(own, 2).buffers[1], bytes(2 * MEGABYTE, 3));
  });

  test("counts what is copied and what is mapped", () => {
    const small = writer.write(bytes(10), []);
    const large = writer.write(bytes(10), [bytes(MEGABYTE)]);
    reader.read(small, 1);
    reader.read(large, 2);
    if (memory === undefined) expect(reader.counters).toEqual({ copiedBytes: small.sizeBytes + large.sizeBytes, mappedBytes: 0, maps: 0 });
    else expect(reader.counters).toEqual({ copiedBytes: small.sizeBytes, mappedBytes: large.sizeBytes, maps: 1 });
  });

  test.runIf(memory !== undefined)("a token comes back when the last view is gone, and only to the reader that gave it", async () => {
    const location = writer.write(bytes(10), [bytes(MEGABYTE)]);
    const other = new ArenaReader({ ...directories, memory });
    const kept: { object: StoredObject | undefined; moved: ArrayBuffer | undefined } = {
      object: reader.read(location, 7),
      moved: undefined,
    };
    (() => {
      other.read(location, 7);
      reader.read(location, 8);
      kept.moved = (reader.read(location, 9).inBand.buffer as ArrayBuffer).transfer();
    })();
    expect(await drained(1)).toEqual([8]);
    expect(other.drainReleased()).toEqual([7]);
    same(kept.object?.buffers[0], bytes(MEGABYTE));
    expect(kept.moved?.byteLength).toBe(location.sizeBytes);
    kept.object = undefined;
    kept.moved = undefined;
    expect(new Set(await drained(2))).toEqual(new Set([7, 9]));
    other.close();
  });

  test("a reader keeps what it has when the file is deleted, and finds it gone afterwards", () => {
    const location = writer.write(bytes(10), [bytes(MEGABYTE)]);
    const object = reader.read(location, 1);
    rmSync(join(directories.memoryDirectory, location.arena));
    same(object.buffers[0], bytes(MEGABYTE));
    const late = new ArenaReader({ ...directories, memory });
    expect(() => late.read(location, 1)).toThrow(ObjectLostError);
    expect(() => late.read(location, 1)).toThrow(/its file is gone/);
  });

  test("locations that lead elsewhere, or to something else, are refused", () => {
    const location = writer.write(bytes(10), [bytes(MEGABYTE)]);
    writeFileSync(join(root, "secret"), bytes(MEGABYTE));
    writeFileSync(join(directories.memoryDirectory, "junk"), bytes(MEGABYTE));
    const wrong: Partial<ObjectLocation>[] = [
      { arena: "../secret" },
      { arena: "/etc/passwd" },
      { arena: "." },
      { arena: "" },
      { arena: "junk" },
      { arena: "nothing" },
      { kind: "disk" },
      { offset: 4096 },
      { offset: 2 ** 50 },
      { sizeBytes: location.sizeBytes - 1 },
      { sizeBytes: 64 * MEGABYTE },
    ];
    for (const change of wrong) expect(() => reader.read({ ...location, ...change }, 1)).toThrow(ObjectLostError);
    for (const change of [{ offset: -1 }, { offset: 0.5 }, { sizeBytes: 0 }, { sizeBytes: Number.NaN }]) {
      expect(() => new ArenaReader({ ...directories, memory }).read({ ...location, ...change }, 1)).toThrow(/not a place in the store/);
    }
    truncateSync(join(directories.memoryDirectory, location.arena), 4096);
    expect(() => reader.read(location, 1)).toThrow(/shorter/);
  });

  test("more arenas than descriptors are read all the same", () => {
    const locations = Array.from({ length: 300 }, (_, index) => {
      const other = new ArenaWriter({ ...directories, processTag: `many-${index}`, quota: { freeBytes: () => MEGABYTE }, memory });
      const location = other.write(bytes(100, index), []);
      other.close();
      return location;
    });
    for (const [index, location] of locations.entries()) same(reader.read(location, 1).inBand, bytes(100, index));
    for (const [index, location] of locations.entries()) same(reader.read(location, 1).inBand, bytes(100, index));
  });

  test("nothing is left of objects that were freed", () => {
    const locations = [1000, MEGABYTE, 20 * MEGABYTE].map((length) => writer.write(bytes(0), [bytes(length)]));
    // The small ones share an arena.
    expect(readdirSync(directories.memoryDirectory).length).toBe(2);
    for (const location of locations) writer.free(location);
    writer.trim(performance.now() + 60_000);
    expect(readdirSync(directories.memoryDirectory)).toEqual([]);
    expect(existsSync(join(directories.spillDirectory, "anything"))).toBe(false);
    expect(writer.reservedBytes).toBe(0);
  });
});

describe.runIf(native !== undefined)("near the kernel's limit of mappings", () => {
  test("objects are copied", () => {
    const crowded: SharedMemory = { ...(native as SharedMemory), liveMaps: () => 30_000 };
    const writer = new ArenaWriter({ ...directories, processTag: "p1", quota: { freeBytes: () => 64 * MEGABYTE } });
    const reader = new ArenaReader({ ...directories, memory: crowded });
    const object = reader.read(writer.write(bytes(0), [bytes(MEGABYTE)]), 1);
    expect(object.mapped).toBe(false);
    same(object.buffers[0], bytes(MEGABYTE));
    writer.close();
    reader.close();
  });

  test("a refused mapping is a copy", () => {
    const refusing: SharedMemory = {
      ...(native as SharedMemory),
      map: () => {
        throw Object.assign(new Error("mmap: Cannot allocate memory"), { code: "ENOMEM" });
      },
    };
    const writer = new ArenaWriter({ ...directories, processTag: "p1", quota: { freeBytes: () => 64 * MEGABYTE }, memory: refusing });
    const reader = new ArenaReader({ ...directories, memory: refusing });
    writer.free(writer.write(bytes(0), [bytes(2 * MEGABYTE)]));
    same(reader.read(writer.write(bytes(0), [bytes(2 * MEGABYTE)]), 1).buffers[0], bytes(2 * MEGABYTE));
    writer.close();
    reader.close();
  });
});
