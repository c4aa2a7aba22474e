/**
 * Callers that connect and say nothing, thousands at a time. No listener keeps more of them than its cap, on a Unix socket or TCP, in
 * TypeScript or in Python, and honest callers get in meanwhile.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import net from "node:net";
import { init, nodes, python, remote, shutdown } from "shoal";
import { TestCluster } from "shoal/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { UNFINISHED_AT_PORT_MAX } from "../../src/runtime/os/limits.ts";
import { parseNetworkAddress } from "../../src/runtime/os/network/network-address.ts";
import { OPEN_WITHIN_MS } from "../../src/runtime/rpc/limits.ts";
import { wholeFrame } from "../../src/runtime/wire/frame.ts";
import { encodeHeader } from "../../src/runtime/wire/header.ts";
import { MESSAGE, PROTOCOL_VERSION } from "../../src/runtime/wire/messages.ts";
import { driverRuntime, until } from "./session.ts";
import { unless, WITHOUT_PYTHON } from "./python-places.ts";

/** Size of the flood; the had six thousand. */
const CALLERS = 1500;
/** See src/runtime/os/network/unfinished-connections.ts */
const AT_ONCE_MAX = 512;
const MAX = 128;
const COMPUTING = 300;
/** Descriptors that come and go with the work. */
const OTHERS = 40;

class Where {
  pid(): number {
    return process.pid;
  }
}

const WHERE = new URL("python/things.py", import.meta.url);

function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Where a process listens: paths, and `host:port`. */
function listenersOf(pid: number): { unix: string[]; tcp: number[] } {
  const inodes = new Set<string>();
  for (const name of readdirSync(`/proc/${pid}/fd`)) {
    try {
      const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${name}`))?.[1];
      if (inode !== undefined) inodes.add(inode);
    } catch {
      // The descriptor was closed meanwhile.
    }
  }
  const rows = (file: string): string[][] =>
    readFileSync(`/proc/${pid}/net/${file}`, "utf8")
      .split("\n")
      .map((line) => line.trim().split(/\s+/));
  const unix = rows("unix").flatMap(([, , , flags = "", , , inode = "", path = ""]) =>
    flags === "00010000" && inodes.has(inode) && path !== "" ? [path] : [],
  );
  const tcp = rows("tcp").flatMap((row) =>
    row[3] === "0A" && inodes.has(row[9] ?? "") ? [Number.parseInt(row[1]?.split(":")[1] ?? "", 16)] : [],
  );
  return { unix: Array.from(new Set(unix)), tcp };
}

async function flood(
  where: net.NetConnectOpts,
  says: Buffer | undefined,
  count = CALLERS,
): Promise<{ sockets: net.Socket[]; open: () => number }> {
  const sockets: net.Socket[] = [];
  let closed = 0;
  for (let index = 0; index < count; index += 1) {
    const socket = net.connect(where);
    socket.on("error", () => {});
    // An end behind unread bytes is not seen.
    socket.resume();
    socket.once("close", () => (closed += 1));
    if (says !== undefined) socket.write(says);
    sockets.push(socket);
    // As fast as the listener takes them.
    if (index % 50 === 49) await new Promise((resolve) => setImmediate(resolve));
  }
  return { sockets, open: () => sockets.length - closed };
}

describe("who only connects", () => {
  let cluster: TestCluster;

  beforeAll(async () => {
    cluster = await TestCluster.start({ head: { numCpus: 4 } });
    await init({ address: cluster.address, logToDriver: false });
  });
  afterAll(async () => {
    await shutdown();
    await cluster.shutdown();
  });

  /** Honest work that connects anew: a fresh actor, called over a new connection. */
  async function works(): Promise<void> {
    expect(await nodes()).toHaveLength(1);
    const fresh = remote(Where).options({ numCpus: 0 }).remote();
    expect(await fresh.pid.remote()).toBeGreaterThan(0);
  }

  async function holds(pid: number, where: net.NetConnectOpts, says?: Buffer): Promise<void> {
    const before = descriptorsOf(pid);
    const { sockets, open } = await flood(where, says);
    const floodedMs = performance.now();
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, descriptorsOf(pid))), 20);
    try {
      await works();
      // The oldest go at once, and of the others all but a few after their time, long before that of a hello is over.
      await until(() => descriptorsOf(pid) <= before + MAX + OTHERS, "most of them to be dropped", { withinMs: 4_500 });
      // On a machine that is busy enough the time of a first word is over by now, and none is left.
      if (performance.now() - floodedMs < OPEN_WITHIN_MS) expect(open()).toBeGreaterThan(0);
    } finally {
      clearInterval(watch);
    }
    const mostAtOnce = "path" in where ? AT_ONCE_MAX : UNFINISHED_AT_PORT_MAX;
    expect(most).toBeLessThanOrEqual(before + mostAtOnce + OTHERS);
    for (const socket of sockets) socket.destroy();
    await until(() => descriptorsOf(pid) <= before + OTHERS, "the rest to be gone");
    await works();
  }

  /** Three bytes that begin no TLS: with them a TCP listener takes it for a plain connection of this machine. */
  const PLAIN = Buffer.from([200, 0, 0]);

  /** Callers that have begun as ours do and compute then, each as an own process does that waits for a processor. */
  async function waitsFor(where: net.NetConnectOpts): Promise<void> {
    const header = encodeHeader({ version: PROTOCOL_VERSION, token: "", processId: "f".repeat(32), nonce: "0".repeat(64) });
    const { sockets, open } = await flood(where, wholeFrame({ type: MESSAGE.OPEN, flags: 0, callId: 1 }, header, []), COMPUTING);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(open()).toBe(COMPUTING);
    for (const socket of sockets) socket.destroy();
  }

  test("is waited for where it has begun as callers do", async () => {
    const { nodeId } = driverRuntime().options;
    const { unix, tcp } = listenersOf(cluster.nodes.find((node) => node.nodeId === nodeId)?.pid ?? 0);
    const { host } = parseNetworkAddress((await nodes())[0]?.address ?? "");
    await Promise.all([waitsFor({ path: unix[0] ?? "" }), waitsFor({ host, port: tcp[0] ?? 0 })]);
    if (WITHOUT_PYTHON !== undefined) return;
    const actor = python.actor<{ pid(): number }>(WHERE, "Where", { numCpus: 0 }).remote();
    await waitsFor({ path: listenersOf(await actor.pid.remote()).unix[0] ?? "" });
  }, 30_000);

  test("is dropped by the daemon, at its socket and its port, in order of age", async () => {
    const { nodeId } = driverRuntime().options;
    const pid = cluster.nodes.find((node) => node.nodeId === nodeId)?.pid ?? 0;
    const { unix, tcp } = listenersOf(pid);
    expect([unix.length, tcp.length]).toEqual([1, 1]);
    const { host } = parseNetworkAddress((await nodes())[0]?.address ?? "");
    await holds(pid, { path: unix[0] ?? "" });
    await holds(pid, { host, port: tcp[0] ?? 0 });
    await holds(pid, { host, port: tcp[0] ?? 0 }, PLAIN);
  }, 60_000);

  test("is dropped by the head", async () => {
    const { host, port } = parseNetworkAddress(cluster.address);
    await holds(cluster.headPid ?? 0, { host, port }, PLAIN);
  });

  test("is dropped by a worker", async () => {
    const actor = remote(Where).options({ numCpus: 0 }).remote();
    const pid = await actor.pid.remote();
    await holds(pid, { path: listenersOf(pid).unix[0] ?? "" });
    expect(await actor.pid.remote()).toBe(pid);
  });

  test.skipIf(WITHOUT_PYTHON !== undefined)(
    `is dropped by a worker in Python${unless(WITHOUT_PYTHON)}`,
    async () => {
      const actor = python.actor<{ pid(): number }>(WHERE, "Where", { numCpus: 0 }).remote();
      const pid = await actor.pid.remote();
      const { unix, tcp } = listenersOf(pid);
      await holds(pid, { path: unix[0] ?? "" });
      const { host } = parseNetworkAddress((await nodes())[0]?.address ?? "");
      await holds(pid, { host, port: tcp[0] ?? 0 });
      expect(await actor.pid.remote()).toBe(pid);
    },
    60_000,
  );
});
