/** The output of the writers of CSV, JSON and Parquet, which the readers turn back into the same values. */
import { NdArray } from "../../core/index.ts";
import fc from "fast-check";
import { parquetMetadata } from "hyparquet";
import { readParquet, wasmMemory } from "parquet-wasm";
import { expect, test } from "vitest";
import { withDictionaries } from "../../../test/oracles/dictionary-blocks.ts";
import { blocksOfWasmTable } from "../arrow/from-wasm.ts";
import { type Block, blockOfRows, concatBlocks, decodeBlock, type Row, rowsOf, schemaOf, sliceBlock } from "../blocks/block.ts";
import { type DataType, typeName } from "../blocks/data-type.ts";
import type { Vector } from "../blocks/vector.ts";
import { buildVector } from "../blocks/vector-builder.ts";
import { csvBlocks } from "./csv/csv-reader.ts";
import { csvChunks } from "./csv/csv-writer.ts";
import { jsonBlocks } from "./json/json-reader.ts";
import { jsonLines } from "./json/json-writer.ts";
import { parquetFile } from "./parquet/parquet-writer.ts";

const csvText = (rows: readonly Row[]): string => Buffer.from(csvChunks(blockOfRows(rows, "a test"), { header: true })).toString();
const jsonText = (rows: readonly Row[]): string => Buffer.from(jsonLines(blockOfRows(rows, "a test"))).toString();

test("CSV as it is written", () => {
  expect(
    csvText([
      { a: 1, 'b,"': "x", c: true, d: new Date("2026-01-31T10:00:00Z"), e: 2n ** 62n, f: null },
      { a: null, 'b,"': "", c: false, d: null, e: -1n, f: null },
      { a: -0.5, 'b,"': 'a "b"\r\n', c: null, d: new Date("1900-01-01"), e: null, f: null },
    ]),
  ).toBe(
    'a,"b,""",c,d,e,f\n1,x,true,2026-01-31T10:00:00.000Z,4611686018427387904,\n,"",false,,-1,\n-0.5,"a ""b""\r\n",,1900-01-01T00:00:00.000Z,,\n',
  );
  expect(csvText([{ v: Number.NaN }, { v: Infinity }, { v: -Infinity }, { v: -0 }, { v: 1e21 }, { v: 1e20 }, { v: -2147483648 }])).toBe(
    "v\nNaN\ninf\n-inf\n-0.0\n1e+21\n100000000000000000000.0\n-2147483648\n",
  );
  expect(csvText([{ v: null }, { v: 1 }])).toBe('v\n""\n1\n');
  expect(csvText([{ l: [1, null], s: { x: 'é"', y: [new Date(0)] }, t: new NdArray(Uint8Array.of(1, 2, 3, 4), [2, 2]) }])).toBe(
    'l,s,t\n"[1,null]","{""x"":""é\\"""",""y"":[""1970-01-01T00:00:00.000Z""]}","[[1,2],[3,4]]"\n',
  );
  expect(Buffer.from(csvChunks(blockOfRows([{ a: 1 }], "a test"), { header: false })).toString()).toBe("1\n");
  expect(() => csvText([{ b: Uint8Array.of(1) }])).toThrow('Column "b" has bytes');
});

test("JSON as it is written", () => {
  expect(
    jsonText([
      { a: 1, b: 'x"\\\n\u0001é', c: true, d: new Date(0), e: 2n ** 62n, n: null, l: [1, Number.NaN], s: { x: null }, i: Infinity },
      { a: null },
    ]),
  ).toBe(
    '{"a":1,"b":"x\\"\\\\\\n\\u0001é","c":true,"d":"1970-01-01T00:00:00.000Z","e":4611686018427387904,"n":null,"l":[1,null],"s":{"x":null},"i":null}\n' +
      '{"a":null,"b":null,"c":null,"d":null,"e":null,"n":null,"l":null,"s":null,"i":null}\n',
  );
  expect(jsonText([{ t: new NdArray(Float64Array.of(1, 2.5, 3, 4, 5, 6), [1, 3, 2]) }])).toBe('{"t":[[[1,2.5],[3,4],[5,6]]]}\n');
  expect(() => jsonText([{ b: Uint8Array.of(1) }])).toThrow('Column "b" has bytes');
  expect(Buffer.from(jsonLines({ rowCount: 2, names: [], vectors: [] })).toString()).toBe("{}\n{}\n");
});

async function* chunk(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}

async function whole(blocks: AsyncIterable<Block>): Promise<Block> {
  const list: Block[] = [];
  for await (const block of blocks) list.push(block);
  return concatBlocks(list);
}

const INT64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const DATES = fc.date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true });
const TEXTS = fc.string({ unit: "binary" }).map((text) => text.toWellFormed());

/** Possible column values, by type. */
const COLUMNS: readonly (readonly [DataType, fc.Arbitrary<unknown>])[] = [
  [{ kind: "float64" }, fc.double({ noNaN: true, noDefaultInfinity: true })],
  [{ kind: "float32" }, fc.float({ noNaN: true, noDefaultInfinity: true })],
  [{ kind: "int8" }, fc.integer({ min: -128, max: 127 })],
  [{ kind: "uint32" }, fc.integer({ min: 0, max: 2 ** 32 - 1 })],
  [{ kind: "int64", as: "number" }, fc.maxSafeInteger()],
  [{ kind: "int64", as: "bigint" }, INT64],
  [{ kind: "uint64", as: "bigint" }, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })],
  [{ kind: "bool" }, fc.boolean()],
  [{ kind: "string" }, TEXTS],
  [{ kind: "dictionary", of: { kind: "string" } }, TEXTS],
  [{ kind: "date" }, DATES.map((date) => new Date(Math.floor(date.getTime() / 86_400_000) * 86_400_000))],
  [{ kind: "timestamp", unit: "ms" }, DATES],
  [{ kind: "timestamp", unit: "us" }, DATES],
];

test.each(COLUMNS.map(([type, values]) => [typeName(type), type, values] as const))(
  "%s comes back from CSV and from JSON",
  async (name, type, values) => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(values), { minLength: 1, maxLength: 20 }), fc.nat(3), async (column, cut) => {
        const built: Block = {
          rowCount: column.length,
          names: ["v", "row"],
          vectors: [buildVector(column, type), buildVector(column.map((_, i) => i))],
        };
        // A slice has bits and offsets that do not begin at 0.
        const block = sliceBlock(built, Math.min(cut, column.length - 1), column.length);
        const schema = { v: name };
        const csv = await whole(csvBlocks(chunk(csvChunks(block, { header: true })), "a.csv", { schema }));
        expect(rowsOf(csv)).toEqual(rowsOf(block));
        expect(csv.vectors[0]?.type).toEqual(type);
        const encoded = withDictionaries(block, cut);
        expect(csvChunks(encoded, { header: true })).toEqual(csvChunks(block, { header: true }));
        expect(jsonLines(encoded)).toEqual(jsonLines(block));
        const alone = await whole(
          csvBlocks(chunk(csvChunks({ ...block, names: ["v"], vectors: block.vectors.slice(0, 1) }, { header: true })), "a.csv", {
            schema,
          }),
        );
        const only = withDictionaries({ ...block, names: ["v"], vectors: block.vectors.slice(0, 1) }, cut);
        expect(csvChunks(only, { header: true })).toEqual(csvChunks(decodeBlock(only), { header: true }));
        expect(rowsOf(alone).map(({ v }) => v)).toEqual(rowsOf(block).map(({ v }) => v));
        const json = await whole(jsonBlocks(chunk(jsonLines(block)), "a.json", { schema }));
        expect(rowsOf(json)).toEqual(rowsOf(block));
      }),
    );
  },
);

test("nested values come back from JSON", async () => {
  const nested = fc.record({
    list: fc.array(fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }))),
    part: fc.option(fc.record({ text: TEXTS, yes: fc.boolean() })),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(nested, { minLength: 1 }), async (rows) => {
      const block = blockOfRows(rows, "a test");
      expect(rowsOf(await whole(jsonBlocks(chunk(jsonLines(block)), "a.json", {})))).toEqual(rowsOf(block));
    }),
  );
});

test("moments keep what is finer than a millisecond", async () => {
  const text = "t,u\n2026-01-31T10:00:00.123456Z,1969-12-31T23:59:59.999999999Z\n";
  const block = await whole(csvBlocks(chunk(Buffer.from(text)), "a.csv", {}));
  expect(Buffer.from(csvChunks(block, { header: true })).toString()).toBe(text);
  expect(Buffer.from(jsonLines(block)).toString()).toBe('{"t":"2026-01-31T10:00:00.123456Z","u":"1969-12-31T23:59:59.999999999Z"}\n');
});

test("times of day and durations come back, from CSV and from JSON", async () => {
  const schema = { a: "time32[s]", b: "time64[ns]", c: "duration[us]" };
  const [a, b] = [{ kind: "time32", unit: "s" } as const, { kind: "time64", unit: "ns" } as const];
  const vectors = [
    buildVector([0, 86_399, null], a),
    buildVector([1n, null, 86_399_999_999_999n], b),
    buildVector([-5n, 2n ** 62n, null], { kind: "duration", unit: "us" }),
  ];
  const block: Block = { rowCount: 3, names: ["a", "b", "c"], vectors };
  const csv = "a,b,c\n00:00:00,00:00:00.000000001,-5\n23:59:59,,4611686018427387904\n,23:59:59.999999999,\n";
  expect(Buffer.from(csvChunks(block, { header: true })).toString()).toBe(csv);
  expect(Buffer.from(jsonLines(block)).toString().split("\n")[0]).toBe('{"a":"00:00:00","b":"00:00:00.000000001","c":-5}');
  for (const back of [
    await whole(csvBlocks(chunk(Buffer.from(csv)), "a.csv", { schema })),
    await whole(jsonBlocks(chunk(jsonLines(block)), "a.json", { schema })),
  ]) {
    expect(back.vectors.map(({ type }) => typeName(type))).toEqual(Object.values(schema));
    expect(rowsOf(back)).toEqual(rowsOf(block));
  }
  await expect(whole(jsonBlocks(chunk(Buffer.from('{"a":5}\n')), "a.json", { schema: { a: "time32[s]" } }))).rejects.toThrow(
    'column "a" is 5, and the column has the type time32[s]',
  );
});

test("Parquet has dictionaries of columns in which values come again", async () => {
  const rows = Array.from({ length: 5000 }, (_, i) => ({ id: i, city: `city ${i % 7}`, name: `name ${i}`, list: [i] }));
  const bytes = await parquetFile([blockOfRows(rows, "a test")], "none");
  const { row_groups: groups } = parquetMetadata(bytes.buffer as ArrayBuffer);
  const encodings = groups.flatMap(({ columns }) => columns.map(({ meta_data: column }) => [column?.path_in_schema[0], column?.encodings]));
  const hasDictionary = Object.fromEntries(encodings.map(([name, own]) => [name, own?.includes("RLE_DICTIONARY")]));
  expect(hasDictionary).toEqual({ id: false, city: true, name: false, list: true });
});

test("Parquet tells of columns with dictionaries that they have them, and texts beside them stay plain", async () => {
  const given = [["x", null, "é"], ["", "x"], [null]].map((texts) => texts.map((t) => ({ t, plain: t })));
  const blocks = given.map((rows, i) => {
    const block = blockOfRows(rows, "a test");
    const text: DataType = { kind: "string" };
    const values = rows.map(({ t }) => t);
    const [encoded] = withDictionaries({ ...block, vectors: [buildVector(values, text)] }, i).vectors;
    return { ...block, vectors: [encoded as Vector, buildVector(values, text)] };
  });
  const table = readParquet(await parquetFile(blocks, "snappy"));
  const back = concatBlocks(blocksOfWasmTable(table, wasmMemory() as { buffer: ArrayBuffer }, {}));
  expect(schemaOf(back).map(({ type }) => typeName(type))).toEqual(["dictionary<string>", "string"]);
  expect(rowsOf(back)).toEqual(given.flat());
});

test("Parquet whose columns have no values comes back", async () => {
  for (const columns of [{ a: null }, { a: null, b: null }, { a: null, l: [null] }]) {
    const blocks = [1, 2].map((count) => blockOfRows(new Array(count).fill(columns), "a test"));
    const table = readParquet(await parquetFile(blocks, "snappy"));
    const back = concatBlocks(blocksOfWasmTable(table, wasmMemory() as { buffer: ArrayBuffer }, {}));
    expect(rowsOf(back)).toEqual([columns, columns, columns]);
    expect(schemaOf(back)).toEqual(schemaOf(blocks[0] as Block));
  }
});

test("Parquet of objects without a part is an error that names the column", async () => {
  for (const value of [{}, [{}], { part: {} }])
    await expect(parquetFile([blockOfRows([{ id: 1, place: value }], "a test")], "none")).rejects.toMatchObject({
      message: 'Cannot write column "place" as Parquet: it has objects without a part, which Parquet has not',
      hint: "leave the column out (dropColumns), or give its objects a part",
    });
});

test("a time that has no text is an error that names the column", () => {
  const far: Block = { rowCount: 1, names: ["far"], vectors: [buildVector([2n ** 62n], { kind: "int64", as: "bigint" })] };
  const of = (type: DataType): Block => ({ ...far, vectors: far.vectors.map((vector) => ({ ...vector, type })) });
  for (const write of [(block: Block) => csvChunks(block, { header: true }), jsonLines]) {
    expect(() => write(of({ kind: "timestamp", unit: "ms" }))).toThrow('A timestamp[ms] in column "far" is beyond the year 275,760');
    expect(() => write(of({ kind: "time64", unit: "us" }))).toThrow('in column "far" is no time of a day');
  }
});
