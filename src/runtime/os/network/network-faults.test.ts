/** Tests how a connection handles a cut while its process does not get to its timer; the file is real, the clock and the socket are not. */
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import type net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { NetworkFaults, type Silence } from "./network-faults.ts";
import type { Transport } from "./transport.ts";

const HERE = "127.0.0.2";
const THERE = "127.0.0.3";
/** A process that has not looked for this long does so before it sends or takes anything. */
const LOOKS_AGAIN_MS = 50;

class Inner implements Transport {
  onChunk: (chunk: Buffer) => void = () => {};
  onClose: (reason: string, isWhole: boolean) => void = () => {};
  onDrain: () => void = () => {};
  readonly certifiedNodeId = undefined;
  readonly remoteAddress = THERE;
  readonly channel = "test";
  readonly pendingBytes = 0;
  readonly written: string[] = [];
  write(chunk: Uint8Array): void {
    this.written.push(Buffer.from(chunk).toString());
  }
  end(): void {
    this.written.push("end");
  }
  destroy(): void {}
  setKeepsProcessAlive(): void {}
}

let folder: string;
let file: string;
let nowMs: number;
let faults: NetworkFaults;
let inner: Inner;
let transport: Transport;
let heard: string[];
/** Calls of the socket. */
let socket: string[];

let writes = 0;
function write(...silences: Silence[]): void {
  writes += 1;
  writeFileSync(file, JSON.stringify(silences));
  // Two writes within a moment have the same.
  utimesSync(file, writes, writes);
}

beforeEach(() => {
  // The timer never fires.
  vi.useFakeTimers({ toFake: ["setInterval"] });
  folder = mkdtempSync(join(tmpdir(), "shoal-faults-"));
  file = join(folder, "network");
  nowMs = 0;
  faults = new NetworkFaults({ host: HERE, file }, () => nowMs);
  inner = new Inner();
  heard = [];
  socket = [];
  const fake = { remoteAddress: THERE, pause: () => socket.push("pause"), resume: () => socket.push("resume") };
  transport = faults.cuttable(fake as unknown as net.Socket, inner);
  transport.onChunk = (chunk) => heard.push(chunk.toString());
  transport.onClose = (reason) => heard.push(reason);
});

afterEach(() => {
  faults.close();
  rmSync(folder, { recursive: true });
  vi.useRealTimers();
});

const send = (text: string): void => transport.write(Buffer.from(text));
const takes = (text: string): void => inner.onChunk(Buffer.from(text));

test("what is sent when the process has not looked for long obeys the file, and goes in its order when the cut ends", async () => {
  send("before");
  write([HERE, THERE]);
  nowMs += LOOKS_AGAIN_MS;
  send("one");
  await Promise.resolve();
  expect([inner.written, transport.pendingBytes]).toEqual([["before"], 3]);
  write();
  nowMs += LOOKS_AGAIN_MS;
  send("two");
  transport.end();
  await Promise.resolve();
  expect(inner.written).toEqual(["before", "one", "two", "end"]);
});

test("what the process is given when it has not looked for long is kept until the cut ends, and then its connection's end", async () => {
  takes("before");
  write([THERE, HERE]);
  nowMs += LOOKS_AGAIN_MS;
  const memory = Buffer.from("one");
  inner.onChunk(memory);
  // As the reader does with its memory.
  memory.fill("-");
  await Promise.resolve();
  takes("two");
  inner.onClose("it was reset", false);
  await Promise.resolve();
  expect([heard, socket]).toEqual([["before"], ["pause"]]);
  write();
  nowMs += LOOKS_AGAIN_MS;
  expect(faults.isConnected(THERE)).toBe(true);
  await new Promise((resolve) => setImmediate(resolve));
  expect([heard, socket]).toEqual([
    ["before", "one", "two", "it was reset"],
    ["pause", "resume"],
  ]);
});

test("the end of a connection is not noticed by a process that has not looked for long", async () => {
  write([THERE, HERE]);
  nowMs += LOOKS_AGAIN_MS;
  inner.onClose("it was reset", false);
  await Promise.resolve();
  expect(heard).toEqual([]);
});
