/** Files of NumPy: headers of all kinds, damaged ones, and what is written comes back. Files of NumPy's own are read in `test/integration/data-pyarrow.test.ts`. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32, deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { NdArray } from "../../core/index.ts";
import { type Block, blockOfRows, rowsOf } from "../blocks/block.ts";
import { npyBlocks, type NumpyOptions, readNumpyFile } from "./numpy/numpy-reader.ts";
import { npyFile } from "./numpy/numpy-writer.ts";

const folder = mkdtempSync(join(tmpdir(), "test-numpy-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

async function values(blocks: AsyncIterable<Block>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const block of blocks) all.push(...rowsOf(block).map(({ data }) => data));
  return all;
}

const read = (bytes: Uint8Array, options: NumpyOptions = {}, chunk = 1 << 20): Promise<unknown[]> =>
  values(npyBlocks(inChunks(bytes, chunk), "a.npy", options));

/** A file with this dictionary. */
function npy(dictionary: string, data: ArrayBufferView, version = 1): Uint8Array {
  const header = Buffer.from(`\u0093NUMPY${String.fromCharCode(version)}\0`, "latin1");
  const length = Buffer.alloc(version === 1 ? 2 : 4);
  if (version === 1) length.writeUInt16LE(dictionary.length);
  else length.writeUInt32LE(dictionary.length);
  return Buffer.concat([header, length, Buffer.from(dictionary), new Uint8Array(data.buffer, data.byteOffset, data.byteLength)]);
}
const dictionary = (descr: string, shape: string, fortran = "False"): string =>
  `{'descr': ${descr}, 'fortran_order': ${fortran}, 'shape': ${shape}, }          \n`;

test("what is written is read back, in blocks and chunks of every size", async () => {
  const element = fc.constantFrom<(own: number[]) => NdArray["data"]>(
    (own) => Uint8Array.from(own),
    (own) => Int16Array.from(own),
    (own) => Float32Array.from(own),
    (own) => Float64Array.from(own),
    (own) => BigInt64Array.from(own, BigInt),
    (own) => BigUint64Array.from(own, BigInt),
  );
  await fc.assert(
    fc.asyncProperty(
      element,
      fc.nat(9),
      fc.array(fc.nat(3), { maxLength: 3 }),
      fc.nat(300),
      fc.integer({ min: 1, max: 90 }),
      async (elementsOf, rows, shape, blockBytes, chunk) => {
        const count = shape.reduce((product, length) => product * length, 1);
        const tensors = Array.from({ length: rows + 1 }, (_, row) => {
          const own = Array.from({ length: count }, (__, i) => row * 7 + i);
          return new NdArray(elementsOf(own), shape);
        });
        const isPlain = shape.length === 0;
        const block = blockOfRows(
          tensors.map((tensor) => ({ v: isPlain ? tensor.data[0] : tensor })),
          "a test",
        );
        const bytes = Buffer.concat(npyFile([block], "v"));
        expect((bytes.indexOf(10) + 1) % 64).toBe(0);
        const expected = isPlain ? tensors.map((tensor) => Number(tensor.data[0])) : tensors;
        expect(await read(bytes, { blockBytes }, chunk)).toEqual(expected);
      },
    ),
  );
});

describe("headers", () => {
  test.each([1, 2, 3])("of version %i", async (version) => {
    expect(await read(npy(dictionary("'<i4'", "(2,)"), Int32Array.of(5, -6), version))).toEqual([5, -6]);
  });

  test("in other notations that NumPy reads", async () => {
    expect(await read(npy(`{"shape":(1L,), "fortran_order":False, "descr":"<f8"}`, Float64Array.of(0.5)))).toEqual([0.5]);
    expect(await read(npy(dictionary("'=u2'", "()"), Uint16Array.of(7)))).toEqual([7]);
    expect(await read(npy(dictionary("'|b1'", "(3,)"), Uint8Array.of(1, 0, 1)))).toEqual([true, false, true]);
    expect(await read(npy(dictionary("'<i4'", "(0, 3)", "True"), new Uint8Array(0)))).toEqual([]);
  });

  test.each([
    ["objects", npy(dictionary("'|O'", "(1,)"), new Uint8Array(20)), "pickled code, which is never run"],
    ["structures", npy(dictionary("[('a', '<i4')]", "(1,)"), new Uint8Array(4)), "structured elements"],
    ["texts", npy(dictionary("'<U5'", "(1,)"), new Uint8Array(20)), '"<U5"'],
    ["spans of days", npy(dictionary("'<m8[D]'", "(1,)"), new Uint8Array(8)), '"<m8[D]"'],
    ["another format", Buffer.from("PK\u0003\u0004 and more bytes"), "is no .npy file"],
    ["an empty file", new Uint8Array(0), "is no .npy file"],
    ["a newer version", npy(dictionary("'<i4'", "(1,)"), new Uint8Array(4), 4), "version 4.0"],
    ["no dictionary", npy("__import__('os').system('true')", new Uint8Array(4)), "its header is none of NumPy's"],
    ["more than can be", npy(dictionary("'<f8'", "(3, 99999999999)"), new Uint8Array(8)), "at most 2147483647 are read"],
    ["rows without bytes", npy(dictionary("'<f8'", "(99999999999, 0)"), new Uint8Array(8)), "at most 2147483647 are read"],
    ["data that are cut off", npy(dictionary("'<f8'", "(4,)"), new Float64Array(2)), /cut off at byte \d+: its elements go to byte \d+/],
    [
      "a header that is cut off",
      npy(dictionary("'<f8'", "(4,)"), new Float64Array(0)).subarray(0, 30),
      "cut off in its header, at byte 30",
    ],
  ])("%s: refused by name", async (_, bytes, message) => {
    await expect(read(bytes)).rejects.toThrow(message);
    await expect(read(bytes)).rejects.toThrow("a.npy");
  });
});

test("elements in the other order of bytes and of dimensions", async () => {
  const numbers = Buffer.alloc(24);
  for (let i = 0; i < 6; i += 1) numbers.writeFloatBE(i, i * 4);
  expect(await read(npy(dictionary("'>f4'", "(3, 2)", "True"), numbers))).toEqual(
    [
      [0, 3],
      [1, 4],
      [2, 5],
    ].map((row) => new NdArray(Float32Array.from(row), [2])),
  );
  const cube = new NdArray(Uint8Array.of(0, 6, 2, 8, 4, 10), [3, 2]);
  expect(
    (
      await read(
        npy(
          dictionary("'|u1'", "(2, 3, 2)", "True"),
          Uint8Array.from({ length: 12 }, (_, i) => i),
        ),
      )
    )[0],
  ).toEqual(cube);
});

test("half floats, complex numbers and moments", async () => {
  const halves = Uint16Array.of(0x3c00, 0xc000, 0x7bff, 0x0001, 0x7c00, 0x7e00, 0x8000);
  expect(await read(npy(dictionary("'<f2'", "(7,)"), halves))).toEqual([1, -2, 65504, 2 ** -24, Infinity, Number.NaN, -0]);
  const complex = Buffer.alloc(16);
  complex.writeDoubleBE(1.5);
  complex.writeDoubleBE(-2, 8);
  expect(await read(npy(dictionary("'>c16'", "(1,)"), complex))).toEqual([new NdArray(Float64Array.of(1.5, -2), [2])]);
  const times = BigInt64Array.of(86_400n, -(2n ** 63n));
  expect(await read(npy(dictionary("'<M8[s]'", "(2,)"), times))).toEqual([new Date(86_400_000), null]);
  expect(await read(npy(dictionary("'<m8[us]'", "(2,)"), BigInt64Array.of(-5n, -(2n ** 63n))))).toEqual([-5n, null]);
  expect(await read(npy(dictionary("'<M8[D]'", "(2,)"), BigInt64Array.of(1n, -(2n ** 63n))))).toEqual([new Date(86_400_000), null]);
});

test("whole numbers of 64 bits are bigints where the head of the file has one beyond 2^53, or where it is asked for", async () => {
  const file = (...own: bigint[]): Uint8Array => npy(dictionary("'<i8'", `(${own.length},)`), BigInt64Array.from(own));
  expect(await read(file(1n, -5n))).toEqual([1, -5]);
  expect(await read(file(1n, 2n ** 53n))).toEqual([1n, 2n ** 53n]);
  expect(await read(file(1n), { bigintColumns: ["data"] })).toEqual([1n]);
  await expect(read(file(1n, 2n ** 53n), { blockBytes: 8 })).rejects.toMatchObject({
    hint: 'read the column as bigint: schema: { "data": "int64 as bigint" }, or cast it: col("data").cast("int64 as bigint")',
  });
});

test("columns that are no arrays are not written", () => {
  const write = (rows: readonly object[]) => () => npyFile([blockOfRows(rows, "a test")], "v");
  expect(write([{ v: "x" }])).toThrow("type string");
  expect(write([{ v: 1 }, { v: null }])).toThrow("nulls");
  expect(write([{ w: 1 }])).toThrow('no column "v"');
});

describe("archives", () => {
  /** A zip archive as NumPy makes them. */
  function zip(files: Readonly<Record<string, Uint8Array>>, method: 0 | 8): Buffer {
    const locals: Buffer[] = [];
    const entries: Buffer[] = [];
    let at = 0;
    for (const [name, bytes] of Object.entries(files)) {
      const packed = method === 8 ? deflateRawSync(bytes) : bytes;
      const local = Buffer.alloc(30 + name.length);
      local.writeUInt32LE(0x04034b50);
      local.writeUInt16LE(name.length, 26);
      local.write(name, 30);
      const entry = Buffer.alloc(46 + name.length);
      entry.writeUInt32LE(0x02014b50);
      entry.writeUInt16LE(method, 10);
      entry.writeUInt32LE(crc32(bytes), 16);
      entry.writeUInt32LE(packed.length, 20);
      entry.writeUInt32LE(bytes.length, 24);
      entry.writeUInt16LE(name.length, 28);
      entry.writeUInt32LE(at, 42);
      entry.write(name, 46);
      locals.push(local, Buffer.from(packed));
      entries.push(entry);
      at += local.length + packed.length;
    }
    const end = Buffer.alloc(22);
    end.writeUInt32LE(0x06054b50);
    end.writeUInt16LE(entries.length, 10);
    end.writeUInt32LE(at, 16);
    return Buffer.concat([...locals, ...entries, end]);
  }
  const ids = npy(dictionary("'<i4'", "(2,)"), Int32Array.of(1, 2));
  const boxes = npy(dictionary("'<f4'", "(2, 2)"), Float32Array.of(1, 2, 3, 4));
  const readArchive = async (bytes: Uint8Array): Promise<unknown[]> => {
    const path = join(folder, "a.npz");
    writeFileSync(path, bytes);
    const rows: unknown[] = [];
    for await (const block of readNumpyFile(path)) rows.push(...rowsOf(block));
    return rows;
  };

  test.each([0, 8] as const)("of method %i have a column for each array", async (method) => {
    expect(await readArchive(zip({ "ids.npy": ids, "boxes.npy": boxes }, method))).toEqual([
      { ids: 1, boxes: new NdArray(Float32Array.of(1, 2), [2]) },
      { ids: 2, boxes: new NdArray(Float32Array.of(3, 4), [2]) },
    ]);
  });

  test("that are damaged are refused by name", async () => {
    const whole = zip({ "ids.npy": ids }, 0);
    const changed = Buffer.from(whole);
    changed[60] = 99;
    const bomb = zip({ "ids.npy": new Uint8Array(100_000) }, 8);
    bomb.writeUInt32LE(100, bomb.lastIndexOf("PK\u0001\u0002") + 24);
    await expect(readArchive(whole.subarray(0, -30))).rejects.toThrow(/a\.npz is no zip archive, or is cut off: its \d+ bytes/);
    await expect(readArchive(changed)).rejects.toThrow("a.npz: ids.npy is damaged: its checksum differs");
    await expect(readArchive(bomb)).rejects.toThrow("a.npz: ids.npy is damaged");
    await expect(readArchive(zip({ "ids.npy": ids, "one.npy": ids.subarray(0, -4) }, 0))).rejects.toThrow("one.npy: it is cut off at byte");
    // Every entry names the bytes of the first one.
    const shared = zip(Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`a${i}.npy`, ids])), 0);
    for (let at = shared.indexOf("PK\u0001\u0002"); at >= 0; at = shared.indexOf("PK\u0001\u0002", at + 1))
      shared.writeUInt32LE(0, at + 42);
    const [entries, end] = [shared.indexOf("PK\u0001\u0002"), shared.indexOf("PK\u0005\u0006")];
    const [first, firstEnd] = [shared.indexOf("PK\u0003\u0004"), shared.indexOf("PK\u0003\u0004", 4)];
    const short = Buffer.concat([shared.subarray(first, firstEnd), shared.subarray(entries)]);
    short.writeUInt32LE(firstEnd, short.length - (shared.length - end) + 16);
    await expect(readArchive(short)).rejects.toThrow(/a\.npz: its entries share bytes: received \d+ bytes of entries in \d+/);
    const large = zip({ "ids.npy": ids, "more.npy": ids }, 0);
    for (let at = large.indexOf("PK\u0001\u0002"); at >= 0; at = large.indexOf("PK\u0001\u0002", at + 1))
      large.writeUInt32LE(0x7fffffff, at + 24);
    await expect(readArchive(large)).rejects.toThrow("a.npz: its entries are too large together: received 4294967294 bytes");
    const three = npy(dictionary("'<i4'", "(3,)"), new Int32Array(3));
    await expect(readArchive(zip({ "ids.npy": ids, "three.npy": three }, 0))).rejects.toThrow("ids has 2, three has 3");
  });
});
