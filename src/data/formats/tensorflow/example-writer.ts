/**
 * Writes rows as TensorFlow's records of `tf.train.Example`: texts and bytes are lists of bytes, whole numbers and booleans lists of int64,
 * other numbers lists of float, which have 32 bits.
 *
 * A null is a feature without a value. Each message begins with its length, so a cell is measured before it is written.
 */
import { NdArray } from "../../../core/index.ts";
import { type Block, columnReader } from "../../blocks/block.ts";
import { type DataType, isNumberKind, typeName, valueType } from "../../blocks/data-type.ts";
import type { Vector } from "../../blocks/vector.ts";
import { DataError } from "../../errors.ts";
import { ByteSink } from "../byte-sink.ts";
import type { ValueKind } from "./features.ts";
import { recordFrame } from "./records.ts";
import { varintBytes } from "./wire.ts";

/** Tags of fields 1 to 3 whose value has a length. */
const TAG = { first: 0x0a, value: 0x12, bytes: 0x0a, float: 0x12, int64: 0x1a } as const;

/** The records of a block's rows. @throws DataError for a column of a type that examples do not have */
export function exampleRecords(block: Block): Uint8Array {
  const columns = block.names.map((name, i) => new FeatureWriter(name, block.vectors[i] as Vector));
  const records = new ByteSink();
  for (let row = 0; row < block.rowCount; row += 1) {
    const sizes = columns.map((column) => column.measure(row));
    const features = sizes.reduce((sum, size) => sum + 1 + varintBytes(size) + size, 0);
    const example = new ByteSink();
    example.byte(TAG.first);
    writeVarint(example, features);
    columns.forEach((column, i) => {
      example.byte(TAG.first);
      writeVarint(example, sizes[i] as number);
      column.write(example);
    });
    const record = example.taken();
    const { before, behind } = recordFrame(record);
    for (const part of [before, record, behind]) records.copy(part, 0, part.length);
  }
  return records.taken();
}

/** The features of one column: an entry of the map a row. */
class FeatureWriter {
  readonly #name: Buffer;
  readonly #kind: ValueKind | undefined;
  readonly #column: string;
  readonly #read: (row: number) => unknown;
  #values: readonly unknown[] | undefined;
  /** The bytes of the list's values, of the list, and of the feature. */
  #sizes = { values: 0, list: 0, feature: 0 };

  constructor(name: string, vector: Vector) {
    this.#column = name;
    this.#name = Buffer.from(name);
    this.#kind = kindOf(name, vector.type);
    this.#read = columnReader(name, vector);
  }

  /** How many bytes the entry of the row has. The next `write` writes it. */
  measure(row: number): number {
    const value = this.#read(row);
    this.#values = value === null ? undefined : this.#listOf(value, row);
    const key = 1 + varintBytes(this.#name.length) + this.#name.length;
    // A list of which nothing is known but that it is empty has no type.
    if (this.#kind === undefined) this.#values = undefined;
    if (this.#values === undefined) this.#sizes = { values: 0, list: 0, feature: 0 };
    else {
      const values = this.#valueBytes(this.#values);
      const list = this.#kind === "bytes" || this.#values.length === 0 ? values : 1 + varintBytes(values) + values;
      this.#sizes = { values, list, feature: 1 + varintBytes(list) + list };
    }
    return key + 1 + varintBytes(this.#sizes.feature) + this.#sizes.feature;
  }

  write(sink: ByteSink): void {
    sink.byte(TAG.first);
    writeVarint(sink, this.#name.length);
    sink.copy(this.#name, 0, this.#name.length);
    sink.byte(TAG.value);
    writeVarint(sink, this.#sizes.feature);
    if (this.#values === undefined || this.#kind === undefined) return;
    sink.byte(TAG[this.#kind]);
    writeVarint(sink, this.#sizes.list);
    if (this.#kind === "bytes")
      for (const value of this.#values as readonly Uint8Array[]) {
        sink.byte(TAG.first);
        writeVarint(sink, value.length);
        sink.copy(value, 0, value.length);
      }
    else if (this.#values.length > 0) this.#writePacked(sink, this.#values);
  }

  #writePacked(sink: ByteSink, values: readonly unknown[]): void {
    sink.byte(TAG.first);
    writeVarint(sink, this.#sizes.values);
    if (this.#kind === "int64") {
      for (const value of values) writeVarint64(sink, BigInt.asUintN(64, value as bigint));
      return;
    }
    const floats = new Uint8Array(values.length * 4);
    const view = new DataView(floats.buffer);
    values.forEach((value, i) => view.setFloat32(4 * i, value as number, true));
    sink.copy(floats, 0, floats.length);
  }

  #valueBytes(values: readonly unknown[]): number {
    if (this.#kind === "float") return values.length * 4;
    if (this.#kind === "int64") return values.reduce<number>((sum, value) => sum + varint64Bytes(BigInt.asUintN(64, value as bigint)), 0);
    return (values as readonly Uint8Array[]).reduce((sum, { length }) => sum + 1 + varintBytes(length) + length, 0);
  }

  /** The values in the form of their list: bytes, numbers, or bigints. */
  #listOf(value: unknown, row: number): readonly unknown[] {
    const isList = Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof Uint8Array && this.#kind === "bytes"));
    const all =
      value instanceof NdArray ? Array.from(value.data as ArrayLike<unknown>) : isList ? Array.from(value as ArrayLike<unknown>) : [value];
    return all.map((one) => {
      if (one === null)
        throw new DataError(`Column ${JSON.stringify(this.#column)}: row ${row} has a null in a list, and examples have none`);
      if (this.#kind === "int64") return this.#wholeNumber(one, row);
      return typeof one === "string" ? Buffer.from(one) : one;
    });
  }

  #wholeNumber(value: unknown, row: number): bigint {
    const whole = BigInt(value as number | bigint | boolean);
    if (BigInt.asIntN(64, whole) === whole) return whole;
    throw new DataError(`Column ${JSON.stringify(this.#column)}: row ${row} is ${whole}, and examples have 64 bits with a sign`);
  }
}

/** The list that holds the values of a column; undefined for one of nulls. */
function kindOf(name: string, type: DataType): ValueKind | undefined {
  const value = valueType(type);
  if (value.kind === "null") return undefined;
  const element =
    value.kind === "list"
      ? value.of
      : value.kind === "tensor"
        ? value.of
        : value.kind === "struct" && value.as === "tensor"
          ? elementOfTensors(value)
          : value;
  if (element.kind === "null") return undefined;
  if (element.kind === "string" || element.kind === "binary") return "bytes";
  if (element.kind === "float32" || element.kind === "float64") return "float";
  if (element.kind === "bool" || element.kind === "int64" || element.kind === "uint64" || isNumberKind(element.kind)) return "int64";
  throw new DataError(
    `Cannot call writeTfrecords: column ${JSON.stringify(name)} has the type ${typeName(type)}, and examples have bytes, floats and whole numbers`,
    {
      hint: `drop it, or cast it: withColumn(${JSON.stringify(name)}, col(${JSON.stringify(name)}).cast("string"))`,
    },
  );
}

function elementOfTensors(type: DataType & { kind: "struct" }): DataType {
  const elements = type.fields[0]?.type;
  if (elements?.kind !== "list") throw new TypeError("a column of tensors has no list of elements");
  return elements.of;
}

function writeVarint(sink: ByteSink, value: number): void {
  let left = value;
  for (; left > 0x7f; left >>>= 7) sink.byte((left & 0x7f) | 0x80);
  sink.byte(left);
}

function writeVarint64(sink: ByteSink, value: bigint): void {
  let left = value;
  for (; left > 0x7fn; left >>= 7n) sink.byte(Number(left & 0x7fn) | 0x80);
  sink.byte(Number(left));
}

function varint64Bytes(value: bigint): number {
  let bytes = 1;
  for (let left = value >> 7n; left !== 0n; left >>= 7n) bytes += 1;
  return bytes;
}
