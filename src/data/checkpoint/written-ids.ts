/**
 * The ids of the rows that one task writes, as a file of Arrow beside the record.
 *
 * The task writes the file before the driver puts the task's rows in place, and a run that resumes reads it. Ids are texts or int64 there for all
 * widths of numbers, so that a later run finds them under another width.
 */
import { FileWriter } from "../../storage/file-writer.ts";
import { joinPath } from "../../storage/paths.ts";
import { readWhole } from "../../storage/read-file.ts";
import { blocksOfArrow } from "../arrow/from-arrow.ts";
import { arrowOfBlocks } from "../arrow/to-arrow.ts";
import { type Block, columnReader, concatBlocks, vectorOf } from "../blocks/block.ts";
import { INT64, isNumberKind, typeName } from "../blocks/data-type.ts";
import { decodeVector, isNull, type Vector, widenVector } from "../blocks/vector.ts";
import { describeValue } from "../../core/internal.ts";
import { DataError } from "../errors.ts";
import { groupRows } from "../kernels/hash.ts";

/** The place for the ids of a task. */
export interface IdsPlace {
  readonly folder: string;
  readonly idColumn: string;
}

export class WrittenIds {
  readonly #place: IdsPlace;
  readonly #blocks: Block[] = [];

  constructor(place: IdsPlace) {
    this.#place = place;
  }

  /** @throws DataError for rows without the column, of another type or with nulls */
  add(block: Block): void {
    const { idColumn } = this.#place;
    const vector = vectorOf(block, idColumn);
    if (vector === undefined) throw withoutIds(idColumn, block);
    const ids = idsIn(idColumn, vector);
    if (ids.nullCount > 0)
      throw new DataError(`Cannot record ids: each row needs one in column ${JSON.stringify(idColumn)}: received null`, {
        hint: "give each row an id, or filter such rows out before",
      });
    this.#blocks.push({ rowCount: block.rowCount, names: [idColumn], vectors: [ids] });
  }

  /** Writes the file. @returns its name. @throws DataError where two rows have one id */
  async write(): Promise<string> {
    const { folder, idColumn } = this.#place;
    const all = concatBlocks(this.#blocks);
    const vector = all.vectors[0] as Vector;
    const { ids, firstRows } = groupRows([vector], all.rowCount);
    if (firstRows.length < all.rowCount) {
      const row = ids.findIndex((group, i) => firstRows[group] !== i);
      throw sharedId(idColumn, columnReader(idColumn, vector)(row));
    }
    const name = `ids-${crypto.randomUUID()}.arrow`;
    const writer = await FileWriter.open(joinPath(folder, name));
    try {
      await writer.write(arrowOfBlocks([all]));
      await writer.commit();
    } finally {
      await writer.abort();
    }
    return name;
  }
}

/**
 * Ids in one of two types: texts, and whole numbers of any width as int64. Numbers of JavaScript are floats, which are ids if they are whole.
 *
 * @throws DataError for other values
 */
export function idsIn(idColumn: string, vector: Vector): Vector {
  const ids = decodeVector(vector);
  const { kind } = ids.type;
  if (kind === "string" || kind === "int64" || kind === "null") return ids;
  if (kind === "uint64") return whole(idColumn, ids, (row) => (ids.values as BigUint64Array)[row] as bigint);
  if (kind === "float64" || kind === "float32")
    return whole(idColumn, ids, (row) => (ids.values as Float64Array | Float32Array)[row] as number);
  if (isNumberKind(kind)) return widenVector(ids, INT64);
  throw unfit(idColumn, typeName(ids.type));
}

function whole(idColumn: string, ids: Vector, read: (row: number) => number | bigint): Vector {
  const values = new BigInt64Array(ids.length);
  for (let row = 0; row < ids.length; row += 1) {
    if (isNull(ids, row)) continue;
    const value = read(row);
    if (typeof value === "bigint" ? value >= 2n ** 63n : !Number.isSafeInteger(value)) throw unfit(idColumn, String(value));
    values[row] = BigInt(value);
  }
  return { ...ids, type: INT64, values };
}

function unfit(idColumn: string, received: string): DataError {
  return new DataError(`Cannot record ids: column ${JSON.stringify(idColumn)} has to be of whole numbers or texts: received ${received}`, {
    hint: 'cast it before: cast("int64") or cast("string")',
  });
}

export function sharedId(idColumn: string, id: unknown): DataError {
  return new DataError(`Cannot record ids: two rows share one in column ${JSON.stringify(idColumn)}: received ${describeValue(id)}`, {
    hint: "a row with a recorded id is left out when a run resumes, so each row needs its own",
  });
}

export function withoutIds(idColumn: string, block: Block): DataError {
  return new DataError(`Cannot record ids: there is no column ${JSON.stringify(idColumn)}: received ${block.names.join(", ")}`, {
    hint: "the source and the written rows both need the column of the option checkpoint",
  });
}

export async function readIds(folder: string, name: string): Promise<Block> {
  return concatBlocks(blocksOfArrow(await readWhole(joinPath(folder, name))));
}
