import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Checkpoint } from "./checkpoint.ts";
import {
  checkpointName,
  completeCheckpoint,
  discardCheckpoint,
  listCheckpoints,
  persistCheckpoint,
  removeCheckpoint,
  removeUnfinishedCheckpoints,
} from "./stored-checkpoints.ts";

let folder: string;
let run: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "shoal-checkpoints-"));
  run = join(folder, "run");
  await mkdir(run);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

let made = 0;
async function local(files: Record<string, string>): Promise<string> {
  const from = join(folder, `local-${(made += 1)}`);
  await mkdir(from);
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(from, name)), { recursive: true });
    await writeFile(join(from, name), text);
  }
  return from;
}

const place = (index: number): string => join(run, checkpointName(index));
const names = async (): Promise<string[]> => (await listCheckpoints(run)).map(({ name }) => name);

test("all files are there, hidden, nested and compressed ones byte for byte, and the metrics with them", async () => {
  const files = { "a.bin": "a", ".hidden": "h", "_meta/x.json": "{}", "deep/er/w.gz": "no gzip", empty: "" };
  const part = await persistCheckpoint({ from: await local(files), to: place(0) });
  expect(await names()).toEqual([]);
  const checkpoint = await completeCheckpoint({ to: place(0), parts: [part], metrics: { loss: Number.NaN, step: 1 } });
  expect(await readFile(join(checkpoint.path, "deep/er/w.gz"), "utf8")).toBe("no gzip");
  const [stored] = await listCheckpoints(run);
  expect(stored).toMatchObject({ name: "checkpoint_000000", metrics: { loss: Number.NaN, step: 1 } });
  expect(stored?.files).toEqual(
    Object.entries(files)
      .map(([name, text]) => ({ name, sizeBytes: text.length }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
  );
  const copy = await checkpoint.toDirectory(join(folder, "copy"));
  expect((await readdir(copy, { recursive: true })).sort()).toEqual([
    ".hidden",
    "_meta",
    "_meta/x.json",
    "a.bin",
    "deep",
    "deep/er",
    "deep/er/w.gz",
    "empty",
  ]);
  // A checkpoint reported again from a copy, or from its own folder, has one record.
  const again = await persistCheckpoint({ from: checkpoint.path, to: place(1) });
  expect(again.files).toHaveLength(5);
});

test("parts of several ranks become one checkpoint; equal files may come from each", async () => {
  const to = place(0);
  const parts = await Promise.all(
    [0, 1, 2].map(async (rank) =>
      persistCheckpoint({ from: await local({ [`shard-${rank}`]: `${rank}`, "config.json": "{}" }), to, rank, hasOthers: true }),
    ),
  );
  const checkpoint = await completeCheckpoint({ to, parts, metrics: {} });
  expect((await readdir(checkpoint.path)).sort()).toEqual([".checkpoint.json", "config.json", "shard-0", "shard-1", "shard-2"]);
});

test("different files of one name are an error that names both ranks, and nothing is listed", async () => {
  for (const [ours, theirs] of [
    ["aaa", "bbb"],
    ["a", "bb"],
  ] as const) {
    const to = place(0);
    const parts = [
      await persistCheckpoint({ from: await local({ w: ours }), to, rank: 1, hasOthers: true }),
      await persistCheckpoint({ from: await local({ w: theirs }), to, rank: 3, hasOthers: true }),
    ];
    await expect(completeCheckpoint({ to, parts, metrics: {} })).rejects.toThrow("ranks 1 and 3 have different files w");
    await discardCheckpoint(to);
    expect(await readdir(run)).toEqual([]);
  }
});

test("an attempt that died is not listed, its files get into no later checkpoint, and it is removed", async () => {
  await persistCheckpoint({ from: await local({ old: "old", w: "old" }), to: place(0) });
  await persistCheckpoint({ from: await local({ old: "old" }), to: place(1) });
  expect(await names()).toEqual([]);
  const part = await persistCheckpoint({ from: await local({ w: "new" }), to: place(0) });
  const checkpoint = await completeCheckpoint({ to: place(0), parts: [part], metrics: {} });
  expect(await readdir(checkpoint.path)).toEqual([".checkpoint.json", "w"]);
  await removeUnfinishedCheckpoints(run);
  expect(await readdir(run)).toEqual(["checkpoint_000000"]);
});

test("completing again is no error; files that went away are", async () => {
  const to = place(0);
  const parts = [await persistCheckpoint({ from: await local({ w: "1" }), to })];
  await completeCheckpoint({ to, parts, metrics: {} });
  expect((await completeCheckpoint({ to, parts, metrics: {} })).path).toBe(to);
  const gone = [await persistCheckpoint({ from: await local({ w: "1" }), to: place(1) })];
  await rm(join(run, ".checkpoint_000001.partial", "w"));
  await expect(completeCheckpoint({ to: place(1), parts: gone, metrics: {} })).rejects.toThrow(/its file w is not there as it was written/);
});

test("a checkpoint without files is one", async () => {
  const checkpoint = await completeCheckpoint({ to: place(0), parts: [], metrics: { step: 3 } });
  expect(await names()).toEqual(["checkpoint_000000"]);
  expect(await checkpoint.asDirectory((path) => readdir(path))).toEqual([".checkpoint.json"]);
});

test("a removed one is gone; one whose removal broke off is not listed", async () => {
  for (const index of [0, 1]) {
    const part = await persistCheckpoint({ from: await local({ w: "1" }), to: place(index) });
    await completeCheckpoint({ to: place(index), parts: [part], metrics: {} });
  }
  await removeCheckpoint(new Checkpoint(place(0)));
  await rm(join(place(1), ".checkpoint.json"));
  expect(await names()).toEqual([]);
  await removeUnfinishedCheckpoints(run);
  expect(await readdir(run)).toEqual([]);
});

test("a source that is not there, and a place that cannot be written, are named", async () => {
  await expect(persistCheckpoint({ from: join(folder, "gone"), to: place(0) })).rejects.toThrow(
    /Cannot read the checkpoint .*gone: there is no such folder/,
  );
  await writeFile(join(folder, "file"), "");
  await expect(persistCheckpoint({ from: await local({ w: "1" }), to: join(folder, "file", "checkpoint_000000") })).rejects.toThrow(
    /a part of the path is no folder/,
  );
  await expect(persistCheckpoint({ from: await local({}), to: `${run}/..` })).rejects.toThrow(/must not begin with a dot/);
});

test("links in the source are followed, and an aborted copy leaves nothing that is listed", async () => {
  const from = await local({ "w.bin": "weights" });
  await symlink("w.bin", join(from, "link.bin"));
  const part = await persistCheckpoint({ from, to: place(0) });
  expect(part.files.map(({ name }) => name)).toEqual(["link.bin", "w.bin"]);
  const reason = new Error("the run ends");
  await expect(persistCheckpoint({ from, to: place(1), signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  expect(await names()).toEqual([]);
});

test("damaged and newer records are refused by their path", async () => {
  await completeCheckpoint({ to: place(0), parts: [], metrics: {} });
  await writeFile(join(place(0), ".checkpoint.json"), '{"format":"shoal-checkpoint","version":9}');
  await expect(listCheckpoints(run)).rejects.toThrow(/checkpoint_000000: it is of version 9, and this Shoal reads up to 1/);
  await writeFile(join(place(0), ".checkpoint.json"), "{");
  await expect(listCheckpoints(run)).rejects.toThrow(/checkpoint_000000: its \.checkpoint\.json is damaged/);
});

test("metadata is Ray's file, and is added to", async () => {
  const checkpoint = new Checkpoint(join(folder, "mine"));
  expect(await checkpoint.getMetadata()).toEqual({});
  await checkpoint.setMetadata({ epoch: 1, loss: Number.NaN });
  await checkpoint.updateMetadata({ epoch: 2 });
  expect(await checkpoint.getMetadata()).toEqual({ epoch: 2, loss: Number.NaN });
  expect(await readFile(join(folder, "mine", ".metadata.json"), "utf8")).toBe('{"epoch":2,"loss":NaN}');
  await expect(checkpoint.setMetadata({ f: (() => 1) as never })).rejects.toThrow(TypeError);
});

test("what is no path of a folder is refused", () => {
  expect(() => new Checkpoint(5 as never)).toThrow("Cannot make a checkpoint: the path of a folder is needed: received 5");
  expect(() => new Checkpoint("")).toThrow(TypeError);
  expect(() => new Checkpoint("https://user:secret@host/x")).toThrow(/received https:\/\/host\/x/);
  expect(new Checkpoint("s3://bucket/run/checkpoint_000001/").path).toBe("s3://bucket/run/checkpoint_000001");
});
