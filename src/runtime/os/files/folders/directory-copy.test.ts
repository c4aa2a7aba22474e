/** Tests which files a working directory gets, on real files. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { copyDirectory } from "./directory-copy.ts";

let root: string;
let from: string;
let to: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "test-shoal-copy-"));
  from = join(root, "from");
  to = join(root, "to");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, text = path): void {
  const file = join(from, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function copy(options: { excludes?: string[]; sizeBytesMax?: number } = {}): ReturnType<typeof copyDirectory> {
  return copyDirectory({ from, to, excludes: options.excludes ?? [], sizeBytesMax: options.sizeBytesMax ?? 1e9, filesMax: 1000 });
}

test("copies files and folders, and counts them", async () => {
  write("a.txt", "12345");
  write("deep/er/b.txt", "123");
  expect(await copy()).toEqual({ files: 2, sizeBytes: 8 });
  expect(readFileSync(join(to, "deep/er/b.txt"), "utf8")).toBe("123");
});

test("leaves out installed packages and history", async () => {
  write("node_modules/x/index.js");
  write("inner/node_modules/x/index.js");
  write(".git/HEAD");
  write("kept.js");
  expect((await copy()).files).toBe(1);
  expect(existsSync(join(to, "kept.js"))).toBe(true);
});

test("obeys .gitignore files, the inner before the outer", async () => {
  write(".gitignore", "*.log\n/build\n");
  write("a.log");
  write("build/out.js");
  write("inner/build/out.js");
  write("inner/.gitignore", "!b.log\nsecret\n");
  write("inner/b.log");
  write("inner/secret");
  write("secret");
  await copy();
  const isThere = (path: string): boolean => existsSync(join(to, path));
  expect(["a.log", "build/out.js", "inner/secret"].filter(isThere)).toEqual([]);
  expect(["inner/build/out.js", "inner/b.log", "secret", ".gitignore"].filter((path) => !isThere(path))).toEqual([]);
});

test("obeys the patterns of its caller", async () => {
  write("data/large.bin");
  write("data/small.json");
  await copy({ excludes: ["*.bin"] });
  expect(existsSync(join(to, "data/large.bin"))).toBe(false);
  expect(existsSync(join(to, "data/small.json"))).toBe(true);
});

test("keeps links as links", async () => {
  write("target.txt");
  symlinkSync("target.txt", join(from, "link.txt"));
  await copy();
  expect(readlinkSync(join(to, "link.txt"))).toBe("target.txt");
});

test("refuses what is too large before it writes anything, and names the largest", async () => {
  write("small.txt", "1");
  write("models/weights.bin", "x".repeat(5_000_000));
  await expect(copy({ sizeBytesMax: 1_000_000 })).rejects.toThrow(
    /5\.0 MB large, more than the 1\.0 MB .*models\/weights\.bin \(5\.0 MB\).*excludes/,
  );
  expect(existsSync(to)).toBe(false);
});

test("leaves out what goes meanwhile, and refuses what it cannot write", async () => {
  for (const path of ["a", "b/c", "d"]) write(path, "123");
  symlinkSync("a", join(from, "link"));
  const copying = copy();
  // The folder has been listed, and nothing has been copied.
  for (const path of ["b", "d", "link"]) rmSync(join(from, path), { recursive: true });
  expect(await copying).toEqual({ files: 1, sizeBytes: 3 });
  const other = copyDirectory({ from, to: join(root, "other"), excludes: [], sizeBytesMax: 1e9, filesMax: 1000 });
  await other;
  write("e");
  symlinkSync("nowhere/there", join(root, "other", "e"));
  await expect(copyDirectory({ from, to: join(root, "other"), excludes: [], sizeBytesMax: 1e9, filesMax: 1000 })).rejects.toThrow("ENOENT");
});
