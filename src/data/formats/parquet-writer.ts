/**
 * Writes blocks as Parquet: through Arrow's stream and parquet-wasm, which is loaded by the first write. One row group a file of up to 1,048,576 rows, then more.
 *
 * Parquet has no times of day in seconds, so they are written in milliseconds, as pyarrow does; other readers would get plain numbers.
 */
import { arrowOfBlocks } from "../arrow/to-arrow.ts";
import type { Block } from "../blocks/block.ts";
import { type DataType, timeType } from "../blocks/data-type.ts";
import type { Vector } from "../blocks/vector.ts";
import { DataError } from "../errors.ts";

export const PARQUET_CODECS = ["snappy", "zstd", "gzip", "brotli", "lz4", "none"] as const;
export type ParquetCodec = (typeof PARQUET_CODECS)[number];

/** The bytes of a file with the rows of all blocks, which have the same columns. */
export async function parquetFile(blocks: readonly Block[], codec: ParquetCodec): Promise<Uint8Array> {
  const first = blocks[0];
  if (first === undefined || first.names.length === 0)
    throw new DataError("Cannot write a Parquet file without columns", {
      hint: "a dataset without rows has none: see what gives its rows",
    });
  const { Compression, Table, writeParquet, WriterPropertiesBuilder } = await import("parquet-wasm");
  const compression = {
    snappy: Compression.SNAPPY,
    zstd: Compression.ZSTD,
    gzip: Compression.GZIP,
    brotli: Compression.BROTLI,
    lz4: Compression.LZ4_RAW,
    none: Compression.UNCOMPRESSED,
  }[codec];
  const properties = new WriterPropertiesBuilder().setCompression(compression).setCreatedBy("shoal").build();
  const written = blocks.map((block) => ({ ...block, vectors: block.vectors.map(withoutSeconds) }));
  return writeParquet(Table.fromIPCStream(arrowOfBlocks(written)), properties);
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
