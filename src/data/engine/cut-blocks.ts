/**
 * Cuts a block between two tasks: each task gets the whole block and the range of its own rows.
 *
 * The input queue cuts a block where a task's rows end. Nothing is copied: both parts name the same block, which is released once both parts are.
 */
import type { BlockRef } from "./operator.ts";

/** Rows of a block that follow each other, from a row to before another one. */
type RowRange = readonly [from: number, to: number];

/** A part of a block. Its rows and bytes are counted as those of a block are. */
interface CutBlock extends BlockRef {
  readonly range: RowRange;
}

/** The rows of a block, or of a part of one. */
export function rangeOf(block: BlockRef | CutBlock): RowRange {
  return "range" in block ? block.range : [0, block.rowCount];
}

/** The first rows of a block, and the others. Both are to be released in place of the block. @param rows - of the first part: some and not all */
export function cutBlock(block: BlockRef, rows: number): [BlockRef, BlockRef] {
  const [from, to] = rangeOf(block);
  let users = 2;
  const release = (): void => {
    users -= 1;
    if (users === 0) block.release();
  };
  const headBytes = Math.round((block.sizeBytes * rows) / block.rowCount);
  const part = (range: RowRange, sizeBytes: number): CutBlock => ({ ...block, range, rowCount: range[1] - range[0], sizeBytes, release });
  return [part([from, from + rows], headBytes), part([from + rows, to], block.sizeBytes - headBytes)];
}
