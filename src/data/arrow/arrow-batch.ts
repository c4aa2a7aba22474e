/**
 * Arrow tables in users' functions, as input and as output.
 *
 * A function receives the core's `ArrowData`, a stream of Arrow's interchange format. Every library of any version reads it, and in Python it is a
 * `pyarrow.Table`. A function may return `ArrowData`, the bytes of a stream or a file, or a table of flechette.
 */
import { tableToIPC, type Table } from "@uwdata/flechette";
import { messageOf } from "../../core/internal.ts";
import { ArrowData } from "../../core/index.ts";
import { alignBlock, type Block, concatBlocks, EMPTY_BLOCK, schemaOf, unifySchemas } from "../blocks/block.ts";
import { asBigint, isBeyondNumbers } from "../blocks/values/safe-integers.ts";
import type { Vector } from "../blocks/vector.ts";
import { DataError } from "../errors.ts";
import { blocksOfArrow } from "./from-arrow.ts";
import { arrowOfBlocks } from "./to-arrow.ts";

/** Accepted Arrow tables: `ArrowData`, the bytes of an Arrow stream or file, or a table of flechette. */
export type ArrowTable =
  | ArrowData
  | Uint8Array
  | {
      readonly schema: { readonly fields: readonly { readonly name: string }[] };
      readonly children: readonly object[];
      readonly names: readonly unknown[];
    };

/** The block as an Arrow table. */
export function arrowOfBlock(block: Block): ArrowData {
  return new ArrowData(arrowOfBlocks([block]));
}

/** Tells whether the value is an Arrow table of ours or of another library. */
export function isArrow(value: unknown): boolean {
  return value instanceof ArrowData || value instanceof Uint8Array || isFlechette(value) || isApacheArrow(value);
}

/** Recognizes a table of flechette by its members, so that another copy of the library serves, too. */
function isFlechette(value: unknown): value is Table {
  const { schema, children, names } = (value ?? {}) as { schema?: { fields?: unknown }; children?: unknown; names?: unknown };
  return typeof value === "object" && Array.isArray(schema?.fields) && Array.isArray(children) && Array.isArray(names);
}

function isApacheArrow(value: unknown): boolean {
  const { schema, batches } = (value ?? {}) as { schema?: { fields?: unknown }; batches?: unknown };
  return typeof value === "object" && Array.isArray(schema?.fields) && Array.isArray(batches);
}

/**
 * The blocks of an Arrow table. Columns of 64-bit whole numbers, and of lists and structs of them, are read as `bigint` where they have one beyond 2^53.
 *
 * @param from - what gave it, for messages
 * @throws DataError for bytes that are none of Arrow's, and for a table of a library that writes its bytes itself
 */
export function blocksOfTable(value: unknown, from: string, { decimal }: { decimal?: "text" | "number" } = {}): Block[] {
  if (isApacheArrow(value))
    throw new DataError(`${from}: a table of apache-arrow is taken as its bytes`, { hint: "give tableToIPC(table) of apache-arrow" });
  const stream = value instanceof ArrowData ? value.stream : isFlechette(value) ? tableToIPC(value, { format: "stream" }) : value;
  let blocks: Block[];
  try {
    blocks = blocksOfArrow(stream as Uint8Array, { decimal });
  } catch (error) {
    if (error instanceof DataError) throw error;
    throw new DataError(`${from}: these bytes are no stream or file of Arrow: ${messageOf(error)}`, { cause: error });
  }
  const wide = new Set(blocks.flatMap((block) => block.names.filter((_, i) => isBeyondNumbers(block.vectors[i] as Vector))));
  if (wide.size === 0) return blocks;
  const widened = ({ names, vectors }: Block): Vector[] =>
    vectors.map((vector, i) => (wide.has(names[i] as string) ? asBigint(vector) : vector));
  return blocks.map((block) => ({ ...block, vectors: widened(block) }));
}

/** The rows of an Arrow table in one block. */
export function blockOfTable(value: unknown, from: string): Block {
  return concatBlocks(blocksOfTable(value, from));
}

/** All blocks of a dataset as one table: their columns are those of all. */
export async function arrowOfAll(stream: AsyncIterable<Block>): Promise<ArrowData> {
  const blocks: Block[] = [];
  for await (const block of stream) blocks.push(block);
  const filled = blocks.filter((block) => block.rowCount > 0);
  const kept = filled.length > 0 ? filled : blocks.slice(0, 1);
  const fields = unifySchemas(kept.map(schemaOf));
  return new ArrowData(arrowOfBlocks(kept.length === 0 ? [EMPTY_BLOCK] : kept.map((block) => alignBlock(block, fields))));
}
