/**
 * The rows of a table by their keys, for rows of other tables to look up: one side of a join.
 *
 * Rows of equal keys are one group, however many there are, and lie together in `rows`. So a key that most rows have makes no other one slower.
 */
import { isNull, type Vector } from "../blocks/vector.ts";
import { groupRows, hashRows, NO_GROUP, rehashed, rowEquality } from "./hash.ts";
import { rowsByPart } from "./partition.ts";

export class KeyTable {
  readonly groupCount: number;
  /** The rows of the first group, then those of the second, and so on, each in the order that they have. */
  readonly rows: Uint32Array;
  /** Where each group begins in `rows`, and the end behind the last. */
  readonly starts: Uint32Array;
  readonly #vectors: readonly Vector[];
  readonly #hashes: Uint32Array;
  readonly #firstRows: Uint32Array;
  readonly #table: Uint32Array;

  /** @param vectors - the key columns */
  constructor(vectors: readonly Vector[], rowCount: number) {
    const { ids, firstRows } = groupRows(vectors, rowCount);
    const { rows, starts } = rowsByPart(ids, firstRows.length);
    this.groupCount = firstRows.length;
    this.rows = rows;
    this.starts = starts;
    this.#vectors = vectors;
    this.#hashes = hashRows(vectors, rowCount);
    this.#firstRows = firstRows;
    this.#table = rehashed(2 ** Math.ceil(Math.log2(2 * firstRows.length + 2)), firstRows, firstRows.length, this.#hashes);
  }

  /**
   * The group of the same keys for each of other rows; `NO_GROUP` where there is none, and where a key is null.
   *
   * @param vectors - their key columns, of the same types
   */
  find(vectors: readonly Vector[], rowCount: number): Uint32Array {
    const hashes = hashRows(vectors, rowCount);
    const isEqual = rowEquality(vectors, this.#vectors);
    const withNulls = vectors.filter(({ nullCount }) => nullCount > 0);
    const table = this.#table;
    const mask = table.length - 1;
    const groups = new Uint32Array(rowCount).fill(NO_GROUP);
    for (let row = 0; row < rowCount; row += 1) {
      if (withNulls.some((vector) => isNull(vector, row))) continue;
      const hash = hashes[row] as number;
      for (let slot = hash & mask; table[slot] !== NO_GROUP; slot = (slot + 1) & mask) {
        const group = table[slot] as number;
        const first = this.#firstRows[group] as number;
        if (this.#hashes[first] !== hash || !isEqual(row, first) || this.#hasNull(first)) continue;
        groups[row] = group;
        break;
      }
    }
    return groups;
  }

  #hasNull(row: number): boolean {
    return this.#vectors.some((vector) => vector.nullCount > 0 && isNull(vector, row));
  }
}
