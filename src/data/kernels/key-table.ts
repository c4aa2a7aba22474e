/**
 * The rows of a table by their keys, for rows of other tables to look up: one side of a join.
 *
 * Rows of equal keys are one group, however many there are, and lie together in `rows`. So a key that most rows have makes no other one slower.
 */
import { isNull, type Vector } from "../blocks/vector.ts";
import { equalityWithNulls, GroupTable, keyHashes, NO_GROUP, type RowEquality, rowEquality } from "./hash.ts";
import { rowsByPart } from "./partition.ts";

export class KeyTable {
  readonly groupCount: number;
  /** The rows of the first group, then those of the second, and so on, each in the order that they have. */
  readonly rows: Uint32Array;
  /** Where each group begins in `rows`, and the end behind the last. */
  readonly starts: Uint32Array;
  readonly #vectors: readonly Vector[];
  readonly #groups = new GroupTable();
  /** The hashes tell keys apart. */
  readonly #isExact: boolean;

  /** @param vectors - the key columns */
  constructor(vectors: readonly Vector[], rowCount: number) {
    const keys = keyHashes(vectors, rowCount);
    const ids = this.#groups.addAll(keys, equalityWithNulls(vectors));
    const { rows, starts } = rowsByPart(ids, this.#groups.count);
    this.groupCount = this.#groups.count;
    this.rows = rows;
    this.starts = starts;
    this.#vectors = vectors;
    this.#isExact = keys.isExact;
  }

  /**
   * The group of the same keys for each of other rows; `NO_GROUP` where there is none, and where a key is null.
   *
   * @param vectors - their key columns, of the same types
   */
  find(vectors: readonly Vector[], rowCount: number): Uint32Array {
    const { hashes, isExact } = keyHashes(vectors, rowCount);
    const isEqual = rowEquality(vectors, this.#vectors);
    const own = this.#vectors.filter(({ nullCount }) => nullCount > 0);
    const isValue: RowEquality = own.length === 0 ? isEqual : (row, first) => isEqual(row, first) && !own.some((key) => isNull(key, first));
    const groups = this.#groups.find({ hashes, isExact: isExact && this.#isExact }, isValue);
    for (const key of vectors)
      if (key.nullCount > 0) for (let row = 0; row < rowCount; row += 1) if (isNull(key, row)) groups[row] = NO_GROUP;
    return groups;
  }
}
