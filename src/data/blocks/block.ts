/**
 * A block: some rows of a dataset, with one vector for each column.
 *
 * Tasks hand blocks to each other and never change them. All columns have the same number of rows, and a block without columns still has a number of rows.
 * Blocks of one dataset are made apart. So the code that joins them looks for types that hold all their values, and names a column without such a type.
 */
import { DataError } from "../errors.ts";
import { type Field, FieldConflict, sameType, typeName, unifyFields } from "./data-type.ts";
import { keptVector } from "./memory/kept-vectors.ts";
import {
  concatVectors,
  decodeVector,
  nullVector,
  packVector,
  sliceVector,
  takeVector,
  UnsafeInteger,
  type Vector,
  vectorBytes,
  widenVector,
} from "./vector.ts";
import { isPlainRow, MisfitError } from "./vector-builder.ts";
import { mayBeBeyondNumbers } from "./values/safe-integers.ts";
import { rowReader, type ValueReader, valueReader } from "./value-reader.ts";
import { describeValue } from "../../core/internal.ts";

export interface Block {
  readonly rowCount: number;
  readonly names: readonly string[];
  readonly vectors: readonly Vector[];
}

export type Row = Record<string, unknown>;

export const EMPTY_BLOCK: Block = { rowCount: 0, names: [], vectors: [] };

export function schemaOf(block: Block): Field[] {
  return block.names.map((name, i) => ({ name, type: (block.vectors[i] as Vector).type }));
}

export function blockBytes(block: Block): number {
  return block.vectors.reduce((sum, vector) => sum + vectorBytes(vector), 0);
}

export function vectorOf(block: Block, name: string): Vector | undefined {
  return block.vectors[block.names.indexOf(name)];
}

/** Rows of a block that follow each other. */
export type RowRange = readonly [from: number, to: number];

/** Rows from `start` to before `end`, in the same memory. */
export function sliceBlock(block: Block, start: number, end: number): Block {
  if (start === 0 && end === block.rowCount) return block;
  return {
    rowCount: end - start,
    names: block.names,
    vectors: mapVectors([block], ([vector]) => sliceVector(vector as Vector, start, end)),
  };
}

export function takeBlock(block: Block, indices: Uint32Array): Block {
  return {
    rowCount: indices.length,
    names: block.names,
    vectors: mapVectors([block], ([vector]) => takeVector(vector as Vector, indices)),
  };
}

/** A vector for each column of blocks with the same columns. Columns that are one vector in each block, as states of aggregates may be, stay one. */
export function mapVectors(blocks: readonly Block[], make: (vectors: readonly Vector[]) => Vector): Vector[] {
  const [first] = blocks as readonly [Block, ...Block[]];
  const made: Vector[] = [];
  const places = new Map<Vector, number>();
  for (let i = 0; i < first.vectors.length; i += 1) {
    const earlier = places.get(first.vectors[i] as Vector) ?? i;
    if (earlier === i) places.set(first.vectors[i] as Vector, i);
    const isSame = earlier < i && blocks.every(({ vectors }) => vectors[earlier] === vectors[i]);
    made.push(isSame ? (made[earlier] as Vector) : make(blocks.map(({ vectors }) => vectors[i] as Vector)));
  }
  return made;
}

/** The same rows without the bytes beside them that a slice still shows, for the way to another process. */
export function packBlock(block: Block): Block {
  return { ...block, vectors: mapVectors([block], ([vector]) => packVector(vector as Vector)) };
}

/** The block with the values of dictionary columns written out. */
export function decodeBlock(block: Block): Block {
  if (block.vectors.every(({ type }) => type.kind !== "dictionary")) return block;
  return { ...block, vectors: mapVectors([block], ([vector]) => decodeVector(vector as Vector)) };
}

/**
 * The rows of all, in their order. Columns that only some have are null in the rows of the others.
 *
 * @throws DataError where a column has types that do not go together
 */
export function concatBlocks(blocks: readonly Block[]): Block {
  const filled = blocks.filter((block) => block.rowCount > 0);
  if (filled.length === 0) return blocks[0] ?? EMPTY_BLOCK;
  if (filled.length === 1) return filled[0] as Block;
  const fields = unifySchemas(filled.map(schemaOf));
  const aligned = filled.map((block) => alignBlock(block, fields));
  return {
    rowCount: aligned.reduce((sum, block) => sum + block.rowCount, 0),
    names: fields.map(({ name }) => name),
    vectors: mapVectors(aligned, concatVectors),
  };
}

/**
 * Finds the schema that holds the values of all given schemas.
 *
 * @param filesOf - the files of a column's first rows and of its last ones, where they are known
 * @throws DataError where a column has types that do not go together
 */
export function unifySchemas(
  schemas: readonly (readonly Field[])[],
  filesOf?: (column: string) => readonly [string | undefined, string | undefined],
): readonly Field[] {
  let fields: readonly Field[] = schemas[0] ?? [];
  for (const schema of schemas) {
    const unified = unifyFields(fields, schema);
    if (unified instanceof FieldConflict) {
      const [a, b] = unified.types;
      const [some = "some rows", others = "others"] = filesOf?.(unified.name) ?? [];
      throw new DataError(`Column ${JSON.stringify(unified.name)} is ${typeName(a)} in ${some} and ${typeName(b)} in ${others}`, {
        hint: "make its values one type in the function that returns them, or where the data are read, such as by schema: { … }",
      });
    }
    fields = unified;
  }
  return fields;
}

/** A block with the columns alone. */
export function rowlessBlock(fields: readonly Field[]): Block {
  return { rowCount: 0, names: fields.map(({ name }) => name), vectors: fields.map(({ type }) => nullVector(type, 0)) };
}

/** The block with exactly these columns, which {@link unifySchemas} gave for its own and other ones. */
export function alignBlock(block: Block, fields: readonly Field[]): Block {
  const isAligned =
    fields.length === block.names.length &&
    fields.every(({ name, type }, i) => block.names[i] === name && sameType((block.vectors[i] as Vector).type, type));
  if (isAligned) return block;
  const vectorsByName = new Map(block.names.map((name, i) => [name, block.vectors[i] as Vector]));
  const vectors = fields.map(({ name, type }) => {
    const own = vectorsByName.get(name);
    return own === undefined ? nullVector(type, block.rowCount) : namingColumn(name, () => widenVector(own, type));
  });
  return { rowCount: block.rowCount, names: fields.map(({ name }) => name), vectors };
}

/** Adds the columns that a block lacks, with nulls, and widens its own. Columns of the block alone stay, behind the others. */
export function conformBlock(block: Block, fields: readonly Field[], file?: string): Block {
  return alignBlock(
    block,
    unifySchemas([fields, schemaOf(block)], () => ["other files", file]),
  );
}

/** Runs code that reads or makes one column, and names the column in the error of a value that does not fit. */
export function namingColumn<T>(name: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof UnsafeInteger) throw unsafeInteger(JSON.stringify(name), error);
    if (error instanceof MisfitError) throw new DataError(`Column ${JSON.stringify(name)}: row ${error.row} ${error.problem}`);
    throw error;
  }
}

function unsafeInteger(name: string, { row, value, isNested }: UnsafeInteger): DataError {
  return new DataError(`Column ${name}: row ${row} ${isNested ? "has" : "is"} ${value}, and numbers beyond 2^53 would be rounded`, {
    hint: isNested
      ? 'take it in batches of the format "arrow", or leave it out; of Parquet files with statistics such columns are read as bigint'
      : `read the column as bigint: schema: { ${name}: "int64 as bigint" }, or cast it: col(${name}).cast("int64 as bigint")`,
  });
}

/** Reads the values of a column, and names it in the error of a number that JavaScript's do not hold. */
export function columnReader(name: string, vector: Vector): ValueReader {
  const read = valueReader(vector);
  return mayBeBeyondNumbers(vector.type) ? (row) => namingColumn(name, () => read(row)) : read;
}

/** Rows as objects. */
export function blockReader(block: Block): (row: number) => Row {
  const readers = block.vectors.map((vector, i) => columnReader(block.names[i] as string, vector));
  return rowReader(block.names, readers);
}

export function rowsOf(block: Block): Row[] {
  const read = blockReader(block);
  return Array.from({ length: block.rowCount }, (_, row) => read(row));
}

/** Names a row of which nothing is known but its number. */
export function nameOfRow(row: number): string {
  return `row ${row}`;
}

/** Makes a column of rows that `from` gave, and names both in the error of a value of another type. */
export function columnOfRows(name: string, from: string, placeOfRow: (row: number) => string, make: () => Vector): Vector {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof MisfitError)) throw error;
    throw new DataError(`Column ${JSON.stringify(name)} of ${from}: ${placeOfRow(error.row)} ${error.problem}`, {
      hint: "a column has values of one type, and nulls",
    });
  }
}

/**
 * Makes a block of rows. It has the columns of all rows in the order of their first appearance; a row without a column has a null there.
 *
 * @param from - the source of the rows, for messages, such as `map(parse)`
 * @param placeOfRow - names a row in messages. Default: by its number
 * @param input - the block that the rows were made of: columns of the same name keep its types where their values fit
 * @throws DataError for a value that is not a row, and for a column of two types
 */
export function blockOfRows(rows: readonly unknown[], from: string, placeOfRow = nameOfRow, input?: Block): Block {
  const names = new Map<string, number>();
  const columns: unknown[][] = [];
  for (let row = 0; row < rows.length; row += 1) {
    const value = rows[row];
    if (!isPlainRow(value))
      throw new DataError(
        `Rows are objects with an entry a column: ${placeOfRow(row)} from ${from} is ${describeValue(value)}`,
        value === undefined ? { hint: "does the function return its row? One with braces needs a return" } : {},
      );
    for (const name in value) {
      let index = names.get(name);
      if (index === undefined) {
        index = columns.length;
        names.set(name, index);
        columns.push(new Array<unknown>(rows.length).fill(undefined));
      }
      (columns[index] as unknown[])[row] = value[name];
    }
  }
  const ordered = [...names.keys()];
  return {
    rowCount: rows.length,
    names: ordered,
    vectors: ordered.map((name, i) =>
      columnOfRows(name, from, placeOfRow, () => keptVector(columns[i] as unknown[], input && vectorOf(input, name)?.type)),
    ),
  };
}
