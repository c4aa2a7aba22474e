import { appendFile, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { JsonValue } from "../metrics/metrics.ts";
import { RunLog } from "./run-log.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "shoal-run-log-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const open = () => RunLog.open({ folder, name: "state" });

/** The logged state, as the sum of the numbers that were appended. */
async function sum(): Promise<number> {
  const { log, snapshot, records } = await open();
  await log.close();
  return records.reduce((total: number, record) => total + (record as number), (snapshot as number | undefined) ?? 0);
}

test("records come back in order, over several openings", async () => {
  for (const base of [0, 10]) {
    const { log } = await open();
    await Promise.all([1, 2, 3].map((n) => log.append({ n: base + n })));
    await log.append({ n: base + 4, loss: Number.NaN });
    await log.close();
    await expect(log.append({})).rejects.toThrow("it is closed");
  }
  const { snapshot, records } = await open();
  expect(snapshot).toBeUndefined();
  expect(records.map((record) => (record as { n: number }).n)).toEqual([1, 2, 3, 4, 11, 12, 13, 14]);
});

test("records that are appended together share one write", async () => {
  const { log } = await open();
  await Promise.all(Array.from({ length: 10_000 }, (_, i) => log.append(i)));
  await log.close();
  expect((await open()).records).toHaveLength(10_000);
  expect(await readdir(folder)).toEqual(["state-000000-000000.log"]);
});

test("a snapshot replaces what was before it, and nothing that comes after", async () => {
  const { log } = await open();
  const early = [1, 2].map((n) => log.append(n));
  const snapshot = log.snapshot(3);
  const late = [10, 20].map((n) => log.append(n));
  await Promise.all([...early, snapshot, ...late]);
  await log.close();
  expect(await sum()).toBe(33);
  expect((await readdir(folder)).filter((name) => name.startsWith("state-000000"))).toEqual([]);
});

test("whatever is appended, snapshotted and reopened, nothing is lost and nothing counts twice", async () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 1, max: 100 }) },
    { weight: 1, arbitrary: fc.constant("snapshot" as const) },
    { weight: 1, arbitrary: fc.constant("reopen" as const) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      await rm(folder, { recursive: true, force: true });
      folder = await mkdtemp(join(tmpdir(), "shoal-run-log-"));
      let { log } = await open();
      let total = 0;
      const waiting: Promise<void>[] = [];
      for (const one of steps) {
        if (one === "snapshot") waiting.push(log.snapshot(total));
        else if (one === "reopen") {
          await Promise.all(waiting.splice(0));
          await log.close();
          ({ log } = await open());
        } else {
          total += one;
          waiting.push(log.append(one));
        }
      }
      await Promise.all(waiting);
      await log.close();
      expect(await sum()).toBe(total);
    }),
    { numRuns: 30 },
  );
});

test("a line that is cut off anywhere is none, and the log goes on behind it", async () => {
  const file = join(folder, "state-000000-000000.log");
  const { log } = await open();
  await log.append(1);
  const whole = (await readFile(file)).length;
  await log.append(100);
  await log.close();
  const bytes = await readFile(file);
  for (let end = whole; end < bytes.length; end += 1) {
    await writeFile(file, bytes.subarray(0, end));
    expect(await sum()).toBe(1);
  }
  const next = await open();
  await next.log.append(5);
  await next.log.close();
  expect(await sum()).toBe(6);
  // A crash amid the first write leaves a file without a whole header.
  await truncate(file, 5);
  expect(await sum()).toBe(5);
});

test("zeros at the end, as a power cut leaves them, are no record; damage before whole records is an error that names the line", async () => {
  const { log } = await open();
  await log.append(1);
  await log.append(2);
  await log.close();
  const file = join(folder, "state-000000-000000.log");
  await appendFile(file, "\0\0\0\n\0\0");
  expect(await sum()).toBe(3);
  const lines = (await readFile(file, "utf8")).split("\n");
  lines[1] = "\0\0";
  await writeFile(file, lines.join("\n"));
  await expect(open()).rejects.toThrow(/Cannot read the state of a run: line 2 of .*state-000000-000000\.log is damaged/);
});

test("a newer version is refused, and what is no log", async () => {
  await writeFile(join(folder, "state-000000-000000.log"), '{"format":"shoal-run-log","version":2}\n');
  await expect(open()).rejects.toThrow(/is of version 2, and this Shoal reads up to 1/);
  await writeFile(join(folder, "state-000000-000000.log"), '{"format":"other"}\n');
  await expect(open()).rejects.toThrow(/is no log of a run/);
  await rm(join(folder, "state-000000-000000.log"));
  await writeFile(join(folder, "state-000001.json"), "{");
  await expect(open()).rejects.toThrow(/state-000001\.json is damaged/);
});

test("behind a record that was lost none is kept until a snapshot stands for it, so that what is read has no gap", async () => {
  const { log } = await open();
  await log.append(1);
  await rm(folder, { recursive: true });
  await writeFile(folder, "");
  await expect(log.append(2)).rejects.toThrow(/Cannot write .*: a part of the path is no folder/);
  await expect(log.snapshot(3)).rejects.toThrow(/Cannot write/);
  await rm(folder);
  await (await import("node:fs/promises")).mkdir(folder);
  await expect(log.append(4)).rejects.toThrow(/Cannot write .*: a part of the path is no folder/);
  const snapshot = log.snapshot(7);
  await Promise.all([snapshot, log.append(10), log.append(20)]);
  await log.append(40);
  await log.close();
  expect(await sum()).toBe(77);
});

test("snapshots come due by bytes, so that they cost no more than the log", async () => {
  const { log } = await open();
  const record: JsonValue = "x".repeat(100_000);
  let due = 0;
  for (let i = 0; i < 40; i += 1) {
    await log.append(record);
    if (!log.isSnapshotDue) continue;
    due += 1;
    await log.snapshot("x".repeat(1_500_000));
  }
  await log.close();
  expect(due).toBe(2);
});

test("other files of the folder are no part of it", async () => {
  await writeFile(join(folder, "state-notes.log"), "hello");
  await writeFile(join(folder, "state2-000000-000000.log"), "hello");
  const { log, records } = await open();
  await log.append(1);
  await log.snapshot(1);
  await log.close();
  expect(records).toEqual([]);
  expect(await readdir(folder)).toEqual(expect.arrayContaining(["state-notes.log", "state2-000000-000000.log", "state-000001.json"]));
});
