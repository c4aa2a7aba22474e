import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { JobId, NodeId, ProcessId } from "../base/ids.ts";
import { loopbackPair } from "../platform/network/transport.ts";
import { Connection } from "../rpc/connection.ts";
import { FrameParser, FRAME_SIZE_MAX, wholeFrame } from "../wire/frame.ts";
import { encodeHeader } from "../wire/header.ts";
import { MESSAGE, PROTOCOL_VERSION } from "../wire/messages.ts";
import { WorkerHost, type WorkerHostOptions } from "./worker-host.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const NODE = "0".repeat(32) as NodeId;
const WORKER = "1".repeat(32) as ProcessId;
const OWNER = "2".repeat(32) as ProcessId;
const LEASE = 7;
/** Longer than the worker takes for idleness. */
const IDLE_MS = 30;

/** A worker, what it tells its daemon, and the connections to it. */
class World {
  readonly told: [type: number, header: unknown][] = [];
  readonly host = new WorkerHost({
    processId: WORKER,
    nodeId: NODE,
    token: "token",
    daemon: { send: (type: number, header: unknown) => this.told.push([type, header]) },
  } as unknown as WorkerHostOptions);

  async connect(owner: ProcessId): Promise<Connection> {
    const [near, far] = loopbackPair();
    this.host.accept(far);
    const connection = new Connection(near, { trusted: true });
    await connection.request(MESSAGE.HELLO, {
      version: PROTOCOL_VERSION,
      token: "token",
      processId: owner,
      holderId: owner,
      kind: "worker",
      pid: 1,
      address: "",
      taskIdPrefix: "",
      jobId: "" as JobId,
    });
    return connection;
  }

  async reclaim(): Promise<void> {
    const parser = new FrameParser((frame) => this.host.receive(frame), FRAME_SIZE_MAX);
    parser.push(wholeFrame({ type: MESSAGE.LEASE_RECLAIM, flags: 0, callId: 0 }, encodeHeader([OWNER, LEASE]), []));
    await vi.advanceTimersByTimeAsync(0);
  }
}

test("a lease is taken back from an owner all of whose connections are idle, and with them closed", async () => {
  const world = new World();
  const [one, other, stranger] = [await world.connect(OWNER), await world.connect(OWNER), await world.connect(WORKER)];
  await vi.advanceTimersByTimeAsync(IDLE_MS);
  await world.reclaim();
  expect(world.told).toEqual([[MESSAGE.LEASE_RECLAIMED, [OWNER, LEASE]]]);
  expect([one.isClosed, other.isClosed, stranger.isClosed]).toEqual([true, true, false]);
});

test("one connection in use keeps all of its owner's: whoever loses one alone waits for an end of the lease that nobody tells", async () => {
  const world = new World();
  const idle = await world.connect(OWNER);
  await vi.advanceTimersByTimeAsync(IDLE_MS);
  const used = await world.connect(OWNER);
  await world.reclaim();
  expect(world.told).toEqual([]);
  expect([idle.isClosed, used.isClosed]).toEqual([false, false]);
});

test("of an owner whose connection broke no lease is said to be taken, as what it had sent may have run, until it has come again", async () => {
  const world = new World();
  const broken = await world.connect(OWNER);
  broken.drop("it broke");
  await vi.advanceTimersByTimeAsync(IDLE_MS);
  await world.reclaim();
  expect(world.told).toEqual([]);
  const again = await world.connect(OWNER);
  await vi.advanceTimersByTimeAsync(IDLE_MS);
  await world.reclaim();
  expect(world.told).toEqual([[MESSAGE.LEASE_RECLAIMED, [OWNER, LEASE]]]);
  expect(again.isClosed).toBe(true);
});

test("one that is still to connect for its lease loses it", async () => {
  const world = new World();
  await world.reclaim();
  expect(world.told).toEqual([[MESSAGE.LEASE_RECLAIMED, [OWNER, LEASE]]]);
});
