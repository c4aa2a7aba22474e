/** Tests the list of heads, and combinations that are refused. In memory. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MemoryBus, MemoryExchange } from "../../control-plane/memory-bus.ts";
import { type HeadIdentity, HeadPeers, refuseOtherHead } from "./head-peers.ts";

let exchange: MemoryExchange;
let opened: HeadPeers[];

beforeEach(() => {
  vi.useFakeTimers();
  exchange = new MemoryExchange();
  opened = [];
});

afterEach(() => {
  for (const peers of opened) peers.close();
  vi.useRealTimers();
});

function identity(id: string, hasRivals: boolean): HeadIdentity {
  return { id, address: `tcp://${id}:1`, hasRivals };
}

function head(id: string, hasRivals = true): HeadPeers {
  const peers = new HeadPeers({ bus: new MemoryBus(exchange), self: identity(id, hasRivals), nowMs: () => performance.now() });
  opened.push(peers);
  return peers;
}

const refused = (self: HeadIdentity): Promise<void> => refuseOtherHead(new MemoryBus(exchange), self);

test("each hears of the others within a second, and forgets those that are gone for a minute", async () => {
  const a = head("a");
  const b = head("b");
  await vi.advanceTimersByTimeAsync(1_100);
  expect([a.addresses, b.addresses]).toEqual([
    ["tcp://a:1", "tcp://b:1"],
    ["tcp://b:1", "tcp://a:1"],
  ]);
  b.close();
  await vi.advanceTimersByTimeAsync(50_000);
  expect(a.addresses).toEqual(["tcp://a:1", "tcp://b:1"]);
  await vi.advanceTimersByTimeAsync(12_000);
  expect(a.addresses).toEqual(["tcp://a:1"]);
});

test("one that is alone hears of nobody", async () => {
  const alone = head("alone", false);
  head("b");
  await vi.advanceTimersByTimeAsync(2_000);
  expect(alone.addresses).toEqual(["tcp://alone:1"]);
});

test("a head that is alone, and one that is not, are refused beside another", async () => {
  await expect(refused(identity("a", false))).resolves.toBeUndefined();
  const first = head("first", false);
  await expect(refused(identity("a", false))).rejects.toThrow("one at first:1 keeps its tables in the same NATS");
  await expect(refused(identity("a", true))).rejects.toThrow("was started without --ha");
  first.close();
  head("second");
  await expect(refused(identity("a", true))).resolves.toBeUndefined();
  await expect(refused(identity("a", false))).rejects.toThrow("one at second:1");
});
