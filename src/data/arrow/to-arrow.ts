/**
 * From blocks to Arrow's interchange format.
 *
 * The bytes are those of the vectors, copied once into the stream; only bitmaps that begin amid a byte are moved. Tensors become fixed-size lists of their elements,
 * row-major, of Arrow's extension type for tensors. What Arrow's types do not say, such as that whole numbers are read as `bigint`, stands in the metadata of the field. The
 * other way is `from-arrow.ts`.
 */
import {
  Batch,
  batchType,
  Column,
  type DataType as ArrowType,
  type DictionaryType,
  Endianness,
  type Field as ArrowField,
  field,
  type IntType,
  Table,
  tableToIPC,
  TimeUnit,
  Type,
  Version,
} from "@uwdata/flechette";
import {
  binary,
  bool,
  dateDay,
  decimal,
  dictionary,
  duration,
  fixedSizeList,
  float32,
  float64,
  int16,
  int32,
  int64,
  int8,
  list,
  nullType,
  struct,
  time,
  timestamp,
  uint16,
  uint32,
  uint64,
  uint8,
  utf8,
} from "@uwdata/flechette";
import { bitmapBytes, orBits } from "../blocks/values/bitmap.ts";
import { type Block, packBlock } from "../blocks/block.ts";
import { type DataType, elementsOf, numberType } from "../blocks/data-type.ts";
import type { Codes } from "../blocks/values/dictionary-codes.ts";
import { concatVectors, dictionaryOf, sliceVector, type Vector } from "../blocks/vector.ts";

/** The blocks as one stream, a record batch each. All have the same columns and types. */
export function arrowOfBlocks(blocks: readonly Block[]): Uint8Array {
  const packed = withOneDictionary(blocks.map(packBlock));
  const first = packed[0] as Block;
  const fields = first.names.map((name, i) => {
    const { type, values } = first.vectors[i] as Vector;
    const own = type.kind === "dictionary" ? dictionary(arrowType(type.of), indexType(values as Codes)) : arrowType(type);
    return field(name, own, true, metadataOf(type));
  });
  const hasBuffers = fields.some(({ type }) => type.typeId !== Type.Null);
  const columns = fields.map(({ type }, i) => {
    // A null column has no buffers. Without any the stream would lack their list, which decoders refuse, so the first column adds an empty one, as of a struct without fields.
    const written = hasBuffers || i > 0 ? type : struct([]);
    const batches = packed.map((block) => batchOf(block.vectors[i] as Vector, written));
    return new Column(batches, written);
  });
  const schema = { version: Version.V5, endianness: Endianness.Little, fields, metadata: null };
  return tableToIPC(new Table(schema, columns), { format: "stream" }) as Uint8Array;
}

/** The blocks with one dictionary for each column that has any: a stream tells it once. */
function withOneDictionary(blocks: readonly Block[]): readonly Block[] {
  const [first] = blocks as readonly [Block];
  const columns = first.vectors.flatMap(({ type }, i) => (type.kind === "dictionary" ? [i] : []));
  if (blocks.length === 1 || columns.length === 0) return blocks;
  const vectors = blocks.map((block) => [...block.vectors]);
  for (const column of columns) {
    const whole = concatVectors(blocks.map((block) => block.vectors[column] as Vector));
    let start = 0;
    for (const own of vectors) {
      const end = start + (own[column] as Vector).length;
      own[column] = sliceVector(whole, start, end);
      start = end;
    }
  }
  return blocks.map((block, i) => ({ ...block, vectors: vectors[i] as Vector[] }));
}

function indexType({ BYTES_PER_ELEMENT: width }: Codes): IntType {
  return width === 1 ? int8() : width === 2 ? int16() : int32();
}

/** The names of Arrow's extension types for arrays, and the keys of metadata that they stand under. */
export const EXTENSION = {
  name: "ARROW:extension:name",
  metadata: "ARROW:extension:metadata",
  fixedTensor: "arrow.fixed_shape_tensor",
  variableTensor: "arrow.variable_shape_tensor",
} as const;

/** The key of metadata under which a field says how its values are read, as the types of columns do by `as`. */
export const READ_AS = "shoal:as";

function arrowField(name: string, type: DataType): ArrowField {
  return field(name, arrowType(type), true, metadataOf(type));
}

function metadataOf(type: DataType): Map<string, string> | null {
  if (type.kind === "tensor")
    return new Map([
      [EXTENSION.name, EXTENSION.fixedTensor],
      [EXTENSION.metadata, JSON.stringify({ shape: type.shape })],
    ]);
  if (type.kind === "decimal") return type.as === "number" ? new Map([[READ_AS, "number"]]) : null;
  if (!("as" in type) || type.as === undefined || type.as === "number" || type.as === "array") return null;
  if (type.as === "tensor")
    return new Map([
      [EXTENSION.name, EXTENSION.variableTensor],
      [EXTENSION.metadata, "{}"],
    ]);
  return new Map([[READ_AS, type.as]]);
}

const NUMBER_TYPES = { int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64 } as const;
const UNITS = { s: TimeUnit.SECOND, ms: TimeUnit.MILLISECOND, us: TimeUnit.MICROSECOND, ns: TimeUnit.NANOSECOND } as const;

function arrowType(type: DataType): ArrowType {
  switch (type.kind) {
    case "null":
      return nullType();
    case "bool":
      return bool();
    case "string":
      return utf8();
    case "binary":
      return binary();
    case "date":
      return dateDay();
    case "decimal":
      return decimal(type.precision, type.scale, type.bits);
    case "timestamp":
      return timestamp(UNITS[type.unit], type.timeZone ?? null);
    case "time32":
    case "time64":
      return time(UNITS[type.unit]);
    case "duration":
      return duration(UNITS[type.unit]);
    case "list":
      return list(arrowField("item", type.of));
    case "struct":
      // The parts of Arrow's tensor are of plain types.
      return struct(type.fields.map(({ name, type: own }) => (type.as === "tensor" ? field(name, arrowType(own)) : arrowField(name, own))));
    case "dictionary":
      return dictionary(arrowType(type.of));
    case "tensor":
      return fixedSizeList(field("item", NUMBER_TYPES[type.of.kind]()), elementsOf(type.shape));
    default:
      return NUMBER_TYPES[type.kind]();
  }
}

/** A batch of flechette over the vector's memory. */
function batchOf(vector: Vector, type: ArrowType): Batch<unknown> {
  const { length, nullCount, validity, values, offsets } = vector;
  const isBool = vector.type.kind === "bool";
  const BatchOfType = batchType(type) as unknown as new (options: object) => Batch<unknown>;
  const batch = new BatchOfType({
    type,
    length,
    nullCount,
    validity: validity === undefined ? new Uint8Array(0) : alignedBits(vector, validity),
    ...(values === undefined ? {} : { values: isBool ? alignedBits(vector, values as Uint8Array) : values }),
    ...(offsets === undefined ? {} : { offsets }),
    ...childrenOf(vector, type),
  });
  if (vector.type.kind !== "dictionary") return batch;
  const { dictionary: wordType } = type as DictionaryType;
  return Object.assign(batch, { dictionary: new Column([batchOf(dictionaryOf(vector), wordType)], wordType) });
}

function childrenOf({ type, children, values, length }: Vector, arrow: ArrowType): { children?: Batch<unknown>[] } {
  const types = (arrow as { children?: readonly { type: ArrowType }[] }).children ?? [];
  if (type.kind === "tensor") {
    const elements: Vector = {
      type: numberType(type.of.kind),
      length: length * elementsOf(type.shape),
      nullCount: 0,
      bitOffset: 0,
      ...(values === undefined ? {} : { values }),
    };
    return { children: [batchOf(elements, (types[0] as { type: ArrowType }).type)] };
  }
  if (children === undefined || type.kind === "dictionary") return {};
  return { children: children.map((child, i) => batchOf(child, (types[i] as { type: ArrowType }).type)) };
}

/** The vector's bits from the beginning of a byte on. */
function alignedBits({ bitOffset, length }: Vector, bits: Uint8Array): Uint8Array {
  if (bitOffset === 0) return bits.subarray(0, bitmapBytes(length));
  const aligned = new Uint8Array(bitmapBytes(length));
  orBits(aligned, 0, bits, bitOffset, length);
  return aligned;
}
