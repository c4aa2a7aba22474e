/**
 * Where the writer puts an object: recycled pages, fresh ones, a new arena, the spill disk, nowhere. The disks are of numbers, so that they can be full.
 */
import { beforeEach, describe, expect, test } from "vitest";
import { ObjectStoreFullError, OutOfDiskError } from "../../base/errors.ts";
import type { StoreFile, StoreFiles } from "../../os/files/store/store-file.ts";
import { ArenaWriter } from "./arena-writer.ts";

const MEGABYTE = 1_048_576;

/** Two directories of limited size. A file occupies its whole length, as on tmpfs without holes. */
class FakeDisks implements StoreFiles {
  readonly sizes = new Map<string, number>();
  readonly capacities: Record<string, number> = { "/memory": 1024 * MEGABYTE, "/spill": 1024 * MEGABYTE };
  openCount = 0;
  /** Thrown instead of making a file in the spill directory. */
  spillError: NodeJS.ErrnoException | undefined;

  readText(): undefined {
    return undefined;
  }
  spillRoomBytes(directory: string): number {
    return this.freeBytes(directory);
  }
  freeBytes(directory: string): number {
    let used = 0;
    for (const [path, size] of this.sizes) if (path.startsWith(`${directory}/`)) used += size;
    return (this.capacities[directory] ?? 0) - used;
  }

  create(path: string): StoreFile {
    const directory = path.slice(0, path.lastIndexOf("/"));
    if (directory === "/spill" && this.spillError !== undefined) throw this.spillError;
    if (this.sizes.has(path)) throw new Error(`${path} exists`);
    this.sizes.set(path, 0);
    this.openCount += 1;
    return {
      fd: -1,
      write: (offset, pieces) => {
        const length = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
        const size = this.sizes.get(path) ?? 0;
        // A hole may be no larger than the rest of a page.
        if (offset - size >= 4096) throw new Error(`a hole of ${offset - size} bytes in ${path}`);
        const fits = Math.min(length, size - offset + this.freeBytes(directory));
        this.sizes.set(path, Math.max(size, offset + fits));
        if (fits < length) throw Object.assign(new Error("write: no space left on device"), { code: "ENOSPC" });
      },
      read: () => false,
      truncate: (sizeBytes) => void this.sizes.set(path, sizeBytes),
      linkedBytes: () => this.sizes.get(path),
      close: () => {
        this.openCount -= 1;
      },
    };
  }

  openToRead(): StoreFile | undefined {
    return undefined;
  }

  remove(path: string): void {
    this.sizes.delete(path);
  }
}

let disks: FakeDisks;
let changes: [string, string, number][];
let quotaBytes: number;
let writer: ArenaWriter;

beforeEach(() => {
  disks = new FakeDisks();
  changes = [];
  quotaBytes = 1024 * MEGABYTE;
  writer = new ArenaWriter({
    memoryDirectory: "/memory",
    spillDirectory: "/spill",
    processTag: "p",
    quota: { freeBytes: () => quotaBytes - writer.usedBytes },
    onArenaChanged: (...change) => changes.push(change),
    files: disks,
    memory: undefined,
  });
});

function put(megabytes: number): ReturnType<ArenaWriter["write"]> {
  // Slightly less, so that header and data are so many pages.
  return writer.write(new Uint8Array(0), [new Uint8Array(megabytes * MEGABYTE - 64)]);
}

describe("in memory", () => {
  test("the first arena is small, the next ones are of 64 MB, large objects have one of their own", () => {
    expect(put(3)).toEqual({ arena: "p-1", offset: 0, sizeBytes: 3 * MEGABYTE, kind: "memory" });
    expect(put(2)).toMatchObject({ arena: "p-2", offset: 0 });
    expect(put(1)).toMatchObject({ arena: "p-1", offset: 3 * MEGABYTE });
    expect(put(15)).toMatchObject({ arena: "p-2", offset: 2 * MEGABYTE });
    expect(put(100)).toMatchObject({ arena: "p-3", offset: 0 });
    expect(changes).toEqual([
      ["p-1", "memory", 4 * MEGABYTE],
      ["p-2", "memory", 64 * MEGABYTE],
      ["p-3", "memory", 100 * MEGABYTE],
    ]);
  });

  test("files are never longer than what was written", () => {
    put(3);
    put(100);
    expect(disks.sizes.get("/memory/p-1")).toBe(3 * MEGABYTE);
    expect(writer.reservedBytes).toBe(103 * MEGABYTE);
  });

  test("a freed object's pages are the next one's, the best fit of all arenas", () => {
    const locations = [put(10), put(1), put(5), put(1)];
    writer.free(locations[0] as never);
    writer.free(locations[2] as never);
    expect(put(4)).toMatchObject({ arena: locations[2]?.arena, offset: locations[2]?.offset });
    expect(put(6)).toMatchObject({ arena: locations[0]?.arena, offset: locations[0]?.offset });
  });

  test("small objects do not break up the room of a large one", () => {
    const large = put(100);
    writer.free(large);
    expect(put(1).arena).not.toBe(large.arena);
    expect(put(49).arena).not.toBe(large.arena);
    expect(put(60)).toEqual({ ...large, sizeBytes: 60 * MEGABYTE });
  });

  test("freeing twice is harmless", () => {
    const first = put(1);
    writer.free(first);
    writer.free(first);
    const second = put(1);
    expect(second.offset).toBe(first.offset);
    expect(put(1).offset).not.toBe(second.offset);
    writer.free({ arena: "other", offset: 0, sizeBytes: 10, kind: "memory" });
    writer.free({ arena: "other", offset: 0, sizeBytes: 10, kind: "disk" });
  });

  test("an arena that stays empty is deleted, one that is used again is not", () => {
    const first = put(1);
    writer.free(put(100));
    writer.trim(performance.now() + 1000);
    expect(disks.sizes.size).toBe(2);
    writer.trim(performance.now() + 6000);
    expect(Array.from(disks.sizes.keys())).toEqual(["/memory/p-1"]);
    expect(changes.at(-1)).toEqual(["p-2", "memory", 0]);
    writer.free(first);
    put(1);
    writer.trim(performance.now() + 60_000);
    expect(Array.from(disks.sizes.keys())).toEqual(["/memory/p-1"]);
  });

  test("close leaves the files and no descriptor", () => {
    put(1);
    put(100);
    writer.close();
    expect(disks.openCount).toBe(0);
    expect(disks.sizes.size).toBe(2);
  });
});

describe("when memory is short", () => {
  test("what does not fit the quota is a file of its own on disk, deleted when freed", () => {
    quotaBytes = 10 * MEGABYTE;
    put(8);
    const location = put(3);
    expect(location).toEqual({ arena: "p-2", offset: 0, sizeBytes: 3 * MEGABYTE, kind: "disk" });
    expect(disks.sizes.get("/spill/p-2")).toBe(3 * MEGABYTE);
    expect(put(2).kind).toBe("memory");
    writer.free(location);
    expect(disks.sizes.has("/spill/p-2")).toBe(false);
    expect(changes.slice(1)).toEqual([
      ["p-2", "disk", 3 * MEGABYTE],
      ["p-2", "disk", 0],
    ]);
  });

  test("a file system that fills up before the quota does is left as it was, and the object goes to disk", () => {
    disks.capacities["/memory"] = 10 * MEGABYTE;
    put(2);
    put(7);
    expect(put(3).kind).toBe("disk");
    expect(disks.freeBytes("/memory")).toBe(MEGABYTE);
    expect(put(20).kind).toBe("disk");
    expect(put(1).kind).toBe("memory");
    expect(disks.openCount).toBe(2);
  });

  test("empty arenas give way to an object that would go to disk", () => {
    disks.capacities["/memory"] = 50 * MEGABYTE;
    put(1);
    writer.free(put(40));
    expect(put(45).kind).toBe("memory");
    expect(disks.freeBytes("/memory")).toBe(4 * MEGABYTE);
  });

  test("a full disk is an OutOfDiskError with the numbers, and leaves no file", () => {
    quotaBytes = 10 * MEGABYTE;
    disks.capacities["/spill"] = 5 * MEGABYTE;
    put(8);
    expect(() => put(6)).toThrow(OutOfDiskError);
    expect(() => put(6)).toThrow(/an object of 6291456 bytes does not fit the 2097152 bytes that are left .* the disk of \/spill is full/);
    expect(put(4).kind).toBe("disk");
    expect(disks.freeBytes("/spill")).toBe(MEGABYTE);
    expect(put(2).kind).toBe("memory");
  });

  test("a disk that fills up while an object is written leaves no file either", () => {
    quotaBytes = 0;
    disks.freeBytes = () => Number.POSITIVE_INFINITY;
    const create = disks.create.bind(disks);
    disks.create = (path) => ({
      ...create(path),
      write: () => {
        throw Object.assign(new Error("write: disk quota exceeded"), { code: "EDQUOT" });
      },
    });
    expect(() => put(1)).toThrow(OutOfDiskError);
    expect(disks.sizes.size).toBe(0);
    expect(disks.openCount).toBe(0);
  });

  test("a spill directory that cannot be written is an ObjectStoreFullError with the cause", () => {
    quotaBytes = 0;
    disks.spillError = Object.assign(new Error("EACCES: permission denied"), { code: "EACCES" });
    let thrown: unknown;
    try {
      put(1);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(ObjectStoreFullError);
    expect(thrown).toMatchObject({
      cause: disks.spillError,
      details: { sizeBytes: MEGABYTE, memoryFreeBytes: 0, spillDirectory: "/spill" },
    });
    expect((thrown as Error).message).toMatch(/\/spill cannot be written: EACCES: permission denied\. Drop references/);
  });
});

describe("room for an object that comes piece by piece", () => {
  test("is an extent of an arena, which others leave alone, and is had back when it is given up", () => {
    const first = writer.allocate(MEGABYTE);
    const second = writer.allocate(MEGABYTE);
    expect(first.location.arena).toBe(second.location.arena);
    expect(second.location.offset).toBe(MEGABYTE);
    first.write(0, new Uint8Array(1000));
    first.write(MEGABYTE - 10, new Uint8Array(10));
    expect(() => first.write(MEGABYTE - 9, new Uint8Array(10))).toThrow(RangeError);
    expect(() => first.write(-1, new Uint8Array(1))).toThrow(RangeError);
    first.abandon();
    first.abandon();
    expect(writer.usedBytes).toBe(MEGABYTE);
    expect(writer.allocate(MEGABYTE).location.offset).toBe(0);
    second.seal();
    expect(writer.usedBytes).toBe(2 * MEGABYTE);
  });

  test("keeps the file of its arena open until it is done", () => {
    const extent = writer.allocate(MEGABYTE);
    expect(writer.hasOpenExtents(extent.location.arena)).toBe(true);
    writer.abandon(extent.location.arena);
    expect(disks.openCount).toBe(1);
    extent.seal();
    expect(disks.openCount).toBe(0);
  });

  test("is on disk when memory is short, or unwanted, and leaves no file when it is given up", () => {
    quotaBytes = 0;
    const extent = writer.allocate(MEGABYTE);
    expect(extent.location).toMatchObject({ kind: "disk", offset: 0, sizeBytes: MEGABYTE });
    extent.abandon();
    expect(Array.from(disks.sizes.keys())).toEqual([]);
    quotaBytes = 1024 * MEGABYTE;
    const chosen = writer.allocate(MEGABYTE, { avoidMemory: true });
    expect(chosen.location.kind).toBe("disk");
    chosen.seal();
    expect(disks.openCount).toBe(0);
    writer.free(chosen.location);
    expect(Array.from(disks.sizes.keys())).toEqual([]);
  });

  test("is refused when neither has room", () => {
    disks.capacities["/spill"] = 0;
    quotaBytes = 0;
    expect(() => writer.allocate(MEGABYTE)).toThrow(OutOfDiskError);
  });
});
