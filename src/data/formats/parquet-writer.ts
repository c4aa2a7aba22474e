/** Writes blocks as Parquet: through Arrow's stream and parquet-wasm, which is loaded by the first write. One row group a file of up to 1,048,576 rows, then more. */
import { arrowOfBlocks } from "../arrow/to-arrow.ts";
import type { Block } from "../blocks/block.ts";
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
  return writeParquet(Table.fromIPCStream(arrowOfBlocks(blocks)), properties);
}
