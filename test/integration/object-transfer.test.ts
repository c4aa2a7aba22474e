/**
 * Objects between nodes over real connections: whole and right whatever their size, and whatever becomes of sources, receivers, readers and room.
 */
import { rmSync, truncateSync } from "node:fs";
import net from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ObjectLostError, OutOfDiskError } from "../../src/runtime/base/errors.ts";
import type { NodeTag, ObjectId, ProcessId } from "../../src/runtime/base/ids.ts";
import { MESSAGE, type WireLocation } from "../../src/runtime/wire/messages.ts";
import { FETCH_FOR } from "../../src/runtime/wire/objects/transfer-messages.ts";
import { until } from "./session.ts";
import { Nodes, type TransferNode } from "./transfer-nodes.ts";

const MEGABYTE = 1_048_576;

let nodes: Nodes;
let home: TransferNode;
let near: TransferNode;

beforeEach(async () => {
  nodes = new Nodes();
  home = await nodes.add();
  near = await nodes.add();
});

afterEach(() => nodes.close());

async function expectArrives(node: TransferNode, object: ReturnType<TransferNode["put"]>): Promise<WireLocation> {
  const here = await node.fetch(object);
  expect(here[0].startsWith(node.tag)).toBe(true);
  expect(Buffer.compare(node.read(here), object.bytes)).toBe(0);
  return here;
}

/** A node that is slow to read, until it is let go on. */
function hold(node: TransferNode, afterBytes: number): { release: () => void; held: Promise<void> } {
  let bytes = 0;
  let sockets: (() => void)[] = [];
  let onHeld = (): void => {};
  const held = new Promise<void>((resolve) => {
    onHeld = resolve;
  });
  let isHeld = false;
  node.onReadSocket = (socket, chunk) => {
    bytes += chunk.length;
    if (bytes > afterBytes && !isHeld) {
      isHeld = true;
      socket.pause();
      sockets.push(() => socket.resume());
      onHeld();
    }
    return chunk;
  };
  return {
    held,
    release: () => {
      node.onReadSocket = (_, chunk) => chunk;
      for (const resume of sockets) resume();
      sockets = [];
    },
  };
}

describe("an object of another node", () => {
  test.each([1, 1000, 65_536, MEGABYTE - 24, MEGABYTE + 1, 20 * MEGABYTE + 17, 300 * MEGABYTE])(
    "of %d bytes arrives whole",
    async (sizeBytes) => {
      await expectArrives(near, home.put(sizeBytes));
      await until(() => home.transfer.counters.serving === 0, "the source lets go of it");
    },
  );

  test("is fetched once for two readers at once, and a third has the copy that is there", async () => {
    const object = home.put(8 * MEGABYTE);
    const other = `${near.tag}cccccccccccccccc` as ProcessId;
    const [first, second] = await Promise.all([near.fetch(object), near.fetch(object, FETCH_FOR.WAIT, other)]);
    expect(second).toEqual(first);
    expect(await near.fetch(object)).toEqual(first);
    expect(near.transfer.counters).toMatchObject({ copies: 1, fetching: 0 });
  });

  test("comes from its spill file when it was spilled", async () => {
    const small = await nodes.add({ quotaBytes: 32 * MEGABYTE });
    const objects = Array.from({ length: 10 }, () => small.put(4 * MEGABYTE));
    await until(() => small.store.report.spilledObjects > 1, "objects are spilled");
    for (const object of objects) await expectArrives(near, object);
  });

  test("and one that was put to disk come from there", async () => {
    const small = await nodes.add({ quotaBytes: MEGABYTE });
    const object = small.put(4 * MEGABYTE);
    expect(object.location[3]).toBe("disk");
    await expectArrives(near, object);
  });

  test("is refused when it is not there, and none of the readers waits for ever", async () => {
    const object = home.put(4 * MEGABYTE);
    const missing: WireLocation = [`${object.location[0]}9`, 0, 100, "memory"];
    await expect(near.fetch({ id: object.id, location: missing })).rejects.toThrow(ObjectLostError);
    const beyond: WireLocation = [object.location[0], 0, 1024 * MEGABYTE, "memory"];
    await expect(near.fetch({ id: object.id, location: beyond })).rejects.toThrow("its node has it no more");
  });

  test("cannot be a file outside the store", async () => {
    for (const arena of ["../../etc/passwd", `${home.tag}/../../../etc/passwd`, ".", "", `${home.tag}\0`]) {
      const location: WireLocation = [arena, 0, 10, "memory"];
      await expect(near.fetch({ id: "00112233" as ObjectId, location })).rejects.toThrow("not a place");
    }
  });
});

describe("when something breaks", () => {
  test("a broken connection costs what was under way, and the object arrives", async () => {
    const object = home.put(100 * MEGABYTE);
    const held = hold(near, 30 * MEGABYTE);
    const arrives = expectArrives(near, object);
    await held.held;
    for (const socket of home.accepted) socket.destroy();
    held.release();
    await arrives;
  });

  test("a source that is killed midway leaves its readers with an error that says so", async () => {
    const object = home.put(100 * MEGABYTE);
    const held = hold(near, 30 * MEGABYTE);
    const fetched = near.fetch(object);
    await held.held;
    nodes.kill(home);
    held.release();
    await expect(fetched).rejects.toThrow(ObjectLostError);
    expect(near.transfer.counters).toMatchObject({ copies: 0, fetching: 0 });
    await until(() => near.store.freeBytes === near.store.quotaBytes, "the room is given back");
  });

  test("a receiver that is killed midway holds nothing at the source", async () => {
    const object = home.put(100 * MEGABYTE);
    const held = hold(near, 30 * MEGABYTE);
    near.fetch(object).catch(() => {});
    await held.held;
    expect(home.transfer.counters.serving).toBe(1);
    nodes.kill(near);
    await until(() => home.transfer.counters.serving === 0 && home.transfer.counters.copied === 0, "the source forgets it");
  });

  test("bytes that are changed on their way are asked for again", async () => {
    const object = home.put(20 * MEGABYTE);
    let damages = 2;
    let chunks = 0;
    near.onRead = (chunk) => {
      chunks += 1;
      if (chunks % 50 !== 0 || damages === 0) return chunk;
      damages -= 1;
      const changed = Buffer.from(chunk);
      changed[changed.length >>> 1] = (changed[changed.length >>> 1] as number) ^ 1;
      return changed;
    };
    await expectArrives(near, object);
    expect(damages).toBe(0);
  });

  test("a source that stalls is left for another", async () => {
    const object = home.put(50 * MEGABYTE);
    const far = await nodes.add();
    const third = await nodes.add();
    // Two are served by the home, the third by one of them.
    const held = hold(near, 10 * MEGABYTE);
    const first = near.fetch(object);
    await held.held;
    const heldToo = hold(far, 10 * MEGABYTE);
    const second = far.fetch(object);
    await heldToo.held;
    await expectArrives(third, object);
    held.release();
    heldToo.release();
    await Promise.all([first, second]);
  });

  test("a source is not blamed for the time in which its reader stood still", async () => {
    const object = home.put(50 * MEGABYTE);
    const held = hold(near, 10 * MEGABYTE);
    const fetched = near.fetch(object);
    await held.held;
    const connections = Array.from(home.accepted);
    const endMs = performance.now() + 2600;
    held.release();
    while (performance.now() < endMs);
    await fetched;
    expect(Array.from(home.accepted)).toEqual(connections);
  });

  test("a reader that ends gives up what only it waited for", async () => {
    const object = home.put(50 * MEGABYTE);
    const held = hold(near, 10 * MEGABYTE);
    const fetched = near.fetch(object);
    await held.held;
    near.transfer.processGone(near.readerId);
    held.release();
    await expect(fetched).rejects.toThrow("ended");
    await until(() => home.transfer.counters.serving === 0, "the source is told");
    expect(near.transfer.counters).toMatchObject({ copies: 0, fetching: 0 });
    expect(near.store.freeBytes).toBe(near.store.quotaBytes);
  });

  test("an object that is freed while it is served keeps its pages until then", async () => {
    const object = home.put(50 * MEGABYTE);
    const held = hold(near, 10 * MEGABYTE);
    const fetched = near.fetch(object);
    await held.held;
    home.store.free(object.location, { reused: false });
    const next = home.put(50 * MEGABYTE);
    expect(next.location.slice(0, 2)).not.toEqual(object.location.slice(0, 2));
    held.release();
    const outcome = await fetched.then(
      (here) => Buffer.compare(near.read(here), object.bytes),
      (error: unknown) => error,
    );
    if (outcome !== 0) expect(outcome).toBeInstanceOf(ObjectLostError);
    await until(() => home.transfer.counters.serving === 0, "the source lets go of it");
    expect(home.put(50 * MEGABYTE).location.slice(0, 2)).toEqual(object.location.slice(0, 2));
  });

  test("an object whose file is cut short while it is served is lost", async () => {
    const object = home.put(50 * MEGABYTE);
    const held = hold(near, 10 * MEGABYTE);
    const fetched = near.fetch(object);
    await held.held;
    truncateSync(`${home.memoryDirectory}/${object.location[0]}`, MEGABYTE);
    held.release();
    await expect(fetched).rejects.toThrow(ObjectLostError);
  });

  test.each([
    ["noise", Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n")],
    ["an enormous message", Buffer.from([0xff, 0xff, 0xff, 0x7f, MESSAGE.TRANSFER_OPEN, 0, 0, 0, 0, 0])],
    ["a chunk", Buffer.from([20, 0, 0, 0, MESSAGE.TRANSFER_CHUNK, 2, 1, 0, 0, 0, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7])],
    ["an unknown message", Buffer.from([6, 0, 0, 0, 99, 0, 0, 0, 0, 0])],
    ["an empty request", Buffer.from([6, 0, 0, 0, MESSAGE.TRANSFER_OPEN, 0, 0, 0, 0, 0])],
  ])("%s ends the connection and nothing else", async (_, bytes) => {
    const socket = net.connect(home.address?.port as number, "127.0.0.1").on("error", () => {});
    await new Promise((resolve) => socket.once("connect", resolve));
    socket.write(near.tag);
    await until(() => home.accepted.size > 0, "it is accepted");
    socket.write(bytes);
    await new Promise((resolve) => socket.once("close", resolve));
    await expectArrives(near, home.put(1000));
  });
});

describe("copies", () => {
  test("that nobody reads stay until memory is short, and those that are read stay", async () => {
    const small = await nodes.add({ quotaBytes: 64 * MEGABYTE });
    const read = await expectArrives(small, home.put(15 * MEGABYTE));
    for (let count = 0; count < 6; count += 1) {
      const here = await expectArrives(small, home.put(15 * MEGABYTE));
      small.transfer.release(small.readerId, [here]);
    }
    expect(small.transfer.counters.copies).toBeGreaterThan(1);
    expect(small.transfer.counters.copies).toBeLessThan(5);
    expect(small.read(read)).toHaveLength(15 * MEGABYTE);
    await until(() => home.transfer.counters.copied === small.transfer.counters.copies, "the home knows what is left");
    expect(small.store.report.spilledObjects).toBe(0);
  });

  test("go to disk when memory is used up, and are read from there", async () => {
    const small = await nodes.add({ quotaBytes: 16 * MEGABYTE });
    const objects = Array.from({ length: 4 }, () => home.put(10 * MEGABYTE));
    const kinds: string[] = [];
    for (const object of objects) kinds.push((await expectArrives(small, object))[3]);
    expect(kinds).toContain("disk");
    small.transfer.processGone(small.readerId);
    for (const { location } of objects) home.free(location);
    await until(() => small.transfer.counters.copies === 0, "they are freed");
    await until(() => small.files.filter((name) => !name.endsWith("-1")).length === 0, "their files are deleted");
  });

  test("that fit nowhere fail with what is full", async () => {
    const small = await nodes.add({ quotaBytes: 16 * MEGABYTE });
    rmSync(small.spillDirectory, { recursive: true });
    const object = home.put(20 * MEGABYTE);
    await expect(small.fetch(object)).rejects.toThrow(/does not fit/);
    expect(OutOfDiskError.name).toBe("OutOfDiskError");
    await expectArrives(small, home.put(MEGABYTE));
  });

  test("are freed with their object, when nobody reads them", async () => {
    const objects = [home.put(MEGABYTE), home.put(MEGABYTE)];
    const [first, second] = objects as [(typeof objects)[0], (typeof objects)[0]];
    const here = await expectArrives(near, first);
    const read = await expectArrives(near, second);
    near.transfer.release(near.readerId, [here]);
    for (const { location } of objects) home.free(location);
    await until(() => near.transfer.counters.copies === 1, "the one that nobody reads is freed");
    near.transfer.release(near.readerId, [read]);
    expect(near.transfer.counters.copies).toBe(0);
    expect(home.transfer.counters.copied).toBe(0);
  });

  test("serve others while they come, and when the object's own node has lost it", async () => {
    const object = home.put(30 * MEGABYTE);
    const others = [near, await nodes.add(), await nodes.add(), await nodes.add(), await nodes.add()];
    await Promise.all(others.map((node) => expectArrives(node, object)));
    expect(others.map((node) => node.transfer.counters.sourcesLeft)).toEqual([0, 0, 0, 0, 0]);
    const third = await nodes.add();
    rmSync(`${home.memoryDirectory}/${object.location[0]}`);
    await expectArrives(third, object);
  });

  test("of what a dead node's processes owned here are freed with it", async () => {
    const owned = home.put(MEGABYTE, near.writerId);
    const here = await expectArrives(await nodes.add(), owned);
    expect(here[3]).toBe("memory");
    nodes.kill(near);
    await until(() => home.store.report.objects === 0 && home.transfer.counters.copied === 0, "it is freed at home");
  });
});

test("a tag that no node has is an unreachable one until it is declared dead", async () => {
  const nobody = "ffffffffffffffff" as NodeTag;
  const location: WireLocation = [`${nobody}${"0".repeat(12)}-1`, 0, 100, "memory"];
  const fetched = near.fetch({ id: "0011223344" as ObjectId, location });
  await until(() => near.transfer.counters.fetching === 1, "it is tried");
  near.transfer.nodeGone(nobody);
  await expect(fetched).rejects.toThrow(ObjectLostError);
});
