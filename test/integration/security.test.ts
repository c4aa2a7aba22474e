/**
 * Unauthenticated callers at the sockets of a session: without the token no caller is heard, and no bytes, however malformed, end or stop a
 * process.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import net from "node:net";
import { dirname, join } from "node:path";
import { init, nodes, remote, shutdown } from "shoal";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { ProcessId } from "../../src/runtime/base/ids.ts";
import { randomHex } from "../../src/runtime/os/random.ts";
import { proofOf } from "../../src/runtime/rpc/proof.ts";
import { decodeHeader, encodeHeader } from "../../src/runtime/wire/header.ts";
import { type Frame, FRAME_FLAG, FrameParser, FrameWriter } from "../../src/runtime/wire/frame.ts";
import { MESSAGE, PROTOCOL_VERSION } from "../../src/runtime/wire/messages.ts";
import type { OpenReply } from "../../src/runtime/wire/cluster/open-messages.ts";
import { eventually, isAlive, Sandbox } from "./sandbox.ts";

const sandbox = new Sandbox();
const temporaryBefore = process.env["TMPDIR"];
let token: string;
let nodeTag: string;
let directory: string;
let addresses: { daemon: string; worker: string };
let processes: { pid: number; command: string }[];

const add = remote((left: number, right: number) => left + right);

beforeAll(async () => {
  process.env["TMPDIR"] = sandbox.temporary;
  await init({ numCpus: 1, logToDriver: false });
  await add.remote(1, 1);
  token = (globalThis as unknown as Record<symbol, { options: { token: string } }>)[Symbol.for("shoal.runtime.1")]?.options.token ?? "";
  const [node] = await nodes();
  const daemon = node?.address ?? "";
  nodeTag = node?.nodeId.slice(0, 16) ?? "";
  directory = dirname(daemon);
  const worker = readdirSync(directory).find((name) => /^w\d+$/.test(name)) ?? "";
  addresses = { daemon, worker: join(directory, worker) };
  processes = sandbox.processes();
});
afterEach(async () => {
  // The session goes on, in the processes that it had.
  assert.equal(await add.remote(20, 22), 42);
  assert.ok(processes.every(({ pid }) => isAlive(pid)));
});
afterAll(async () => {
  await shutdown();
  process.env["TMPDIR"] = temporaryBefore;
  if (temporaryBefore === undefined) delete process.env["TMPDIR"];
  await sandbox.mustBeEmpty();
  sandbox.remove();
});

/** A caller without the token: records its received frames, and whether the peer has hung up. */
class UnauthenticatedCaller {
  readonly #socket: net.Socket;
  readonly #address: string;
  readonly replies: { type: number; flags: number; header: Buffer }[] = [];
  isClosed = false;

  constructor(address: string) {
    this.#address = address;
    this.#socket = net.connect(address);
    const parser = new FrameParser((frame: Frame) =>
      this.replies.push({ type: frame.type, flags: frame.flags, header: Buffer.from(frame.header) }),
    );
    this.#socket.on("data", (chunk: Buffer) => parser.push(chunk));
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => {
      this.isClosed = true;
    });
  }

  write(bytes: Uint8Array): this {
    this.#socket.write(bytes);
    return this;
  }

  send(type: number, header: unknown, options: { callId?: number; flags?: number; body?: Uint8Array } = {}): this {
    const writer = new FrameWriter((chunk) => this.#socket.write(Buffer.from(chunk)));
    const bytes = header === undefined ? undefined : encodeHeader(header);
    writer.full(type, options.flags ?? 0, options.callId ?? 1, bytes, options.body === undefined ? [] : [options.body]);
    writer.flush();
    return this;
  }

  open(changes: Record<string, unknown> = {}): this {
    return this.send(MESSAGE.OPEN, { version: PROTOCOL_VERSION, token: "", processId: "f".repeat(32), nonce: "0".repeat(64), ...changes });
  }

  /** Proves that it knows the token, and says hello as a process of the node. */
  async hello(changes: { kind?: string } = {}): Promise<this> {
    const processId = nodeTag + randomHex(8);
    this.open({ processId });
    if (!(await eventually(() => this.replies.length > 0))) throw new Error("nobody answers");
    const { nodeId, processId: listenerId, nonce } = decodeHeader(this.replies.shift()?.header ?? Buffer.of()) as OpenReply;
    const known = {
      callerNonce: "0".repeat(64),
      listenerNonce: nonce,
      callerId: processId as ProcessId,
      listenerNodeId: nodeId,
      listenerId,
    };
    this.send(MESSAGE.PROOF, proofOf(token, "caller", { channel: `unix ${this.#address}`, ...known }));
    return this.send(MESSAGE.HELLO, {
      processId,
      holderId: processId,
      kind: "driver",
      pid: process.pid,
      address: "",
      taskIdPrefix: processId.slice(16),
      jobId: "ffffffff",
      ...changes,
    });
  }

  async dropped(): Promise<boolean> {
    return await eventually(() => this.isClosed, 10_000);
  }

  hangUp(): void {
    this.#socket.destroy();
  }
}

/** Numbers that look random and are the same in every run. */
function* noise(seed: number): Generator<number, never> {
  let state = seed;
  for (;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state >>> 8;
  }
}

function randomBytes(source: Generator<number>, sizeBytes: number): Buffer {
  return Buffer.from(Array.from({ length: sizeBytes }, () => (source.next().value as number) & 0xff));
}

test("sockets and their folder are for their owner alone, and no process shows the token", () => {
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  for (const address of Object.values(addresses)) expect(statSync(address).mode & 0o777).toBe(0o600);
  expect(token.length).toBeGreaterThanOrEqual(64);
  for (const { pid } of processes) {
    expect(readFileSync(`/proc/${pid}/cmdline`, "latin1")).not.toContain(token);
    expect(readFileSync(`/proc/${pid}/environ`, "latin1")).not.toContain(token);
  }
});

describe.concurrent.each(["daemon", "worker"] as const)("the %s", (kind) => {
  test("answers the right token", async () => {
    const friend = await new UnauthenticatedCaller(addresses[kind]).hello({ kind: "worker" });
    expect(await eventually(() => friend.replies.length > 0)).toBe(true);
    expect(friend.replies[0]).toMatchObject({ type: MESSAGE.REPLY });
    expect((friend.replies[0]?.flags ?? 0) & FRAME_FLAG.ERROR).toBe(0);
    friend.hangUp();
  });

  test.each([
    ["a random number that is none", { nonce: "7" }, "hello"],
    ["an id that is none", { processId: 7 }, "hello"],
    ["another protocol version", { version: 9999 }, "version"],
    ["a token in the place of a proof, as version 1 has it,", { version: 1, token: "0".repeat(64) }, "version"],
  ])("refuses %s with the reason and hangs up", async (_what, changes, reason) => {
    const caller = new UnauthenticatedCaller(addresses[kind]).open(changes);
    expect(await caller.dropped()).toBe(true);
    expect(caller.replies).toHaveLength(1);
    expect((caller.replies[0]?.flags ?? 0) & FRAME_FLAG.ERROR).not.toBe(0);
    expect(caller.replies[0]?.header.toString("latin1")).toContain(reason);
    expect(caller.replies[0]?.header.toString("latin1")).not.toContain(token);
  });

  test.each([
    ["a wrong proof", "0".repeat(64)],
    ["an empty proof", ""],
    ["a proof that is not text", 7],
    ["the token itself", (): string => token],
  ])("hangs up on %s without a word", async (_what, proof) => {
    const caller = new UnauthenticatedCaller(addresses[kind]).open();
    expect(await eventually(() => caller.replies.length > 0)).toBe(true);
    caller.send(MESSAGE.PROOF, typeof proof === "function" ? proof() : proof);
    expect(await caller.dropped()).toBe(true);
    expect(caller.replies).toHaveLength(1);
  });

  test("hangs up on one that says nothing, sends half a hello, or too much", async () => {
    const silent = new UnauthenticatedCaller(addresses[kind]);
    const half = new UnauthenticatedCaller(addresses[kind]).write(Buffer.from([200, 0, 0, 0, MESSAGE.OPEN]));
    const tooMuch = new UnauthenticatedCaller(addresses[kind]).open({ address: "x".repeat(5000) });
    for (const caller of [silent, half, tooMuch]) expect(await caller.dropped()).toBe(true);
  });

  test("does nothing of what is sent before a hello", async () => {
    const types = Object.values(MESSAGE).filter((type) => type !== MESSAGE.OPEN);
    const callers = types.map((type) => new UnauthenticatedCaller(addresses[kind]).send(type, [1, "x"]));
    for (const caller of callers) expect(await caller.dropped()).toBe(true);
  });

  test("hangs up on noise", async () => {
    const source = noise(1);
    const callers = Array.from({ length: 60 }, (_, index) =>
      new UnauthenticatedCaller(addresses[kind]).write(randomBytes(source, 1 + index * 17)),
    );
    for (const caller of callers) expect(await caller.dropped()).toBe(true);
  });

  test("survives malformed frames of one that knows the token", async () => {
    const source = noise(kind === "daemon" ? 2 : 3);
    // None of these headers is well formed where it asks for something: a demand for a CPU would be granted, and a worker ends with the program that leased it.
    const harmless = Object.values(MESSAGE).filter((type) => type !== MESSAGE.SHUTDOWN && type !== MESSAGE.HELLO);
    const headers = [undefined, null, 0, -1, "text", [], {}, [[]], [["x", "y", "z"]], { id: 1 }, { shape: "CPU:-50000", backlog: 3 }];
    let refusedCount = 0;
    for (let round = 0; round < 8; round += 1) {
      const callers = await Promise.all(
        harmless.map(async (type, index) => {
          const caller = await new UnauthenticatedCaller(addresses[kind]).hello();
          expect(await eventually(() => caller.replies.length > 0)).toBe(true);
          expect((caller.replies.shift()?.flags ?? FRAME_FLAG.ERROR) & FRAME_FLAG.ERROR).toBe(0);
          if (round === 0) return caller.write(rawFrame(type, randomBytes(source, 30)));
          return caller.send(type, headers[(index + round) % headers.length], { callId: round, body: randomBytes(source, round * 5) });
        }),
      );
      // A worker ignores useless messages, and a daemon refuses them with the reason.
      const isRefused = (caller: UnauthenticatedCaller): boolean => caller.isClosed || caller.replies.length > 0;
      if (kind === "daemon") expect(await eventually(() => callers.every(isRefused))).toBe(true);
      const later = await new UnauthenticatedCaller(addresses[kind]).hello();
      expect(await eventually(() => later.replies.length > 0)).toBe(true);
      refusedCount += callers.filter(isRefused).length;
      later.hangUp();
      for (const caller of callers) caller.hangUp();
    }
    expect(refusedCount).toBeGreaterThan(harmless.length);
  });
});

/** A frame whose length is right and whose content is not. */
function rawFrame(type: number, content: Buffer): Buffer {
  const frame = Buffer.alloc(10 + content.length);
  frame.writeUInt32LE(6 + content.length, 0);
  frame[4] = type;
  frame[5] = FRAME_FLAG.HEADER;
  content.copy(frame, 10);
  return frame;
}
