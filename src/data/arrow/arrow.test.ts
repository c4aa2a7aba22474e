/** Blocks through Arrow's bytes and back: apache-arrow reads our bytes, and we read tables of apache-arrow and flechette. */
import * as apache from "apache-arrow";
import * as flechette from "@uwdata/flechette";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withDictionaries } from "../../../test/oracles/dictionary-blocks.ts";
import { ArrowData, NdArray } from "../../core/index.ts";
import { batchOf, blockOfBatch, rowCount } from "../blocks/batch.ts";
import { type Block, blockOfRows, concatBlocks, rowsOf, schemaOf, sliceBlock, takeBlock } from "../blocks/block.ts";
import { typeName } from "../blocks/data-type.ts";
import { Column } from "../blocks/column.ts";
import type { Vector } from "../blocks/vector.ts";
import { arrowOfAll, blockOfTable, blocksOfTable } from "./arrow-batch.ts";
import { blocksOfArrow } from "./from-arrow.ts";
import { buildVector } from "../blocks/vector-builder.ts";
import { arrowOfBlocks } from "./to-arrow.ts";

const WORDS = { kind: "dictionary", of: { kind: "string" } } as const;
const nullable = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { freq: 4 });
const floats = (count: number): fc.Arbitrary<Float32Array<ArrayBuffer>> => fc.float32Array({ minLength: count, maxLength: count });
const fixed = floats(6).map((values) => new NdArray(values, [2, 3]));
const variable = fc.tuple(fc.nat(3), fc.nat(3)).chain(([a, b]) => floats(a * b).map((values) => new NdArray(values, [a, b])));
const wide = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const row = fc.record({
  number: nullable(fc.double()),
  wide: nullable(wide),
  text: nullable(fc.string()),
  flag: nullable(fc.boolean()),
  fixed: nullable(fixed),
  variable: nullable(variable),
  list: nullable(fc.float64Array({ maxLength: 3 })),
  struct: nullable(fc.record({ image: nullable(variable), wide: nullable(wide) })),
  images: nullable(fc.array(fixed, { maxLength: 2 })),
});
type Rows = Record<string, unknown>[];
const rows = fc.array(
  row.map((one): Record<string, unknown> => ({ ...one })),
  { maxLength: 12 },
);
const plain = (own: Rows): Rows => own.map((one) => ({ ...one, struct: one["struct"] === null ? null : { ...(one["struct"] as object) } }));
const names = (block: Block): string[] => schemaOf(block).map(({ name, type }) => `${name} ${typeName(type)}`);

test("blocks come back with their values and their types, cut, taken and put together before and after", () => {
  fc.assert(
    fc.property(rows, rows, fc.nat(), fc.nat(), fc.option(fc.nat(5)), (a, b, from, count, form) => {
      const oracle = plain([...a, ...b]);
      const whole = concatBlocks([blockOfRows(plain(a), "a test"), blockOfRows(plain(b), "a test")]);
      const block = form === null ? whole : withDictionaries(whole, form);
      const start = from % (oracle.length + 1);
      const end = start + (count % (oracle.length - start + 1));
      const cut = sliceBlock(block, start, end);
      const [back] = blocksOfArrow(arrowOfBlocks([cut])) as [Block];
      expect(names(back)).toEqual(names(cut));
      expect(rowsOf(back)).toEqual(oracle.slice(start, end));
      const reversed = Uint32Array.from({ length: back.rowCount }, (_, i) => back.rowCount - 1 - i);
      expect(rowsOf(concatBlocks([takeBlock(back, reversed), cut]))).toEqual([
        ...oracle.slice(start, end).toReversed(),
        ...oracle.slice(start, end),
      ]);
    }),
  );
});

test("blocks with dictionaries of their own are one stream, which other libraries read", () => {
  const parts = [["b", null, "a"], ["c"], [null], ["a", "c", "a"]];
  const blocks = parts.map((texts, i) =>
    withDictionaries(
      blockOfRows(
        texts.map((t) => ({ t, s: "x" })),
        "a test",
      ),
      i,
    ),
  );
  const kept = blocks.map((block, i) =>
    i === 2 ? { ...block, vectors: [buildVector([null], WORDS), block.vectors[1] as Vector] } : block,
  );
  const stream = arrowOfBlocks(kept);
  expect(blocksOfArrow(stream).map((block) => rowsOf(block).map(({ t }) => t))).toEqual(parts);
  expect(names(blocksOfArrow(stream)[0] as Block)).toEqual(["t dictionary<string>", "s dictionary<string>"]);
  const [first, second] = [apache.tableFromIPC(stream), flechette.tableFromIPC(stream)];
  for (const column of [first.getChild("t"), second.getChild("t")]) expect([...(column as Iterable<unknown>)]).toEqual(parts.flat());
  expect([...(first.getChild("s") as Iterable<unknown>)]).toEqual(parts.flat().map(() => "x"));
});

test("blocks of nulls alone are a stream, which other libraries read", () => {
  const parts = [
    { a: null, b: null },
    { a: null, b: null },
  ].map((one) => blockOfRows([one, one], "a test"));
  const stream = arrowOfBlocks(parts);
  expect(blocksOfArrow(stream).map(rowsOf)).toEqual(parts.map(rowsOf));
  expect(names(blocksOfArrow(stream)[0] as Block)).toEqual(["a null", "b null"]);
  for (const column of [apache.tableFromIPC(stream).getChild("b"), flechette.tableFromIPC(stream).getChild("a")])
    expect([...(column as Iterable<unknown>)]).toEqual([null, null, null, null]);
});

test("dictionaries of other values than texts, with nulls and within lists are read as their values", () => {
  const words = flechette.dictionary(flechette.float64(), flechette.int8());
  const lists = flechette.list(flechette.dictionary(flechette.utf8(), flechette.uint16()));
  const table = flechette.tableFromColumns({
    n: flechette.columnFromArray([1.5, null, 1.5], words),
    l: flechette.columnFromArray([["a", "b"], null, ["b", null]], lists),
    u: flechette.columnFromArray(["x", null, "x"], flechette.dictionary(flechette.utf8(), flechette.uint8())),
  });
  const block = blockOfTable(flechette.tableToIPC(table, { format: "stream" }), "a test");
  expect(names(block)).toEqual(["n float64", "l list<string>", "u dictionary<string>"]);
  expect(rowsOf(block)).toEqual([
    { n: 1.5, l: ["a", "b"], u: "x" },
    { n: null, l: null, u: null },
    { n: 1.5, l: ["b", null], u: "x" },
  ]);
});

test("an index that is beyond its dictionary names column and row", () => {
  const [block] = [withDictionaries(blockOfRows([{ t: "a" }, { t: "b" }], "a test"), 1)];
  const [vector] = block.vectors as [Vector];
  const broken = { ...block, vectors: [{ ...vector, values: Int16Array.of(0, 2) }] };
  expect(() => blocksOfArrow(arrowOfBlocks([broken]))).toThrow('Column "t": row 1 has the index 2 into a dictionary of 2 values');
});

test("apache-arrow reads what we write", async () => {
  const block = blockOfRows(
    [
      { n: 1, t: "a", d: new Date(0), big: 2n ** 60n, image: new NdArray(Uint8Array.of(1, 2, 3, 4), [2, 2]) },
      { n: null, t: null, d: null, big: -1n, image: null },
    ],
    "a test",
  );
  const { stream } = await arrowOfAll(given([block, blockOfRows([{ n: 3, extra: true }], "a test")]));
  const table = apache.tableFromIPC(stream);
  expect(table.numRows).toBe(3);
  expect(table.getChild("n")?.toJSON()).toEqual([1, null, 3]);
  expect(table.getChild("t")?.toJSON()).toEqual(["a", null, null]);
  expect(table.getChild("big")?.get(0)).toBe(2n ** 60n);
  expect(table.getChild("extra")?.toJSON()).toEqual([null, null, true]);
  expect(Array.from((table.getChild("image") as apache.Vector).get(0) as Iterable<number>)).toEqual([1, 2, 3, 4]);
  const { metadata } = table.schema.fields.find(({ name }) => name === "image") as apache.Field;
  expect(Object.fromEntries(metadata)).toEqual({
    "ARROW:extension:name": "arrow.fixed_shape_tensor",
    "ARROW:extension:metadata": '{"shape":[2,2]}',
  });
});

async function* given(blocks: readonly Block[]): AsyncGenerator<Block, void, undefined> {
  yield* blocks;
}

describe("tables of other libraries", () => {
  const table = apache.tableFromArrays({
    id: Int32Array.of(1, 2),
    name: ["x", "y"],
    wide: BigInt64Array.of(2n ** 53n, 1n),
    small: BigInt64Array.of(7n, -7n),
  });
  const expected = [
    { id: 1, name: "x", wide: 2n ** 53n, small: 7 },
    { id: 2, name: "y", wide: 1n, small: -7 },
  ];

  test.each([
    ["a stream of apache-arrow", apache.tableToIPC(table, "stream")],
    ["a file of apache-arrow", apache.tableToIPC(table, "file")],
    ["ArrowData", new ArrowData(apache.tableToIPC(table, "stream"))],
    ["a table of flechette", flechette.tableFromIPC(apache.tableToIPC(table, "stream"), { useBigInt: true })],
  ])("%s, also as the result of a function", (_, one) => {
    expect(rowsOf(blockOfTable(one, "a test"))).toEqual(expected);
    expect(rowsOf(blockOfBatch(one, "a test"))).toEqual(expected);
    expect(rowCount(one)).toBe(2);
  });

  test("what is no such table is refused by name", () => {
    expect(() => blocksOfTable(table, "fromArrow")).toThrow("a table of apache-arrow is taken as its bytes");
    expect(() => blocksOfTable(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8), "fromArrow")).toThrow("no stream or file of Arrow");
    expect(() => blocksOfTable(apache.tableToIPC(table, "stream").subarray(0, 300), "fromArrow")).toThrow("no stream or file of Arrow");
  });

  test("whole numbers of 64 bits beyond 2^53 in either direction make bigints", () => {
    const read = (values: BigInt64Array | BigUint64Array): unknown[] =>
      rowsOf(blockOfTable(apache.tableToIPC(apache.tableFromArrays({ v: values }), "stream"), "a test")).map(({ v }) => v);
    expect(read(BigInt64Array.of(2n ** 53n - 1n, 1n - 2n ** 53n))).toEqual([2 ** 53 - 1, 1 - 2 ** 53]);
    expect(read(BigInt64Array.of(-(2n ** 53n)))).toEqual([-(2n ** 53n)]);
    expect(read(BigUint64Array.of(2n ** 64n - 1n))).toEqual([2n ** 64n - 1n]);
  });

  test("those in lists and structs make bigints of their whole column, and of no other", () => {
    const { int64, list, struct, utf8 } = flechette;
    const deep = struct({ x: list(int64()), y: int64(), t: utf8() });
    const tableWith = (most: bigint): unknown =>
      flechette.tableFromArrays(
        { s: [{ x: [1n, most], y: 2n, t: "a" }, null], l: [[3n], null], x: [4n, 5n] },
        { types: { s: deep, l: list(int64()), x: int64() }, useBigInt: true },
      );
    const narrow = blockOfTable(tableWith(2n ** 53n - 1n), "a test");
    expect(names(narrow)).toEqual(["s struct<x: list<int64>, y: int64, t: string>", "l list<int64>", "x int64"]);
    const beyond = blockOfTable(tableWith(2n ** 53n), "a test");
    expect(names(beyond)).toEqual(["s struct<x: list<int64 as bigint>, y: int64 as bigint, t: string>", "l list<int64>", "x int64"]);
    const empty = flechette.tableFromArrays({ l: [[], []] }, { types: { l: list(int64()) } });
    expect(rowsOf(blockOfTable(empty, "a test"))).toEqual([{ l: [] }, { l: [] }]);
    const rowsOfBoth = (both: Block): unknown[] => rowsOf(both).map(({ s }) => s);
    expect(rowsOf(beyond)).toEqual([
      { s: { x: [1n, 2n ** 53n], y: 2n, t: "a" }, l: [3], x: 4 },
      { s: null, l: null, x: 5 },
    ]);
    expect(rowsOfBoth(concatBlocks([narrow, beyond]))).toEqual([
      { x: [1n, 2n ** 53n - 1n], y: 2n, t: "a" },
      null,
      { x: [1n, 2n ** 53n], y: 2n, t: "a" },
      null,
    ]);
  });

  test("a column that is read as numbers is named where it has one beyond 2^53, and the row, in rows and in columns", () => {
    const { int64, list } = flechette;
    const own = flechette.tableFromArrays(
      { v: [5n, null, 2n ** 60n], l: [null, [1n, 2n], [3n, 4n, 2n ** 60n]] },
      { types: { v: int64(), l: list(int64()) }, useBigInt: true },
    );
    const [block] = blocksOfArrow(flechette.tableToIPC(own, { format: "stream" }) as Uint8Array) as [Block];
    const only = (name: string): Block => ({ ...block, names: [name], vectors: [block.vectors[block.names.indexOf(name)] as Vector] });
    for (const [name, problem] of [
      ["v", 'Column "v": row 2 is 1152921504606846976, and numbers beyond 2^53 would be rounded'],
      ["l", 'Column "l": row 2 has 1152921504606846976, and numbers beyond 2^53 would be rounded'],
    ] as const) {
      expect(() => rowsOf(only(name))).toThrow(problem);
      const column = (batchOf(only(name), "columns") as Record<string, Column<unknown>>)[name] as Column<unknown>;
      expect(column.at(1)).toEqual(name === "v" ? null : [1, 2]);
      expect(() => column.toArray()).toThrow(expect.objectContaining({ code: "DATA_INVALID", message: problem }));
    }
    const [asked] = blocksOfArrow(arrowOfBlocks([block]), { bigintColumns: new Set(["v", "l"]) }) as [Block];
    expect(rowsOf(asked).at(-1)).toEqual({ v: 2n ** 60n, l: [3n, 4n, 2n ** 60n] });
  });
});

describe("tensors", () => {
  const image = (height: number, width: number): NdArray =>
    new NdArray(new Uint8Array(height * width * 3).fill(height), [height, width, 3]);

  test("of one shape are fixed, of several shapes variable, and of several dimensions no column", () => {
    const type = (...values: readonly (NdArray | null)[]): string =>
      typeName(
        (
          schemaOf(
            blockOfRows(
              values.map((v) => ({ v })),
              "a test",
            ),
          )[0] as { type: Parameters<typeof typeName>[0] }
        ).type,
      );
    expect(type(image(2, 3), null)).toBe("tensor<uint8, 2x3x3>");
    expect(type(image(2, 3), image(3, 2))).toBe("tensor<uint8, ?x?x?>");
    expect(() => type(image(2, 3), new NdArray(new Uint8Array(4), [2, 2]))).toThrow(
      "is tensor<uint8, 2x2>, and the rows before are tensor<uint8, 2x3x3>",
    );
    expect(() => type(image(2, 3), new NdArray(new Int8Array(3), [1, 1, 3]))).toThrow("tensor<int8");
  });

  test("of one shape in one block and of another in the next one become variable", () => {
    const parts = [[image(1, 2), null], [image(2, 1)], [image(3, 3), image(1, 1)]].map((values) =>
      blockOfRows(
        values.map((v) => ({ v })),
        "a test",
      ),
    );
    expect(rowsOf(concatBlocks(parts))).toEqual([image(1, 2), null, image(2, 1), image(3, 3), image(1, 1)].map((v) => ({ v })));
  });

  test("an NdArray in a batch is a column of its first dimension", () => {
    const block = blockOfBatch(
      { v: new NdArray(Float32Array.of(1, 2, 3, 4), [2, 2]), w: new NdArray(Uint8Array.of(1, 0), [2], "bool") },
      "a test",
    );
    expect(rowsOf(block)).toEqual([
      { v: new NdArray(Float32Array.of(1, 2), [2]), w: true },
      { v: new NdArray(Float32Array.of(3, 4), [2]), w: false },
    ]);
    const [v] = Object.values(batchOf(block, "columns"));
    expect(v).toBeInstanceOf(Column);
    expect(() => blockOfBatch({ v: new NdArray(new Float32Array(1), []) }, "a test")).toThrow("without dimensions");
    expect(() => blockOfBatch({ v: new NdArray(new BigInt64Array(1), [1], "timedelta64[D]") }, "a test")).toThrow(
      "timedelta64[D] cannot be a column",
    );
  });

  test("whose parts do not agree are refused", () => {
    const { stream } = new ArrowData(arrowOfBlocks([blockOfRows([{ v: image(1, 2) }, { v: image(2, 2) }], "a test")]));
    const wrong = stream.slice();
    // The heights and widths are the last numbers of the stream's only batch.
    const at = wrong.lastIndexOf(2);
    wrong[at] = 9;
    expect(() => blocksOfTable(wrong, "a test")).toThrow(/row 1 has 12 elements and the shape/);
  });
});
