/** The rows of a dataset as a stream of bytes, as web servers and files take them. */
import { arrowStreamOf } from "./arrow/arrow-stream.ts";
import { alignBlock, type Block, schemaOf, unifySchemas } from "./blocks/block.ts";
import type { Field } from "./blocks/data-type.ts";
import { DataError } from "./errors.ts";
import { csvChunks } from "./formats/csv-writer.ts";
import { jsonLines } from "./formats/json-writer.ts";

export const STREAM_FORMATS = ["csv", "jsonl", "arrow"] as const;

export type StreamFormat = (typeof STREAM_FORMATS)[number];

const CHUNKS: Readonly<Record<StreamFormat, (blocks: AsyncIterable<Block>) => AsyncIterable<Uint8Array>>> = {
  csv: csvOf,
  jsonl: jsonOf,
  arrow: arrowStreamOf,
};

export function streamOf(blocks: AsyncIterable<Block>, format: StreamFormat): ReadableStream<Uint8Array> {
  return ReadableStream.from<Uint8Array>(CHUNKS[format](blocks));
}

async function* jsonOf(blocks: AsyncIterable<Block>): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const block of blocks) if (block.rowCount > 0) yield jsonLines(block);
}

/** The header is written with the first rows, so a column that comes later has no place. */
async function* csvOf(blocks: AsyncIterable<Block>): AsyncGenerator<Uint8Array, void, undefined> {
  let fields: readonly Field[] | undefined;
  for await (const block of blocks) {
    if (block.rowCount === 0) continue;
    const isFirst = fields === undefined;
    fields ??= schemaOf(block);
    const all = unifySchemas([fields, schemaOf(block)]);
    const late = all[fields.length]?.name;
    if (late !== undefined)
      throw new DataError(`Cannot go on writing CSV: the column ${JSON.stringify(late)} first comes behind the header`, {
        hint: "give each row all columns, with null where it has no value",
      });
    yield csvChunks(alignBlock(block, all), { header: isFirst });
  }
}
