/** Tests readers of a checkpoint that its run removes meanwhile. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { StorageError } from "../../storage/errors.ts";
import { removeFiles } from "../../storage/places.ts";
import { Checkpoint } from "./checkpoint.ts";
import {
  adoptCheckpoint,
  completeCheckpoint,
  persistCheckpoint,
  removeCheckpoint,
  removeUnfinishedCheckpoints,
} from "./stored-checkpoints.ts";
import { RunError } from "../errors.ts";

const FILES = 100;
const AWAY = new StorageError("Cannot remove it: the storage is away");
const REMOVED = /^Cannot read the checkpoint .*checkpoint_000000: it was removed meanwhile, as numToKeep of its run keeps others$/;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "test-shoal-checkpoint-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function stored(): Promise<Checkpoint> {
  const [from, to] = [join(folder, "own"), join(folder, "run", "checkpoint_000000")];
  await mkdir(from);
  for (let i = 0; i < FILES; i += 1) await writeFile(join(from, `file-${i}`), "");
  return await completeCheckpoint({ to, parts: [await persistCheckpoint({ from, to })], metrics: {} });
}

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

test("a copy of one that is removed meanwhile is an error, never a part of it, whenever that happens", async () => {
  const checkpoint = await stored();
  const copy = join(folder, "copy");
  const copying = errorOf(checkpoint.toDirectory(copy));
  while ((await readdir(copy).catch(() => [])).length === 0);
  await removeCheckpoint(checkpoint);
  const error = (await copying) as RunError;
  expect(error).toBeInstanceOf(RunError);
  expect(error.message).toMatch(REMOVED);
  expect(error.hint).toContain("numToKeep");
  expect(await readdir(join(folder, "run"))).toEqual([]);
});

test("a removal that broke off before does not hold up the next of that name", async () => {
  const checkpoint = await stored();
  await mkdir(join(folder, "run", ".checkpoint_000000.removed.partial", "left"), { recursive: true });
  await removeCheckpoint(checkpoint);
  expect(await readdir(join(folder, "run"))).not.toContain("checkpoint_000000");
  await removeUnfinishedCheckpoints(join(folder, "run"));
  expect(await readdir(join(folder, "run"))).toEqual([]);
  await removeCheckpoint(checkpoint);
});

test("one that was removed before its files were listed is no empty copy", async () => {
  const checkpoint = await stored();
  const copying = errorOf(checkpoint.toDirectory(join(folder, "copy")));
  await removeCheckpoint(checkpoint);
  expect(await copying).toBeInstanceOf(RunError);
});

/** A storage without a step that gives a folder another name, as S3 is one. */
async function withoutRename(): Promise<void> {
  await writeFile(join(folder, "run", ".checkpoint_000000.removed.partial"), "");
}

test("without renames, a mark is there before the first file is removed, until the last is gone: whatever is left is none to read", async () => {
  const checkpoint = await stored();
  await withoutRename();
  const run = join(folder, "run");
  for (const removed of [0, 7, FILES]) {
    const breaksOff = async (paths: readonly string[]): Promise<void> => {
      // Removes only the record at first.
      if (paths.length === 1) return await removeFiles(paths);
      await removeFiles(paths.slice(0, removed));
      throw AWAY;
    };
    expect(await errorOf(removeCheckpoint(checkpoint, breaksOff))).toBe(AWAY);
    expect(await readdir(checkpoint.path)).toContain(".checkpoint.removed");
    const read = [checkpoint.toDirectory(join(folder, `copy-${removed}`)), checkpoint.asDirectory((path) => readdir(path))];
    for (const error of await Promise.all(read.map(errorOf))) expect((error as RunError).message).toMatch(REMOVED);
  }
  expect(await readdir(checkpoint.path)).toEqual([".checkpoint.removed"]);
  await removeUnfinishedCheckpoints(run);
  expect(await readdir(run)).toEqual([".checkpoint_000000.removed.partial"]);
});

test("a folder that never had a record is the user's own, whatever its name", async () => {
  const checkpoint = await stored();
  await rm(join(checkpoint.path, ".checkpoint.json"));
  expect(await readdir(await checkpoint.toDirectory(join(folder, "copy")))).toHaveLength(FILES);
});

test("a copy that began between the record and the mark of a removal is an error", async () => {
  const checkpoint = await stored();
  await rm(join(checkpoint.path, ".checkpoint.json"));
  const copy = join(folder, "copy");
  const copying = errorOf(checkpoint.toDirectory(copy));
  while ((await readdir(copy).catch(() => [])).length === 0);
  await writeFile(join(checkpoint.path, ".checkpoint.removed"), "");
  expect(await copying).toBeInstanceOf(RunError);
});

test("what a broken removal has left does not get into a checkpoint that is put there whole", async () => {
  const checkpoint = await stored();
  await rm(join(checkpoint.path, ".checkpoint.json"));
  await writeFile(join(checkpoint.path, ".checkpoint.removed"), "");
  await adoptCheckpoint({ path: checkpoint.path, metrics: {} });
  expect(await readdir(await checkpoint.toDirectory(join(folder, "copy")))).toHaveLength(FILES);
});

test("a function that misses a file is told of the removal, with its own error as the cause; other errors pass", async () => {
  const checkpoint = await stored();
  const mistake = new Error("no shape");
  expect(await errorOf(checkpoint.asDirectory(() => Promise.reject(mistake)))).toBe(mistake);
  const missing = (await errorOf(checkpoint.asDirectory((path) => readFile(join(path, "none"))))) as NodeJS.ErrnoException;
  expect(missing.code).toBe("ENOENT");
  const read = async (path: string): Promise<unknown> => {
    await removeCheckpoint(checkpoint);
    return await readFile(join(path, "file-0"));
  };
  const error = (await errorOf(checkpoint.asDirectory(read))) as RunError;
  expect(error.message).toMatch(REMOVED);
  expect((error.cause as NodeJS.ErrnoException).code).toBe("ENOENT");
  const own = new Checkpoint(join(folder, "own"));
  const removesOwn = async (path: string): Promise<unknown> => {
    await rm(path, { recursive: true });
    return await readFile(join(path, "file-0"));
  };
  expect(((await errorOf(own.asDirectory(removesOwn))) as RunError).message).toMatch(/own: it was removed meanwhile$/);
  expect(((await errorOf(checkpoint.asDirectory(read))) as RunError).hint).toContain("numToKeep of its run removes older ones");
});

test("a function that has read what it needs is not disturbed", async () => {
  const checkpoint = await stored();
  const names = await checkpoint.asDirectory(async (path) => {
    const found = await readdir(path);
    await removeCheckpoint(checkpoint);
    return found;
  });
  expect(names).toHaveLength(FILES + 1);
});
