import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { NodeId, ProcessId } from "../../base/ids.ts";
import type { NodeCommandHeader, NodeInfoHeader } from "../../wire/cluster/cluster-messages.ts";
import { MembershipBroadcast } from "./membership-broadcast.ts";

const info = (nodeId: string, alive = true): NodeInfoHeader => ({
  nodeId: nodeId as NodeId,
  daemonId: nodeId as ProcessId,
  hostname: "",
  address: "",
  resources: {},
  labels: {},
  objectStoreMemoryBytes: 0,
  alive,
});
const process = (id: string): ProcessId => id as ProcessId;

class Reader {
  readonly heard: unknown[] = [];
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
  sendWhole(frame: Buffer): void {
    const [command, ...args] = JSON.parse(String(frame)) as NodeCommandHeader;
    if (command === "processGone") this.heard.push(...args);
    else this.heard.push(...(args[0] as NodeInfoHeader[]).map(({ nodeId, alive }) => (alive ? nodeId : `-${nodeId}`)));
  }
}

function cluster(): { broadcast: MembershipBroadcast<Reader>; join: (name: string) => Reader; written: () => number } {
  const readers: Reader[] = [];
  let written = 0;
  const broadcast = new MembershipBroadcast<Reader>({
    readers: () => readers,
    count: () => readers.length,
    list: () => readers.map(({ name }) => info(name)),
    frameOf: (command) => {
      written += 1;
      return Buffer.from(JSON.stringify(command));
    },
  });
  const join = (name: string): Reader => {
    const reader = new Reader(name);
    readers.push(reader);
    broadcast.joined(reader, info(name));
    return reader;
  };
  return { broadcast, join, written: () => written };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("two hundred nodes that come at once are told with two messages, written once", () => {
  const { join, written } = cluster();
  const first = join("first");
  vi.runAllTimers();
  const nodes = Array.from({ length: 200 }, (_, index) => join(`n${index}`));
  vi.runAllTimers();
  expect(written()).toBe(3);
  for (const { heard } of nodes) expect(heard).toHaveLength(201);
  expect(first.heard).toEqual(["first", ...nodes.map(({ name }) => name)]);
});

test("who is told something else hears the changes before, and hears none twice", () => {
  const { broadcast, join } = cluster();
  const [a, b] = [join("a"), join("b")];
  vi.runAllTimers();
  a.heard.length = b.heard.length = 0;
  broadcast.processGone(process("p"));
  broadcast.catchUp(a);
  expect(a.heard).toEqual([]);
  const c = join("c");
  broadcast.catchUp(c);
  expect(c.heard).toEqual(["a", "b", "c"]);
  broadcast.nodeGone(info("b", false));
  broadcast.processGone(process("q"));
  vi.runAllTimers();
  expect(a.heard).toEqual(["c", "-b", "p", "q"]);
  expect(b.heard).toEqual(["c", "-b", "p", "q"]);
  expect(c.heard).toEqual(["a", "b", "c", "-b", "p", "q"]);
  vi.runAllTimers();
  expect(a.heard).toHaveLength(4);
});

test("after the end nothing is told", () => {
  const { broadcast, join } = cluster();
  const a = join("a");
  broadcast.close();
  vi.runAllTimers();
  expect(a.heard).toEqual([]);
});
