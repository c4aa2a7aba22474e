/**
 * The queries of a sharded read: a part of the rows each, that no other query gives. Ranges of a column, or remainders of a hash.
 *
 * A null of the column is in the first part. Values stand in the statement as literals, since the user's own parameters may take any
 * place; only numbers, texts without special characters and days come there.
 */
import { describeValue } from "../../core/internal.ts";
import { DataError } from "../errors.ts";
import { queried, type SqlConnect, withConnection } from "./connection.ts";

interface Sharding {
  readonly shardBy: string | undefined;
  readonly boundaries: readonly unknown[] | undefined;
  readonly hash: string | undefined;
  readonly shards: number | undefined;
}

/** The queries, or the given one where nothing says how to cut it. */
export async function shardQueries(
  sql: string,
  params: readonly unknown[],
  connect: SqlConnect,
  sharding: Sharding & { readonly shards: number },
): Promise<readonly string[]> {
  const { shardBy, boundaries, hash, shards } = sharding;
  const query = sql.trim().replace(/;$/, "");
  const where = (condition: string): string => `SELECT * FROM (${query}) AS shoal_rows WHERE ${condition}`;
  if (hash !== undefined) return Array.from({ length: shards }, (_, i) => where(`coalesce(abs(${hash}) % ${shards}, 0) = ${i}`));
  if (shardBy === undefined) return [query];
  const column = `"${shardBy.replaceAll('"', '""')}"`;
  const borders = boundaries?.map(literal) ?? (await evenBorders({ query, params, column, connect, shards }));
  if (borders.length === 0) return [query];
  return [
    where(`${column} < ${borders[0]} OR ${column} IS NULL`),
    ...borders.slice(1).map((border, i) => where(`${column} >= ${borders[i]} AND ${column} < ${border}`)),
    where(`${column} >= ${borders.at(-1)}`),
  ];
}

interface Range {
  readonly query: string;
  readonly params: readonly unknown[];
  readonly column: string;
  readonly connect: SqlConnect;
  readonly shards: number;
}

/** Whole numbers that cut the range of a column into parts of one width. */
async function evenBorders({ query, params, column, connect, shards }: Range): Promise<readonly string[]> {
  const [range] = await withConnection("readSql", connect, async (connection) => {
    const { rows } = await queried(
      connection,
      `SELECT min(${column}) AS low, max(${column}) AS high FROM (${query}) AS shoal_rows`,
      params,
    );
    const all: unknown[] = [];
    for await (const row of rows) all.push(row);
    return all as readonly { readonly low: unknown; readonly high: unknown }[];
  });
  if (range === undefined || range.low === null) return [];
  const [low, high] = [range.low, range.high].map((value) => floorOf(value, column));
  const width = (high as bigint) - (low as bigint) + 1n;
  const parts = BigInt(shards) < width ? BigInt(shards) : width;
  return Array.from({ length: Number(parts) - 1 }, (_, i) => String((low as bigint) + (width * BigInt(i + 1)) / parts));
}

function floorOf(value: unknown, column: string): bigint {
  if (typeof value === "bigint") return value;
  if (typeof value === "number" && Number.isFinite(value)) return BigInt(Math.floor(value));
  if (typeof value === "string" && /^-?\d+(?:\.\d+)?$/.test(value))
    return BigInt(value.replace(/\..*$/, "")) - (value.startsWith("-") && value.includes(".") ? 1n : 0n);
  throw new DataError(`Cannot cut ${column} into ranges: its values are no numbers: received ${describeValue(value)}`, {
    hint: 'say where to cut: boundaries: ["g", "n", "t"]; or how to spread rows: hash: "hashtext(name)"',
  });
}

/** @throws TypeError for a value that stands in no statement */
export function literal(value: unknown): string {
  if (typeof value === "bigint" || (typeof value === "number" && Number.isFinite(value))) return String(value);
  if (value instanceof Date && !Number.isNaN(value.getTime())) return `'${value.toISOString()}'`;
  // A backslash begins an escape in MySQL, and is a character elsewhere.
  if (typeof value === "string" && !/[\\\0]/.test(value)) return `'${value.replaceAll("'", "''")}'`;
  throw new TypeError(`Cannot call readSql: it takes boundaries that are numbers, texts or dates: received ${describeValue(value)}`);
}
