/** Tests that records of calls are exact, that dead processes are seen, and that nothing in the file of a process is trusted. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JobId, ProcessId } from "../base/ids.ts";
import { CallRecorder } from "./call-recorder.ts";
import { CallRecords } from "./call-records.ts";
import { ObservationMemory } from "./observation-memory.ts";
import { RING_SIZE_MAX } from "./limits.ts";
import { OBSERVATION_LENGTH, RING_AT } from "./observation-layout.ts";

const WORKER = "a".repeat(32) as ProcessId;
const ALL = { filters: [], limit: 10, detail: true } as const;

function bench() {
  const observation = new ObservationMemory(() => {});
  const recorder = new CallRecorder(observation.memory);
  const records = new CallRecords("node");
  records.joined({ id: WORKER, pid: 7, jobId: "0000abcd" as JobId }, observation);
  const caller = recorder.callerNumber("0123456789ab");
  const begin = (name: string, callId: number): { slot: number; fn: number } => {
    const fn = recorder.functionNumber({ recordNumber: -1, recordName: "" }, name, undefined);
    return { fn, slot: recorder.begins(fn, caller, { callId, parentCaller: 0, parentId: 0, attempt: 0 }, callId) };
  };
  const call = (name: string, callId: number): void => {
    const { slot, fn } = begin(name, callId);
    recorder.ends(slot, fn, "finished", callId + 1);
  };
  return { observation, recorder, records, begin, call };
}

test("a running call is seen, and has the same id when it has ended", () => {
  const { recorder, records, begin } = bench();
  const { slot, fn } = begin("resize", 5);
  const [running] = records.select(ALL).rows;
  expect(running?.row).toMatchObject({
    task_id: "0123456789ab0000000000050000abcd",
    name: "resize",
    state: "RUNNING",
    worker_pid: 7,
    end_time_ms: null,
  });
  recorder.ends(slot, fn, "failed", 9);
  const { rows, total } = records.select(ALL);
  expect([rows.length, total, rows[0]?.key]).toEqual([1, 1, running?.key]);
  expect(rows[0]?.row).toMatchObject({ state: "FAILED", error_type: "TASK_EXECUTION_EXCEPTION" });
});

test("a call names its attempt and the call that made it, while it runs and when it has ended", () => {
  const { recorder, records } = bench();
  const fn = recorder.functionNumber({ recordNumber: -1, recordName: "" }, "inner", undefined);
  const call = { callId: 6, parentCaller: recorder.callerNumber("ba9876543210"), parentId: 5, attempt: 2 };
  const slot = recorder.begins(fn, recorder.callerNumber("0123456789ab"), call, 1);
  const expected = { attempt_number: 2, parent_task_id: "ba98765432100000000000050000abcd" };
  const [running] = records.select(ALL).rows;
  expect(running?.row).toMatchObject({ ...expected, state: "RUNNING" });
  expect(records.runningIds()).toEqual([running?.key[1]]);
  recorder.ends(slot, fn, "finished", 41);
  expect(records.select(ALL).rows[0]?.row).toMatchObject({ ...expected, state: "FINISHED", duration_ms: 40 });
  expect(records.runningIds()).toEqual([]);
});

test("the slowest call is found among all, behind a filter and on a second page", () => {
  const { recorder, records } = bench();
  const fn = recorder.functionNumber({ recordNumber: -1, recordName: "" }, "step", undefined);
  for (let callId = 0; callId < 3000; callId += 1) {
    const slot = recorder.begins(fn, 1, { callId, parentCaller: 0, parentId: 0, attempt: 0 }, 10_000);
    recorder.ends(slot, fn, callId % 2 === 0 ? "finished" : "failed", 10_000 + ((callId * 7919) % 3001));
    if (callId % 500 === 0) records.poll();
  }
  const order = { column: "duration_ms", isDescending: true };
  const query = { filters: [["state", "=", "FAILED"]], limit: 3, detail: true, order } as const;
  const first = records.select(query).rows;
  const second = records.select({ ...query, before: first.at(-1)?.key }).rows;
  const all = Array.from({ length: 1500 }, (_, index) => ((index * 2 + 1) * 7919) % 3001).sort((a, b) => b - a);
  expect([...first, ...second].map(({ row }) => row["duration_ms"])).toEqual(all.slice(0, 6));
  const upwards = records.select({ ...query, order: { ...order, isDescending: false } }).rows;
  expect(upwards.map(({ row }) => row["duration_ms"])).toEqual(all.slice(-3).reverse());
});

test("all calls are counted, whatever the reader misses; a ring that is read in time loses none", () => {
  const { records, call } = bench();
  for (let index = 0; index < 100_000; index += 1) {
    call("a", index);
    if (index % 5000 === 0) records.poll();
  }
  expect([records.select(ALL).total, records.dropped]).toEqual([100_000, 0]);
  for (let index = 0; index < 100_000; index += 1) call("b", index);
  const counts = records.summary().map(({ name, counts: found }) => [name, found["FINISHED"]]);
  expect(counts).toEqual([
    ["a", 100_000],
    ["b", 100_000],
  ]);
  // The oldest of a full ring may be written over just now, and is left out.
  expect(records.dropped).toBe(100_000 - RING_SIZE_MAX + 1);
});

test("calls in the slots of a dead process failed with the cause; those of one that ended of itself finished", () => {
  for (const isIntended of [false, true]) {
    const { records, begin, call } = bench();
    call("short", 1);
    begin("long", 2);
    records.ended(WORKER, { cause: "It was ended by SIGKILL.", nowMs: Date.now(), isIntended });
    const { rows, total } = records.select({ ...ALL, filters: [["name", "=", "long"]] });
    expect([rows.length, total]).toEqual([1, 2]);
    expect(rows[0]?.row).toMatchObject(
      isIntended
        ? { state: "FINISHED", error_type: null }
        : { state: "FAILED", error_type: "WORKER_DIED", error_message: "It was ended by SIGKILL." },
    );
  }
});

test("a file of random bytes, whole or behind a true header, shows something bounded and breaks nothing", () => {
  fc.assert(
    fc.property(fc.integer(), fc.boolean(), (seed, keepsHeader) => {
      const { observation, records, call } = bench();
      call("a", 1);
      const bytes = new Uint8Array(observation.memory);
      let state = seed | 1;
      for (let at = keepsHeader ? 8 : 0; at < RING_AT + 4096; at += 1) {
        state = Math.imul(state ^ (state >>> 13), 0x5bd1e995) + 0x9e3779b9;
        bytes[at] = state >>> 24;
      }
      records.poll();
      const { rows } = records.select(ALL);
      for (const { key, row } of rows) expect([Number.isFinite(key[0]), typeof row["name"]]).toEqual([true, "string"]);
      records.ended(WORKER, { cause: "killed", nowMs: 0, isIntended: false });
      expect(records.select(ALL).rows.length).toBeLessThanOrEqual(10);
    }),
    { numRuns: 30 },
  );
});

test("names of 1 MB are cut, and functions beyond the table are counted together", () => {
  const { records, call } = bench();
  call("x".repeat(1024 * 1024), 1);
  expect(String(records.select(ALL).rows[0]?.row["name"])).toHaveLength(200);
  for (let index = 0; index < 3000; index += 1) call(`f${index}`, index + 2);
  const other = records.summary().find(({ name }) => name === "(other)");
  expect(other?.counts["FINISHED"]).toBeGreaterThan(1900);
  expect(records.select(ALL).total).toBe(3001);
  expect(OBSERVATION_LENGTH).toBeLessThan(2 * 1024 * 1024);
});
