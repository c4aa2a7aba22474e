/**
 * Blocks as one stream of Arrow's interchange format, a chunk a block, as they come.
 *
 * Each block is first written as a separate stream. Then its end is cut off, and its schema, too, except the first block's. A message of the format is
 * 0xffffffff, the length of its metadata, the metadata, the body. A schema has no body, and the end is a message of length 0
 * (https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format).
 * Columns with dictionaries are written as plain values, because blocks have different dictionaries and some readers accept only one in a stream.
 */
import { alignBlock, type Block, decodeBlock, EMPTY_BLOCK, schemaOf, unifySchemas } from "../blocks/block.ts";
import { type Field, sameType } from "../blocks/data-type.ts";
import { DataError } from "../errors.ts";
import { arrowOfBlocks } from "./to-arrow.ts";

/** Bytes of a message before its metadata, and of the end. */
const PREFIX_BYTES = 8;

export async function* arrowStreamOf(blocks: AsyncIterable<Block>): AsyncGenerator<Uint8Array, void, undefined> {
  let fields: readonly Field[] | undefined;
  let end: Uint8Array | undefined;
  let columns: Block = EMPTY_BLOCK;
  for await (const block of blocks) {
    // A block of no rows may know no columns.
    if (block.rowCount === 0) {
      if (columns.names.length === 0) columns = block;
      continue;
    }
    const plain = decodeBlock(block);
    fields ??= schemaOf(plain);
    const stream = arrowOfBlocks([withColumns(plain, fields)]);
    const start = end === undefined ? 0 : PREFIX_BYTES + new DataView(stream.buffer, stream.byteOffset).getUint32(4, true);
    end = stream.subarray(stream.length - PREFIX_BYTES);
    yield stream.subarray(start, stream.length - PREFIX_BYTES);
  }
  yield end ?? arrowOfBlocks([decodeBlock(columns)]);
}

/** The block with the columns of the first one, which the stream has told already. */
function withColumns(block: Block, fields: readonly Field[]): Block {
  const unified = unifySchemas([fields, schemaOf(block)]);
  const odd = unified.find(({ name, type }, i) => fields[i]?.name !== name || !sameType(fields[i].type, type));
  if (odd !== undefined)
    throw new DataError(
      `Cannot call toReadableStream: column ${JSON.stringify(odd.name)} is not in the first rows, or of another type there`,
      {
        hint: "Arrow tells the columns once, before the rows: make them the same in all rows",
      },
    );
  return alignBlock(block, fields);
}
