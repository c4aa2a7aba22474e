/** Records that the package `tfrecord` wrote, records made by hand, and damaged ones. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { maskedCrc32c } from "../../../storage/compression/crc32c.ts";
import type { DataError } from "../../errors.ts";
import { type Block, blockOfRows, rowsOf, schemaOf } from "../../blocks/block.ts";
import { typeName } from "../../blocks/data-type.ts";
import { type TfrecordOptions, tfrecordBlocks } from "./example-reader.ts";
import { exampleRecords } from "./example-writer.ts";
import { recordFrame } from "./records.ts";

const FILE = readFileSync(fileURLToPath(new URL("../../../../test/vectors/data/formats/examples.tfrecord", import.meta.url)));

async function blocksOf(bytes: Uint8Array, options: TfrecordOptions = {}): Promise<Block[]> {
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += 100) yield bytes.slice(at, at + 100);
  };
  const blocks: Block[] = [];
  for await (const block of tfrecordBlocks(chunks(), "a.tfrecord", options)) blocks.push(block);
  return blocks;
}

const rows = async (bytes: Uint8Array, options?: TfrecordOptions) => (await blocksOf(bytes, options)).flatMap(rowsOf);
const typesOf = (block: Block) => Object.fromEntries(schemaOf(block).map(({ name, type }) => [name, typeName(type)]));
const failure = (bytes: Uint8Array, options?: TfrecordOptions) =>
  rows(bytes, options).then(
    () => undefined,
    (error: DataError) => `${error.message}; ${error.hint}`,
  );

/** A message with one field that has a length. */
const field = (number: number, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.of(number * 8 + 2, body.length), body]);
};
const feature = (name: string, list: Uint8Array): Buffer => field(1, field(1, Buffer.from(name)), field(2, list));
function record(...features: readonly Uint8Array[]): Buffer {
  const example = field(1, ...features);
  const { before, behind } = recordFrame(example);
  return Buffer.concat([before, example, behind]);
}

test("a file of the package tfrecord has its values and types", async () => {
  const [block] = (await blocksOf(FILE)) as [Block];
  expect(typesOf(block)).toEqual({ id: "int64", name: "binary", score: "float32", tags: "list<int64>", vector: "list<float32>" });
  expect(await rows(FILE, { schema: { name: "string" } })).toEqual(
    Array.from({ length: 5 }, (_, i) => ({
      id: (i - 2) * 1e15,
      name: `name ${i} é`,
      score: i / 4,
      tags: [i, i === 0 ? 0 : -i, 7],
      vector: [0.5, i + 0.25],
    })),
  );
});

test("what is written is read again, also values that single precision and 53 bits do not hold", async () => {
  const given = [
    { id: 2n ** 63n - 1n, flag: true, name: "a", list: [1.5, 2], none: null, empty: [] as number[] },
    { id: -(2n ** 63n), flag: false, name: null, list: [], none: null, empty: [] },
  ];
  const [block] = (await blocksOf(exampleRecords(blockOfRows(given, "test")), {
    schema: { name: "string", list: "list<float32>" },
  })) as [Block];
  expect(rowsOf(block)).toEqual(given.map((row) => ({ ...row, flag: row.flag ? 1 : 0, empty: null })));
});

test("blocks are cut, and features that come later or are missing are null before", async () => {
  const first = record(feature("a", field(3, field(1, Buffer.of(1)))));
  const second = record(feature("b", field(3, field(1, Buffer.of(2)))));
  expect(await rows(Buffer.concat([first, second]))).toEqual([
    { a: 1, b: null },
    { a: null, b: 2 },
  ]);
  expect((await blocksOf(Buffer.concat([first, second]), { blockBytes: 1 })).map(rowsOf)).toEqual([[{ a: 1 }], [{ a: null, b: 2 }]]);
  expect(await rows(Buffer.concat([first, second]), { columns: ["b"] })).toEqual([{ b: null }, { b: 2 }]);
});

test("numbers that are not packed are read, and unknown fields are skipped", async () => {
  const ints = Buffer.of(8, 1, 8, 2);
  const floats = Buffer.concat([Buffer.of(13), Buffer.from(Float32Array.of(0.5).buffer)]);
  const bytes = record(
    feature("i", Buffer.concat([field(7, Buffer.of(1)), field(3, ints)])),
    feature("f", field(2, floats)),
    feature("none", Buffer.alloc(0)),
  );
  expect(await rows(bytes)).toEqual([{ i: [1, 2], f: 0.5, none: null }]);
});

test("raw records are given as they are", async () => {
  const all = await rows(FILE, { raw: true });
  expect(all).toHaveLength(5);
  expect(maskedCrc32c(all[0]?.bytes as Uint8Array)).toBe(FILE.readUInt32LE(12 + Number(FILE.readBigUInt64LE(0))));
});

test("damage names the file and the byte", async () => {
  const flipped = (at: number): Buffer => {
    const bytes = Buffer.from(FILE);
    bytes[at] = (bytes[at] as number) ^ 1;
    return bytes;
  };
  expect(await failure(flipped(0))).toContain("a.tfrecord: byte 0 begins no record of TensorFlow: the checksum of its length differs");
  expect(await failure(flipped(30))).toContain("a.tfrecord: the record at byte 0 is damaged: its checksum differs");
  expect(await failure(FILE.subarray(0, 200))).toMatch(/a\.tfrecord: it is cut off in the record at byte \d+: the file ends at byte 200/);
  expect(await failure(Buffer.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))).toContain("the file is compressed by gzip");
  expect(await rows(new Uint8Array(0))).toEqual([]);
});

test("examples that hold something else are refused with the record", async () => {
  const { before, behind } = recordFrame(Buffer.from("hello"));
  expect(await failure(Buffer.concat([before, Buffer.from("hello"), behind]))).toContain("a.tfrecord: record 1 is no tf.train.Example");
  const sequence = field(2, field(1, Buffer.of(1)));
  const frame = recordFrame(sequence);
  expect(await failure(Buffer.concat([frame.before, sequence, frame.behind]))).toContain("record 1 is a SequenceExample");
  const one = (value: number) => record(feature("a", field(3, field(1, Buffer.of(value)))));
  const several = record(feature("a", field(3, field(1, Buffer.of(1, 2)))));
  expect(await failure(Buffer.concat([one(1), several]), { blockBytes: 1 })).toContain(
    'record 2: feature "a" has several values, and those before have one; read lists: schema: { "a": "list<int64>" }',
  );
  const float = record(feature("a", field(2, field(1, Buffer.from(Float32Array.of(0.5).buffer)))));
  expect(await failure(Buffer.concat([one(1), float]))).toContain(
    'record 2: feature "a" has values of float, and those before are of int64',
  );
  expect(await failure(record(feature("a", field(1, field(1, Buffer.of(0xff))))), { schema: { a: "string" } })).toContain(
    'feature "a" is no UTF-8',
  );
});

test("columns that examples do not have are refused", () => {
  expect(() => exampleRecords(blockOfRows([{ at: new Date(0) }], "test"))).toThrow(
    'writeTfrecords: column "at" has the type timestamp[ms]',
  );
  expect(() => exampleRecords(blockOfRows([{ a: [1, null] }], "test"))).toThrow('Column "a": row 0 has a null in a list');
});
