/** The rows of a dataset as a stream of bytes, as web servers and files take them. */
import { arrowStreamOf } from "../arrow/arrow-stream.ts";
import type { Block } from "../blocks/block.ts";
import { CsvTable } from "../formats/csv/csv-writer.ts";
import { jsonLines } from "../formats/json/json-writer.ts";

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

async function* csvOf(blocks: AsyncIterable<Block>): AsyncGenerator<Uint8Array, void, undefined> {
  const table = new CsvTable({ header: true });
  let [isEmpty, columns] = [true, undefined as Block | undefined];
  for await (const block of blocks) {
    if (block.rowCount === 0) {
      if (block.names.length > 0) columns ??= block;
      continue;
    }
    isEmpty = false;
    yield table.add(block);
  }
  // A dataset without rows has its header.
  if (isEmpty && columns !== undefined) yield table.add(columns);
}
