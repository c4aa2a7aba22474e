/**
 * Tests the buffers of sockets: one for all ordinary ones, a larger one for those with large objects, and the position of received data.
 * The last data of a process is read even after a failed write to it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { connectSocket, listenSocket, loopbackPair, readInto, type Transport } from "./transport.ts";

function bufferOf(options?: { isBulk?: boolean }): Uint8Array {
  return readInto(() => undefined, options).buffer as Uint8Array;
}

it("a connection that is over is told nothing more, so that Node warns of no listeners", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "shoal-transport-"));
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on("warning", onWarning);
  const listener = await listenSocket(path.join(folder, "socket"), () => {});
  try {
    const transport = await connectSocket(listener.path);
    transport.destroy();
    for (let call = 0; call < 20; call += 1) transport.setKeepsProcessAlive(call % 2 === 0);
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings).toEqual([]);
  } finally {
    process.off("warning", onWarning);
    listener.close();
    rmSync(folder, { recursive: true });
  }
});

describe("readInto", () => {
  it("has one buffer for all sockets of a kind, and sixteen times as much for large objects", () => {
    expect(bufferOf()).toBe(bufferOf({ isBulk: false }));
    expect(bufferOf({ isBulk: true })).toBe(bufferOf({ isBulk: true }));
    expect(bufferOf({ isBulk: true }).byteLength).toBe(16 * bufferOf().byteLength);
  });

  it.each([{ isBulk: false }, { isBulk: true }])("hands on what was read, and only that: %o", (options) => {
    const [transport] = loopbackPair();
    const chunks: string[] = [];
    transport.onChunk = (chunk) => chunks.push(chunk.toString());
    const { buffer, callback } = readInto(() => transport, options);
    const target = buffer as Buffer;
    target.write("abcdef");
    expect(callback(3, target)).toBe(true);
    target.write("xyz");
    expect(callback(2, target)).toBe(true);
    expect(chunks).toEqual(["abc", "xy"]);
  });
});

/** Writes on command, and ends at once. */
const SPEAKER = `
  const socket = require("node:net").connect(process.argv[1], () => socket.write("hello"));
  socket.on("data", () => {
    socket.write("last words");
    setImmediate(() => setImmediate(() => process.exit(0)));
  });
`;

/** The last thread of a process closes its files. */
function hasEnded(pid: number): boolean {
  return readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ") && readdirSync(`/proc/${pid}/task`).length === 1;
}

it("hands on what a process wrote before its end, though a write to it fails before that was read", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "shoal-transport-"));
  const heard: string[] = [];
  const { promise: closed, resolve } = Promise.withResolvers<string>();
  let speaker: ReturnType<typeof spawn> | undefined;
  const listener = await listenSocket(path.join(folder, "s"), (transport: Transport) => {
    transport.onClose = resolve;
    transport.onChunk = (chunk) => {
      heard.push(chunk.toString());
      if (heard.length > 1) return;
      transport.write(Buffer.from("speak"));
      setImmediate(() => {
        // The loop does not turn: data written meanwhile stays unread.
        while (!hasEnded(speaker?.pid as number)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
        transport.write(Buffer.from("for nobody"));
      });
    };
  });
  try {
    speaker = spawn(process.execPath, ["-e", SPEAKER, listener.path], { stdio: "inherit" });
    const ended = once(speaker, "exit");
    expect(await closed).toContain("EPIPE");
    expect(heard).toEqual(["hello", "last words"]);
    await ended;
  } finally {
    listener.close();
    rmSync(folder, { recursive: true });
  }
});
