/**
 * One side of a split by the hash of a column. A row's side depends on its value alone, so equal values share a side in every run and order of rows.
 *
 * Equal numbers of different widths have one hash, and null is a value. The hash is mixed once more, because exchanges partition rows by the same hash.
 */
import type { Block } from "../../blocks/block.ts";
import { hashRows, keyVectors } from "../../kernels/hash.ts";
import { hashNumber } from "../../kernels/random.ts";

export interface HashSplitTransform {
  readonly kind: "hashSplit";
  readonly name: string;
  readonly column: string;
  /** The share of all hashes that the test side gets, from 0 to 1. */
  readonly testSize: number;
  readonly isTest: boolean;
}

const SPLIT_SEED = 0x5b117;

/** @throws DataError for a column that does not exist, or whose type has no equality */
export function hashSide(block: Block, { column, testSize, isTest }: HashSplitTransform): Uint32Array {
  const hashes = hashRows(keyVectors(block, [column], "split by"), block.rowCount);
  const bound = testSize * 2 ** 32;
  const rows = new Uint32Array(block.rowCount);
  let count = 0;
  for (let row = 0; row < rows.length; row += 1) if (hashNumber(SPLIT_SEED, hashes[row] as number) < bound === isTest) rows[count++] = row;
  return rows.subarray(0, count);
}
