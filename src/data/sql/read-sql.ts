/**
 * `readSql`: the rows of a query as a dataset, by any driver; in parts, where options say how the rows are cut.
 *
 * Options are checked here. The parts are made when the dataset is consumed, since ranges take a query, and each part is read by a task
 * with a new connection.
 */
import { count, custom, isPlainObject, isTaskOption, messageOf, readOptions, text } from "../../core/internal.ts";
import type { Block } from "../blocks/block.ts";
import { parseType, TYPE_NAMES } from "../blocks/data-type.ts";
import { RowBytes } from "../blocks/memory/row-bytes.ts";
import { type Dataset, newDataset } from "../dataset.ts";
import type { Reader } from "../engine/tasks/task.ts";
import { DataError } from "../errors.ts";
import { READ_TASKS_PER_CPU, ROWS_PER_BLOCK_MAX } from "../limits.ts";
import type { AnyRow } from "../row-types.ts";
import { readTasks, type TransformOptions } from "../options/transform-options.ts";
import { checkSql } from "./arguments.ts";
import { blockOfSql } from "./columns.ts";
import { closed, opened, queried, type SqlConnect, type SqlConnection } from "./connection.ts";
import { literal, shardQueries } from "./shards.ts";

/** The options of `readSql`. */
export interface ReadSqlOptions extends TransformOptions {
  /** Values of the query's parameters, in their order. Default: none. */
  params?: readonly unknown[] | undefined;
  /** A column of the result by whose ranges tasks share the rows. Default: one task reads all. */
  shardBy?: string | undefined;
  /** Values of `shardBy` between the parts, in ascending order. Default: the range from the least value to the largest is cut evenly, for numbers. */
  boundaries?: readonly (number | bigint | string | Date)[] | undefined;
  /** An expression of SQL that gives a whole number, by whose remainders tasks share the rows, such as `"hashtext(name)"` in PostgreSQL. Default: none. */
  hash?: string | undefined;
  /** How many parts there are. Default: four for each CPU. */
  shards?: number | undefined;
  /** Types of columns, such as `{ price: "decimal<12, 2>" }`. Default: those of PostgreSQL, else by the values. */
  schema?: Readonly<Record<string, string>> | undefined;
}

const SQL = {
  params: custom<readonly unknown[]>("an array is needed", [], (value) => (Array.isArray(value) ? "ok" : "wrong type")),
  shardBy: text(undefined),
  boundaries: custom<readonly unknown[] | undefined>("an array of one or more values is needed", undefined, (value) =>
    Array.isArray(value) && value.length > 0 ? "ok" : "wrong type",
  ),
  hash: text(undefined),
  shards: count({ min: 1 }, undefined),
  schema: custom<Readonly<Record<string, string>>>(
    `an object of types by columns is needed, such as { id: "int64" }; types are ${TYPE_NAMES.join(", ")}`,
    {},
    (value) =>
      !isPlainObject(value)
        ? "wrong type"
        : Object.values(value).every((type) => typeof type === "string" && parseType(type) !== undefined)
          ? "ok"
          : "out of range",
  ),
};
const OTHER_NAMES = {
  sql_params: "it is params",
  shard_keys: "it is shardBy, or hash",
  shard_hash_fn: "it is hash",
  parallelism: "it is shards",
};

/**
 * The rows of a query. The function makes a connection by any driver, in each task that reads: `node:sqlite`, better-sqlite3, pg, PGlite or mysql2/promise.
 *
 * @throws TypeError, RangeError for wrong arguments; when it runs, DataError with the message of the driver
 * @example
 * const rides = data.readSql("SELECT id, km FROM rides", connect, { shardBy: "id", shards: 8 });
 */
export function readSql<R extends AnyRow = AnyRow>(sql: string, connect: SqlConnect, options: ReadSqlOptions = {}): Dataset<R> {
  checkSql("readSql", sql, connect);
  const entries = Object.entries(options);
  const isOfTasks = (name: string): boolean => !Object.hasOwn(SQL, name) && (isTaskOption(name) || name === "concurrency");
  const tasks = Object.fromEntries(entries.filter(([name]) => isOfTasks(name)));
  const own = Object.fromEntries(entries.filter(([name]) => !isOfTasks(name)));
  const { params, schema, ...sharding } = readOptions(own, { of: "readSql", otherNames: OTHER_NAMES, options: SQL });
  const { shardBy, boundaries, hash, shards } = sharding;
  if (hash !== undefined && shardBy !== undefined) throw new TypeError("Cannot call readSql: it takes shardBy or hash: received both");
  if (boundaries !== undefined && shardBy === undefined)
    throw new TypeError("Cannot call readSql: it takes boundaries with shardBy, the column that they cut");
  boundaries?.forEach(literal);
  const parts = async (cpus: number): Promise<{ args: readonly unknown[] }[]> => {
    const queries = await shardQueries(sql, params, connect, { ...sharding, shards: shards ?? cpus * READ_TASKS_PER_CPU });
    return queries.map((query) => ({ args: [query, params, connect, schema] }));
  };
  const source = { name: "readSql", reader: readSqlShard as Reader, parts };
  return newDataset({ kind: "read", name: "readSql", source, ...readTasks("readSql", tasks) });
}

/** The rows of one query. Runs in workers. */
export async function* readSqlShard(
  sql: string,
  params: readonly unknown[],
  connect: SqlConnect,
  schema: Readonly<Record<string, string>>,
): AsyncGenerator<Block, void, undefined> {
  const connection: SqlConnection = await opened("readSql", connect);
  try {
    const { fields, rows } = await queried(connection, sql, params);
    const size = new RowBytes();
    let waiting: Record<string, unknown>[] = [];
    let isEmpty = true;
    for await (const row of rows) {
      waiting.push(row as Record<string, unknown>);
      if (!size.add(row) && waiting.length < ROWS_PER_BLOCK_MAX) continue;
      yield blockOfSql(waiting, fields, schema);
      isEmpty = false;
      waiting = [];
      size.restart();
    }
    if (waiting.length > 0 || (isEmpty && fields !== undefined)) yield blockOfSql(waiting, fields, schema);
  } catch (error) {
    if (error instanceof DataError) throw error;
    throw new DataError(`Cannot call readSql: the driver failed: ${messageOf(error)}`, { cause: error });
  } finally {
    await closed(connection);
  }
}
