/** The numbers of rows among all, as a hidden column for a step that asks for them. */
import type { Block } from "../../blocks/block.ts";
import { FLOAT64 } from "../../blocks/data-type.ts";
import { ROW_NUMBER } from "../../expressions/nodes.ts";
import { withoutColumn } from "../exchange/bins.ts";

/** @param firstRow - the number of the first row of the blocks */
export async function* withRowNumbers(blocks: readonly Block[], firstRow: number): AsyncGenerator<Block, void, undefined> {
  let number = firstRow;
  for (const block of blocks) {
    const { rowCount, names, vectors } = block;
    const values = new Float64Array(rowCount);
    for (let row = 0; row < rowCount; row += 1) values[row] = number++;
    const numbers = { type: FLOAT64, length: rowCount, nullCount: 0, bitOffset: 0, values };
    // A block of no rows may know no columns, and steps let it pass.
    yield rowCount === 0 && names.length === 0 ? block : { rowCount, names: [...names, ROW_NUMBER], vectors: [...vectors, numbers] };
  }
}

export async function* withoutRowNumbers(blocks: AsyncIterable<Block>): AsyncGenerator<Block, void, undefined> {
  for await (const block of blocks) yield withoutColumn(block, ROW_NUMBER);
}
