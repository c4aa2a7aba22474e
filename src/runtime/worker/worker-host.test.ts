import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { JobId, NodeId, ProcessId } from "../base/ids.ts";
import { loopbackPair } from "../os/network/transport.ts";
import { Connection } from "../rpc/connection.ts";
import { proveTo } from "../rpc/handshake.ts";
import { FrameParser, wholeFrame } from "../wire/frame.ts";
import { encodeHeader } from "../wire/header.ts";
import { FRAME_SIZE_MAX } from "../wire/limits.ts";
import { MESSAGE } from "../wire/messages.ts";
import { LOOK_FOR_OPEN_CALLS_MS } from "./limits.ts";
import { type TaskContext, taskContext } from "./tasks/task-context.ts";
import { WorkerHost, type WorkerHostOptions } from "./worker-host.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const NODE = "0".repeat(32) as NodeId;
const WORKER = `${"0".repeat(16)}${"1".repeat(16)}` as ProcessId;
const OWNER = "2".repeat(32) as ProcessId;
const LEASE = 7;
const NOTHING = new Uint8Array(0);
const DEFINITION = { contentId: "f", name: "f", inBand: -1, buffers: [], dependencies: [], refs: [] };
/** Longer than the worker takes for idleness. */
const IDLE_MS = 30;

/** A worker, what it tells its daemon, and the connections to it. */
class World {
  readonly told: [type: number, header: unknown][] = [];
  /** What its tasks do. */
  run: () => unknown = () => 1;
  /** Whether tasks of this worker have open calls. */
  isNeeded = false;
  hasExited = false;
  /** Each time that something was handed over to be sent to a caller. */
  onWrite: (types: readonly number[]) => void = () => {};
  readonly host: WorkerHost = new WorkerHost({
    processId: WORKER,
    nodeId: NODE,
    token: "token",
    daemon: { send: (type: number, header: unknown) => this.told.push([type, header]), flush: () => {} },
    isNeeded: () => this.isNeeded,
    exit: () => (this.hasExited = true),
    localFunction: () => () => this.run(),
    runOwn: () => false,
    hasQueued: () => false,
    codec: {
      decodePlainArguments: () => [],
      decodeArguments: () => [],
      encode: () => ({ isPlain: true, graph: false, bytes: NOTHING, start: 0, end: 0 }),
    },
  } as unknown as WorkerHostOptions);

  async connect(owner: ProcessId, leaseId?: number): Promise<Connection> {
    const [near, far] = loopbackPair();
    const write = far.write.bind(far);
    far.write = (chunk) => {
      const types: number[] = [];
      new FrameParser((frame) => void types.push(frame.type), FRAME_SIZE_MAX).push(Buffer.from(chunk));
      this.onWrite(types);
      write(chunk);
    };
    this.host.accept(far);
    await proveTo(near, { token: "token", processId: owner, action: "connect" });
    const connection = new Connection(near, { trusted: true });
    await connection.request(MESSAGE.HELLO, {
      processId: owner,
      holderId: owner,
      kind: "worker",
      pid: 1,
      address: "",
      taskIdPrefix: "",
      jobId: "" as JobId,
      leaseId,
    });
    return connection;
  }

  async order(type: number, header: unknown): Promise<void> {
    const parser = new FrameParser((frame) => this.host.receive(frame), FRAME_SIZE_MAX);
    parser.push(wholeFrame({ type, flags: 0, callId: 0 }, encodeHeader(header), []));
    await vi.advanceTimersByTimeAsync(0);
  }

  async reclaim(): Promise<void> {
    await this.order(MESSAGE.LEASE_RECLAIM, [OWNER, LEASE]);
  }
}

test("a lease is taken back from an owner all of whose connections are idle, and with them closed", async () => {
  const world = new World();
  const [one, other, unrelated] = [await world.connect(OWNER, 3), await world.connect(OWNER), await world.connect(WORKER)];
  await vi.advanceTimersByTimeAsync(IDLE_MS);
  await world.reclaim();
  expect(world.told).toEqual([[MESSAGE.LEASE_RECLAIMED, [OWNER, LEASE, [[3, 0]]]]]);
  expect([one.isClosed, other.isClosed, unrelated.isClosed]).toEqual([true, true, false]);
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

test("of a connection that broke nothing is said: what was sent over it may have run", async () => {
  const world = new World();
  const broken = await world.connect(OWNER, LEASE);
  broken.drop("it broke");
  await vi.advanceTimersByTimeAsync(IDLE_MS);
  await world.reclaim();
  expect(world.told).toEqual([[MESSAGE.LEASE_RECLAIMED, [OWNER, LEASE, []]]]);
});

test("one that is still to connect for its lease loses it, and hears that nothing was read", async () => {
  const world = new World();
  await world.reclaim();
  expect(world.told).toEqual([[MESSAGE.LEASE_RECLAIMED, [OWNER, LEASE, []]]]);
  const late = await world.connect(OWNER, LEASE);
  await vi.advanceTimersByTimeAsync(0);
  expect(world.told[1]).toEqual([MESSAGE.LEASE_RECLAIMED, [OWNER, LEASE, [[LEASE, 0]]]]);
  expect(late.isClosed).toBe(true);
  const later = await world.connect(OWNER, LEASE + 1);
  await vi.advanceTimersByTimeAsync(0);
  expect([later.isClosed, world.told.length]).toEqual([false, 2]);
});

test("what was read of a connection before it ends with its lease is counted", async () => {
  const world = new World();
  await world.order(MESSAGE.WORKER_SLOT, ["CPU:10000", false, true]);
  const connection = await world.connect(OWNER, LEASE);
  const answered: number[] = [];
  connection.onFrame = ({ type, callId }) => void answered.push(type === MESSAGE.RESULT ? callId : -1);
  connection.send(MESSAGE.DEFINITION, { ...DEFINITION, number: 0, id: "f" });
  for (const callId of [1, 2]) connection.sendNumbered(MESSAGE.TASK_CALL, 0, callId, 0, NOTHING, 0, 0);
  await vi.advanceTimersByTimeAsync(IDLE_MS);
  await world.reclaim();
  expect(answered).toEqual([1, 2]);
  expect(world.told).toEqual([[MESSAGE.LEASE_RECLAIMED, [OWNER, LEASE, [[LEASE, 2]]]]]);
});

test("that a task has begun and waits is on its way before the next one begins, which may end the process", async () => {
  const world = new World();
  const log: (number | string)[] = [];
  let begun = 0;
  world.onWrite = (types) => log.push(...types);
  world.run = () => {
    begun += 1;
    log.push(`task ${begun} begins`);
    const context = taskContext.current as TaskContext;
    // All know how quick it is from the first on: then nothing else is sent before the next.
    if (begun === 1) return 1;
    world.host.executor.waitBegins(context);
    return new Promise(() => {});
  };
  await world.order(MESSAGE.WORKER_SLOT, ["CPU:10000", false, true]);
  const connection = await world.connect(OWNER, LEASE);
  connection.send(MESSAGE.DEFINITION, { ...DEFINITION, number: 0, id: "f" });
  connection.sendNumbered(MESSAGE.TASK_CALL, 0, 1, 0, NOTHING, 0, 0);
  await vi.advanceTimersByTimeAsync(0);
  log.length = 0;
  connection.sendNumbered(MESSAGE.TASK_CALL, 0, 2, 0, NOTHING, 0, 0);
  await vi.advanceTimersByTimeAsync(0);
  await world.order(MESSAGE.WORKER_SLOT, ["CPU:10000", false, true]);
  for (const callId of [3, 4]) connection.sendNumbered(MESSAGE.TASK_CALL, 0, callId, 0, NOTHING, 0, 0);
  await vi.advanceTimersByTimeAsync(IDLE_MS);
  const { TASK_PARKED } = MESSAGE;
  expect(log).toEqual(["task 2 begins", TASK_PARKED, "task 3 begins", TASK_PARKED, "task 4 begins", TASK_PARKED]);
});

test("a retiring worker declines to become an actor, and ends once the calls of its tasks have", async () => {
  const world = new World();
  await world.order(MESSAGE.WORKER_SLOT, ["CPU:10000", false, true]);
  const connection = await world.connect(OWNER, LEASE);
  connection.send(MESSAGE.DEFINITION, { ...DEFINITION, number: 0, id: "f", maxCalls: 1 });
  connection.sendNumbered(MESSAGE.TASK_CALL, 0, 1, 0, NOTHING, 0, 0);
  await vi.advanceTimersByTimeAsync(0);
  world.isNeeded = true;
  world.told.length = 0;
  const args = { inBand: 0, buffers: [], graph: false, error: false, definitions: [], refs: [] };
  const actor = { actorId: "3".repeat(32), incarnation: 0, definition: "d", name: "A", resources: {}, groups: { default: 1 }, shape: "" };
  await world.order(MESSAGE.ACTOR_START, { ...actor, args, deps: [] });
  expect(world.told).toEqual([[MESSAGE.WORKER_EXIT, { ending: "declined" }]]);
  expect([world.host.actors.actorId, world.hasExited]).toEqual([undefined, false]);
  world.isNeeded = false;
  await vi.advanceTimersByTimeAsync(LOOK_FOR_OPEN_CALLS_MS);
  expect(world.hasExited).toBe(true);
});
