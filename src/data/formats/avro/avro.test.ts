/** Files that fastavro wrote by each codec, files made by hand, and damaged ones. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { type Block, rowsOf, schemaOf } from "../../blocks/block.ts";
import { typeName } from "../../blocks/data-type.ts";
import type { DataError } from "../../errors.ts";
import { type AvroOptions, avroBlocks } from "./avro-reader.ts";

const recorded = (name: string): Buffer =>
  readFileSync(fileURLToPath(new URL(`../../../../test/vectors/data/formats/${name}.avro`, import.meta.url)));

async function blocksOf(bytes: Uint8Array, options: AvroOptions = {}): Promise<Block[]> {
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += 333) yield bytes.slice(at, at + 333);
  };
  const blocks: Block[] = [];
  for await (const block of avroBlocks(chunks(), "a.avro", options)) blocks.push(block);
  return blocks;
}

const failure = (bytes: Uint8Array, options?: AvroOptions) =>
  blocksOf(bytes, options).then(
    () => undefined,
    (error: DataError) => `${error.message}; ${error.hint}`,
  );

const day = (text: string): Date => new Date(`${text}T00:00:00Z`);

/** The row of `avro_row` in `record.py`, as Shoal shows it. */
function row(i: number): Record<string, unknown> {
  return {
    null: null,
    boolean: i % 2 === 0,
    int: i === 0 ? 0 : i * (-1) ** i,
    long: (i - 2) * 2 ** 40,
    float: i / 4,
    double: i / 3,
    bytes: Uint8Array.of(i, 255),
    string: `row ${i} é`,
    wide: [0n, 1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n][i],
    maybe: i === 1 ? null : `maybe ${i}`,
    late: i === 2 ? null : i,
    number: [null, 1, 2.5, 3, 0.5][i],
    either: [
      null,
      { member0: "a", member1: null },
      { member0: null, member1: 5 },
      { member0: "b", member1: null },
      { member0: null, member1: -1 },
    ][i],
    color: ["RED", "BLUE"][i % 2],
    other: ["BLUE", "RED"][i % 2],
    digest: Uint8Array.of(i, i, i),
    tags: [null, "a", "b"].slice(0, i % 4),
    counts: Array.from({ length: i % 3 }, (_, j) => ({ key: `k${j}`, value: j })),
    place: { x: i + 0.5, on: day(`2026-01-0${1 + i}`) },
    day: i < 2 ? day(`1969-12-${30 + i}`) : day(`2026-01-0${i}`),
    time: 86_340_001 + i * 1000,
    fine: BigInt(i) * 60_000_000n + 123_456n,
    at: new Date(`2026-01-0${1 + i}T10:00:00Z`),
    exact: i === 3 ? null : new Date(Date.UTC(1960, 0, 1, 0, 0, i)),
    local: new Date(`2026-06-0${1 + i}T12:00:00Z`),
    price: ((i * 100 - 250) / 100).toFixed(2),
    share: ((i - 2) / 10_000).toFixed(4),
    key: `00000000-0000-4000-8000-00000000000${i}`,
  };
}

test.each(["null", "deflate", "snappy", "zstandard"])("the file of fastavro with the codec %s has its values", async (codec) => {
  expect((await blocksOf(recorded(codec))).flatMap(rowsOf)).toEqual(Array.from({ length: 5 }, (_, i) => row(i)));
});

test("columns have the types of the schema", async () => {
  const [block] = (await blocksOf(recorded("null"))) as [Block];
  const types = Object.fromEntries(schemaOf(block).map(({ name, type }) => [name, typeName(type)]));
  expect(types).toMatchObject({
    int: "int32",
    long: "int64",
    wide: "int64 as bigint",
    number: "float64",
    tags: "list<string>",
    day: "date",
  });
  expect(types).toMatchObject({ either: "struct<member0: string, member1: int64>", counts: "list<struct<key: string, value: int64>>" });
  expect(types).toMatchObject({
    time: "time32[ms]",
    fine: "time64[us]",
    at: "timestamp[ms, UTC]",
    exact: "timestamp[us, UTC]",
    local: "timestamp[ms]",
  });
  expect(types).toMatchObject({ price: "decimal<9, 2>", share: "decimal<18, 4>", place: "struct<x: float64, on: date>" });
  expect((await blocksOf(recorded("null"), { columns: ["key", "int"] })).flatMap(rowsOf)[1]).toEqual({ key: row(1).key, int: -1 });
});

/** A container file without compression: texts and small numbers are enough for these tests. */
function container(schema: unknown, rows: Uint8Array, count = 1, codec = "null"): Buffer {
  const long = (value: number): Buffer => {
    const bytes = [];
    let left = value * 2;
    for (; left > 127; left = Math.floor(left / 128)) bytes.push((left % 128) + 128);
    return Buffer.from([...bytes, left]);
  };
  const text = (value: string): Buffer => Buffer.concat([long(Buffer.byteLength(value)), Buffer.from(value)]);
  const facts = [long(2), text("avro.schema"), text(JSON.stringify(schema)), text("avro.codec"), text(codec), long(0)];
  const sync = Buffer.alloc(16, 7);
  return Buffer.concat([Buffer.from("Obj\x01"), ...facts, sync, long(count), long(rows.length), rows, sync]);
}

test("a file of values that are no records has the column value", async () => {
  expect((await blocksOf(container("long", Buffer.of(2, 4), 2))).flatMap(rowsOf)).toEqual([{ value: 1 }, { value: 2 }]);
});

test("a file without records has its columns", async () => {
  const schema = { type: "record", name: "R", fields: [{ name: "a", type: "long" }] };
  const [block] = (await blocksOf(container(schema, Buffer.alloc(0), 0))) as [Block];
  expect([block.rowCount, block.names]).toEqual([0, ["a"]]);
});

test("damage names the file and the block", async () => {
  const file = recorded("null");
  expect(await failure(file.subarray(0, file.length - 20))).toMatch(/a\.avro: the block at byte \d+: it is cut off/);
  expect(await failure(file.subarray(0, 50))).toContain("a.avro: it is cut off in its header, or damaged there");
  expect(await failure(Buffer.from("hello, this is text"))).toContain("Cannot read a.avro: it is no container file of Avro");
  expect(await failure(new Uint8Array(0))).toContain("Cannot read a.avro: it is no container file of Avro");
  const marker = Buffer.from(file);
  marker[file.length - 1] = 99;
  expect(await failure(marker)).toContain("is damaged: the marker behind it is another one");
  const snappy = recorded("snappy");
  snappy[snappy.length - 18] = (snappy.at(-18) as number) ^ 1;
  expect(await failure(snappy)).toContain("is no snappy: its checksum differs");
});

test("lengths and indices beyond their block are refused before memory is taken", async () => {
  expect(await failure(container("string", Buffer.of(0xfe, 0xff, 0xff, 0xff, 0x0f)))).toContain("goes beyond its block");
  expect(await failure(container({ type: "array", items: "null" }, Buffer.of(0xfe, 0xff, 0xff, 0xff, 0x0f)))).toContain(
    "an array of 2147483647 elements",
  );
  expect(await failure(container(["null", "long"], Buffer.of(8)))).toContain("a union of 2 types has the index 4");
  expect(await failure(container({ type: "enum", name: "E", symbols: ["A"] }, Buffer.of(2)))).toContain(
    "an enum of 1 symbols has the index 1",
  );
  expect(await failure(container("boolean", Buffer.of(2)))).toContain("a boolean is 2");
  expect(await failure(container("long", Buffer.of(2, 2)))).toContain("1 bytes follow its last record");
  expect(await failure(container("long", Buffer.alloc(11, 0xff)))).toContain("a number has more than 64 bits");
});

test("codecs and schemas that are not read are refused by name", async () => {
  expect(await failure(recorded("bzip2"))).toContain(
    'its codec is not read here: received "bzip2"; write it by one of null, deflate, zstandard, snappy',
  );
  expect(await failure(container({ type: "record", name: "R", fields: [{ name: "next", type: ["null", "R"] }] }, Buffer.of(0)))).toContain(
    'the type "R" within itself',
  );
  expect(await failure(container("nothing", Buffer.of(0)))).toContain('the unknown type "nothing"');
  expect(await failure(recorded("null"), { columns: ["none"] })).toContain('Cannot read a.avro: it has no column "none"');
});
