/** `writeSql`: rows as parameters of a statement, in one transaction of one connection: all rows are written, or none. */
import { custom, messageOf, readOptions } from "../../core/internal.ts";
import type { ConsumeOptions } from "../consuming/consume.ts";
import { type Block, columnReader } from "../blocks/block.ts";
import type { Vector } from "../blocks/vector.ts";
import { DataError } from "../errors.ts";
import { inTransaction, type SqlConnect, withConnection } from "./connection.ts";

/** The options of `writeSql`. */
export interface WriteSqlOptions<K extends string = string> extends ConsumeOptions {
  /** The columns that are the statement's parameters, in their order. Default: all, in the order of the dataset. */
  columns?: readonly K[] | undefined;
}

const WRITE_SQL = {
  columns: custom<readonly string[] | undefined>("an array of column names is needed", undefined, (value) =>
    Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === "string") ? "ok" : "wrong type",
  ),
};

/** The columns of the options. @throws TypeError for wrong options */
export function readWriteSql(options: WriteSqlOptions): readonly string[] | undefined {
  const { signal: _, ...given } = options;
  return readOptions(given, { of: "writeSql", options: WRITE_SQL }).columns;
}

/** Writes the rows of the blocks. @returns how many there are. @throws DataError with the message of the driver; nothing is written then */
export async function writeBySql(
  sql: string,
  connect: SqlConnect,
  blocks: AsyncIterable<Block>,
  columns: readonly string[] | undefined,
): Promise<number> {
  return withConnection("writeSql", connect, async (connection) => {
    const source = { failure: undefined as unknown };
    try {
      return await inTransaction(connection, sql, valuesOf(blocks, columns, source));
    } catch (error) {
      if (error === source.failure || error instanceof DataError) throw error;
      throw new DataError(`Cannot call writeSql: the driver failed, and no row was written: ${messageOf(error)}`, { cause: error });
    }
  });
}

async function* valuesOf(
  blocks: AsyncIterable<Block>,
  columns: readonly string[] | undefined,
  source: { failure: unknown },
): AsyncGenerator<readonly unknown[], void, undefined> {
  try {
    for await (const block of blocks) {
      if (block.rowCount === 0) continue;
      const names = columns ?? block.names;
      const readers = names.map((name) => {
        const place = block.names.indexOf(name);
        if (place < 0)
          throw new DataError(`Cannot call writeSql: there is no column ${JSON.stringify(name)}`, {
            hint: `there are ${block.names.join(", ")}`,
          });
        return columnReader(name, block.vectors[place] as Vector);
      });
      for (let row = 0; row < block.rowCount; row += 1) yield readers.map((read) => read(row));
    }
  } catch (error) {
    source.failure = error;
    throw error;
  }
}
