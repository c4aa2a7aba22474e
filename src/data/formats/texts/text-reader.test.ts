/** Lines of texts in several encodings, cut at every byte; whole files as bytes. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { type Block, rowsOf } from "../../blocks/block.ts";
import { readBinaryFile } from "../binary-reader.ts";
import { readTextFile, textBlocks, type TextOptions } from "./text-reader.ts";

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

async function all(blocks: AsyncIterable<Block>): Promise<unknown[]> {
  const rows: unknown[] = [];
  for await (const block of blocks) rows.push(...rowsOf(block).map((row) => Object.values(row)[0]));
  return rows;
}

function read(input: string | Uint8Array, options: TextOptions = {}, chunkBytes = 1 << 20): Promise<unknown[]> {
  return all(textBlocks(inChunks(Buffer.from(input as string), chunkBytes), "a.txt", options));
}

test("lines, wherever the chunks are cut", async () => {
  const text = "\uFEFFone\r\n\n \t\nzwölf €😀\nlast\r";
  for (let size = 1; size < 30; size += 1) {
    for (const blockBytes of [1, 10, 1000]) {
      expect(await read(text, { blockBytes }, size)).toEqual(["one", "zwölf €😀", "last"]);
      expect(await read(text, { blockBytes, dropEmptyLines: false }, size)).toEqual(["one", "", " \t", "zwölf €😀", "last"]);
    }
  }
  expect(await read("")).toEqual([]);
  expect(await read("\n\n")).toEqual([]);
});

test("many lines are in blocks of about the size that is asked for", async () => {
  const texts = Array.from({ length: 5000 }, (_, i) => `line ${i}`);
  let blocks = 0;
  for await (const block of textBlocks(inChunks(Buffer.from(texts.join("\n")), 500), "a.txt", { blockBytes: 5000 }))
    blocks += block.rowCount > 0 ? 1 : 0;
  expect(blocks).toBeGreaterThan(8);
  expect(blocks).toBeLessThan(13);
  expect(await read(texts.join("\n"), { blockBytes: 5000 }, 500)).toEqual(texts);
});

test("other encodings", async () => {
  const text = "Müller\nß\n";
  for (let size = 1; size < 8; size += 1) {
    expect(await read(Buffer.from(text, "latin1"), { encoding: "latin1" }, size)).toEqual(["Müller", "ß"]);
    expect(await read(Buffer.from(`\uFEFF${text}`, "utf16le"), { encoding: "utf-16le" }, size)).toEqual(["Müller", "ß"]);
  }
  await expect(read(Buffer.from([0xd8, 0x00, 0x41]), { encoding: "utf-16be" })).rejects.toThrow("a.txt: byte 0 (0xd8) is no utf-16be");
  await expect(read("x", { encoding: "klingon" })).rejects.toThrow('There is no encoding "klingon"');
  await expect(read(Buffer.from("ab\n\xfc\n", "latin1"))).rejects.toThrow("a.txt: byte 3 (0xfc) is no UTF-8");
});

test("files, compressed and not", async () => {
  const folder = mkdtempSync(join(tmpdir(), "test-shoal-text-"));
  try {
    writeFileSync(join(folder, "a.txt.gz"), gzipSync("one\ntwo\n"));
    writeFileSync(join(folder, "b.bin"), Uint8Array.of(1, 2, 255));
    writeFileSync(join(folder, "c.bin"), "");
    expect(await all(readTextFile(join(folder, "a.txt.gz")))).toEqual(["one", "two"]);
    expect(await all(readBinaryFile(join(folder, "a.txt.gz")))).toEqual(
      [new Uint8Array(Buffer.from("one\ntwo\n"))].map((bytes) => Buffer.from(bytes)),
    );
    expect(await all(readBinaryFile(join(folder, "b.bin")))).toEqual([Buffer.of(1, 2, 255)]);
    expect(await all(readBinaryFile(join(folder, "c.bin")))).toEqual([Buffer.of()]);
    await expect(all(readTextFile(join(folder, "none")))).rejects.toThrow(`Cannot read ${folder}/none`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
