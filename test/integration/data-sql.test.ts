/** Tables of SQLite through `node:sqlite`, read in parts and written as a whole, and drivers whose calls give promises. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import * as data from "shoal/data";
import { beforeAll, describe, expect, test } from "vitest";
import { failureOf, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 2, objectStoreMemoryBytes: 128 * 2 ** 20 });

const path = (): string => join(folder, "rides.db");

/** A function that connects to a database, in any process. */
function connectTo(file: string): data.SqlConnect {
  return async () => {
    const { DatabaseSync: Database } = await import("node:sqlite");
    return new Database(file);
  };
}

const ROWS = 1000;
const row = (i: number) => ({ id: i - 10, city: i % 7 === 0 ? null : `city ${i % 3}'`, km: i / 4, wide: BigInt(i) * 2n ** 53n });

beforeAll(() => {
  const database = new DatabaseSync(path());
  database.exec("CREATE TABLE rides (id INTEGER, city TEXT, km REAL, wide INTEGER)");
  const insert = database.prepare("INSERT INTO rides VALUES (?, ?, ?, ?)");
  database.exec("BEGIN");
  // Numbers beyond 64 bits with a sign do not fit: the rows have up to 2^63.
  for (let i = 0; i < ROWS; i += 1) insert.run(row(i).id, row(i).city, row(i).km, row(i).wide);
  database.exec("COMMIT");
  database.close();
});

const byId = (a: { id: number }, b: { id: number }): number => a.id - b.id;

describe("reading", () => {
  const all = Array.from({ length: ROWS }, (_, i) => row(i));
  const query = "SELECT * FROM rides";

  test("one task gives all rows, with nulls and numbers of 64 bits", async () => {
    const rides = data.readSql(query, connectTo(path()));
    expect(await rides.takeAll()).toEqual(all);
    expect(String(await rides.schema())).toMatch(/id +int64\s+city +string\s+km +float64\s+wide +int64 as bigint/);
  });

  test("ranges, boundaries and remainders have each row once", async () => {
    const connect = connectTo(path());
    const shardings: data.ReadSqlOptions[] = [
      { shardBy: "id", shards: 7 },
      { shardBy: "km", shards: 3 },
      { shardBy: "id", boundaries: [0, 500] },
      { shardBy: "city", boundaries: ["city 1'", "city 2'"] },
      { hash: "id + 3", shards: 4 },
      { hash: "length(city)", shards: 3 },
      { shardBy: "id", shards: 5000 },
    ];
    for (const sharding of shardings) {
      const schema = { wide: "int64 as bigint" };
      const rows = await data.readSql<ReturnType<typeof row>>(`${query};`, connect, { ...sharding, schema }).takeAll();
      expect(rows.toSorted(byId)).toEqual(all);
    }
  });

  test("parameters and types of the options hold in each part", async () => {
    const rides = data.readSql("SELECT id, km, 1 AS flag, '2026-01-31' AS day FROM rides WHERE id < ?", connectTo(path()), {
      params: [0],
      shardBy: "id",
      shards: 2,
      schema: { id: "int32", km: "decimal<9, 2>", flag: "bool", day: "date" },
    });
    expect((await rides.takeAll()).slice(0, 2)).toEqual([
      { id: -10, km: "0.00", flag: true, day: new Date("2026-01-31T00:00:00Z") },
      { id: -9, km: "0.25", flag: true, day: new Date("2026-01-31T00:00:00Z") },
    ]);
  });

  test("a query without rows has its columns", async () => {
    const none = data.readSql("SELECT id, city FROM rides WHERE id > 1e9", connectTo(path()), { shardBy: "id" });
    expect(await none.takeAll()).toEqual([]);
    expect(await none.columns()).toEqual(["id", "city"]);
  });

  test("drivers of promises give rows, PostgreSQL's types and streams", async () => {
    const postgres = () => ({
      query: async () => ({
        rows: [
          { id: "9007199254740993", price: "1.50", day: new Date(2026, 0, 31), at: null },
          { id: null, price: null, day: null, at: new Date(0) },
        ],
        fields: [
          { name: "id", dataTypeID: 20 },
          { name: "price", dataTypeID: 1700, dataTypeModifier: (9 << 16) + 2 + 4 },
          { name: "day", dataTypeID: 1082 },
          { name: "at", dataTypeID: 1184 },
        ],
      }),
    });
    const rows = data.readSql("SELECT", postgres);
    expect(await rows.takeAll()).toEqual([
      { id: 9_007_199_254_740_993n, price: "1.50", day: new Date("2026-01-31T00:00:00Z"), at: null },
      { id: null, price: null, day: null, at: new Date(0) },
    ]);
    expect(String(await rows.schema())).toContain("decimal<9, 2>");
    expect(await data.readSql("SELECT", () => ({ query: async () => [[{ a: 1 }], [{ name: "a" }]] })).takeAll()).toEqual([{ a: 1 }]);
    const stream = async function* () {
      yield { a: 1 };
      yield { a: 2 };
    };
    expect(await data.readSql("SELECT", () => ({ query: () => stream() })).takeAll()).toEqual([{ a: 1 }, { a: 2 }]);
  });

  test("mistakes are told with a remedy", async () => {
    const connect = connectTo(path());
    expect(() => data.readSql("", connect)).toThrow("Cannot call readSql: it takes a statement of SQL");
    expect(() => data.readSql("SELECT 1", "file.db" as never)).toThrow("Cannot call readSql: it takes a function that makes a connection");
    expect(() => data.readSql("SELECT 1", connect, { shardBy: "id", hash: "id" })).toThrow("Cannot call readSql: it takes shardBy or hash");
    expect(() => data.readSql("SELECT 1", connect, { boundaries: [1] })).toThrow("Cannot call readSql: it takes boundaries with shardBy");
    expect(() => data.readSql("SELECT 1", connect, { shardBy: "a", boundaries: ["\\"] })).toThrow("takes boundaries that are numbers");
    expect(String(await failureOf(data.readSql("SELECT none FROM rides", connect).takeAll()))).toContain(
      "readSql: the driver failed: no such column: none",
    );
    expect(String(await failureOf(data.readSql("SELECT 1", () => ({}) as never).takeAll()))).toContain(
      "a connection has a method query or prepare",
    );
    const texts = data.readSql("SELECT * FROM rides", connect, { shardBy: "city" }).takeAll();
    expect(String(await failureOf(texts))).toContain('Cannot cut "city" into ranges: its values are no numbers');
    const mixed = data.readSql("SELECT CASE WHEN id = -10 THEN 'x' ELSE id END AS mixed FROM rides", connect).takeAll();
    expect(String(await failureOf(mixed))).toContain('Column "mixed" of readSql');
  });
});

describe("writing", () => {
  function table(name: string): { read(): unknown[]; connect: data.SqlConnect } {
    const file = join(folder, `${name}.db`);
    const database = new DatabaseSync(file);
    database.exec("CREATE TABLE out (id INTEGER PRIMARY KEY, name TEXT, on_time INTEGER, at TEXT, tags TEXT)");
    database.close();
    return {
      connect: connectTo(file),
      read: () => {
        const opened = new DatabaseSync(file);
        const rows = opened.prepare("SELECT * FROM out ORDER BY id").all();
        opened.close();
        return rows.map((one) => ({ ...one }));
      },
    };
  }
  const insert = "INSERT INTO out VALUES (?, ?, ?, ?, ?)";

  test("all rows are written, in one transaction", async () => {
    const { connect, read } = table("all");
    const rows = data
      .range(5000)
      .map(({ id }) => ({ tags: [id], at: new Date(id), onTime: id % 2 === 0, name: id === 3 ? null : `n${id}`, id }));
    const { rowCount } = await rows.writeSql(insert, connect, { columns: ["id", "name", "onTime", "at", "tags"] });
    expect(rowCount).toBe(5000);
    const written = read();
    expect(written).toHaveLength(5000);
    expect(written[3]).toEqual({ id: 3, name: null, on_time: 0, at: "1970-01-01T00:00:00.003Z", tags: "[3]" });
  });

  test("a row that fails, in the database or before it, leaves no row", async () => {
    const { connect, read } = table("none");
    const wide = (id: number) => ({ id, name: "", onTime: true, at: new Date(0), tags: [id] });
    const twice = data.range(3000).map(({ id }) => wide(id === 2999 ? 0 : id));
    expect(String(await failureOf(twice.writeSql(insert, connect)))).toContain(
      "the driver failed, and no row was written: UNIQUE constraint failed",
    );
    const broken = data.range(3000).map(({ id }) => {
      if (id === 2999) throw new Error("no such ride");
      return wide(id);
    });
    expect(String(await failureOf(broken.writeSql(insert, connect)))).toContain("no such ride");
    expect(
      String(await failureOf(data.range(3).writeSql("INSERT INTO out (id) VALUES (?)", connect, { columns: ["none"] as never }))),
    ).toContain('writeSql: there is no column "none"');
    expect(read()).toEqual([]);
  });

  test("a pool is refused, since its statements share no transaction", async () => {
    const pool = () => ({ query: async () => ({ rows: [] }), idleCount: 0, totalCount: 0 });
    expect(String(await failureOf(data.range(3).writeSql("INSERT", pool)))).toContain("a pool gives each statement another connection");
  });
});
