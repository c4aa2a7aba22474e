import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { OWNER_RENEWED_EVERY_MS, OWNER_SILENCE_MS_MAX } from "../../storage/limits.ts";
import { readRunRecord, RunFolder, type RunRecord } from "./run-folder.ts";

let storagePath: string;
beforeEach(async () => {
  storagePath = await mkdtemp(join(tmpdir(), "shoal-run-folder-"));
});
afterEach(() => rm(storagePath, { recursive: true, force: true }));

const RUNNING: RunRecord = { library: "train", state: "running", details: { trainer: "TorchTrainer" }, startedAt: 5 };
const open = (name = "mine"): Promise<RunFolder> => RunFolder.open({ storagePath, name });
const owner = (fields: object): Promise<void> => writeFile(join(storagePath, "mine", ".owner.json"), JSON.stringify(fields));

test("a new run has no record; a later opening finds what was written", async () => {
  const first = await open();
  expect(first.record).toBeUndefined();
  await first.write(RUNNING);
  await first.close();
  await first.close();
  await using second = await open();
  expect(second.record).toEqual(RUNNING);
  expect(await readRunRecord(second.path)).toEqual(RUNNING);
});

test("a run is one driver's at a time, within a process too", async () => {
  const first = await open();
  await expect(open()).rejects.toThrow(
    new RegExp(`Cannot use the run "mine": process ${process.pid} on ${hostname()} is running it in .*mine`),
  );
  await using other = await open("other");
  expect(other.record).toBeUndefined();
  await first.close();
  await (await open()).close();
});

test("a driver that died on this machine is replaced at once, also where its process id is another's now", async () => {
  const first = await open();
  await first.write(RUNNING);
  const record = JSON.parse(await readFile(join(first.path, ".owner.json"), "utf8")) as { identity: string };
  await first.close();
  const [pid, start, ...machine] = record.identity.split(" ");
  await owner({ ...record, token: "dead", identity: [2 ** 22 + 1, start, ...machine].join(" ") });
  await (await open()).close();
  await owner({ ...record, token: "dead", identity: [pid, `${start}9`, ...machine].join(" ") });
  await (await open()).close();
});

test("a driver on another machine is left alone while it renews its record", async () => {
  await mkdir(join(storagePath, "mine"));
  const record = { token: "other", host: "elsewhere", pid: 7, identity: "7 1 boot namespace" };
  await owner({ ...record, renewedAt: Date.now() - OWNER_SILENCE_MS_MAX / 2 });
  await expect(open()).rejects.toThrow(/process 7 on elsewhere is running it/);
  await owner({ ...record, renewedAt: Date.now() - 2 * OWNER_SILENCE_MS_MAX });
  await (await open()).close();
});

test("a driver that was frozen while another took its run is told, and writes nothing more", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const opening = open();
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
    await vi.advanceTimersByTimeAsync(1000);
    const first = await opening;
    await owner({ token: "other", host: "elsewhere", pid: 7, identity: "7 1 boot namespace", renewedAt: Date.now() });
    await vi.advanceTimersByTimeAsync(OWNER_RENEWED_EVERY_MS);
    vi.useRealTimers();
    await vi.waitFor(() => expect(first.lost.aborted).toBe(true));
    await expect(first.write(RUNNING)).rejects.toThrow(/was taken by process 7 on elsewhere/);
    await first.close();
    expect(await readdir(first.path)).toEqual([".owner.json"]);
  } finally {
    vi.useRealTimers();
  }
});

test.each([null, 5, [], {}, { token: "other", host: "elsewhere", pid: 7, identity: null, renewedAt: Date.now() }])(
  "a claim that says %j is nobody's",
  async (record) => {
    await mkdir(join(storagePath, "mine"));
    await writeFile(join(storagePath, "mine", ".owner.json"), JSON.stringify(record));
    await (await open()).close();
  },
);

test("a claim from the future holds a run only while its owner renews it", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  try {
    await mkdir(join(storagePath, "mine"));
    const record = { token: "other", host: "elsewhere", pid: 7, identity: "7 1 boot namespace", renewedAt: Date.now() + 1e9 };
    const opened = async (meanwhile: () => Promise<void>): Promise<RunFolder | Error> => {
      await owner(record);
      const outcome: { value?: RunFolder | Error } = {};
      void open().then(
        (folder) => (outcome.value = folder),
        (error: Error) => (outcome.value = error),
      );
      for (let seconds = 0; outcome.value === undefined && seconds < 1000; seconds += 1) {
        if (seconds === 15) await meanwhile();
        await vi.advanceTimersByTimeAsync(OWNER_RENEWED_EVERY_MS / 15);
        await pause(2);
      }
      return outcome.value as RunFolder | Error;
    };
    expect(await opened(() => owner({ ...record, renewedAt: record.renewedAt + 1 }))).toMatchObject({
      message: expect.stringContaining("process 7 on elsewhere is running it"),
    });
    const folder = await opened(async () => {});
    expect(folder).toBeInstanceOf(RunFolder);
    await (folder as RunFolder).close();
  } finally {
    vi.useRealTimers();
  }
});

test("runs without a name have folders of their own, also those that begin together or within a second", async () => {
  const openUnnamed = () => RunFolder.openUnnamed({ storagePath, prefix: "Fit" });
  const both = await Promise.all([openUnnamed(), openUnnamed()]);
  for (const folder of both) {
    await folder.write({ ...RUNNING, state: "finished" });
    await folder.close();
  }
  await using third = await openUnnamed();
  expect(new Set([...both, third].map(({ name }) => name)).size).toBe(3);
  expect(third.record).toBeUndefined();
});

test("clearing leaves nothing but the claim", async () => {
  await using run = await open();
  await run.write(RUNNING);
  await mkdir(join(run.path, "trial_1", "checkpoint_000000"), { recursive: true });
  await writeFile(join(run.path, "trial_1", "checkpoint_000000", "w"), "");
  await writeFile(join(run.path, "result.json"), "");
  await run.clear();
  expect(await readdir(run.path)).toEqual([".owner.json"]);
  expect(run.record).toBeUndefined();
});

test("folders that are no run, records that are damaged or newer", async () => {
  await mkdir(join(storagePath, "mine"));
  await writeFile(join(storagePath, "mine", "thesis.tex"), "");
  await expect(open()).rejects.toThrow(/the folder holds "thesis.tex" and no run of Shoal/);
  const file = join(storagePath, "mine", "run.json");
  await writeFile(file, "{");
  await expect(open()).rejects.toThrow(/its run.json is damaged/);
  await writeFile(file, '{"format":"other"}');
  await expect(open()).rejects.toThrow(/is no record of a run/);
  await writeFile(file, '{"format":"shoal-run","version":2}');
  await expect(open()).rejects.toThrow(/it is of version 2, and this Shoal reads up to 1/);
  expect((await readdir(join(storagePath, "mine"))).sort()).toEqual(["run.json", "thesis.tex"]);
});

test("a storage that cannot be written is named", async () => {
  await writeFile(join(storagePath, "file"), "");
  await expect(RunFolder.open({ storagePath: join(storagePath, "file"), name: "mine" })).rejects.toThrow(
    /Cannot make the folder .*: a part of the path is no folder/,
  );
  await expect(RunFolder.open({ storagePath: "https://host/x", name: "mine" })).rejects.toThrow(/can only be read/);
});

test.each([
  ["../out", "must not have slashes"],
  ["a/b", "must not have slashes"],
  ["a\\b", "must not have slashes"],
  ["..", "must not begin with a dot"],
  [".hidden", "must not begin with a dot"],
  ["", "must not be empty"],
  ["a\nb", "must not have control characters"],
  [" a", "must not begin or end with a space"],
  ["\ud800", "must be well-formed Unicode"],
  ["ü".repeat(101), "must have at most 200 bytes"],
])("the name %j is refused", async (name, message) => {
  await expect(open(name)).rejects.toThrow(`Cannot open a run: its name ${message}`);
  expect(await readdir(storagePath)).toEqual([]);
});
