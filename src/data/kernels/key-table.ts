/**
 * The rows of a table by their keys, for rows of other tables to look up: one side of a join.
 *
 * Rows of equal keys are one group, however many there are, and lie together in `rows`. So a key that most rows have makes no other one slower.
 */
import { isNull, type Vector } from "../blocks/vector.ts";
import { DirectTable } from "./direct-table.ts";
import { equalityWithNulls, GroupTable, keyHashes, NO_GROUP, type RowEquality, rowEquality } from "./hash.ts";
import { rowsByPart } from "./partition.ts";

export class KeyTable {
  readonly groupCount: number;
  /** Each group is one row, which has the group's number. */
  readonly isUnique: boolean;
  /** The rows of the first group, then those of the second, and so on, each in the order that they have. */
  readonly rows: Uint32Array;
  /** Where each group begins in `rows`, and the end behind the last. */
  readonly starts: Uint32Array;
  readonly #vectors: readonly Vector[];
  readonly #rowCount: number;
  readonly #direct: DirectTable | undefined;
  #hashed: HashedGroups | undefined;

  /** @param vectors - the key columns */
  constructor(vectors: readonly Vector[], rowCount: number) {
    this.#vectors = vectors;
    this.#rowCount = rowCount;
    this.#direct = vectors.length === 1 ? DirectTable.of(vectors[0] as Vector) : undefined;
    const ids = this.#direct?.ids ?? this.#hashedGroups.ids;
    this.groupCount = this.#direct?.firstRows.length ?? this.#hashedGroups.table.count;
    this.isUnique = this.groupCount === rowCount;
    const { rows, starts } = rowsByPart(ids, this.groupCount);
    this.rows = rows;
    this.starts = starts;
  }

  /**
   * The group of the same keys for each of other rows; `NO_GROUP` where there is none, and where a key is null.
   *
   * @param vectors - their key columns, of the same types
   */
  find(vectors: readonly Vector[], rowCount: number): Uint32Array {
    const groups = this.#direct?.find(vectors[0] as Vector) ?? this.#findHashed(vectors, rowCount);
    for (const key of vectors)
      if (key.nullCount > 0) for (let row = 0; row < rowCount; row += 1) if (isNull(key, row)) groups[row] = NO_GROUP;
    return groups;
  }

  #findHashed(vectors: readonly Vector[], rowCount: number): Uint32Array {
    const { table, isExact } = this.#hashedGroups;
    const keys = keyHashes(vectors, rowCount);
    const isEqual = rowEquality(vectors, this.#vectors);
    const own = this.#vectors.filter(({ nullCount }) => nullCount > 0);
    const isValue: RowEquality = own.length === 0 ? isEqual : (row, first) => isEqual(row, first) && !own.some((key) => isNull(key, first));
    return table.find({ hashes: keys.hashes, isExact: isExact && keys.isExact }, isValue);
  }

  /** Made when it is needed: where keys have places of their own, for rows whose keys are no whole numbers. */
  get #hashedGroups(): HashedGroups {
    if (this.#hashed === undefined) {
      const keys = keyHashes(this.#vectors, this.#rowCount);
      const table = new GroupTable(this.#rowCount);
      const ids = table.addAll(keys, equalityWithNulls(this.#vectors));
      this.#hashed = { table, ids, isExact: keys.isExact };
    }
    return this.#hashed;
  }
}

interface HashedGroups {
  readonly table: GroupTable;
  readonly ids: Uint32Array;
  /** The hashes tell keys apart. */
  readonly isExact: boolean;
}
