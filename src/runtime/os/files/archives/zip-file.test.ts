/** Archives of strangers make a whole folder or nothing, and never a file elsewhere. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { packZip, unpackZip } from "./zip-file.ts";

const LIMITS = { sizeBytesMax: 1_000_000, filesMax: 1_000 };
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "shoal-zip-"));
  mkdirSync(join(root, "from", "sub"), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const unpack = async (bytes: Uint8Array): Promise<unknown> => {
  const file = join(root, "archive.zip");
  writeFileSync(file, bytes);
  return await unpackZip(file, join(root, "to")).catch((error: Error) => error.message);
};

describe("a packed folder", () => {
  test("comes out as it went in, with empty folders and the bit of programs", async () => {
    writeFileSync(join(root, "from", "sub", "é.txt"), "text ".repeat(1_000));
    writeFileSync(join(root, "from", "run.sh"), "#!/bin/sh\n");
    writeFileSync(join(root, "from", "empty"), "");
    chmodSync(join(root, "from", "run.sh"), 0o755);
    mkdirSync(join(root, "from", "nothing"));
    const { bytes } = await packZip(join(root, "from"), LIMITS);
    expect(await unpack(bytes)).toBe(5_010);
    expect(readFileSync(join(root, "to", "sub", "é.txt"), "utf8")).toBe("text ".repeat(1_000));
    expect(statSync(join(root, "to", "run.sh")).mode & 0o111).toBe(0o111);
    expect(statSync(join(root, "to", "empty")).size).toBe(0);
    expect(statSync(join(root, "to", "sub", "é.txt")).mode & 0o111).toBe(0);
    expect(readdirSync(root).filter((name) => name.endsWith(".new"))).toEqual([]);
  });

  test("has the same bytes for the same files, whatever their times, and leaves out ignored ones", async () => {
    writeFileSync(join(root, "from", ".gitignore"), "*.log\n");
    writeFileSync(join(root, "from", "a.ts"), "1");
    const { sha256 } = await packZip(join(root, "from"), LIMITS);
    writeFileSync(join(root, "from", "a.ts"), "1");
    writeFileSync(join(root, "from", "b.log"), "2");
    expect((await packZip(join(root, "from"), LIMITS)).sha256).toBe(sha256);
    writeFileSync(join(root, "from", "a.ts"), "2");
    expect((await packZip(join(root, "from"), LIMITS)).sha256).not.toBe(sha256);
  });

  test("that is too large or has a link is refused", async () => {
    writeFileSync(join(root, "from", "large"), "x".repeat(2_000_000));
    await expect(packZip(join(root, "from"), LIMITS)).rejects.toThrow(RangeError);
    rmSync(join(root, "from", "large"));
    symlinkSync("/etc/passwd", join(root, "from", "link"));
    await expect(packZip(join(root, "from"), LIMITS)).rejects.toThrow("link is a link");
  });
});

describe("a received archive", () => {
  /** An archive with one file, whose bytes a test changes. */
  async function archive(name = "name.txt", content = "content ".repeat(100)): Promise<Buffer> {
    writeFileSync(join(root, "from", name), content);
    return (await packZip(join(root, "from"), LIMITS)).bytes;
  }

  const renamed = (bytes: Buffer, to: string): Buffer =>
    Buffer.from(bytes.toString("latin1").replaceAll("name.txt", Buffer.from(to).toString("latin1")), "latin1");
  const rowOf = (bytes: Buffer): number => bytes.indexOf(Buffer.from("PK\x01\x02", "latin1"));

  test.each([
    ["upwards", "../x.txt", "leads out"],
    ["upwards in the middle", "a/../x.t", "leads out"],
    ["from the root", "/etc/abc", "leads out"],
    ["by a backslash", "..\\x.txt", "leads out"],
    ["on a drive", "C:/a.txt", "leads out"],
    ["with NUL", "a\0bc.txt", "leads out"],
    ["with a dot", "./ab.txt", "leads out"],
    ["with an empty part", "a//b.txt", "leads out"],
    ["that is not UTF-8", "\u00ff\u00ff1234", "UTF-8"],
  ])("with a name that leads %s is refused", async (_how, to, part) => {
    const bytes = await archive();
    const changed = to.startsWith("\u00ff")
      ? Buffer.from(bytes.toString("latin1").replaceAll("name.txt", "\xff\xfename12"), "latin1")
      : renamed(bytes, to);
    expect(await unpack(changed)).toContain(part);
    expect(existsSync(join(root, "to"))).toBe(false);
    expect(readdirSync(root).sort()).toEqual(["archive.zip", "from"]);
  });

  test("with a link, a device, an encrypted or strangely packed file is refused", async () => {
    const changed = async (change: (bytes: Buffer, row: number) => void): Promise<unknown> => {
      const bytes = Buffer.from(await archive());
      change(bytes, rowOf(bytes));
      return await unpack(bytes);
    };
    const withMode = (mode: number) => (bytes: Buffer, row: number) => bytes.writeUInt32LE(mode * 65_536, row + 38);
    expect(await changed(withMode(0o120777))).toContain("is a link");
    expect(await changed(withMode(0o060644))).toContain("is a link, or neither");
    expect(await changed((bytes, row) => bytes.writeUInt16LE(1, row + 8))).toContain("encrypted");
    expect(await changed((bytes, row) => bytes.writeUInt16LE(14, row + 10))).toContain("method 14");
    expect(await changed((bytes, row) => bytes.writeUInt32LE(0xffffffff, row + 24))).toContain("too large");
    expect(await changed((bytes, row) => bytes.writeUInt32LE(100_000_000, row + 24))).toContain("times its own");
    expect(await changed((bytes, row) => bytes.writeUInt32LE(10, row + 24))).toContain("larger than it says");
    expect(await changed((bytes, row) => bytes.writeUInt32LE(900, row + 24))).toContain("checksum");
    expect(await changed((bytes, row) => bytes.writeUInt32LE(1, row + 16))).toContain("checksum");
    expect(await changed((bytes, row) => bytes.writeUInt32LE(0xfffffff0, row + 20))).toContain("lies outside");
    expect(await changed((bytes, row) => bytes.writeUInt32LE(bytes.length - 5, row + 42))).toMatch(/lies outside|damaged/);
    expect(await changed((bytes) => bytes.writeUInt16LE(60_000, bytes.length - 12))).toContain("damaged");
    expect(await changed((bytes) => bytes.writeUInt32LE(0xfffffff0, bytes.length - 10))).toContain("too large");
  });

  test("that is cut anywhere, or has any byte changed, makes the whole folder or none", { timeout: 60_000 }, async () => {
    const bytes = await archive("name.txt", "content ".repeat(20));
    for (let length = 0; length < bytes.length; length += 1) {
      expect([length, typeof (await unpack(bytes.subarray(0, length)))]).toEqual([length, "string"]);
      expect(existsSync(join(root, "to"))).toBe(false);
    }
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ 0x15;
      const outcome = await unpack(changed);
      if (typeof outcome === "number") rmSync(join(root, "to"), { recursive: true });
      expect(readdirSync(root).sort()).toEqual(["archive.zip", "from"]);
    }
  });

  test("with a path twice, or a file that is a folder, is refused", async () => {
    writeFileSync(join(root, "from", "name1"), "1");
    writeFileSync(join(root, "from", "name2"), "2");
    const { bytes } = await packZip(join(root, "from"), LIMITS);
    expect(await unpack(Buffer.from(bytes.toString("latin1").replaceAll("name2", "name1"), "latin1"))).toContain("twice");
    rmSync(join(root, "from", "name2"));
    writeFileSync(join(root, "from", "sub", "x"), "2");
    const nested = (await packZip(join(root, "from"), LIMITS)).bytes;
    expect(await unpack(Buffer.from(nested.toString("latin1").replaceAll("name1", "sub/x"), "latin1"))).toContain("twice");
  });
});
