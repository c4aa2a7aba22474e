/**
 * Tests the native part: refusals, shared and private mappings, and unmapping only when the memory is unreachable.
 */
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  closeSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  ftruncateSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { collectGarbage, collectYoungGarbage } from "./engine/garbage.ts";
import { dieWithParent, loadNativePart, nativeUnavailableReason, type SharedMemory, sharedMemory } from "./shared-memory.ts";

const PREBUILDS = new URL("../../../prebuilds/", import.meta.url);
const PAGE = 4096;
/** The binary that loads here. */
function binaryPath(): string {
  const files = ["", "-musl"].map((libc) => fileURLToPath(new URL(`${process.platform}-${process.arch}${libc}.node`, PREBUILDS)));
  return files.find((file) => {
    try {
      return createRequire(import.meta.url)(file) !== undefined;
    } catch {
      return false;
    }
  }) as string;
}
/** Thrown by the native part itself, not by the engine. */
const REFUSED = /^Cannot (map|copy): /;
const directory = mkdtempSync(join(tmpdir(), "shoal-native-test-"));
const path = join(directory, "file");
let fd = -1;

beforeAll(() => {
  writeFileSync(path, Buffer.alloc(8 * PAGE, 1));
  fd = openSync(path, "r+");
});

afterAll(() => {
  closeSync(fd);
  rmSync(directory, { recursive: true });
});

describe("loading", () => {
  test("this platform has a binary with the right checksum", () => {
    const loaded = loadNativePart(PREBUILDS, process.platform, process.arch);
    expect(loaded).toHaveProperty("memory");
  });

  test("every prebuilt binary has its recorded checksum", () => {
    const checksums = JSON.parse(readFileSync(new URL("checksums.json", PREBUILDS), "utf8")) as Record<string, string>;
    expect(Object.keys(checksums).toSorted()).toEqual(
      ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-arm64-musl", "linux-x64", "linux-x64-musl"]
        .map((name) => `${name}.node`)
        .toSorted(),
    );
    for (const [platform, arch] of [
      ["darwin", "arm64"],
      ["darwin", "x64"],
      ["linux", "arm64"],
      ["linux", "x64"],
    ] as const) {
      const loaded = loadNativePart(PREBUILDS, platform, arch);
      // The native part loads, or this machine is of another kind; it is never damaged.
      if ("reason" in loaded) expect(loaded.reason).not.toMatch(/checksum/);
    }
  });

  test("a platform without a binary is told so", () => {
    expect(loadNativePart(PREBUILDS, "win32", "x64")).toEqual({ reason: "there is no prebuilt native part for win32-x64" });
  });

  test("a damaged binary is not loaded", () => {
    const damaged = join(directory, "damaged");
    cpSync(PREBUILDS, damaged, { recursive: true });
    const directoryUrl = pathToFileURL(`${damaged}/`);
    for (const file of ["linux-x64.node", "linux-x64-musl.node"]) writeFileSync(new URL(file, directoryUrl), "damaged");
    expect(loadNativePart(directoryUrl, "linux", "x64")).toEqual({ reason: "the checksum of linux-x64-musl.node is not the recorded one" });
    rmSync(new URL("checksums.json", directoryUrl));
    expect(loadNativePart(directoryUrl, "linux", "x64")).toHaveProperty(
      "reason",
      expect.stringMatching(/checksums of the native parts cannot be read/),
    );
  });
});

// The whole unit run passes with SHOAL_NATIVE=0 as well.
describe.skipIf(process.env["SHOAL_NATIVE"] === "0")("the native part", () => {
  let memory: SharedMemory;

  beforeAll(() => {
    memory = sharedMemory() as SharedMemory;
  });

  test("is available on this machine", () => {
    expect(nativeUnavailableReason()).toBeUndefined();
    expect(sharedMemory()).toBeDefined();
  });

  function mapped(mode: "shared" | "private", offset = 0, sizeBytes = 2 * PAGE): Uint8Array {
    return new Uint8Array(memory.map({ fd, offset, sizeBytes, mode }));
  }

  async function released(tokens: Set<number>, expected: number[]): Promise<void> {
    for (let attempt = 0; attempt < 50 && tokens.size < expected.length; attempt += 1) {
      collectGarbage();
      await nextTurn();
      memory.drainReleased();
    }
    expect(tokens).toEqual(new Set(expected));
  }

  test("a shared mapping writes to the file; a private one sees the file and keeps its own writes", () => {
    const shared = mapped("shared");
    const first = mapped("private");
    const second = mapped("private");
    shared[0] = 42;
    expect(first[0]).toBe(42);
    first[0] = 7;
    first[PAGE] = 8;
    expect([shared[0], shared[PAGE], second[0], second[PAGE]]).toEqual([42, 1, 42, 1]);
    expect(readFileSync(path)[0]).toBe(42);
    shared[0] = 1;
  });

  test("an offset need not be that of a page, and nothing before it can be reached", () => {
    const shared = mapped("shared");
    shared[PAGE + 100] = 99;
    const buffer = memory.map({ fd, offset: PAGE + 100, sizeBytes: 10, mode: "private" });
    expect(buffer.byteLength).toBe(10);
    expect(new Uint8Array(buffer)[0]).toBe(99);
    shared[PAGE + 100] = 1;
  });

  test("a mapping ends when its memory is unreachable, not when the first ArrayBuffer is", async () => {
    const ended = new Set<number>();
    const keep: { buffer: ArrayBuffer | undefined; view: Uint8Array | undefined } = { buffer: undefined, view: undefined };
    (() => {
      for (let token = 1; token <= 3; token += 1) {
        const buffer = memory.map({ fd, offset: 0, sizeBytes: PAGE, mode: "private", onReleased: () => ended.add(token) });
        if (token === 2) keep.buffer = buffer.transfer();
        if (token === 3) keep.view = new Uint8Array(buffer, 100, 10).subarray(5);
      }
    })();
    await released(ended, [1]);
    expect(new Uint8Array(keep.buffer as ArrayBuffer)[5]).toBe(1);
    expect(keep.view?.[0]).toBe(1);
    keep.buffer = undefined;
    await released(ended, [1, 2]);
    keep.view = undefined;
    await released(ended, [1, 2, 3]);
  });

  test("detaching ends a mapping without a collection", async () => {
    const ended = new Set<number>();
    const buffer = memory.map({ fd, offset: 0, sizeBytes: PAGE, mode: "shared", onReleased: () => ended.add(1) });
    const before = memory.liveMaps();
    buffer.transfer(0);
    await nextTurn();
    await nextTurn();
    memory.drainReleased();
    expect(ended.size).toBe(1);
    expect(memory.liveMaps()).toBe(before - 1);
  });

  test("a watched object is told of after a collection of young objects, once, and not when the watch was taken back", async () => {
    const ended: string[] = [];
    let kept: object[] | undefined = [{}, {}];
    (() => {
      memory.watch({}, () => ended.push("dropped"));
      for (const object of kept) memory.watch(object, () => ended.push("kept"));
      expect(memory.watch(kept[0] as object, () => ended.push("twice"))).toBe(false);
    })();
    for (let attempt = 0; attempt < 50 && ended.length === 0; attempt += 1) {
      collectYoungGarbage();
      await nextTurn();
      memory.drainReleased();
    }
    expect(ended).toEqual(["dropped"]);
    memory.unwatch(kept[0] as object)?.();
    expect([memory.unwatch(kept[0] as object), ended]).toEqual([undefined, ["dropped", "kept"]]);
    kept = undefined;
    for (let attempt = 0; attempt < 50 && ended.length < 3; attempt += 1) {
      collectGarbage();
      await nextTurn();
      memory.drainReleased();
    }
    expect(ended).toEqual(["dropped", "kept", "kept"]);
  });

  test("copies any length to any place", () => {
    const target = memory.map({ fd, offset: 0, sizeBytes: 8 * PAGE, mode: "private" });
    for (const [offset, length] of [
      [0, 0],
      [1, 1],
      [31, 100],
      [0, 8 * PAGE],
      [8 * PAGE, 0],
    ] as const) {
      const source = new Uint8Array(length).map((_, index) => index * 7 + offset);
      memory.copy(target, offset, source);
      expect(Buffer.from(target, offset, length).equals(Buffer.from(source))).toBe(true);
    }
  });

  test("copies with streaming stores are exact at every alignment", () => {
    const size = 3 * 1024 * 1024;
    const source = new Uint8Array(size).map((_, index) => index * 31 + (index >>> 8));
    const target = new ArrayBuffer(size + 256);
    for (const [from, to] of [
      [0, 0],
      [1, 0],
      [0, 1],
      [7, 63],
      [13, 130],
    ] as const) {
      new Uint8Array(target).fill(0);
      const view = source.subarray(from, size - 13 - from);
      memory.copy(target, to, view);
      const written = Buffer.from(target);
      expect(written.subarray(to, to + view.length).equals(view)).toBe(true);
      expect(written.subarray(0, to).every((byte) => byte === 0)).toBe(true);
      expect(written.subarray(to + view.length).every((byte) => byte === 0)).toBe(true);
    }
  });

  test("refuses ranges beyond the end of the file", () => {
    for (const [offset, sizeBytes] of [
      [0, 8 * PAGE + 1],
      [8 * PAGE, 1],
      [PAGE, 8 * PAGE],
      [2 ** 52, 1],
      [1, Number.MAX_SAFE_INTEGER],
    ] as const) {
      expect(() => memory.map({ fd, offset, sizeBytes, mode: "private" })).toThrow(RangeError);
    }
    const other = join(directory, "short");
    writeFileSync(other, "abc");
    const shortFd = openSync(other, "r+");
    ftruncateSync(shortFd, 0);
    expect(() => memory.map({ fd: shortFd, offset: 0, sizeBytes: 1, mode: "private" })).toThrow(RangeError);
    closeSync(shortFd);
  });

  test("refuses arguments of the wrong kind, and never crashes on them", () => {
    const junk: unknown[] = [
      undefined,
      null,
      -1,
      1.5,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      2 ** 60,
      "1",
      {},
      [],
      Symbol("x"),
      1n,
      new ArrayBuffer(8),
      new Uint8Array(8),
      new Float64Array(1),
      new SharedArrayBuffer(8),
    ];
    const map = memory.map as unknown as (range: Record<string, unknown>) => unknown;
    const copy = memory.copy as unknown as (...values: unknown[]) => unknown;
    for (const value of junk) {
      expect(() => map({ fd: value, offset: 0, sizeBytes: PAGE, mode: "shared" })).toThrow(REFUSED);
      if (value !== undefined) expect(() => map({ fd, offset: value, sizeBytes: PAGE, mode: "shared" })).toThrow(REFUSED);
      expect(() => map({ fd, offset: 0, sizeBytes: value, mode: "shared" })).toThrow(REFUSED);
      if (!(value instanceof ArrayBuffer)) expect(() => copy(value, 0, new Uint8Array(1))).toThrow(TypeError);
      expect(() => copy(new ArrayBuffer(4), value, new Uint8Array(1))).toThrow(REFUSED);
      if (!(value instanceof Uint8Array)) expect(() => copy(new ArrayBuffer(8), 0, value)).toThrow(TypeError);
    }
    expect(() => map({ fd, offset: 0, sizeBytes: 0, mode: "shared" })).toThrow(RangeError);
    expect(() => map({ fd: 99_999, offset: 0, sizeBytes: 1, mode: "shared" })).toThrow(expect.objectContaining({ code: "EBADF" }));
    expect(() => copy(new ArrayBuffer(8), 1, new Uint8Array(8))).toThrow(RangeError);
    expect(() => copy(new ArrayBuffer(8), 9, new Uint8Array(0))).toThrow(RangeError);
    const detached = new ArrayBuffer(8);
    const view = new Uint8Array(detached);
    detached.transfer();
    expect(() => copy(detached, 0, new Uint8Array(1))).toThrow(RangeError);
    copy(new ArrayBuffer(8), 0, view);
  });

  test("refuses to write to a file that is open for reading only", () => {
    const readOnly = openSync(path, "r");
    expect(() => memory.map({ fd: readOnly, offset: 0, sizeBytes: PAGE, mode: "shared" })).toThrow(
      expect.objectContaining({ code: "EACCES" }),
    );
    const buffer = memory.map({ fd: readOnly, offset: 0, sizeBytes: PAGE, mode: "private" });
    new Uint8Array(buffer)[0] = 5;
    closeSync(readOnly);
  });

  test("refuses what is not a file", () => {
    const folder = openSync(directory, "r");
    expect(() => memory.map({ fd: folder, offset: 0, sizeBytes: 1, mode: "private" })).toThrow(TypeError);
    closeSync(folder);
  });

  test("cannot be handed to another thread, which would outlive its bookkeeping", () => {
    const buffer = memory.map({ fd, offset: 0, sizeBytes: PAGE, mode: "private" });
    expect(() => structuredClone(buffer, { transfer: [buffer] })).toThrow(/transfer|clone/i);
    expect(new Uint8Array(buffer)[1]).toBe(1);
  });

  test("makes named pipes, and says why it cannot", () => {
    const pipe = join(directory, "pipe");
    memory.makeFifo(pipe);
    expect(statSync(pipe).isFIFO()).toBe(true);
    expect(statSync(pipe).mode & 0o777).toBe(0o600);
    expect(() => memory.makeFifo(pipe)).toThrow(/mkfifo: File exists/);
    for (const wrong of ["", "x".repeat(2000), "a\0b", 5]) expect(() => memory.makeFifo(wrong as string)).toThrow(TypeError);
  });

  test("waits on a word no longer than it has the value, or than it may", () => {
    const { buffer } = mapped("private");
    const startMs = performance.now();
    memory.waitOnWord(buffer as ArrayBuffer, 0, { expected: 12345, timeoutUs: 1_000_000 });
    expect(performance.now() - startMs).toBeLessThan(900);
    const [word] = new Uint32Array(buffer, 0, 1) as unknown as [number];
    memory.waitOnWord(buffer as ArrayBuffer, 0, { expected: word, timeoutUs: 1000 });
    memory.wakeWord(buffer as ArrayBuffer, 0);
    expect(() => memory.wakeWord(buffer as ArrayBuffer, (2 * PAGE) / 4)).toThrow(RangeError);
    expect(() => memory.waitOnWord(buffer as ArrayBuffer, 0, { expected: word, timeoutUs: 2_000_000 })).toThrow(RangeError);
    expect(() => memory.wakeWord({} as ArrayBuffer, 0)).toThrow(TypeError);
  });

  test("offers the processor and goes on", () => {
    const startMs = performance.now();
    for (let offer = 0; offer < 100; offer += 1) memory.yieldProcessor();
    expect(performance.now() - startMs).toBeLessThan(5000);
  });

  test.runIf(process.platform === "linux")("ties this process to its parent", () => {
    expect(dieWithParent()).toBe(true);
  });

  test.runIf(process.platform === "linux")(
    "a child of a thread that was ended is waited for, and one that ended before is not",
    async () => {
      const code = `
      const { parentPort, workerData } = require("node:worker_threads");
      const { reapWithThread, hasEnded } = require(workerData);
      const start = () => require("node:child_process").spawn("cat", { stdio: ["pipe", "ignore", "ignore"] });
      const [left, ended] = [start(), start()];
      for (const { pid } of [left, ended]) reapWithThread(pid);
      ended.once("exit", () => {
        hasEnded(ended.pid);
        parentPort.postMessage(left.pid);
      });
      ended.stdin.end();`;
      const thread = new Worker(code, { eval: true, workerData: binaryPath() });
      const [pid] = (await once(thread, "message")) as [number];
      expect(existsSync(`/proc/${pid}`)).toBe(true);
      await thread.terminate();
      // The child ends with its standard input. A defunct process keeps its folder.
      await vi.waitUntil(() => !existsSync(`/proc/${pid}`), { timeout: 30_000 });
    },
  );

  test("only numbers of processes are waited for", () => {
    const { reapWithThread } = createRequire(import.meta.url)(binaryPath()) as { reapWithThread: (pid: unknown) => void };
    for (const pid of [0, -1, 1.5 * 2 ** 40, "1", undefined]) expect(() => reapWithThread(pid)).toThrow("Cannot reap a child");
  });
});
