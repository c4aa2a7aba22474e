/** JSON lines, arrays and objects, cut at every byte, with faults and with numbers that JavaScript would round. */
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { type Block, concatBlocks, rowsOf, schemaOf } from "../../blocks/block.ts";
import { typeName } from "../../blocks/data-type.ts";
import { DataError } from "../../errors.ts";
import { jsonBlocks, type JsonOptions } from "./json-reader.ts";

async function blocksOf(input: string | Uint8Array, options: JsonOptions = {}, chunkBytes = 1 << 20): Promise<Block[]> {
  const bytes = Buffer.from(input as string);
  const chunks = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
  };
  const blocks: Block[] = [];
  for await (const block of jsonBlocks(chunks(), "a.json", options)) blocks.push(block);
  return blocks;
}

async function read(
  input: string,
  options: JsonOptions = {},
  chunkBytes?: number,
): Promise<{ types: Record<string, string>; rows: unknown[] }> {
  const block = concatBlocks(await blocksOf(input, options, chunkBytes));
  return { types: Object.fromEntries(schemaOf(block).map(({ name, type }) => [name, typeName(type)])), rows: rowsOf(block) };
}

async function errorOf(input: string | Uint8Array, options: JsonOptions = {}): Promise<DataError> {
  const error: unknown = await blocksOf(input, options).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(DataError);
  return error as DataError;
}

const ROWS = [
  { a: 1, b: 'x "y" }{', c: null },
  { a: 2.5, b: "é€😀\n", c: [1, 2] },
];

test.each([
  ["lines", ROWS.map((row) => `${JSON.stringify(row)}\n`).join("")],
  ["lines with CRLF, empty ones and no last end", `\n${ROWS.map((row) => JSON.stringify(row)).join("\r\n \r\n")}`],
  ["an array", JSON.stringify(ROWS)],
  ["an array over lines", `\n ${JSON.stringify(ROWS, undefined, 2)}\n`],
  ["objects over lines", ROWS.map((row) => JSON.stringify(row, undefined, 2)).join("\n")],
  ["a mark of Excel", `\uFEFF${JSON.stringify(ROWS)}`],
])("%s, wherever the chunks are cut", async (_, text) => {
  const expected = { types: { a: "float64", b: "string", c: "list<int64>" }, rows: ROWS };
  for (let size = 1; size < 40; size += 1) expect(await read(text, {}, size), `chunks of ${size}`).toEqual(expected);
});

test("types come from the values", async () => {
  const text = `{"i":1,"f":1,"b":true,"n":null,"s":"2026-01-31","l":[],"o":{"x":1}}
{"i":-2,"f":0.5,"b":null,"s":"","l":[[1],[0.5]],"o":{"y":"z"}}`;
  expect(await read(text)).toEqual({
    types: { i: "int64", f: "float64", b: "bool", n: "null", s: "string", l: "list<list<float64>>", o: "struct<x: int64, y: string>" },
    rows: [
      { i: 1, f: 1, b: true, n: null, s: "2026-01-31", l: [], o: { x: 1, y: null } },
      { i: -2, f: 0.5, b: null, n: null, s: "", l: [[1], [0.5]], o: { x: null, y: "z" } },
    ],
  });
  expect((await read('{"a":-0}')).types).toEqual({ a: "float64" });
  expect(await read('{"__proto__":1,"constructor":2}')).toEqual({
    types: Object.fromEntries([
      ["__proto__", "int64"],
      ["constructor", "int64"],
    ]),
    rows: [
      Object.fromEntries([
        ["__proto__", 1],
        ["constructor", 2],
      ]),
    ],
  });
});

test("whole numbers beyond 2^53 are bigint, and never rounded", async () => {
  expect(await read('{"id":1,"t":"9007199254740993","l":[9223372036854775807]}\n{"id":9007199254740993}')).toEqual({
    types: { id: "int64 as bigint", t: "string", l: "list<int64 as bigint>" },
    rows: [
      { id: 1n, t: "9007199254740993", l: [9223372036854775807n] },
      { id: 9007199254740993n, t: null, l: null },
    ],
  });
  expect(await read('[{"v":0.5},{"v":100000000000000000000}]')).toEqual({ types: { v: "float64" }, rows: [{ v: 0.5 }, { v: 1e20 }] });
  expect(await read('{"v":0.12345678901234567,"w":"x: 12345678901234567, "}')).toEqual({
    types: { v: "float64", w: "string" },
    rows: [{ v: Number("0.12345678901234567"), w: "x: 12345678901234567, " }],
  });
  expect((await errorOf('{"v":99999999999999999999}')).message).toBe(
    'Cannot read a.json: line 1: column "v" is 99999999999999999999, which no int64 holds',
  );
  expect((await errorOf('{"v":9007199254740993}', { schema: { v: "int64" } })).message).toContain("would be rounded");
});

test("every integer of 64 bits comes back", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { minLength: 1 }), async (values) => {
      const { rows } = await read(values.map((value) => `{"v":${value}}`).join("\n"), { schema: { v: "int64 as bigint" } });
      expect(rows).toEqual(values.map((v) => ({ v })));
    }),
  );
});

test("a number beyond 2^53 after the first block is an error with its place and the remedy", async () => {
  const line = '{"v":1,"w":"0123456789012345678901234567890123456789"}\n';
  const count = Math.ceil((5 * 1024 * 1024) / line.length);
  const error = await errorOf(`${line.repeat(count)}{"v":9007199254740993}\n`, { blockBytes: 1024 * 1024 });
  expect(error.message).toBe(
    `Cannot read a.json: line ${count + 1}: column "v" is 9007199254740993, and numbers beyond 2^53 would be rounded`,
  );
  expect(error.hint).toContain('schema: { "v": "int64 as bigint" }');
  // Later values may widen the types of earlier blocks.
  const { types } = await read(`${line.repeat(count)}{"v":0.5,"x":true}\n`);
  expect(types).toEqual({ v: "float64", w: "string", x: "bool" });
});

test("blocks have about the size that is asked for", async () => {
  const rows = Array.from({ length: 1000 }, (_, v) => ({ v }));
  const blocks = await blocksOf(rows.map((row) => JSON.stringify(row)).join("\n"), { blockBytes: 1000 });
  expect(blocks.length).toBeGreaterThan(8);
  expect(blocks.length).toBeLessThan(14);
  expect(rowsOf(concatBlocks(blocks))).toEqual(rows);
});

test("decimals are made of texts and whole numbers of any length, and of numbers as they are written", async () => {
  const lines = ['{"p":"12345678901234567890.10"}', '{"p":1.5}', '{"p":-12345678901234567890}', '{"p":0.1}', '{"p":null}', '{"p":1e-2}'];
  const schema = { p: "decimal<30, 2>" };
  expect((await read(lines.join("\n"), { schema })).rows.map((row) => (row as { p: unknown }).p)).toEqual([
    "12345678901234567890.10",
    "1.50",
    "-12345678901234567890.00",
    "0.10",
    null,
    "0.01",
  ]);
  expect((await errorOf('{"p":1.005}', { schema })).message).toContain('column "p" is 1.005, and the column has the type decimal<30, 2>');
});

test("decimals have all digits of numbers with a point, and parts of their name in other columns stay numbers", async () => {
  const line = '{"p":1234567890123456789012345678.0123456789,"q":{"p":1234567890123456.75},"s":"p: 1234567890123456789.5,"}';
  for (const text of [line, `[\n${line}\n]`])
    expect(await read(text, { schema: { p: "decimal<38, 10>" } })).toEqual({
      types: { p: "decimal<38, 10>", q: "struct<p: float64>", s: "string" },
      rows: [{ p: "1234567890123456789012345678.0123456789", q: { p: 1234567890123456.75 }, s: "p: 1234567890123456789.5," }],
    });
  expect((await read('{"p":12345678901234567.00}\n{"p":0.1234567890123456}', { schema: { p: "decimal<38, 16>" } })).rows).toEqual([
    { p: "12345678901234567.0000000000000000" },
    { p: "0.1234567890123456" },
  ]);
});

test("texts for numbers that JSON has not are floats where schema says so, and the error before says that", async () => {
  const text = '{"x":1.5}\n{"x":"NaN"}\n{"x":"-Infinity"}\n{"x":null}';
  expect((await read(text, { schema: { x: "float64" } })).rows).toEqual([
    { x: 1.5 },
    { x: Number.NaN },
    { x: Number.NEGATIVE_INFINITY },
    { x: null },
  ]);
  expect((await read('{"x":"Infinity"}', { schema: { x: "float32" } })).rows).toEqual([{ x: Number.POSITIVE_INFINITY }]);
  expect(await errorOf(text)).toMatchObject({
    message: 'Cannot read a.json: line 2: column "x" is a string, and the rows before are float64',
    hint: 'give the column a type that holds it: schema: { "x": "float64" }',
  });
  // Values that do not fit into the types of numbers.
  for (const [before, value] of [
    ["true", '"NaN"'],
    ["[1]", '"Infinity"'],
    ["true", "9007199254740993"],
    ["1", "92233720368547758070"],
  ] as const)
    expect((await errorOf(`{"x":${before}}\n{"x":${value}}`)).hint).toBe('give the column a type that holds it: schema: { "x": "string" }');
  expect((await errorOf('{"x":"many"}', { schema: { x: "float64" } })).message).toContain('a.json: line 1: column "x"');
});

test("options: schema and columns", async () => {
  expect(
    await read('{"a":1,"b":"x","c":[1],"d":"2026-01-31","e":1769853600000,"f":"2026-01-31T10:00:00.123456Z","g":null}', {
      schema: { a: "float32", b: "string", c: "string", d: "date", e: "timestamp[ms]", f: "timestamp[us]", g: "date" },
    }),
  ).toEqual({
    types: { a: "float32", b: "string", c: "string", d: "date", e: "timestamp[ms]", f: "timestamp[us]", g: "date" },
    rows: [
      { a: 1, b: "x", c: "[1]", d: new Date("2026-01-31"), e: new Date(1769853600000), f: new Date("2026-01-31T10:00:00.123Z"), g: null },
    ],
  });
  expect((await read('{"a":1,"b":2}\n{"c":3,"a":4}', { columns: ["c", "a"] })).rows).toEqual([
    { c: null, a: 1 },
    { c: 3, a: 4 },
  ]);
  expect((await errorOf('{"d":"x"}', { schema: { d: "date" } })).message).toBe(
    'Cannot read a.json: line 1: column "d" is "x", and the column has the type date',
  );
  expect((await errorOf("{}", { schema: { d: "json" } })).message).toContain('schema: "json" is no type for a column of JSON');
});

test("empty files and arrays have no rows; an empty object is a row", async () => {
  for (const text of ["", "\n\n", "[]", "[ ]\n"]) expect(await blocksOf(text)).toEqual([]);
  expect((await blocksOf("{}\n{}")).map((block) => block.rowCount)).toEqual([2]);
});

test.each([
  ['{"a":1}\n\n{"a":x}\n', "Cannot read a.json: line 3 is no JSON: "],
  ['{"a":1}\n[1]\n', "Cannot read a.json: line 2 is"],
  ['{"a":1}\n{"a":"x"}\n', 'Cannot read a.json: line 2: column "a" is a string, and the rows before are int64'],
  [
    '{"a":{"b":1}}\n{"a":{"b":[]}}\n',
    'Cannot read a.json: line 2: column "a" does not fit: its part "b" is an array, and the rows before are int64',
  ],
  ['[\n{"a":1},\n{"a":', "Cannot read a.json: the object that begins in line 3 is cut off"],
  ['[\n{"a":1},\n', "Cannot read a.json: the array is cut off: line 3 is the last"],
  ['[\n{"a":1}\n{"a":2}]', 'a.json: line 3 (byte 10) has "{" where an object or the end should be'],
  ['[{"a":1}, 5]', 'a.json: line 1 (byte 10) has "5"'],
  ['[{"a":1}] x', 'a.json: line 1 (byte 10) has "x"'],
  ["hello", 'a.json: line 1 (byte 0) has "h"'],
  ['[\n{"a":1},\n{"a" 2}]', "Cannot read a.json: line 3 is no JSON"],
])("the fault of %j is named with its line", async (text, message) => {
  expect((await errorOf(text)).message.slice(0, message.length)).toBe(message);
});

test("bad UTF-8 is named with its byte", async () => {
  for (const text of ['{"a":"\xfc"}\n', '[{"a":"\xfc"}]']) {
    expect((await errorOf(Buffer.from(text, "latin1"))).message).toMatch(/^Cannot read a\.json: byte [67] \(0xfc\) is no UTF-8$/);
  }
});

test("a row is nested up to 1000 levels deep, and beyond it is an error with file and line, in all forms and with long integers", async () => {
  const row = (levels: number, value = ""): string => `{"a":${"[".repeat(levels - 1)}${value}${"]".repeat(levels - 1)}}`;
  const { types } = await read(`{"a":[]}\n${row(1000, "1")}\n`);
  expect(types["a"]).toMatch(/^(list<){999}int64/);
  for (const levels of [1001, 20_000, 500_000])
    for (const value of ["", "1234567890123456789"])
      for (const text of [`{"a":[]}\n${row(levels, value)}\n`, `[{"a":[]},\n${row(levels, value)}]`])
        expect((await errorOf(text)).message).toBe("Cannot read a.json: line 2 is nested more than 1000 levels deep");
  expect((await errorOf(row(20_000), { schema: { a: "string" } })).message).toContain("line 1 is nested more than 1000");
});

test.each([
  ["behind a fraction", '{"v":1.5}\n{"v":9007199254740993}', 'column "v" is 9007199254740993, which a float64 would round'],
  ["before a fraction", '{"v":9007199254740993}\n{"v":1.5}', 'column "v" is not whole, and float64 would round 9007199254740993'],
  ["in a list", '{"v":[1.5]}\n{"v":[9007199254740993]}', 'column "v" does not fit: an element is 9007199254740993'],
])("a whole number that a float64 would round is an error %s", async (_, text, message) => {
  const error = await errorOf(text);
  expect(error.message).toContain(`a.json: line 2: ${message}`);
  expect(error.hint).toBe('give the column a type that holds it: schema: { "v": "string" }');
});

test("large floats are read as programs write them", async () => {
  const values = [0.5, 2 ** 53, 1e20, 123456789012345680000, 1e300];
  const text = values.map((v) => `${JSON.stringify({ v })}\n`).join("");
  expect(await read(text)).toEqual({ types: { v: "float64" }, rows: values.map((v) => ({ v })) });
});

/** Rows that each have one key of their own. */
const ofIds = (count: number, row: (id: Record<string, number>) => unknown): string =>
  Array.from({ length: count }, (_, i) => JSON.stringify(row({ [`id${i}`]: i }))).join("\n");

test("objects whose keys are ids are read as their JSON, with a warning that names `schema`", async () => {
  using write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const { types, rows } = await read(ofIds(20_000, (users) => ({ n: 1, users })));
  expect(types).toEqual({ n: "int64", users: "string" });
  expect([rows.length, rows[0], rows[19_999]]).toEqual([20_000, { n: 1, users: '{"id0":0}' }, { n: 1, users: '{"id19999":19999}' }]);
  expect(write.mock.calls.map(([text]) => text)).toEqual([
    'shoal: warning: a.json: column "users" has objects with more than 1000 different keys, and their JSON is read as text; schema: { "users": "string" } does so without this warning\n',
  ]);
});

test("objects with new keys in a later block are an error, as are rows whose keys are ids", async () => {
  const few = `${ofIds(8, (users) => ({ pad: "x".repeat(1024 * 1024), users }))}\n`;
  const later = await errorOf(few + ofIds(2000, (users) => ({ pad: "", users })), { blockBytes: 1024 });
  expect(later.message).toBe('Cannot read a.json: line 1009: column "users" has objects with more than 1000 different keys');
  expect(later.hint).toContain('schema: { "users": "string" }');
  const rows = await errorOf(ofIds(20_000, (row) => row));
  expect(rows.message).toContain("a.json: line 1001: the rows have more than 1000 different keys");
  expect(
    await read(
      ofIds(20_000, (row) => row),
      { columns: ["id7"] },
    ),
  ).toMatchObject({ types: { id7: "int64" } });
});

test("many keys that most rows have are columns and parts", async () => {
  const wide = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`k${i}`, i]));
  const { types, rows } = await read(`${JSON.stringify({ ...wide, o: wide })}\n`.repeat(3));
  expect([Object.keys(types).length, rows]).toEqual([3001, Array.from({ length: 3 }, () => ({ ...wide, o: wide }))]);
});
