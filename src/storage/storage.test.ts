/** Lists, reads and writes real files in a temporary folder. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { brotliCompressSync, constants, deflateSync, gunzipSync, gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { StorageError } from "./errors.ts";
import { FileWriter } from "./file-writer.ts";
import { INFLATED_CHUNK_BYTES, READ_CHUNK_BYTES } from "./limits.ts";
import { listFiles } from "./listing/list-files.ts";
import { folderExists } from "./listing/folders.ts";
import { makeFolder, openBytes, removeFolder } from "./places.ts";
import { readChunks, readTextIfThere, readWhole } from "./read-file.ts";
import { badUtf8At } from "./utf8.ts";

const root = mkdtempSync(join(tmpdir(), "test-shoal-storage-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

let folders = 0;

/** A new folder with these files in it. */
function folderWith(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = join(root, `folder-${(folders += 1)}`);
  mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

async function namesIn(folder: string, paths: string | readonly string[]): Promise<string[]> {
  return (await listFiles(paths)).map(({ path }) => path.slice(folder.length + 1));
}

test("a folder stands for all files in it, sorted, without hidden ones", async () => {
  const folder = folderWith({
    "b.csv": "1",
    "a/z.csv": "22",
    "a/_SUCCESS": "",
    "_temporary/x.csv": "",
    ".b.csv.1-a.tmp": "",
    "_year=2026/c.csv": "",
    "\u{1F600}.csv": "",
    "\uFFFD.csv": "",
  });
  expect(await namesIn(folder, folder)).toEqual(["_year=2026/c.csv", "a/z.csv", "b.csv", "\uFFFD.csv", "\u{1F600}.csv"]);
  expect(await listFiles(join(folder, "a"))).toEqual([{ path: join(folder, "a/z.csv"), sizeBytes: 2 }]);
});

test("a file is taken by its name, hidden or not, and several paths are sorted together", async () => {
  const folder = folderWith({ ".hidden": "", "a.csv": "", "b.csv": "" });
  expect(await namesIn(folder, [join(folder, "b.csv"), join(folder, ".hidden"), pathToFileURL(join(folder, "a.csv")).href])).toEqual([
    ".hidden",
    "a.csv",
    "b.csv",
  ]);
});

test.each([
  ["*.csv", ["a1.csv", "a2.csv", "b.csv"]],
  ["a?.csv", ["a1.csv", "a2.csv"]],
  ["a[2-9].csv", ["a2.csv"]],
  ["a[!2].csv", ["a1.csv"]],
  ["{b,none,a2}.csv", ["a2.csv", "b.csv"]],
  ["**/*.csv", ["a1.csv", "a2.csv", "b.csv", "x/c.csv", "x/y/d.csv"]],
  ["x/**", ["x/c.csv", "x/y/d.csv", "x/y/e.txt"]],
  ["*/y/*.csv", ["x/y/d.csv"]],
  ["x*", ["x/c.csv", "x/y/d.csv", "x/y/e.txt"]],
  ["{x,x/y}/*.csv", ["x/c.csv", "x/y/d.csv"]],
  ["_*", ["_h.csv"]],
])("the glob %s names %j", async (pattern, expected) => {
  const files = ["a1.csv", "a2.csv", "b.csv", "x/c.csv", "x/y/d.csv", "x/y/e.txt", "_h.csv"];
  const folder = folderWith(Object.fromEntries(files.map((name) => [name, ""])));
  expect(await namesIn(folder, join(folder, pattern))).toEqual(expected);
});

test("a file whose name has the characters of a glob is meant where it is there", async () => {
  const folder = folderWith({ "a[1].csv": "", "a1.csv": "" });
  expect(await namesIn(folder, join(folder, "a[1].csv"))).toEqual(["a[1].csv"]);
});

test("links are followed, and one that leads round ends", async () => {
  const folder = folderWith({ "a/x.csv": "" });
  symlinkSync(folder, join(folder, "a/round"));
  symlinkSync(join(folder, "a/x.csv"), join(folder, "link.csv"));
  symlinkSync(join(folder, "nothing"), join(folder, "dangling.csv"));
  expect(await namesIn(folder, folder)).toEqual(["a/x.csv", "link.csv"]);
  expect(await namesIn(folder, join(folder, "**/*.csv"))).toEqual(["a/x.csv", "link.csv"]);
});

test("a path that names nothing is an error with its name, or left out", async () => {
  const folder = folderWith({ "a.csv": "", "empty/_SUCCESS": "" });
  await expect(listFiles(join(folder, "*.parquet"))).rejects.toThrow(`No file matches ${folder}/*.parquet`);
  await expect(listFiles(join(folder, "empty"))).rejects.toThrow(StorageError);
  await expect(listFiles(join(folder, "a.csv/b"))).rejects.toThrow(`No file matches ${folder}/a.csv/b`);
  expect(await listFiles([join(folder, "none"), join(folder, "a.csv")], { ignoreMissingPaths: true })).toHaveLength(1);
});

test("other schemes are refused without their credentials", async () => {
  await expect(listFiles("gs://bucket/a.csv")).rejects.toThrow("Cannot open gs://bucket/a.csv: gs:// is not supported");
  await expect(readWhole("ftp://me:secret@host/a.csv?sig=secret")).rejects.toThrow("Cannot open ftp://host/a.csv: ftp:// is not supported");
});

test.runIf(process.getuid?.() !== 0)("a folder that may not be read is an error with its name", async () => {
  const folder = folderWith({ "closed/a.csv": "" });
  chmodSync(join(folder, "closed"), 0);
  await expect(listFiles(folder)).rejects.toThrow(`Cannot list the folder ${join(folder, "closed")}`);
});

const BYTES = Uint8Array.from({ length: 2.5 * READ_CHUNK_BYTES }, (_, i) => (i * i) >> 8);

test.each([
  ["x.bin", (bytes: Uint8Array) => bytes],
  ["x.gz", gzipSync],
  ["x.GZ", (bytes: Uint8Array) => Buffer.concat([gzipSync(bytes.subarray(0, 1000)), gzipSync(bytes.subarray(1000))])],
  ["x.zst", (bytes: Uint8Array) => zstdCompressSync(bytes)],
  ["x.br", (bytes: Uint8Array) => brotliCompressSync(bytes, { params: { 1: 2 } })],
  ["x.deflate", deflateSync],
])("%s is read as what was put in", async (name, pack) => {
  const folder = folderWith({ [name]: pack(BYTES) });
  const whole = await readWhole(join(folder, name));
  expect(Buffer.compare(whole, BYTES)).toBe(0);
});

const skippable = (length: number): Buffer =>
  Buffer.concat([Buffer.from([0x5a, 0x2a, 0x4d, 0x18, length, 0, 0, 0]), Buffer.alloc(length, 7)]);
const PIECES = [BYTES.subarray(0, 1000), BYTES.subarray(1000, 1000), BYTES.subarray(1000, 1_500_000), BYTES.subarray(1_500_000)];

test.each<[name: string, pack: (piece: Uint8Array, i: number) => Uint8Array]>([
  ["members.gz", (piece) => gzipSync(piece)],
  ["frames.zst", (piece) => zstdCompressSync(piece)],
  ["skippable.zst", (piece, i) => Buffer.concat([skippable(i * 40), zstdCompressSync(piece), skippable(0)])],
])("%s has parts of which each is read", async (name, pack) => {
  const folder = folderWith({ [name]: Buffer.concat(PIECES.map(pack)) });
  expect(Buffer.compare(await readWhole(join(folder, name)), BYTES)).toBe(0);
});

test("many frames of each form are read, also where they end with a chunk of the decoder", async () => {
  const forms = fc.record({
    length: fc.oneof(fc.nat(3000), fc.constantFrom(INFLATED_CHUNK_BYTES, 2 * INFLATED_CHUNK_BYTES)),
    isSized: fc.boolean(),
    hasChecksum: fc.boolean(),
    isRun: fc.boolean(),
    skipped: fc.option(fc.nat(30)),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(forms, { minLength: 1, maxLength: 12 }), async (given) => {
      const plain: Uint8Array[] = [];
      const packed = given.flatMap(({ length, isSized, hasChecksum, isRun, skipped }) => {
        const bytes = isRun ? new Uint8Array(length).fill(5) : BYTES.subarray(0, length);
        plain.push(bytes);
        const { ZSTD_c_checksumFlag: sum, ZSTD_c_contentSizeFlag: size } = constants;
        const frame = zstdCompressSync(bytes, { params: { [sum]: Number(hasChecksum), [size]: Number(isSized) } });
        return skipped === null ? [frame] : [skippable(skipped), frame];
      });
      const path = join(folderWith({ "x.zst": Buffer.concat(packed) }), "x.zst");
      expect(Buffer.compare(await readWhole(path), Buffer.concat(plain))).toBe(0);
    }),
    { numRuns: 40 },
  );
});

test.each([
  ["x.gz", (bytes: Uint8Array) => gzipSync(bytes)],
  ["x.zst", (bytes: Uint8Array) => zstdCompressSync(bytes)],
])("%s whose second part is cut off is an error, wherever it is cut", async (name, pack) => {
  const first = pack(BYTES.subarray(0, 500));
  const second = pack(BYTES.subarray(500, 900));
  const path = join(folderWith({}), name);
  for (let cut = 1; cut < second.length; cut += 1) {
    writeFileSync(path, Buffer.concat([first, second.subarray(0, cut)]));
    await expect(readWhole(path), `${cut} of ${second.length} bytes`).rejects.toThrow(`Cannot decompress ${path}: `);
  }
});

test.each([
  ["x.gz", (bytes: Uint8Array) => gzipSync(bytes)],
  ["x.zst", (bytes: Uint8Array) => zstdCompressSync(bytes)],
  ["x.br", (bytes: Uint8Array) => brotliCompressSync(bytes)],
  ["x.deflate", (bytes: Uint8Array) => deflateSync(bytes)],
])("%s with other bytes behind its data is an error", async (name, pack) => {
  const path = join(folderWith({}), name);
  const packed = pack(BYTES.subarray(0, 5000));
  for (const length of [1, 20, 3 * READ_CHUNK_BYTES]) {
    writeFileSync(path, Buffer.concat([packed, Buffer.alloc(length, "x")]));
    await expect(readWhole(path), `${length} bytes`).rejects.toThrow(`Cannot decompress ${path}: `);
  }
  writeFileSync(path, Buffer.concat([packed, Buffer.alloc(3 * READ_CHUNK_BYTES)]));
  // The program gzip takes zeros for padding. Those of the other forms refuse them.
  if (name === "x.gz") expect(await readWhole(path)).toHaveLength(5000);
  else await expect(readWhole(path)).rejects.toThrow(`Cannot decompress ${path}: `);
  writeFileSync(path, Buffer.concat([packed, Buffer.alloc(2 * READ_CHUNK_BYTES), packed]));
  await expect(readWhole(path)).rejects.toThrow(`Cannot decompress ${path}: `);
});

const programs: readonly [name: string, program: string, args: readonly string[]][] = [
  ["x.gz", "gzip", ["-c"]],
  ["x.zst", "zstd", ["-q", "-c"]],
  ["x.zst", "pzstd", ["-q", "-c", "-p", "2"]],
];
test.each(programs.filter(([, program]) => spawnSync(program, ["--version"]).status === 0))(
  "%s of the program %s is read as the program reads it",
  async (name, program, args) => {
    const path = join(folderWith({ plain: Buffer.concat(Array<Uint8Array>(5).fill(BYTES)) }), "plain");
    const packed = execFileSync(program, [...args, path], { maxBuffer: 2 ** 30 });
    const cases = [packed, Buffer.concat([packed, packed]), packed.subarray(0, -1), Buffer.concat([packed, packed.subarray(0, 50)])];
    for (const bytes of [...cases, Buffer.concat([packed, Buffer.from("tail")])]) {
      const file = join(dirname(path), name);
      writeFileSync(file, bytes);
      const known = spawnSync(program, ["-d", "-c", file], { maxBuffer: 2 ** 30 });
      if (known.status === 0) expect(Buffer.compare(await readWhole(file), known.stdout)).toBe(0);
      else await expect(readWhole(file)).rejects.toThrow(`Cannot decompress ${file}: `);
    }
  },
);

test("an end of reading before the end of the file lets it go", async () => {
  const folder = folderWith({ "x.gz": gzipSync(BYTES), "x.bin": BYTES });
  for (const name of ["x.gz", "x.bin"]) {
    for await (const chunk of readChunks(join(folder, name))) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
  }
  expect(openFiles().filter((path) => path.startsWith(folder))).toEqual([]);
});

function openFiles(): string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return [];
    }
  });
}

test.each([
  ["x.gz", gzipSync],
  ["x.zst", (bytes: Uint8Array) => zstdCompressSync(bytes)],
  ["x.br", (bytes: Uint8Array) => brotliCompressSync(bytes, { params: { 1: 2 } })],
  ["x.deflate", deflateSync],
])("%s that is cut off is an error with its name, wherever it is cut", async (name, pack) => {
  const folder = folderWith({ [name]: pack(BYTES.subarray(0, 5000)) });
  const path = join(folder, name);
  const length = readFileSync(path).length;
  for (const cut of [length - 1, length - 9, length >> 1, 3, 0]) {
    truncateSync(path, cut);
    await expect(readWhole(path), `${cut} of ${length} bytes`).rejects.toThrow(
      `Cannot decompress ${path}: it is ${cut === 0 ? "empty" : `cut off amid its data, at byte ${cut}`}`,
    );
  }
});

test.each([
  ["x.gz", gzipSync],
  ["x.deflate", deflateSync],
])("%s with wrong bytes is an error that says up to where it was whole", async (name, pack) => {
  const packed = Buffer.from(pack(Uint8Array.from({ length: 4 * READ_CHUNK_BYTES }, (_, i) => hashOf(i))));
  const wrongAt = packed.length - 2000;
  packed.fill(0xff, wrongAt, wrongAt + 100);
  const folder = folderWith({ [name]: packed });
  const { message } = await readWhole(join(folder, name)).then(
    () => new Error("no error"),
    (error: unknown) => error as Error,
  );
  expect(message).toContain(`Cannot decompress ${join(folder, name)}: `);
  const wholeTo = Number(/\(behind byte ([0-9]+)\)$/.exec(message)?.[1]);
  expect(wholeTo).toBeGreaterThan(0);
  expect(wholeTo).toBeLessThanOrEqual(packed.length);
});

/** Bytes that no compression makes much smaller. */
function hashOf(i: number): number {
  return (Math.imul(i, 0x9e3779b1) >>> 13) & 0x3f;
}

test("what is no gzip, no file or a folder is an error with its name", async () => {
  const folder = folderWith({ "x.gz": "a,b\n1,2\n" });
  await expect(readWhole(join(folder, "x.gz"))).rejects.toThrow(`Cannot decompress ${folder}/x.gz: incorrect header check (behind byte 0)`);
  await expect(readWhole(join(folder, "none"))).rejects.toThrow(`Cannot read ${folder}/none: there is no such file`);
  await expect(readWhole(folder)).rejects.toThrow(`Cannot read ${folder}: it is a folder`);
});

test.each(["out.csv", "deep/er/out.csv.gz", "out.zst", "out.br", "out.deflate"])("%s appears whole, by its commit", async (name) => {
  const folder = folderWith({});
  const path = join(folder, name);
  await makeFolder(dirname(path));
  await using writer = await FileWriter.open(path);
  for (let at = 0; at < BYTES.length; at += 700_000) await writer.write(BYTES.subarray(at, at + 700_000));
  expect(existsSync(path)).toBe(false);
  const committed = await writer.commit();
  expect(committed).toEqual({ path, sizeBytes: readFileSync(path).length });
  expect(Buffer.compare(await readWhole(path), BYTES)).toBe(0);
  if (name.endsWith(".gz")) expect(gunzipSync(readFileSync(path)).length).toBe(BYTES.length);
  expect(readdirSync(dirname(path))).toHaveLength(1);
});

test.each(["out.gz", "out.zst", "out.deflate"])("%s that was written here tells a byte that has changed since", async (name) => {
  const folder = folderWith({});
  const path = join(folder, name);
  await using writer = await FileWriter.open(path);
  // Bytes that cannot be compressed are stored unchanged.
  await writer.write(Uint8Array.from({ length: 20_000 }, (_, i) => hashOf(i)));
  await writer.commit();
  const packed = readFileSync(path);
  packed[packed.length >> 1] = (packed[packed.length >> 1] as number) ^ 1;
  writeFileSync(path, packed);
  await expect(readWhole(path)).rejects.toThrow(`Cannot decompress ${path}: `);
});

test("folders are made with those above them, and are there until they are removed", async () => {
  const folder = folderWith({ file: "" });
  const deep = join(folder, "a b", "c");
  await Promise.all([makeFolder(deep), makeFolder(deep), makeFolder(join(folder, "a b"))]);
  expect(await folderExists(deep)).toBe(true);
  await removeFolder(deep);
  expect([await folderExists(deep), await folderExists(join(folder, "file"))]).toEqual([false, false]);
  await expect(makeFolder(join(folder, "file", "x"))).rejects.toThrow("a part of the path is no folder");
  await expect(makeFolder(join(folder, "file"))).rejects.toThrow(`Cannot make the folder ${folder}/file: `);
});

test("a folder into which others still put files is removed with these", async () => {
  const removals = Array.from({ length: 20 }, async () => {
    const folder = folderWith({ a: "", b: "", c: "" });
    const adding = async (): Promise<void> => {
      for (let i = 0; i < 20; i += 1) {
        await writeFile(join(folder, `${i}`), "");
        await new Promise(setImmediate);
      }
    };
    // A file that is added later has no folder.
    await Promise.all([removeFolder(folder), adding().catch(() => {})]);
    expect(existsSync(folder)).toBe(false);
  });
  await Promise.all(removals);
});

// Node's own recursive mkdir loops for ever there.
test("a folder below /proc is refused", async () => {
  await expect(makeFolder("/proc/none/x")).rejects.toThrow("Cannot make the folder /proc/none/x: ");
});

test("parts of a file are read until it is changed", async () => {
  const path = join(folderWith({ x: "0123456789" }), "x");
  await using bytes = await openBytes(path);
  expect(bytes.sizeBytes).toBe(10);
  expect(Buffer.from(await bytes.read(2, 5)).toString()).toBe("234");
  expect((await bytes.read(10, 10)).byteLength).toBe(0);
  writeFileSync(path, "01");
  await expect(bytes.read(0, 5)).rejects.toThrow(`Cannot read ${path}: it was changed while it was read`);
  await expect(openBytes(join(root, "none"))).rejects.toThrow(`Cannot open ${join(root, "none")}`);
});

test("an aborted file leaves what was there, and a hidden name meanwhile", async () => {
  const folder = folderWith({ "out.csv": "old" });
  const writer = await FileWriter.open(join(folder, "out.csv"));
  await writer.write(Buffer.from("new"));
  expect(readdirSync(folder).filter((name) => name !== "out.csv")).toEqual([
    expect.stringMatching(new RegExp(String.raw`^\.out\.csv\.${process.pid}-[0-9a-f]+\.tmp$`)),
  ]);
  expect(await listFiles(folder)).toHaveLength(1);
  await writer.abort();
  expect(readdirSync(folder)).toEqual(["out.csv"]);
  expect(readFileSync(join(folder, "out.csv"), "utf8")).toBe("old");
});

test("a compressed file that is aborted amid leaves nothing", async () => {
  const folder = folderWith({});
  {
    await using writer = await FileWriter.open(join(folder, "out.gz"));
    await writer.write(BYTES);
  }
  expect(readdirSync(folder)).toEqual([]);
});

test("a place where no file can be is an error with its name", async () => {
  const folder = folderWith({ file: "" });
  await expect(FileWriter.open(join(folder, "file/out.csv"))).rejects.toThrow(`Cannot write ${folder}/file/out.csv`);
  await expect(FileWriter.open(join(folder, "none/out.csv"))).rejects.toThrow(`there is no folder ${folder}/none on ${hostname()}`);
  expect(readdirSync(folder)).toEqual(["file"]);
});

test("the first bad byte of UTF-8 is found", () => {
  const good = Buffer.from("aé€😀z");
  expect(badUtf8At(good)).toBe(-1);
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme" }),
      fc.constantFrom([0xff], [0xc3], [0xe2, 0x82], [0x80], [0xed, 0xa0, 0x80]),
      fc.string(),
      (before, bad, after) => {
        const start = Buffer.from(before);
        expect(badUtf8At(Buffer.concat([start, Uint8Array.from(bad), Buffer.from(` ${after}`)]))).toBe(start.length);
        expect(badUtf8At(Buffer.concat([start, Uint8Array.from(bad)]))).toBe(start.length);
      },
    ),
  );
});

test("a text that is removed while it is read is there or not, and no error", async () => {
  const path = join(folderWith({}), "removed.txt");
  const texts = new Set<string | undefined>();
  for (let round = 0; round < 300; round += 1) {
    writeFileSync(path, "whole");
    const read = readTextIfThere(path);
    // The removal falls between the look and the read now and then.
    for (let turn = 0; turn < round % 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    await rm(path);
    texts.add(await read);
  }
  expect([...texts].every((text) => text === "whole" || text === undefined)).toBe(true);
});
