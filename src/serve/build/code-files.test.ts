import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { changedFiles, changeWarning, filesOfCopy, packCode, unpackCode } from "./code-files.ts";
import { digestsOf } from "./file-digest.ts";

/** A process that loads its code when all is written. */
const LATER = Number.POSITIVE_INFINITY;

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "shoal-files-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("code and its files come back as they were packed", () => {
  const code = Uint8Array.of(0, 255, 7);
  const files = [["/ä.ts", "digest"]] as const;
  const unpacked = unpackCode(packCode(code, files));
  expect([[...unpacked.code], unpacked.files]).toEqual([[0, 255, 7], files]);
  expect(unpackCode(packCode(new Uint8Array(), []))).toMatchObject({ files: [] });
});

test("files with other bytes than at the deploy are found; what is gone is not told here", async () => {
  const paths = ["a.ts", "b.ts", "c.ts"].map((name) => join(folder, name));
  for (const path of paths) writeFileSync(path, "1");
  const files = digestsOf(paths);
  expect(await changedFiles(files, LATER)).toEqual([]);
  writeFileSync(join(folder, "b.ts"), "2");
  rmSync(join(folder, "c.ts"));
  expect(await changedFiles(files, LATER)).toEqual([join(folder, "b.ts")]);
});

test("a file that was changed after the code was loaded is not told: the process runs what was deployed", async () => {
  const path = join(folder, "a.ts");
  writeFileSync(path, "1");
  const files = digestsOf([path]);
  const loadedMs = Date.now();
  writeFileSync(path, "2");
  // Tools that copy files set the time of their contents back.
  utimesSync(path, 1, 1);
  expect(await changedFiles(files, loadedMs)).toEqual([]);
  expect(await changedFiles(files, LATER)).toEqual([path]);
});

test("files of a folder that replicas have a copy of are looked at in the copy", async () => {
  const [original, copy] = ["original", "copy"].map((name) => join(folder, name)) as [string, string];
  mkdirSync(original);
  mkdirSync(copy);
  symlinkSync(original, join(folder, "link"));
  for (const place of [original, copy]) writeFileSync(join(place, "a.py"), "1");
  writeFileSync(join(folder, "b.py"), "1");
  const files = digestsOf([join(original, "a.py"), join(folder, "b.py")]);
  const named = filesOfCopy(files, join(folder, "link"));
  expect(named.map(([path]) => path)).toEqual(["a.py", join(folder, "b.py")]);
  expect(filesOfCopy(files, join(folder, "none"))).toEqual(files);
  const cwd = vi.spyOn(process, "cwd").mockReturnValue(copy);
  try {
    writeFileSync(join(original, "a.py"), "2");
    expect(await changedFiles(named, LATER)).toEqual([]);
    writeFileSync(join(copy, "a.py"), "2");
    expect(await changedFiles(named, LATER)).toEqual([resolve("a.py")]);
  } finally {
    cwd.mockRestore();
  }
});

test("a warning names the replica, a few files and the remedy", () => {
  const replica = "greet#Greeter#1";
  expect(changeWarning([], replica)).toBeUndefined();
  expect(changeWarning(["/a.ts"], replica)).toMatch(
    /^shoal: replica greet#Greeter#1 runs other code than was deployed: \/a\.ts has changed since\. Deploy again/,
  );
  expect(changeWarning(["a", "b", "c", "d", "e"], replica)).toContain("a, b, c and 2 more have changed since");
});
