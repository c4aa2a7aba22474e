/**
 * Connections of SQL drivers behind one small interface: drivers with `prepare`, whose calls are synchronous (`node:sqlite`, better-sqlite3), and drivers
 * with `query`, whose calls give promises (pg, PGlite, mysql2).
 *
 * The program's own function makes the connection, in each task anew, so that no driver is a dependency of Shoal. A connection is closed
 * where its task ends.
 */
import { NdArray } from "../../core/index.ts";
import { describeValue, messageOf } from "../../core/internal.ts";
import { DataError } from "../errors.ts";

/** A statement of a driver with `prepare`. */
interface PreparedStatement {
  iterate?(...values: any[]): Iterable<unknown>;
  all(...values: any[]): unknown[];
  run(...values: any[]): unknown;
  columns?(): readonly { readonly name: string }[];
  /** Of `node:sqlite`. */
  setReadBigInts?(enabled: boolean): unknown;
  /** Of better-sqlite3. */
  safeIntegers?(enabled: boolean): unknown;
}

interface PreparingConnection {
  prepare(sql: string): any;
  exec?(sql: string): unknown;
}

interface QueryingConnection {
  query(sql: string, values?: any[]): any;
}

/** A connection of a driver for SQL: `DatabaseSync` of `node:sqlite`, better-sqlite3, `Client` of pg, `PGlite`, or mysql2/promise. */
export type SqlConnection = PreparingConnection | QueryingConnection;

/** Makes a connection. Runs in the tasks that read, and in the program where it writes. */
export type SqlConnect = () => SqlConnection | Promise<SqlConnection>;

/** A column of a result, as far as the driver tells. */
export interface SqlField {
  readonly name: string;
  /** The number by which PostgreSQL knows the type. */
  readonly dataTypeID?: number | undefined;
  /** Digits of `numeric`, and other facts of a type; below 0 where there are none. */
  readonly dataTypeModifier?: number | undefined;
}

/** A result: rows as they come, and the columns, which are known once the first row is asked for. */
interface SqlResult {
  readonly fields: readonly SqlField[] | undefined;
  readonly rows: AsyncIterable<unknown> | Iterable<unknown>;
}

/** Opens a connection, uses it, and closes it. @throws DataError where none can be opened */
export async function withConnection<T>(method: string, connect: SqlConnect, use: (connection: SqlConnection) => Promise<T>): Promise<T> {
  const connection = await opened(method, connect);
  try {
    return await use(connection);
  } finally {
    await closed(connection);
  }
}

export async function opened(method: string, connect: SqlConnect): Promise<SqlConnection> {
  let connection: SqlConnection;
  try {
    connection = await connect();
  } catch (error) {
    throw new DataError(`Cannot call ${method}: the function for connections failed: ${messageOf(error)}`, { cause: error });
  }
  if (isPreparing(connection) || isQuerying(connection)) return connection;
  throw new DataError(`Cannot call ${method}: a connection has a method query or prepare: received ${describeValue(connection)}`, {
    hint: "return a DatabaseSync of node:sqlite, a connected Client of pg, a PGlite, or a connection of mysql2/promise",
  });
}

export async function closed(connection: SqlConnection): Promise<void> {
  const { end, close } = connection as { end?: () => unknown; close?: () => unknown };
  await (end ?? close)?.call(connection);
}

function isPreparing(connection: unknown): connection is PreparingConnection {
  return typeof (connection as PreparingConnection | undefined)?.prepare === "function";
}

function isQuerying(connection: unknown): connection is QueryingConnection {
  return typeof (connection as QueryingConnection | undefined)?.query === "function";
}

/** Runs a query. */
export async function queried(connection: SqlConnection, sql: string, values: readonly unknown[]): Promise<SqlResult> {
  // pg has both methods in no version, and mysql2 prepares by a promise: query goes first.
  if (!isQuerying(connection)) {
    const statement = connection.prepare(sql) as PreparedStatement;
    // Numbers beyond 2^53 would be an error, or rounded.
    statement.setReadBigInts?.(true);
    statement.safeIntegers?.(true);
    return { fields: statement.columns?.(), rows: statement.iterate?.(...values) ?? statement.all(...values) };
  }
  const result: unknown = await connection.query(sql, [...values]);
  if (Array.isArray(result))
    return Array.isArray(result[0]) ? { fields: result[1] as readonly SqlField[], rows: result[0] } : { fields: undefined, rows: result };
  if (typeof result === "object" && result !== null && Symbol.asyncIterator in result)
    return { fields: undefined, rows: result as AsyncIterable<unknown> };
  const { rows, fields } = (result ?? {}) as { rows?: unknown; fields?: readonly SqlField[] };
  if (Array.isArray(rows)) return { fields, rows };
  throw new DataError(`A query gives rows: received ${describeValue(result)}`, { hint: "is the statement a SELECT?" });
}

/** Runs an INSERT, or another statement, for rows within one transaction. */
export async function inTransaction(connection: SqlConnection, sql: string, rows: AsyncIterable<readonly unknown[]>): Promise<number> {
  if ("idleCount" in connection && "totalCount" in connection)
    throw new DataError(
      "Cannot call writeSql: a pool gives each statement another connection, and has no transaction: received a pool of pg",
      {
        hint: "return a client: const client = new Client(options); await client.connect(); return client",
      },
    );
  let rowCount = 0;
  const execute = async (statement: string): Promise<void> => {
    if (isQuerying(connection)) await connection.query(statement);
    else if (connection.exec === undefined) (connection.prepare(statement) as PreparedStatement).run();
    else connection.exec(statement);
  };
  await execute("BEGIN");
  try {
    const prepared = isQuerying(connection) ? undefined : (connection.prepare(sql) as PreparedStatement);
    for await (const row of rows) {
      if (prepared !== undefined) prepared.run(...row.map(plainValue));
      else await (connection as QueryingConnection).query(sql, row.map(driverValue));
      rowCount += 1;
    }
    await execute("COMMIT");
    return rowCount;
  } catch (error) {
    // The first failure is thrown: a broken connection fails here too, and its transaction ends with it.
    await execute("ROLLBACK").catch(() => {});
    throw error;
  }
}

/** A value for SQLite, which has numbers, texts and bytes: moments are texts of ISO 8601, booleans 0 and 1, lists and objects JSON. */
function plainValue(value: unknown): unknown {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  return JSON.stringify(driverValue(value));
}

/** A value for drivers that know arrays and objects. */
function driverValue(value: unknown): unknown {
  if (value instanceof NdArray) return Array.from(value.data as ArrayLike<unknown>);
  return ArrayBuffer.isView(value) && !(value instanceof Uint8Array) ? Array.from(value as unknown as ArrayLike<unknown>) : value;
}
