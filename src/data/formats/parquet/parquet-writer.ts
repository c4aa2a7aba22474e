/**
 * Writes blocks as Parquet: through Arrow's stream and parquet-wasm, which is loaded by the first write. One row group a file of up to 1,048,576 rows, then more.
 *
 * Parquet has no times of day in seconds, so they are written in milliseconds, as pyarrow does; other readers would get plain numbers.
 */
import { arrowOfBlocks } from "../../arrow/to-arrow.ts";
import type { Block } from "../../blocks/block.ts";
import { type DataType, timeType } from "../../blocks/data-type.ts";
import { sliceVector, type Vector } from "../../blocks/vector.ts";
import { DataError } from "../../errors.ts";
import { groupRows, isKey } from "../../kernels/hash.ts";
import { parquetWasm } from "./parquet-wasm.ts";

export const PARQUET_CODECS = ["snappy", "zstd", "gzip", "brotli", "lz4", "none"] as const;
export type ParquetCodec = (typeof PARQUET_CODECS)[number];

/** The bytes of a file with the rows of all blocks, which have the same columns. */
export async function parquetFile(blocks: readonly Block[], codec: ParquetCodec): Promise<Uint8Array> {
  const first = blocks[0];
  if (first === undefined || first.names.length === 0)
    throw new DataError("Cannot write a Parquet file without columns", {
      hint: "a dataset without rows has none: see what gives its rows",
    });
  const empty = first.names.find((_, i) => hasEmptyStruct((first.vectors[i] as Vector).type));
  if (empty !== undefined)
    throw new DataError(`Cannot write column ${JSON.stringify(empty)} as Parquet: it has objects without a part, which Parquet has not`, {
      hint: "leave the column out (dropColumns), or give its objects a part",
    });
  const { Compression, Table, writeParquet, WriterPropertiesBuilder } = await parquetWasm();
  const compression = {
    snappy: Compression.SNAPPY,
    zstd: Compression.ZSTD,
    gzip: Compression.GZIP,
    brotli: Compression.BROTLI,
    lz4: Compression.LZ4_RAW,
    none: Compression.UNCOMPRESSED,
  }[codec];
  let properties = new WriterPropertiesBuilder().setCompression(compression).setCreatedBy("shoal");
  for (const column of columnsOfManyValues(first)) properties = properties.setColumnDictionaryEnabled(column, false);
  const written = blocks.map((block) => ({ ...block, vectors: block.vectors.map(withoutSeconds) }));
  return writeParquet(Table.fromIPCStream(arrowOfBlocks(written)), properties.build());
}

function hasEmptyStruct(type: DataType): boolean {
  if (type.kind === "list") return hasEmptyStruct(type.of);
  return type.kind === "struct" && (type.fields.length === 0 || type.fields.some((field) => hasEmptyStruct(field.type)));
}

/** Rows that show whether a column has about as many values as rows, and the fewest that do. */
const SAMPLE_ROWS = 8192;
const SAMPLE_ROWS_MIN = 1024;

/** Columns in whose first rows most values come once. The encoder would make a dictionary, find it too large, and write them plainly: three times the work. */
function columnsOfManyValues({ names, vectors, rowCount }: Block): string[] {
  const length = Math.min(rowCount, SAMPLE_ROWS);
  if (length < SAMPLE_ROWS_MIN) return [];
  return names.filter((_, i) => {
    const vector = vectors[i] as Vector;
    return isKey(vector) && groupRows([sliceVector(vector, 0, length)], length).firstRows.length > length / 2;
  });
}

/** The vector with times of day in seconds, also those in its lists and structs, in milliseconds. */
function withoutSeconds(vector: Vector): Vector {
  const { type, values } = vector;
  if (type.kind === "time32" && type.unit === "s")
    return { ...vector, type: timeType("ms"), values: Int32Array.from(values as Int32Array, (seconds) => seconds * 1000) };
  if (type.kind !== "struct" && type.kind !== "list") return vector;
  const children = (vector.children as Vector[]).map(withoutSeconds);
  const types = children.map((child) => child.type);
  if (type.kind === "list") return { ...vector, children, type: { ...type, of: types[0] as DataType } };
  return { ...vector, children, type: { ...type, fields: type.fields.map((field, i) => ({ ...field, type: types[i] as DataType })) } };
}
