/** Parquet files with wrong bytes: each is an error that names the file, or rows; none ends the process, and the next file is read. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parquetMetadata } from "hyparquet";
import { afterAll, expect, test, vi } from "vitest";
import { blockOfRows, rowsOf } from "../blocks/block.ts";
import { Random } from "../kernels/random.ts";
import { readParquetFooter, readParquetPart } from "./parquet/parquet-reader.ts";
import { parquetWasm } from "./parquet/parquet-wasm.ts";
import { parquetFile } from "./parquet/parquet-writer.ts";

const folder = mkdtempSync(join(tmpdir(), "test-shoal-damaged-"));
afterAll(() => rmSync(folder, { recursive: true }));

const ROWS = Array.from({ length: 300 }, (_, id) => ({
  id,
  text: `text ${id % 20}`,
  part: id % 3 === 0 ? null : id / 7,
  list: [id, id + 1],
  flag: id % 2 === 0,
}));

async function read(path: string): Promise<unknown[]> {
  const { rowGroups } = await readParquetFooter(path, []);
  const rows: unknown[] = [];
  const part = { path, rowGroups: [...rowGroups.keys()], firstRows: [0], rowCount: ROWS.length };
  for await (const block of readParquetPart(part, undefined, [])) rows.push(...rowsOf(block));
  return rows;
}

const PLACE = /\(it has [0-9]+ bytes\)$|it has [0-9]+ bytes, and the shortest|, in (its footer|row group 0) \(bytes [0-9]+ to [0-9]+\)$/;

test.each(["none", "snappy", "zstd"] as const)("wrong bytes of a file compressed by %s", async (compression) => {
  const whole = await parquetFile([blockOfRows(ROWS, "rows")], compression);
  const path = join(folder, `${compression}.parquet`);
  const random = new Random(7);
  let panics = 0;
  for (let i = 0; i < 150; i += 1) {
    const bytes = Uint8Array.from(whole);
    for (let changes = 0; changes <= i % 4; changes += 1) bytes[random.below(bytes.length)] = random.below(256);
    writeFileSync(path, i % 10 === 0 ? bytes.subarray(0, random.below(bytes.length)) : bytes);
    const error: unknown = await read(path).then(
      () => undefined,
      (failure: unknown) => failure,
    );
    if (error === undefined) continue;
    expect((error as Error).message).toContain(path);
    if ((error as Error).message.includes("its pages are damaged")) panics += 1;
    // hyparquet reads the footer, and the decoder the rest: each error says where in the file it was, but those of values, which name their column.
    if ((error as Error).message.includes("as Parquet")) expect((error as Error).message).toMatch(PLACE);
  }
  expect(panics).toBeGreaterThan(10);
  writeFileSync(path, whole);
  expect(await read(path)).toEqual(ROWS);
});

test("counts of a footer that cannot be are errors before memory is taken", { timeout: 20_000 }, async () => {
  const path = join(folder, "counts.parquet");
  const fileOf = (footer: Buffer): Buffer => {
    const tail = Buffer.from("....PAR1");
    tail.writeUInt32LE(footer.length);
    return Buffer.concat([Buffer.from("PAR1"), footer, tail]);
  };
  const whole = await parquetFile([blockOfRows(ROWS, "rows")], "none");
  const footerAt = whole.length - 8 - Buffer.from(whole).readUInt32LE(whole.length - 8);
  const negative = Buffer.from(whole);
  // 300 rows as the footer has them, and -5 in as many bytes.
  for (let at = negative.indexOf(Buffer.of(0xd8, 0x04), footerAt); at >= 0; at = negative.indexOf(Buffer.of(0xd8, 0x04), at + 1))
    negative.set([0x89, 0x00], at);
  writeFileSync(path, negative);
  await expect(readParquetFooter(path, [])).rejects.toThrow("its footer has a row group of -5 rows");
  // Lists within lists, each of which says that two thousand million elements follow.
  const list = Buffer.of(0xf9, 0xff, 0xff, 0xff, 0xff, 0x07);
  writeFileSync(path, fileOf(Buffer.concat([Buffer.of(0x29), ...Array<Buffer>(16).fill(list)])));
  await expect(readParquetFooter(path, [])).rejects.toThrow("its footer has a list of 2147483647 elements at byte 7, and ends before");
  writeFileSync(path, fileOf(Buffer.alloc(100_000, 0x1c)));
  await expect(readParquetFooter(path, [])).rejects.toThrow("its footer is nested more than 64 levels deep");
  // A schema element with a name and one child, 5000 times: each is within the one before.
  const level = Buffer.of(0x48, 1, 0x61, 0x15, 2, 0);
  const levels = Buffer.concat([Buffer.of(0x15, 2, 0x19, 0xfc, 0x88, 0x27), ...Array<Buffer>(5000).fill(level)]);
  writeFileSync(path, fileOf(Buffer.concat([levels, Buffer.of(0x16, 0, 0x19, 0x0c, 0)])));
  await expect(readParquetFooter(path, [])).rejects.toThrow("its schema is 5000 levels deep, and 500 are read");
});

test("an error names the row group that is damaged, and its bytes", async () => {
  const rows = (n: number): Record<string, unknown>[] => Array.from({ length: n }, (_, id) => ({ id, text: `text ${id % 20}` }));
  const whole = await parquetFile([blockOfRows(rows(1_048_576 + 300), "rows")], "snappy");
  const path = join(folder, "groups.parquet");
  writeFileSync(path, whole);
  const groups = parquetMetadata(Uint8Array.from(whole).buffer).row_groups;
  expect(groups.map(({ num_rows }) => Number(num_rows))).toEqual([1_048_576, 300]);
  const pageAt = Number(groups[1]?.columns[0]?.meta_data?.data_page_offset);
  writeFileSync(path, Uint8Array.from(whole).fill(0xff, pageAt, pageAt + 20));
  const part = { path, rowGroups: [0, 1], firstRows: [0, 1_048_576], rowCount: 1_048_876 };
  let rowCount = 0;
  const failure = await (async () => {
    for await (const block of readParquetPart(part, undefined, [])) rowCount += block.rowCount;
    return undefined;
  })().catch((error: unknown) => error as Error);
  expect([rowCount, failure?.message]).toEqual([1_048_576, expect.stringContaining(path)]);
  const [, from, to] = /in row group 1 \(bytes ([0-9]+) to ([0-9]+)\)$/.exec(failure?.message ?? "") ?? [];
  expect(Number(from)).toBeGreaterThan(whole.length / 2);
  expect(Number(from)).toBeLessThanOrEqual(pageAt);
  expect(Number(to)).toBeGreaterThan(pageAt);
});

test("a file whose footer cannot be changed gives back the memory of the decoder", async () => {
  const path = join(folder, "footer.parquet");
  writeFileSync(path, await parquetFile([blockOfRows(ROWS, "rows")], "snappy"));
  const free = vi.spyOn((await parquetWasm()).ParquetFile.prototype, "free");
  // The first footer is not there, the second is no footer.
  for (const footerAt of [-100, 0]) {
    free.mockClear();
    const part = { path, rowGroups: [0], firstRows: [0], rowCount: ROWS.length, sparkTimes: { leaves: [0], footerAt } };
    await expect(readParquetPart(part, undefined, []).next()).rejects.toThrow(`Cannot read ${path}`);
    expect(free).toHaveBeenCalledTimes(1);
  }
  free.mockRestore();
});
