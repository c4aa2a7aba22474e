import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { NodeId } from "../../base/ids.ts";
import { NodeWatch } from "./node-watch.ts";

const NODE = "a".repeat(32) as NodeId;
const node = { nodeId: NODE, incarnation: "1", address: "tcp://127.0.0.1:1" };

let refuses: boolean | undefined;
let isConnected: boolean;
let keeps: boolean;
let dead: string[];
let states: string[];
let watch: NodeWatch;

beforeEach(() => {
  vi.useFakeTimers();
  refuses = undefined;
  isConnected = true;
  keeps = true;
  dead = [];
  states = [];
  watch = new NodeWatch({
    hasRivals: false,
    nowMs: () => performance.now(),
    isConnected: () => isConnected,
    refuses: () => Promise.resolve(refuses),
    keep: (_, state, then) => {
      states.push(state);
      if (keeps) then();
    },
    dead: (_, reason) => dead.push(reason),
    say: () => {},
  });
  watch.registered(node);
});

afterEach(() => {
  watch.close();
  vi.useRealTimers();
});

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

test("a node whose link closed and whose address refuses connections is dead after two seconds", async () => {
  await pass(500);
  watch.linkDown(NODE);
  refuses = true;
  await pass(1_900);
  expect([dead, watch.isSuspect(NODE)]).toEqual([[], true]);
  await pass(800);
  expect(dead).toEqual([expect.stringContaining("no link to the head")]);
});

test("a closed link alone is no death, as long as something listens there", async () => {
  watch.linkDown(NODE);
  refuses = false;
  await pass(9_000);
  expect(dead).toEqual([]);
  watch.linkUp(NODE);
  watch.heard(NODE);
  await pass(1_500);
  expect([dead, states.at(-1)]).toEqual([[], "alive"]);
});

test("silence is death after ten seconds", async () => {
  await pass(9_500);
  expect(dead).toEqual([]);
  await pass(1_000);
  expect(dead).toEqual([expect.stringContaining("silent for")]);
});

test("nobody dies of a suspicion that is not kept, nor of silence while the head has no bus", async () => {
  keeps = false;
  watch.linkDown(NODE);
  refuses = true;
  await pass(30_000);
  expect(dead).toEqual([]);
  isConnected = false;
  keeps = true;
  watch.registered({ ...node, nodeId: "b".repeat(32) as NodeId });
  await pass(30_000);
  expect(dead).toEqual([]);
});

test("silence counts only while this head proves that it leads, and anew after a time in which it did not, whenever it hears of its end", async () => {
  watch.close();
  const proofs = { isFresh: true, lapses: 3 };
  watch = new NodeWatch({
    hasRivals: true,
    nowMs: () => performance.now(),
    isConnected: () => true,
    proofs: () => proofs,
    refuses: () => Promise.resolve(refuses),
    keep: (_, __, then) => then(),
    dead: (_, reason) => dead.push(reason),
    say: () => {},
  });
  watch.registered(node);
  await pass(9_000);
  proofs.isFresh = false;
  await pass(30_000);
  expect(dead).toEqual([]);
  proofs.isFresh = true;
  proofs.lapses += 1;
  await pass(25_000);
  // The watch has heard of both ends of the next gap at once.
  proofs.lapses += 1;
  await pass(29_500);
  expect(dead).toEqual([]);
  await pass(1_000);
  expect(dead).toHaveLength(1);
});

test("one that an earlier head had is dead when its address refuses connections, and after ten seconds in any case", async () => {
  const other = "c".repeat(32) as NodeId;
  watch.left(NODE);
  watch.expected({ ...node, nodeId: other });
  refuses = true;
  await pass(3_000);
  expect(dead).toHaveLength(1);
  refuses = undefined;
  watch.expected({ ...node, nodeId: "d".repeat(32) as NodeId });
  await pass(9_000);
  expect(dead).toHaveLength(1);
  await pass(2_000);
  expect(dead).toHaveLength(2);
});
