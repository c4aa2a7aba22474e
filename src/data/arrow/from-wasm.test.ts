/** Tables in WebAssembly as blocks, whole and cut, beside the same tables by Arrow's stream. */
import * as flechette from "@uwdata/flechette";
import fc from "fast-check";
import { RecordBatch, Table, wasmMemory } from "parquet-wasm";
import { describe, expect, test } from "vitest";
import { rowsOf, schemaOf, sliceBlock } from "../blocks/block.ts";
import { blocksOfArrow } from "./from-arrow.ts";
import { blocksOfWasmTable } from "./from-wasm.ts";

const options = { bigintColumns: new Set(["v"]) };
const memory = wasmMemory() as { buffer: ArrayBuffer };
const DAY = flechette.struct([flechette.field("d", flechette.dateDay()), flechette.field("b", flechette.bool())]);
/** Types of columns, with values for them. */
const COLUMNS: Readonly<Record<string, readonly [flechette.DataType, fc.Arbitrary<unknown>]>> = {
  bool: [flechette.bool(), fc.boolean()],
  int8: [flechette.int8(), fc.integer({ min: -128, max: 127 })],
  uint16: [flechette.uint16(), fc.nat(65_535)],
  int64: [flechette.int64(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })],
  float32: [flechette.float32(), fc.float()],
  float64: [flechette.float64(), fc.double()],
  decimal: [flechette.decimal(30, 2, 128), fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n })],
  wide: [flechette.decimal(60, 2, 256), fc.bigInt({ min: -(10n ** 50n), max: 10n ** 50n })],
  ms: [flechette.date(flechette.DateUnit.MILLISECOND), fc.nat(1_000_000).map((days) => new Date(days * 864_000))],
  time: [flechette.timestamp(flechette.TimeUnit.MICROSECOND, "UTC"), fc.nat().map((ms) => new Date(ms))],
  "time of day": [flechette.timeSecond(), fc.nat(86_399)],
  "finer time of day": [flechette.time(flechette.TimeUnit.NANOSECOND), fc.bigInt({ min: 0n, max: 86_399_999_999_999n })],
  duration: [flechette.duration(flechette.TimeUnit.MICROSECOND), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })],
  text: [flechette.utf8(), fc.string()],
  large: [flechette.largeUtf8(), fc.string()],
  binary: [flechette.binary(), fc.uint8Array({ maxLength: 4 })],
  fixed: [flechette.fixedSizeBinary(3), fc.uint8Array({ minLength: 3, maxLength: 3 })],
  list: [flechette.list(flechette.utf8()), fc.array(fc.option(fc.string()), { maxLength: 3 })],
  bits: [flechette.fixedSizeList(flechette.bool(), 3), fc.array(fc.boolean(), { minLength: 3, maxLength: 3 })],
  struct: [DAY, fc.record({ d: fc.option(fc.nat(10_000).map((day) => new Date(day * 86_400_000))), b: fc.option(fc.boolean()) })],
  map: [
    flechette.map(flechette.utf8(), flechette.int32()),
    fc.uniqueArray(fc.string(), { maxLength: 2 }).map((keys) => new Map(keys.map((key, i) => [key, i]))),
  ],
  words: [flechette.dictionary(flechette.utf8(), flechette.int32()), fc.constantFrom("a", "b", "c")],
  "bytes with codes of 8 bits": [flechette.dictionary(flechette.binary(), flechette.int8()), fc.uint8Array({ maxLength: 1 })],
  "large words": [flechette.dictionary(flechette.largeUtf8(), flechette.uint16()), fc.constantFrom("a", "b", "c")],
  "words that are numbers": [flechette.dictionary(flechette.float64(), flechette.int16()), fc.constantFrom(1, 2)],
};

function streamOf(type: flechette.DataType, values: readonly unknown[]): Uint8Array {
  const column = flechette.columnFromArray([...values], type);
  return flechette.tableToIPC(flechette.tableFromColumns({ v: column, n: flechette.columnFromArray([...values.keys()]) }), {
    format: "stream",
  }) as Uint8Array;
}

/** A batch where a table is expected. */
function asTable(batch: RecordBatch): Parameters<typeof blocksOfWasmTable>[0] {
  return {
    schema: batch.schema,
    intoIPCStream: () => batch.intoIPCStream(),
    intoFFI: () => {
      const data = batch.intoFFI();
      return { numArrays: () => 1, arrayAddr: () => data.arrayAddr(), free: () => data.free() };
    },
  };
}

describe("a table comes out of a module's memory as by a stream", () => {
  test.for(Object.entries(COLUMNS))("%s", ([, [type, value]]) => {
    fc.assert(
      fc.property(fc.array(fc.option(value, { freq: 4 }), { minLength: 1, maxLength: 40 }), fc.nat(), fc.nat(), (values, from, count) => {
        const stream = streamOf(type, values);
        const [wanted] = blocksOfArrow(stream, options) as [ReturnType<typeof sliceBlock>];
        const [whole] = blocksOfWasmTable(Table.fromIPCStream(stream), memory, options) as [typeof wanted];
        expect(schemaOf(whole)).toEqual(schemaOf(wanted));
        expect(rowsOf(whole)).toEqual(rowsOf(wanted));

        const start = from % values.length;
        const length = count % (values.length - start + 1);
        const [batch] = Table.fromIPCStream(stream).recordBatches() as [RecordBatch];
        const [cut] = blocksOfWasmTable(asTable(batch.slice(start, length)), memory, options) as [typeof wanted];
        expect(rowsOf(cut)).toEqual(rowsOf(sliceBlock(wanted, start, start + length)));
      }),
      { numRuns: 30 },
    );
  });

  test("without rows it tells its columns, and nothing of it stays in that memory", () => {
    const stream = streamOf(flechette.utf8(), []);
    expect(blocksOfWasmTable(Table.fromIPCStream(stream), memory, {}).map(schemaOf)).toEqual(blocksOfArrow(stream).map(schemaOf));
    const large = streamOf(
      flechette.utf8(),
      Array.from({ length: 100_000 }, (_, i) => `${i}`.repeat(20)),
    );
    const read = (): unknown => blocksOfWasmTable(Table.fromIPCStream(large), memory, {});
    read();
    const before = memory.buffer.byteLength;
    for (let i = 0; i < 20; i += 1) read();
    expect(memory.buffer.byteLength).toBeLessThan(before + 2 * large.length);
  });
});
