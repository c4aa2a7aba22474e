/**
 * The step that fetches the files which a column names, as a column of bytes. Runs in workers.
 *
 * Some files are fetched ahead of the row whose turn it is.
 * Rows go on as soon as their files have a block's bytes: a block of texts may name more bytes than a memory has.
 */
import { StorageError } from "../../../storage/errors.ts";
import { REMOTE_REQUESTS_AT_A_TIME } from "../../../storage/limits.ts";
import { readWhole } from "../../../storage/read-file.ts";
import { type Block, columnReader, sliceBlock, vectorOf } from "../../blocks/block.ts";
import { BINARY, typeName, valueType } from "../../blocks/data-type.ts";
import { keepOrigin, placeOf } from "../../blocks/memory/origin.ts";
import type { Vector } from "../../blocks/vector.ts";
import { buildVector } from "../../blocks/vector-builder.ts";
import { DataError } from "../../errors.ts";
import { withColumns } from "../../expressions/evaluate.ts";
import { expressionText, type ExpressionNode } from "../../expressions/nodes.ts";
import { READ_BLOCK_BYTES } from "../../limits.ts";

export interface DownloadTransform {
  readonly kind: "download";
  readonly name: string;
  readonly column: string;
  /** The paths and URLs. */
  readonly expression: ExpressionNode;
  /** Whether an unreadable file throws or becomes null. */
  readonly onError: "throw" | "null";
}

/** Reads the files that a column names. @throws DataError for a value that is not text; StorageError for a file that cannot be read */
export async function* downloadColumn(blocks: AsyncIterable<Block>, transform: DownloadTransform): AsyncGenerator<Block, void, undefined> {
  for await (const block of blocks) {
    // A block without rows may not know its columns.
    if (block.rowCount === 0 && block.names.length === 0) yield block;
    else yield* downloadBlock(block, transform);
  }
}

async function* downloadBlock(block: Block, transform: DownloadTransform): AsyncGenerator<Block, void, undefined> {
  const { column, expression, name } = transform;
  const named = withColumns(block, [{ name: column, node: expression }], name);
  const paths = vectorOf(named, column) as Vector;
  if (valueType(paths.type).kind !== "string" && paths.type.kind !== "null")
    throw new DataError(`Cannot run ${name}: a path or a URL is a text: ${expressionText(expression)} is ${typeName(paths.type)}`);
  const read = columnReader(column, paths);
  const ahead: Promise<Uint8Array | null>[] = [];
  const { rowCount } = block;
  const part = (values: readonly (Uint8Array | null)[], end: number): Block => {
    const start = end - values.length;
    const slice = sliceBlock(named, start, end);
    const made = { ...slice, vectors: slice.vectors.with(slice.names.indexOf(column), buildVector(values, BINARY)) };
    return keepOrigin(made, block, (row) => [start + row, start + row]);
  };
  let [asked, bytes] = [0, 0];
  let values: (Uint8Array | null)[] = [];
  for (let row = 0; row < rowCount; row += 1) {
    for (; asked < Math.min(rowCount, row + REMOTE_REQUESTS_AT_A_TIME); asked += 1) {
      const fetched = fetchFile(read(asked) as string | null, { block, row: asked }, transform);
      // A failure is thrown in the file's turn.
      fetched.catch(() => {});
      ahead.push(fetched);
    }
    const value = (await ahead.shift()) as Uint8Array | null;
    values.push(value);
    bytes += value?.length ?? 0;
    if (bytes < READ_BLOCK_BYTES) continue;
    yield part(values, row + 1);
    [values, bytes] = [[], 0];
  }
  if (values.length > 0 || rowCount === 0) yield part(values, rowCount);
}

async function fetchFile(
  path: string | null,
  { block, row }: { readonly block: Block; readonly row: number },
  { name, onError }: DownloadTransform,
): Promise<Uint8Array | null> {
  if (path === null) return null;
  try {
    if (path === "") throw new StorageError("a path or a URL has a character at least");
    return await readWhole(path);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    if (onError === "null") return null;
    const { text, details } = placeOf(block, [row, row]);
    throw new StorageError(`${name} at ${text}: ${error.message}`, {
      cause: error,
      details,
      hint: error.hint ?? 'onError: "null" takes null in its place',
    });
  }
}
