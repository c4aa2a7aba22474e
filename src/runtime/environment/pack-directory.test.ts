/** Turns folders into packages and back on real files: preserved attributes, refusals, and the cost of a second run. */
import { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { writePackage } from "../os/files/archives/package-files.ts";
import { packDirectory, type PackedDirectory, unpackDirectory } from "./pack-directory.ts";

let root: string;
let from: string;
let cacheFolder: string;
let to: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "test-shoal-package-"));
  from = join(root, "from");
  cacheFolder = join(root, "cache");
  to = join(root, "to");
  mkdirSync(from);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, text = path, folder = from): void {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Lets the files look as if they had been written long ago. */
const LATER_MS = 10_000;

function pack(options: { excludes?: string[]; directory?: string; only?: string[]; limits?: object } = {}): PackedDirectory {
  const { directory = from, excludes = [], only, limits = {} } = options;
  return packDirectory({ directory, excludes, only }, { cacheFolder, nowMs: () => Date.now() + LATER_MS, limits });
}

function unpacked(hash: string): string {
  unpackDirectory(join(cacheFolder, hash), to);
  return to;
}

test("a folder comes out as it went in", () => {
  write("a.txt", "text");
  write("empty.txt", "");
  write("deep/er/b.bin", "x".repeat(3_000_000));
  write("run.sh", "#!/bin/sh");
  chmodSync(join(from, "run.sh"), 0o700);
  mkdirSync(join(from, "nothing"));
  symlinkSync("deep/er/b.bin", join(from, "link"));
  symlinkSync(join(from, "a.txt"), join(from, "deep/absolute"));
  const { hash, files, contentsBytes } = pack();
  expect([files, contentsBytes]).toEqual([4, 3_000_013]);
  const place = unpacked(hash);
  expect(readFileSync(join(place, "a.txt"), "utf8")).toBe("text");
  expect(readFileSync(join(place, "deep/er/b.bin")).length).toBe(3_000_000);
  expect(readFileSync(join(place, "empty.txt"), "utf8")).toBe("");
  expect(lstatSync(join(place, "run.sh")).mode & 0o111).toBe(0o111);
  expect(lstatSync(join(place, "a.txt")).mode & 0o111).toBe(0);
  expect(readdirSync(join(place, "nothing"))).toEqual([]);
  expect(readlinkSync(join(place, "link"))).toBe("deep/er/b.bin");
  expect(readlinkSync(join(place, "deep/absolute"))).toBe("../a.txt");
  // The temporary folder beside the target is gone.
  expect(readdirSync(root).sort()).toEqual(["cache", "from", "to"]);
});

test("the same files have the same hash in another folder, at another time", () => {
  write("a.txt");
  write("b/c.txt");
  const other = join(root, "other");
  write("b/c.txt", "b/c.txt", other);
  write("a.txt", "a.txt", other);
  utimesSync(join(other, "a.txt"), 1, 1);
  expect(pack({ directory: other }).hash).toBe(pack().hash);
  write("a.txt", "changed", other);
  expect(pack({ directory: other }).hash).not.toBe(pack().hash);
});

describe("what has not changed", () => {
  test("is not read again", () => {
    for (let index = 0; index < 20; index += 1) write(`file-${index}`, `content ${index}`);
    expect(pack().hashedFiles).toBe(20);
    expect(pack().hashedFiles).toBe(0);
    write("file-7", "CONTENT 7");
    expect(pack().hashedFiles).toBe(1);
  });

  test("is read again when its times are too fresh to tell", () => {
    write("a", "1");
    const atOnce = { cacheFolder, nowMs: () => Date.now() };
    const request = { directory: from, excludes: [] };
    expect(packDirectory(request, atOnce).hashedFiles).toBe(1);
    expect(packDirectory(request, atOnce).hashedFiles).toBe(1);
  });
});

describe("what belongs to it", () => {
  test("is neither packages nor history, nor what ignore files and the caller name", () => {
    write("node_modules/x/index.js");
    write(".git/HEAD");
    write(".gitignore", "dist/\n*.log\n");
    write(".shoalignore", "!dist/\ndata/\n");
    write("dist/main.js");
    write("dist/part/b.js");
    write("dist/part/b.log");
    write("data/large.bin");
    write("a.log");
    write("b.tmp");
    write("src/main.ts");
    unpacked(pack({ excludes: ["*.tmp"] }).hash);
    expect(readdirSync(to).sort()).toEqual([".gitignore", ".shoalignore", "dist", "src"]);
    expect(readdirSync(join(to, "dist")).sort()).toEqual(["main.js", "part"]);
    expect(readdirSync(join(to, "dist/part"))).toEqual(["b.js"]);
  });

  test("are the files that were asked for, where some were", () => {
    write("package.json");
    write("package-lock.json");
    write("large.bin");
    unpacked(pack({ only: ["package.json", "package-lock.json"] }).hash);
    expect(readdirSync(to).sort()).toEqual(["package-lock.json", "package.json"]);
  });
});

describe("refused is", () => {
  test("a link that leads out, by name", () => {
    write("inner/a");
    symlinkSync("../../secret", join(from, "inner/escape"));
    expect(() => pack()).toThrow(/the link inner\/escape leads out of it, to \.\.\/\.\.\/secret.*exclude it/);
    expect(pack({ excludes: ["inner/escape"] }).files).toBe(1);
  });

  test("what is too large, with the largest and the remedy", () => {
    write("small", "1");
    write("models/weights.bin", "x".repeat(5_000_000));
    expect(() => pack({ limits: { sizeBytesMax: 1_000_000 } })).toThrow(/5\.0 MB large.*models\/weights\.bin \(5\.0 MB\).*\.shoalignore/);
  });

  test("too many files, with where most of them lie", () => {
    for (let index = 0; index < 30; index += 1) write(`cache/${index}`);
    expect(() => pack({ limits: { filesMax: 20 } })).toThrow(/more than the 20 files and folders.*cache \(\d+ entries\).*\.shoalignore/);
  });

  test("a package whose contents are damaged or not whole, and nothing is left of it", () => {
    write("a", "12345");
    const { hash } = pack();
    const contents = join(cacheFolder, hash, "contents");
    writeFileSync(contents, "12346");
    expect(() => unpackDirectory(join(cacheFolder, hash), to)).toThrow(/a of the package is not what its hash says/);
    truncateSync(contents, 3);
    expect(() => unpackDirectory(join(cacheFolder, hash), to)).toThrow(/is not whole/);
    expect(readdirSync(root).sort()).toEqual(["cache", "from"]);
  });

  test("a package whose manifest leads out", () => {
    write("a", "12345");
    const { hash } = pack();
    const manifest = join(cacheFolder, hash, "manifest");
    writeFileSync(manifest, readFileSync(manifest, "utf8").replace('"a"', '"../a"'));
    expect(() => unpackDirectory(join(cacheFolder, hash), to)).toThrow(/leads out of its folder/);
    expect(existsSync(join(root, "a"))).toBe(false);
  });
});

test("hashes that were kept and are wrong are found out, and the folder is packed as it is", () => {
  write("a", "12345");
  const right = pack().hash;
  rmSync(join(cacheFolder, right), { recursive: true });
  const index = join(cacheFolder, readdirSync(cacheFolder).find((name) => name.startsWith("index-")) ?? "");
  writeFileSync(index, readFileSync(index, "utf8").replace(/[0-9a-f]{64}/, "0".repeat(64)));
  expect(pack().hash).toBe(right);
  writeFileSync(index, "{ half");
  expect(pack().hash).toBe(right);
  expect(existsSync(join(cacheFolder, right))).toBe(true);
  expect(existsSync(join(cacheFolder, "0".repeat(64)))).toBe(false);
});

describe("of a folder that programs write to", () => {
  /** Called for each file of a listed folder, before any file is read. */
  class Listed extends Array<string> {
    listed: () => void = () => {};
    override includes(): boolean {
      this.listed();
      return true;
    }
  }

  test("what has gone since it was listed is left out: a file, a link, a folder with all that is in it", () => {
    for (const path of ["a", "b/c", "d"]) write(path);
    symlinkSync("a", join(from, "link"));
    const only = new Listed();
    only.listed = () => {
      for (const path of ["b", "d", "link"]) rmSync(join(from, path), { recursive: true, force: true });
    };
    const { hash, files } = pack({ only });
    expect(files).toBe(1);
    expect(readdirSync(unpacked(hash)).sort()).toEqual(["a", "b"]);
    expect(readdirSync(join(to, "b"))).toEqual([]);
  });

  test("a file is what it was when it was read, however often it changes", () => {
    write("a", "1");
    write("b", "1");
    let reads = 0;
    const options = {
      nowMs: () => Date.now() + LATER_MS,
      // Asked for in each step, the hashes of the files and their contents among them.
      get cacheFolder(): string {
        reads += 1;
        write("a", "x".repeat(reads));
        if (reads > 4) rmSync(join(from, "b"), { force: true });
        return cacheFolder;
      },
    };
    const { hash, files, contentsBytes } = packDirectory({ directory: from, excludes: [] }, options);
    const place = unpacked(hash);
    expect(readdirSync(place).length).toBe(files);
    expect(readFileSync(join(place, "a"), "utf8")).toMatch(/^x+$/);
    expect(contentsBytes).toBe(readdirSync(place).reduce((sum, name) => sum + readFileSync(join(place, name)).length, 0));
    // The file changed after it was hashed.
    expect(readFileSync(join(place, "a"), "utf8").length).toBeGreaterThan(2);
    expect(pack().hashedFiles).toBeGreaterThan(0);
    expect(readdirSync(cacheFolder).filter((name) => name.endsWith(".new"))).toEqual([]);
  });

  test("a folder that is not there is refused", () => {
    expect(() => pack({ directory: join(root, "nothing") })).toThrow(/there is no folder/);
  });
});

test("a file that changes on the way into its package is named, and nothing is made", () => {
  write("a", "12345");
  const files = [{ path: "a", sha256: "0".repeat(64) }];
  expect(writePackage(to, Buffer.from("[]"), { root: from, files })).toBe("a");
  expect(readdirSync(root)).toEqual(["from"]);
});
