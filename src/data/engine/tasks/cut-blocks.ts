/**
 * Cuts a block between tasks: each task gets the whole block and a range of rows.
 *
 * The input queue cuts a block where a task's rows end, and operators cut the blocks of a call that ended its process. Nothing is copied: all parts name the same block,
 * which is released once all parts are.
 */
import type { RowRange } from "../../blocks/block.ts";
import { PIECES_AFTER_DEATH } from "../../limits.ts";
import type { BlockRef } from "../operators/operator.ts";

/** A part of a block. Its rows and bytes are counted as those of a block are. */
interface CutBlock extends BlockRef {
  readonly range: RowRange;
}

/** Whether a block stands for a range of rows. */
export function isCut(block: BlockRef): boolean {
  return "range" in block;
}

/**
 * Cuts a block into pieces of whole units, as equal as they can be; undefined where it has one unit alone. The pieces are to be released in place of the block.
 *
 * @param unitRows - rows that stay together; the last unit may have fewer
 */
export function cutIntoPieces(
  block: BlockRef,
  { unitRows, pieces }: { readonly unitRows: number; readonly pieces: number },
): BlockRef[] | undefined {
  const units = Math.ceil(block.rowCount / unitRows);
  if (units < 2) return undefined;
  const rows = Math.ceil(units / pieces) * unitRows;
  const parts: BlockRef[] = [];
  let rest = block;
  while (rest.rowCount > rows) {
    const [head, tail] = cutBlock(rest, rows);
    parts.push(head);
    rest = tail;
  }
  return [...parts, rest];
}

/** The parts of inputs that ended a process, so that the next one to die has fewer rows: blocks, then rows; undefined where these are alone. */
export function partsAfterDeath(inputs: readonly BlockRef[], unitRows: number): readonly BlockRef[] | undefined {
  const [only] = inputs;
  if (inputs.length > 1) return inputs;
  return only && cutIntoPieces(only, { unitRows, pieces: PIECES_AFTER_DEATH });
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
  const part = (range: RowRange, sizeBytes: number): CutBlock => {
    const origin = originOfPart(block, range[0] - from, range[1] - from);
    return { ...block, ...(origin && { origin }), range, rowCount: range[1] - range[0], sizeBytes, release };
  };
  return [part([from, from + rows], headBytes), part([from + rows, to], block.sizeBytes - headBytes)];
}

/** Where the rows from one to before another came from. Rows that steps have left out or added are as many as their block says. */
function originOfPart({ origin, rowCount }: BlockRef, from: number, to: number): BlockRef["origin"] {
  if (origin === undefined || origin.lastRow - origin.firstRow + 1 !== rowCount) return origin;
  return { ...origin, firstRow: origin.firstRow + from, lastRow: origin.firstRow + to - 1 };
}

/** Names the rows of blocks, by their file where that is known. */
export function rowsText(blocks: readonly BlockRef[]): string {
  const [first] = blocks;
  const { file, firstRow, lastRow } = (blocks.length === 1 && first?.origin) || {};
  const count = blocks.reduce((sum, { rowCount }) => sum + rowCount, 0);
  if (file === undefined) return count === 1 ? "1 row" : `${count} rows`;
  return firstRow === lastRow ? `row ${firstRow} of ${file}` : `rows ${firstRow} to ${lastRow} of ${file}`;
}
