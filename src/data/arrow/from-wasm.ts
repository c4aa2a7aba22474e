/**
 * Turns an Arrow table in the memory of a WebAssembly module into blocks. The module gives the place of each array by Arrow's C data interface. So a column
 * costs one copy, where a stream would cost the module a second one.
 *
 * The interface: https://arrow.apache.org/docs/format/CDataInterface.html. Its pointers have 32 bits in WebAssembly. Types that decoders seldom give go by the stream.
 */
import { type Batch, batchType, Column, type DataType as ArrowType, type Field as ArrowField, tableFromIPC, Type } from "@uwdata/flechette";
import { bitmapBytes, countZeros, orBits } from "../blocks/values/bitmap.ts";
import type { Block } from "../blocks/block.ts";
import { noteDecoded } from "../blocks/memory/memory.ts";
import { type ArrowOptions, blocksOfArrow, blocksOfBatches, EXTRACTION } from "./from-arrow.ts";

/** The used methods of a module's table. Each one except `schema` consumes the table. */
interface WasmTable {
  readonly schema: { intoIPCStream(): Uint8Array };
  intoIPCStream(): Uint8Array;
  intoFFI(): { numArrays(): number; arrayAddr(chunk: number): number; free(): void };
}

/** A module's memory: the buffer is another one once the module has taken more. */
interface WasmMemory {
  readonly buffer: ArrayBuffer;
}

/** The blocks of a table, one a record batch. A table without batches gives one block without rows. */
export function blocksOfWasmTable(table: WasmTable, memory: WasmMemory, options: ArrowOptions): Block[] {
  const { fields } = tableFromIPC(table.schema.intoIPCStream()).schema;
  if (!fields.every(isDirect)) return blocksOfArrow(table.intoIPCStream(), options);
  const arrays = table.intoFFI();
  try {
    const batches = Array.from({ length: arrays.numArrays() }, (_, chunk) =>
      new MemoryReader(memory.buffer).children(fields, arrays.arrayAddr(chunk)),
    );
    return blocksOfBatches(
      fields,
      fields.map((_, column) => batches.map((batch) => batch[column] as Batch<unknown>)),
      options,
    );
  } finally {
    arrays.free();
  }
}

/** The used members of Arrow's types, which differ from type to type. */
interface AnyArrowType {
  readonly typeId: number;
  readonly bitWidth: number;
  readonly stride: number;
  readonly values: BufferMaker;
  readonly offsets: BufferMaker;
  readonly children?: readonly ArrowField[];
  /** The types of a dictionary's indices and values. */
  readonly indices?: AnyArrowType;
  readonly dictionary?: ArrowType;
}

type BufferMaker = (new (
  buffer: ArrayBuffer,
) => ArrayLike<number | bigint> & { readonly length: number }) & {
  readonly BYTES_PER_ELEMENT: number;
};

const DIRECT_TYPES: ReadonlySet<number> = new Set([
  Type.Null,
  Type.Bool,
  Type.Int,
  Type.Float,
  Type.Decimal,
  Type.Date,
  Type.Timestamp,
  Type.Time,
  Type.Duration,
  Type.Utf8,
  Type.LargeUtf8,
  Type.Binary,
  Type.LargeBinary,
  Type.FixedSizeBinary,
  Type.List,
  Type.LargeList,
  Type.FixedSizeList,
  Type.Struct,
  Type.Map,
]);

function isDirect({ type }: ArrowField): boolean {
  return isDirectType(type);
}

function isDirectType(type: ArrowType): boolean {
  const { typeId, children, dictionary } = type as unknown as AnyArrowType;
  if (dictionary !== undefined) return isDirectType(dictionary);
  return DIRECT_TYPES.has(typeId) && (children?.every(isDirect) ?? true);
}

/** Places of the members of `struct ArrowArray`. */
const LENGTH = 0;
const NULL_COUNT = 8;
const OFFSET = 16;
const BUFFERS = 40;
const CHILDREN = 44;
const DICTIONARY = 48;
const POINTER_BYTES = 4;

/** Rows of an array, numbered with those before its first one. */
interface Rows {
  readonly offset: number;
  readonly length: number;
}

class MemoryReader {
  readonly #memory: ArrayBuffer;
  readonly #view: DataView;

  constructor(memory: ArrayBuffer) {
    this.#memory = memory;
    this.#view = new DataView(memory);
  }

  /** Copies of the children of the array at an address: those rows of them, or all. */
  children(fields: readonly ArrowField[], address: number, rows?: Rows): Batch<unknown>[] {
    const pointers = this.#view.getUint32(address + CHILDREN, true);
    return fields.map(({ type }, i) => this.#batch(type, this.#view.getUint32(pointers + i * POINTER_BYTES, true), rows));
  }

  #batch(type: ArrowType, address: number, within: Rows | undefined): Batch<unknown> {
    const arrow = type as unknown as AnyArrowType;
    const offset = this.#integer(address + OFFSET) + (within?.offset ?? 0);
    const rows = { offset, length: within?.length ?? this.#integer(address + LENGTH) };
    const { length } = rows;
    const hasNulls = arrow.typeId !== Type.Null && this.#integer(address + NULL_COUNT) !== 0;
    const validity = hasNulls ? this.#bits(address, 0, rows) : new Uint8Array(0);
    const nullCount = arrow.typeId === Type.Null ? length : hasNulls ? countZeros(validity, 0, length) : 0;
    const Made = batchType(type, EXTRACTION) as unknown as new (parts: object) => Batch<unknown>;
    const batch = new Made({ type, length, nullCount, validity, ...this.#parts(arrow.indices ?? arrow, address, rows) });
    if (arrow.dictionary === undefined) return batch;
    const words = this.#batch(arrow.dictionary, this.#view.getUint32(address + DICTIONARY, true), undefined);
    return Object.assign(batch, { dictionary: new Column([words], arrow.dictionary) });
  }

  #parts(type: AnyArrowType, address: number, rows: Rows): object {
    const { offset, length } = rows;
    const children = type.children ?? [];
    switch (type.typeId) {
      case Type.Null:
        return {};
      case Type.Bool:
        return { values: this.#bits(address, 1, rows) };
      case Type.FixedSizeBinary:
        return { values: new Uint8Array(this.#bytes(address, 1, offset * type.stride, length * type.stride)) };
      case Type.Utf8:
      case Type.LargeUtf8:
      case Type.Binary:
      case Type.LargeBinary: {
        const offsets = this.#offsets(type, address, rows);
        return { offsets, values: new Uint8Array(this.#bytes(address, 2, 0, Number(offsets[length]))) };
      }
      case Type.List:
      case Type.LargeList:
      case Type.Map:
        return { offsets: this.#offsets(type, address, rows), children: this.children(children, address) };
      case Type.FixedSizeList: {
        const elements = { offset: offset * type.stride, length: length * type.stride };
        return { children: this.children(children, address, elements) };
      }
      case Type.Struct:
        return { children: this.children(children, address, rows) };
      default: {
        const width = type.values.BYTES_PER_ELEMENT * valuesPerRow(type);
        return { values: new type.values(this.#bytes(address, 1, offset * width, length * width)) };
      }
    }
  }

  #offsets({ offsets: Made }: AnyArrowType, address: number, { offset, length }: Rows): ArrayLike<number | bigint> {
    const width = Made.BYTES_PER_ELEMENT;
    // Arrays without rows may have no offsets.
    return length === 0 ? new Made(new ArrayBuffer(width)) : new Made(this.#bytes(address, 1, offset * width, (length + 1) * width));
  }

  /** A bitmap whose first bit is that of the first row. */
  #bits(address: number, buffer: number, { offset, length }: Rows): Uint8Array {
    const skipped = offset & 7;
    const bytes = new Uint8Array(this.#bytes(address, buffer, offset >> 3, bitmapBytes(skipped + length)));
    if (skipped === 0) return bytes;
    const shifted = new Uint8Array(bitmapBytes(length));
    orBits(shifted, 0, bytes, skipped, length);
    return shifted;
  }

  #bytes(address: number, buffer: number, from: number, length: number): ArrayBuffer {
    const pointers = this.#view.getUint32(address + BUFFERS, true);
    const start = this.#view.getUint32(pointers + buffer * POINTER_BYTES, true) + from;
    return noteDecoded(this.#memory.slice(start, start + length));
  }

  #integer(address: number): number {
    return Number(this.#view.getBigInt64(address, true));
  }
}

/** Number of array elements for each value: wide decimals are several words of 64 bits. */
function valuesPerRow({ typeId, bitWidth }: AnyArrowType): number {
  return typeId === Type.Decimal && bitWidth > 64 ? bitWidth / 64 : 1;
}
