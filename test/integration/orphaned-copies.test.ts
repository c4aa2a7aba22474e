/**
 * Objects whose node is dead, over real connections between real stores: had from the copies of other nodes for as long as their owner's node lives, and freed with it or when nobody needs them.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { ObjectLostError } from "../../src/runtime/base/errors.ts";
import type { ProcessId } from "../../src/runtime/base/ids.ts";
import { failureOf, until } from "./session.ts";
import { Nodes, type TransferNode } from "./transfer-nodes.ts";

const MEGABYTE = 1_048_576;

let nodes: Nodes;
let home: TransferNode;
/** Where the owner of the objects runs. */
let own: TransferNode;
let near: TransferNode;
let far: TransferNode;

beforeEach(async () => {
  nodes = new Nodes();
  home = await nodes.add();
  own = await nodes.add();
  near = await nodes.add();
  far = await nodes.add();
  own.owners.add(own.readerId);
});

afterEach(() => nodes.close());

type Owned = ReturnType<TransferNode["put"]> & { owner: ProcessId };

function put(sizeBytes: number): Owned {
  const owner = own.readerId;
  return { ...home.put(sizeBytes, owner), owner };
}

async function arrives(node: TransferNode, object: Owned): Promise<void> {
  const here = await node.fetch(object);
  expect(here[0].startsWith(node.tag)).toBe(true);
  expect(Buffer.compare(node.read(here), object.bytes)).toBe(0);
}

async function isNoted({ id, location }: Owned, ...at: TransferNode[]): Promise<void> {
  const noted = (): number => own.transfer.copiesOf([id, location]).length;
  await until(() => noted() === at.length, "the owner's node knows of the copies");
}

test("comes from a copy, to several readers at once, also to its owner", async () => {
  const object = put(20 * MEGABYTE);
  await arrives(near, object);
  await isNoted(object, near);
  nodes.kill(home);
  await Promise.all([arrives(far, object), arrives(own, object), arrives(near, object), arrives(far, object)]);
  const another = await nodes.add();
  another.transfer.nodeGone(home.tag);
  await arrives(another, object);
});

test("is kept where memory is short, and goes when its owner frees it", async () => {
  const small = await nodes.add({ quotaBytes: 32 * MEGABYTE });
  const object = put(8 * MEGABYTE);
  await arrives(small, object);
  small.transfer.processGone(small.readerId);
  await isNoted(object, small);
  nodes.kill(home);
  for (let index = 0; index < 12; index += 1) small.put(4 * MEGABYTE);
  await until(() => small.store.report.spilledObjects > 0, "objects are spilled");
  await arrives(far, object);
  own.transfer.freedElsewhere(object.location);
  await until(() => small.transfer.counters.copies === 0, "the copy that was kept goes");
  expect(own.transfer.counters.orphans).toBe(0);
  // A reader holds the other.
  expect(far.transfer.counters.copies).toBe(1);
  far.transfer.processGone(far.readerId);
  expect(far.transfer.counters.copies).toBe(0);
  await expect(near.fetch(object)).rejects.toThrow(ObjectLostError);
});

test("one that is half there goes on from another copy, and without one it is lost", async () => {
  const object = put(60 * MEGABYTE);
  const lonely = put(60 * MEGABYTE);
  await arrives(far, object);
  await isNoted(object, far);
  let bytes = 0;
  let resume = (): void => {};
  const held = new Promise<void>((resolve) => {
    near.onReadSocket = (socket, chunk) => {
      bytes += chunk.length;
      if (bytes > 10 * MEGABYTE) {
        socket.pause();
        resume = () => socket.resume();
        resolve();
      }
      return chunk;
    };
  });
  const fetched = arrives(near, object);
  const lost = failureOf(near.fetch(lonely));
  await held;
  near.onReadSocket = (_, chunk) => chunk;
  nodes.kill(home);
  resume();
  await fetched;
  expect(await lost).toBeInstanceOf(ObjectLostError);
  expect(near.transfer.counters).toMatchObject({ copies: 1, fetching: 0 });
});

test("another copy is kept when the first one's node dies; with the last of them the object is lost", async () => {
  const object = put(2 * MEGABYTE);
  await arrives(near, object);
  await arrives(far, object);
  await isNoted(object, near, far);
  nodes.kill(home);
  nodes.kill(near);
  const reader = await nodes.add();
  reader.transfer.nodeGone(home.tag);
  await arrives(reader, object);
  await isNoted(object, far, reader);
  nodes.kill(far);
  // The reader's node keeps the copy now, though nobody reads it.
  reader.transfer.processGone(reader.readerId);
  nodes.kill(reader);
  await expect(own.fetch(object)).rejects.toThrow(ObjectLostError);
});

test("goes with its last reader when the owner's node is dead, too", async () => {
  const object = put(2 * MEGABYTE);
  await arrives(near, object);
  await isNoted(object, near);
  nodes.kill(home);
  nodes.kill(own);
  await expect(far.fetch(object)).rejects.toThrow(ObjectLostError);
  expect(near.transfer.counters.copies).toBe(1);
  near.transfer.processGone(near.readerId);
  expect(near.transfer.counters.copies).toBe(0);
});

test("what its owner had freed before, or whose owner has ended, is not kept", async () => {
  const [freed, orphan, ended] = [put(MEGABYTE), put(MEGABYTE), put(MEGABYTE)];
  for (const object of [freed, orphan, ended]) {
    await arrives(near, object);
    near.transfer.processGone(near.readerId);
  }
  for (const object of [freed, orphan, ended]) await isNoted(object, near);
  // The home's message about the release dies with the home.
  own.transfer.freedElsewhere(freed.location);
  await until(() => near.transfer.counters.copies === 2, "it goes without the home's word");
  nodes.kill(home);
  own.owners.delete(own.readerId);
  own.transfer.processGone(own.readerId);
  await until(() => near.transfer.counters.copies === 0, "nobody frees what nobody owns");
  expect(own.transfer.counters.orphans).toBe(0);
});
