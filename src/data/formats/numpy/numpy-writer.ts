/** Writes a column as a `.npy` file: version 1, little-endian, in C's order; the rows are the first dimension. */
import { concatBlocks, type Block, vectorOf } from "../../blocks/block.ts";
import { ndArrayOf } from "../../blocks/values/nd-arrays.ts";
import { DataError } from "../../errors.ts";
import { npyHeader } from "./npy-header.ts";

/**
 * The parts of a file with the column's values of all blocks.
 *
 * @throws DataError for a column that does not exist, whose values are no numbers, or that has nulls
 */
export function npyFile(blocks: readonly Block[], column: string): Uint8Array[] {
  const all = concatBlocks(blocks.map((block) => onlyColumn(block, column)));
  const { dtype, shape, data } = ndArrayOf(all.vectors[0] as Block["vectors"][number], column);
  return [npyHeader(dtype, shape), new Uint8Array(data.buffer, data.byteOffset, data.byteLength)];
}

function onlyColumn(block: Block, column: string): Block {
  const vector = vectorOf(block, column);
  if (vector === undefined)
    throw new DataError(`Cannot call writeNumpy: there is no column ${JSON.stringify(column)}`, {
      hint: `there are ${block.names.join(", ")}`,
    });
  return { rowCount: block.rowCount, names: [column], vectors: [vector] };
}
