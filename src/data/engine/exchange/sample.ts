/**
 * A random sample of the rows, or its complement. Membership depends on the seed and the row's number alone. So the sample is the same for all block sizes, for
 * all workers, and when a task runs again.
 */
import { type Block, takeBlock } from "../../blocks/block.ts";
import { hashNumber } from "../../kernels/random.ts";

export interface SampleTransform {
  readonly kind: "sample";
  readonly name: string;
  readonly seed: number;
  /** From 0 to 1. */
  readonly fraction: number;
  /** Gives the rows that are not in the sample. Default: those that are. */
  readonly isRest?: boolean;
}

/** @param firstRow - the number of the first row of the blocks */
export async function* sampleRows(
  blocks: readonly Block[],
  { seed, fraction, isRest = false }: SampleTransform,
  firstRow: number,
): AsyncGenerator<Block, void, undefined> {
  const bound = fraction * 2 ** 32;
  let number = firstRow;
  for (const block of blocks) {
    const rows = new Uint32Array(block.rowCount);
    let count = 0;
    for (let row = 0; row < block.rowCount; row += 1, number += 1) if (hashNumber(seed, number) < bound !== isRest) rows[count++] = row;
    yield takeBlock(block, rows.subarray(0, count));
  }
}
