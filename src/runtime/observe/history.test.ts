/** Tests that a history has each ended call with its meaning, that each segment is read alone, and that nothing in a folder is trusted. */
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { JobId, ProcessId } from "../base/ids.ts";
import { BLOCK_HEADER_LENGTH, SEGMENT_HEADER_LENGTH, type SegmentBlock } from "../os/history/segment-layout.ts";
import { blocksOf, historyFolder, segmentsOf } from "../os/history/segment-reader.ts";
import { type SegmentHandle, SegmentWriter } from "../os/history/segment-writer.ts";
import { CallRecorder } from "./call-recorder.ts";
import { CallRecords } from "./call-records.ts";
import { callRow } from "./call-view.ts";
import { HISTORY_BLOCK } from "./history-blocks.ts";
import { callsOf, HistoryFacts } from "./history-calls.ts";
import { HistoryRecorder } from "./history-recorder.ts";
import { ObservationMemory } from "./observation-memory.ts";
import type { StateRow } from "./select-rows.ts";

const NODE = "b".repeat(32);
const WORKER = "a".repeat(32) as ProcessId;

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "shoal-history-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

type WriterOptions = Partial<ConstructorParameters<typeof SegmentWriter>[0]>;

function bench(folder: string, options: WriterOptions = {}) {
  const failures: string[] = [];
  const writer = new SegmentWriter({ folder, nodeId: NODE, onFailure: (text) => failures.push(text), ...options });
  const history = new HistoryRecorder(writer);
  const observation = new ObservationMemory(() => {});
  const recorder = new CallRecorder(observation.memory);
  const records = new CallRecords(NODE, (...kept) => history.call(...kept));
  records.joined({ id: WORKER, pid: 7, jobId: "0000abcd" as JobId }, observation);
  const caller = recorder.callerNumber("0123456789ab");
  const begin = (name: string, callId: number, startMs = callId): { slot: number; fn: number } => {
    const fn = recorder.functionNumber({ recordNumber: -1, recordName: "" }, name, undefined);
    return { fn, slot: recorder.begins(fn, caller, { callId, parentCaller: 0, parentId: 0, attempt: 1 }, startMs) };
  };
  const call = (name: string, callId: number, outcome: "finished" | "failed" = "finished"): void => {
    const { slot, fn } = begin(name, callId);
    recorder.ends(slot, fn, outcome, callId + 0.25);
  };
  return { writer, history, recorder, records, begin, call, failures };
}

function read(folder: string): { rows: StateRow[]; facts: HistoryFacts } {
  const facts = new HistoryFacts();
  const sources = function* () {
    for (const segment of segmentsOf(folder))
      yield { nodeId: segment.nodeId, blocks: blocksOf(segment, (text) => facts.warnings.add(text)) };
  };
  for (const { nodeId, blocks } of sources()) for (const block of blocks) facts.take(block, nodeId);
  const calls = Array.from(
    callsOf(sources(), (text) => facts.warnings.add(text)),
    (view) => callRow(view, true, facts.failureOf),
  );
  return { rows: calls, facts };
}

const segmentIn = (folder: string): string => {
  const nodes = join(folder, "nodes", NODE);
  return join(nodes, readdirSync(nodes)[0] as string);
};

test("a history has the calls of a node as the node lists them, with errors, causes and rows", async () => {
  const folder = newFolder();
  const { records, history, call, begin } = bench(folder);
  history.row("workers", WORKER, { timeMs: 5, isLive: true, make: () => ({ is_alive: true }) });
  for (let callId = 1; callId <= 9; callId += 1) call("resize", callId, callId === 7 ? "failed" : "finished");
  const failure = { caller: "0123456789ab", callId: 7, type: "Error", message: "seven", stack: "Error: seven\n    at f" };
  records.failed(failure);
  history.failure(failure);
  records.poll();
  history.flush();
  begin("long", 10);
  records.ended(WORKER, { cause: "It was ended by SIGKILL.", nowMs: Date.now(), isIntended: false });
  history.row("workers", WORKER, { timeMs: 5, isLive: false, make: () => ({ is_alive: false }) });
  await history.close();
  const { rows, facts } = read(folder);
  const listed = records.select({ filters: [], limit: 100, detail: true }).rows.map(({ row }) => row);
  expect(new Set(rows)).toEqual(new Set(listed));
  expect(rows).toHaveLength(10);
  expect(rows.find(({ state }) => state === "FAILED")).toMatchObject({ error_message: "Error: seven\n    at f", attempt_number: 1 });
  expect(rows.at(-1)).toMatchObject({ name: "long", error_type: "WORKER_DIED", error_message: "It was ended by SIGKILL." });
  expect(Array.from(facts.rowsOf("workers"))).toEqual([{ key: [5, WORKER], row: { is_alive: false } }]);
  expect([facts.warnings.size, facts.lostRows]).toEqual([0, 0]);
});

test("a call takes at most 16 bytes, and each of many segments is read alone", async () => {
  const folder = newFolder();
  let nowMs = 1_700_000_000_000;
  let noise = 1;
  const { writer, history, records, begin, recorder } = bench(folder, { segmentBytesMax: 60_000, nowMs: () => (nowMs += 1) });
  history.row("workers", WORKER, { timeMs: 5, isLive: true, make: () => ({ is_alive: true }) });
  const calls = 40_000;
  for (let callId = 1; callId <= calls; callId += 1) {
    // Times with all their digits, as clocks give them.
    noise = (noise * 48_271) % 2_147_483_647;
    const startMs = callId / 7 + noise / 2_147_483_647;
    const { slot, fn } = begin(`f${callId % 3}`, callId, startMs);
    recorder.ends(slot, fn, "finished", startMs + noise / 3e9);
    if (callId % 500 !== 0) continue;
    records.poll();
    history.flush();
    await writer.flush();
  }
  await history.close();
  const segments = segmentsOf(folder);
  expect(segments.length).toBeGreaterThan(3);
  const bytes = segments.reduce((sum, { path }) => sum + readFileSync(path).length, 0);
  expect(bytes / calls).toBeLessThan(16);
  expect(new Set(read(folder).rows.map(({ task_id: id }) => id)).size).toBe(calls);
  for (const [at, { path }] of segments.entries()) if (at !== 2) rmSync(path);
  const { rows, facts } = read(folder);
  expect(rows.length).toBeGreaterThan(1_000);
  expect(new Set(rows.map(({ name }) => name))).toEqual(new Set(["f0", "f1", "f2"]));
  expect(rows.every(({ task_id: id, worker_pid: pid }) => String(id).startsWith("0123456789ab") && pid === 7)).toBe(true);
  expect(Array.from(facts.rowsOf("workers"))).toHaveLength(1);
  writeFileSync(segments[2]?.path ?? "", "");
  expect(read(folder).rows).toEqual([]);
});

test("a torn or damaged end is left out and told; the blocks before are read", async () => {
  const folder = newFolder();
  const { history, records, call } = bench(folder);
  call("whole", 1);
  records.poll();
  history.flush();
  await history.close();
  const file = segmentIn(folder);
  const whole = readFileSync(file);
  appendFileSync(file, whole.subarray(SEGMENT_HEADER_LENGTH, whole.length - 3));
  const torn = read(folder);
  expect(torn.rows.map(({ name }) => name)).toContain("whole");
  expect(Array.from(torn.facts.warnings).join()).toMatch(/was read up to byte \d+: its last block is torn/);
  const damaged = Buffer.from(whole);
  damaged[SEGMENT_HEADER_LENGTH + BLOCK_HEADER_LENGTH + 4] = (damaged[SEGMENT_HEADER_LENGTH + BLOCK_HEADER_LENGTH + 4] ?? 0) ^ 0xff;
  writeFileSync(file, damaged);
  expect(Array.from(read(folder).facts.warnings).join()).toContain("a block has a wrong checksum");
  truncateSync(file, 20);
  expect(Array.from(read(folder).facts.warnings).join()).toContain("is no segment of a history");
  const newer = Buffer.from(whole);
  newer.writeUInt32LE(2, 8);
  writeFileSync(file, newer);
  expect(() => read(folder)).toThrow("it has format 2, and this version of Shoal reads format 1");
  expect(() => historyFolder(join(folder, "nodes", NODE))).toThrow("there is no history in the folder");
});

test("a full disk loses counted calls, is told once, and the history goes on in a new segment", async () => {
  const folder = newFolder();
  let nowMs = 1_700_000_000_000;
  let isFull = false;
  const { open } = await import("node:fs/promises");
  const openLimited = async (path: string): Promise<SegmentHandle> => {
    const file = await open(path, "wx");
    return {
      write: async (bytes) => {
        if (isFull) throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
        return await file.write(bytes);
      },
      close: () => file.close(),
    };
  };
  const { writer, history, records, call, failures } = bench(folder, { open: openLimited, nowMs: () => nowMs });
  const write = async (callId: number): Promise<void> => {
    call("f", callId);
    records.poll();
    history.flush();
    await writer.flush();
  };
  await write(1);
  isFull = true;
  await write(2);
  await write(3);
  await write(7);
  // The next try fails, too, and with it the block that tells of the calls before.
  nowMs += 20_000;
  await write(5);
  await write(6);
  expect(failures).toEqual([expect.stringContaining("ENOSPC: no space left on device, write. The node goes on")]);
  isFull = false;
  nowMs += 20_000;
  await write(4);
  await history.close();
  const { rows, facts } = read(folder);
  expect(rows.map(({ task_id: id }) => Number.parseInt(String(id).slice(12, 24), 16))).toEqual([1, 4]);
  expect(facts.lostRows).toBe(5);
});

test("a slow disk loses counted calls, and no later call without its definitions", async () => {
  const folder = newFolder();
  const { open } = await import("node:fs/promises");
  const { promise: goesOn, resolve: goOn } = Promise.withResolvers<undefined>();
  const openSlow = async (path: string): Promise<SegmentHandle> => {
    const file = await open(path, "wx");
    await goesOn;
    return file;
  };
  const { writer, history, records, call } = bench(folder, { open: openSlow });
  const write = (name: string, callId: number): void => {
    call(name, callId);
    records.poll();
    history.flush();
  };
  write("f", 1);
  const large = { kind: 9, rows: 1, firstMs: 0, lastMs: 0, body: new Uint8Array(20 * 1024 * 1024) };
  writer.append(large, 0);
  writer.append(large, 0);
  // The second large block finds no room. Later blocks may build on such a block, so they wait for a new segment.
  write("g", 2);
  write("f", 3);
  goOn(undefined);
  await writer.flush();
  write("g", 4);
  await history.close();
  const { rows, facts } = read(folder);
  expect(rows.map(({ name }) => name)).toEqual(["f", "g"]);
  expect(facts.lostRows).toBe(2);
});

test("a stranger's folder fills no memory, and holds up nobody", () => {
  const folder = newFolder();
  mkdirSync(join(folder, "nodes", NODE), { recursive: true });
  execFileSync("mkfifo", [join(folder, "nodes", NODE, "calls-1700000000000.seg")]);
  expect(Array.from(read(folder).facts.warnings).join()).toContain("is no file, and was left out");

  const limits = { failures: 3, failureCharacters: 10, rowsBytes: 200, definitionsBytes: 100 };
  const facts = new HistoryFacts(limits);
  const block = (kind: number, items: unknown): SegmentBlock => ({
    kind,
    rows: 1,
    firstMs: 0,
    lastMs: 0,
    body: Buffer.from(JSON.stringify(items)),
  });
  const failed = (callId: number, text: string): void => facts.take(block(HISTORY_BLOCK.failures, [["p", callId, text]]), NODE);
  for (const callId of [1, 2, 3, 4]) failed(callId, "x");
  expect([1, 2, 3, 4].map((callId) => facts.failureOf("p", callId))).toEqual([undefined, "x", "x", "x"]);
  failed(5, "y".repeat(9));
  expect([3, 4, 5].map((callId) => facts.failureOf("p", callId)?.length)).toEqual([undefined, 1, 9]);
  for (const id of ["a", "b", "c", "d"])
    facts.take(block(HISTORY_BLOCK.rows, [{ resource: "workers", id, timeMs: 1, row: { name: "w" } }]), NODE);
  expect(Array.from(facts.rowsOf("workers"))).toHaveLength(3);
  const definitions = block(HISTORY_BLOCK.definitions, [
    { number: 1, id: WORKER, pid: 1, jobId: "j", originMs: 0, functions: [["f", null]], callers: [] },
  ]);
  const source = { nodeId: NODE, blocks: [definitions, block(HISTORY_BLOCK.calls, [])] };
  expect(Array.from(callsOf([source], (text) => facts.warnings.add(text), limits))).toEqual([]);
  expect(Array.from(facts.warnings).join()).toMatch(/newest errors alone.*beyond 200 bytes.*more than 100 bytes of definitions/);
});

test("old segments go, and the oldest where there are too many, of earlier nodes of the run, too", async () => {
  const folder = newFolder();
  let nowMs = 1_700_000_000_000;
  const earlier = bench(folder, { nodeId: "c".repeat(32), nowMs: () => nowMs });
  earlier.call("f", 1);
  earlier.records.poll();
  await earlier.history.close();
  expect(segmentsOf(folder)).toHaveLength(1);
  nowMs = Date.now() + 8 * 86_400_000;
  const { history, records, call } = bench(folder, { nowMs: () => nowMs });
  call("f", 2);
  records.poll();
  await history.close();
  expect(segmentsOf(folder).map(({ nodeId }) => nodeId)).toEqual([NODE]);
  expect(readdirSync(join(folder, "nodes"))).toEqual([NODE]);
});
