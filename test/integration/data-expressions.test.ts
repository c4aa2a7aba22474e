/**
 * Expressions in pipelines, in-process: random steps against arrays of rows, and what a read of Parquet files leaves out. The files are written by flechette and
 * parquet-wasm, in row groups of ten rows.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { float64, int64, tableFromArrays, tableToIPC, timestamp, TimeUnit, utf8 } from "@uwdata/flechette";
import fc from "fast-check";
import { Table, writeParquet, WriterPropertiesBuilder } from "parquet-wasm";
import * as data from "shoal/data";
import { col, lit, monotonicallyIncreasingId, random, udf, uuid } from "shoal/data";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { failureOf, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ mode: "inProcess", numCpus: 2 });

interface Ride {
  readonly id: number;
  readonly km: number | null;
  readonly city: string | null;
  readonly at: Date;
  readonly year: number;
}

const CITIES = ["Bari", "Oslo", "Rome", null];
/** Ids rise through the files, cities within each; each seventh distance is missing, and each eleventh is NaN. */
const rides: readonly Ride[] = Array.from({ length: 200 }, (_, id) => ({
  id,
  km: id % 7 === 0 ? null : id % 11 === 0 ? Number.NaN : id / 4,
  city: CITIES[Math.floor((id % 100) / 25)] ?? null,
  at: new Date(Date.UTC(2025, 0, 1 + id)),
  year: id < 100 ? 2025 : 2026,
}));

function writeRides(path: string, rows: readonly Ride[]): void {
  const arrow = tableToIPC(
    tableFromArrays(
      {
        id: rows.map(({ id }) => BigInt(id)),
        km: rows.map(({ km }) => km),
        city: rows.map(({ city }) => city),
        at: rows.map(({ at }) => at),
      },
      { types: { id: int64(), km: float64(), city: utf8(), at: timestamp(TimeUnit.MICROSECOND) } },
    ),
    { format: "stream" },
  );
  const properties = new WriterPropertiesBuilder().setMaxRowGroupSize(10).build();
  writeFileSync(path, writeParquet(Table.fromIPCStream(arrow as Uint8Array), properties));
}

beforeAll(() => {
  for (const year of [2025, 2026]) {
    mkdirSync(join(folder, "rides", `year=${year}`), { recursive: true });
    writeRides(
      join(folder, "rides", `year=${year}`, "rides.parquet"),
      rides.filter((ride) => ride.year === year),
    );
  }
});

const read = (): data.Dataset<Ride> => data.readParquet<Ride>(join(folder, "rides"));

// ---------------------------------------------------------------------------------------------------------------------
// Random pipelines

type Row = Readonly<Record<string, unknown>>;
interface Step {
  readonly text: string;
  readonly onDataset: (dataset: data.Dataset) => data.Dataset;
  /** Undefined where the step is an error. */
  readonly onRows: (rows: Row[]) => Row[] | undefined;
}

const whole = fc.integer({ min: -5, max: 205 });

/** A filter by an expression, and by the same as a function. */
function filterStep(text: string, expression: data.Expression, columns: readonly string[], keep: (row: Row) => boolean): Step {
  return step(
    `filter(${text})`,
    columns,
    (dataset) => dataset.filter(expression),
    (rows) => rows.filter(keep),
  );
}

const filters: fc.Arbitrary<Step> = fc.oneof(
  whole.map((n) => filterStep(`id > ${n}`, col("id").gt(n), ["id"], ({ id }) => (id as number) > n)),
  whole.map((n) => filterStep(`km <= ${n / 4}`, col("km").le(n / 4), ["km"], ({ km }) => km !== null && (km as number) <= n / 4)),
  whole.map((n) =>
    filterStep(
      `not km <= ${n / 4}`,
      col("km")
        .le(n / 4)
        .not(),
      ["km"],
      ({ km }) => km !== null && !((km as number) <= n / 4),
    ),
  ),
  fc
    .constantFrom("Bari", "Oslo", "Zug")
    .map((city) => filterStep(`city = ${city}`, col("city").eq(city), ["city"], (row) => row["city"] === city)),
  fc.constant(filterStep("city is null", col("city").isNull(), ["city"], ({ city }) => city === null)),
  fc.constantFrom(2025, 2026, 2027).map((n) => filterStep(`year = ${n}`, col("year").eq(n), ["year"], ({ year }) => year === n)),
  whole.map((n) => {
    const time = new Date(Date.UTC(2025, 0, 1 + n));
    return filterStep(`at >= ${n}`, lit(time).le(col("at")), ["at"], ({ at }) => (at as Date) >= time);
  }),
  whole.map((n) =>
    filterStep(
      `city or ${n}`,
      col("city").isIn(["Rome"]).or(col("id").lt(n)),
      ["city", "id"],
      ({ id, city }) => city === "Rome" || (id as number) < n,
    ),
  ),
);

const COLUMNS = ["id", "km", "city", "at", "year"];

function pick(row: Row, columns: readonly string[]): Row {
  return Object.fromEntries(columns.map((column) => [column, row[column]]));
}

/** A step that asks for columns, which is an error where rows lack one. */
function step(text: string, columns: readonly string[], onDataset: Step["onDataset"], change: (rows: Row[]) => Row[]): Step {
  const onRows = (rows: Row[]): Row[] | undefined =>
    columns.every((column) => rows.every((row) => column in row)) ? change(rows) : undefined;
  return { text, onDataset, onRows };
}

const others = fc.oneof(
  fc.subarray(COLUMNS, { minLength: 1 }).map((columns) =>
    step(
      `selectColumns(${columns.join()})`,
      columns,
      (dataset) => dataset.selectColumns(columns),
      (rows) => rows.map((row) => pick(row, columns)),
    ),
  ),
  fc.constantFrom("id", "km").map((name) =>
    step(
      `withColumn(${name})`,
      ["id"],
      (dataset) => dataset.withColumn(name, col("id").mul(2)),
      (rows) => rows.map((row) => ({ ...row, [name]: (row["id"] as number) * 2 })),
    ),
  ),
  fc.constant(
    step(
      "selectColumns(year as id, id as year, city)",
      ["year", "id", "city"],
      (dataset) => dataset.selectColumns([col("year").as("id"), col("id").add(0).as("year"), "city"]),
      (rows) => rows.map(({ year, id, city }) => ({ id: year, year: id, city })),
    ),
  ),
  fc.constant(
    step(
      "swap the names of id and year",
      ["id", "year"],
      (dataset) => dataset.renameColumns({ id: "year", year: "id" }),
      (rows) => rows.map((row) => ({ ...row, id: row["year"], year: row["id"] })),
    ),
  ),
  fc.constantFrom("km", "city").map((name) =>
    step(
      `dropColumns(${name})`,
      [name],
      (dataset) => dataset.dropColumns([name]),
      (rows) => rows.map(({ [name]: _dropped, ...row }) => row),
    ),
  ),
  fc.constant(
    step(
      "sort by id descending",
      ["id"],
      (dataset) => dataset.sort("id", { descending: true }),
      (rows) => rows.toSorted((a, b) => (b["id"] as number) - (a["id"] as number)),
    ),
  ),
  fc.integer({ min: 1, max: 150 }).map((n) =>
    step(
      `limit(${n})`,
      [],
      (dataset) => dataset.limit(n),
      (rows) => rows.slice(0, n),
    ),
  ),
  fc.constant(
    step(
      "map",
      [],
      (dataset) => dataset.map((row) => row),
      (rows) => rows,
    ),
  ),
  fc.constant(
    step(
      "union",
      [],
      (dataset) => dataset.union(dataset),
      (rows) => [...rows, ...rows],
    ),
  ),
);

/** Columns by name, since files and steps have orders of their own. */
function ordered(rows: readonly Row[]): Row[] {
  return rows.map((row) => pick(row, Object.keys(row).toSorted()));
}

test("pipelines over files give what arrays give, whatever goes into the read", async () => {
  let pushed = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(filters, others), { maxLength: 6 }), async (steps) => {
      let rows: Row[] = rides.map((ride) => ({ ...ride }));
      for (const { onRows } of steps) {
        const next = onRows(rows);
        // An error of a column that is not there: arrays have it where there are rows, datasets always.
        if (next === undefined || next.length === 0 || next.length > 1000) return;
        rows = next;
      }
      const dataset = steps.reduce((all, { onDataset }) => onDataset(all), read() as data.Dataset);
      if (/ReadTasks readParquet\(/.test(dataset.explain())) pushed += 1;
      expect(ordered(await dataset.takeAll())).toEqual(ordered(rows));
    }),
    { numRuns: 150 },
  );
  expect(pushed).toBeGreaterThan(10);
}, 60_000);

// --------------------------------------------------------------------------------------------------------------------- Columns and rows
// that are not read

interface Reads {
  /** Row groups that were decoded. */
  readonly groups: number;
  readonly columns: readonly (readonly string[] | undefined)[];
}

/** The package's own copy: that in `node_modules` decodes nothing. Its types are those of the other. */
const { ParquetFile } = (await import(import.meta.resolve("#parquet-wasm"))) as typeof import("parquet-wasm");

async function reading(run: () => Promise<unknown>): Promise<Reads> {
  const spy = vi.spyOn(ParquetFile.prototype, "read");
  await run();
  const given = spy.mock.calls.map(([options]) => options as { rowGroups: number[]; columns?: string[] });
  spy.mockRestore();
  return { groups: given.reduce((sum, { rowGroups }) => sum + rowGroups.length, 0), columns: given.map(({ columns }) => columns) };
}

describe("a read of Parquet files", () => {
  test("decodes the row groups alone that may have a row for the filter", async () => {
    expect((await reading(() => read().takeAll())).groups).toBe(20);
    const groupsOf = async (expression: data.Expression<unknown, keyof Ride>): Promise<number> =>
      (await reading(() => read().filter(expression).takeAll())).groups;
    expect(await groupsOf(col("id").ge(195))).toBe(1);
    expect(await groupsOf(col("id").gt(44).and(col("id").lt(55)))).toBe(2);
    expect(await groupsOf(col("city").eq("Oslo"))).toBe(6);
    expect(await groupsOf(col("at").lt(new Date(Date.UTC(2025, 0, 5))))).toBe(1);
    expect(await groupsOf(col("km").gt(48))).toBe(1);
    expect(await groupsOf(col("id").eq(3).or(col("id").eq(199)))).toBe(2);
    expect(await groupsOf(col("id").add(0).eq(3))).toBe(20);
  });

  test("leaves out whole files by what their paths say", async () => {
    const { groups } = await reading(async () => {
      expect(await read().filter(col("year").eq(2026)).count()).toBe(100);
    });
    expect(groups).toBe(10);
  });

  test("decodes nothing where nothing is left, and still knows its columns", async () => {
    const none = read().filter(col("id").gt(1000));
    const { groups } = await reading(async () => {
      expect(await none.takeAll()).toEqual([]);
      expect((await none.schema()).names).toEqual(["id", "km", "city", "at", "year"]);
    });
    expect(groups).toBe(0);
  });

  test("decodes the columns alone that the steps ask for", async () => {
    const columnsOf = async (dataset: data.Dataset<any>): Promise<unknown> => (await reading(() => dataset.takeAll())).columns[0];
    expect(await columnsOf(read().selectColumns(["city", "year"]))).toEqual(["city"]);
    expect(await columnsOf(read().filter(col("km").gt(1)).selectColumns(["id"]))).toEqual(["id", "km"]);
    expect(await columnsOf(read().withColumn("x", col("km").mul(2)).limit(5).sort("id").selectColumns(["x"]))).toEqual(["id", "km"]);
    expect(
      await columnsOf(
        read()
          .groupBy("city")
          .aggregate({ km: data.sum("km") }),
      ),
    ).toEqual(["city", "km"]);
    expect(await columnsOf(read().groupBy("year").count())).toEqual(["id"]);
    expect(await columnsOf(read().filter(col("km").gt(1)))).toBeUndefined();
    const { columns } = await reading(() =>
      read()
        .selectColumns(["id", "km"])
        .join(read().filter(col("city").eq("Oslo")), { on: "id", type: "leftSemi" })
        .count(),
    );
    expect(new Set(columns.map((names) => names?.join()))).toEqual(new Set(["id,km", "id,city"]));
  });

  test("is counted by footers, or by the columns alone that the steps ask for", async () => {
    const added = [read(), data.range(5)] as data.Dataset<any>[];
    const known = await reading(async () => {
      expect(await read().count()).toBe(200);
      expect(
        await read()
          .limit(30)
          .union(...added)
          .count(),
      ).toBe(235);
    });
    expect(known.groups).toBe(0);
    const { columns } = await reading(async () => {
      expect(await read().filter(col("id").lt(50)).sort("km").count()).toBe(50);
      expect(await read().withColumn("half", col("km").div(2)).randomShuffle().count()).toBe(200);
    });
    expect(new Set(columns.map((names) => names?.join()))).toEqual(new Set(["km,id", "km"]));
  });

  test("names its files", async () => {
    const files = [2025, 2026].map((year) => join(folder, "rides", `year=${year}`, "rides.parquet"));
    expect(await read().inputFiles()).toEqual(files);
    const added = [read(), data.range(5)] as data.Dataset<any>[];
    expect(
      await read()
        .limit(3)
        .union(...added)
        .inputFiles(),
    ).toEqual(files);
    expect(await data.range(5).inputFiles()).toEqual([]);
    const task = { read: () => [{ id: 1 }], rowCount: 1, inputFiles: ["one.bin"] };
    const own = data.readDatasource<{ id: number }>({ name: "mine", getReadTasks: () => [task, { read: task.read }] });
    expect([await own.inputFiles(), await own.count()]).toEqual([["one.bin"], 2]);
  });

  test("joins a small side where it is read, as datasets of the program are joined", async () => {
    const cities = data.fromItems(["Bari", "Oslo", "Oslo", null].map((city, i) => ({ city, i })));
    const none = data.fromItems([{ city: "Bari", i: 0 }]).filter(col("i").gt(0));
    const rows = data.fromItems(await read().takeAll());
    for (const type of ["inner", "left", "right", "full", "leftSemi", "rightSemi", "leftAnti", "rightAnti"] as const)
      for (const small of [cities, cities.limit(1).filter(col("i").ge(0)), none]) {
        const joined = (large: data.Dataset<any>): Promise<object[]> =>
          large.join(small as data.Dataset<any>, { on: "city", type }).takeAll();
        expect(await joined(read())).toEqual(await joined(rows));
        expect(await joined(read().filter(col("id").lt(0)))).toEqual(await joined(rows.filter(({ id }) => id < 0)));
      }
    const inner = read().join(cities, { on: "city" });
    await inner.takeAll();
    const [large] = (await inner.stats())?.operators ?? [];
    expect([large?.name, large?.rows]).toEqual(["readParquet", 150]);
    const error = await failureOf(
      read()
        .join(data.fromItems([{ city: 7 }]) as never, { on: "city" })
        .takeAll(),
    );
    expect(error.message).toContain("the keys have no type in common");
  });

  test("shows in the plan what it leaves out", () => {
    const plan = read()
      .withColumn("double", col("km").mul(2))
      .sort("id")
      .filter(col("id").gt(100))
      .selectColumns(["id", "double"])
      .explain();
    expect(plan).toBe(`Logical plan
+- selectColumns(id, double)
   +- filter(id > 100)
      +- sort(id)
         +- withColumn(double: km * 2)
            +- readParquet

Physical plan
+- Exchange sort(id)->selectColumns(id, double)
   +- ReadTasks readParquet(columns: id, km; where: id > 100)->filter(id > 100)->withColumn(double: km * 2)`);
  });

  test("says which column there is not, and which there are", async () => {
    const unknown = (await failureOf(
      read()
        .filter(col("kmm" as "km").gt(1))
        .selectColumns(["id"])
        .takeAll(),
    )) as Error;
    expect(unknown.message).toContain('filter(kmm > 1): there is no column "kmm": there are "id", "km", "city", "at", "year"');
    const gone = read()
      .selectColumns(["id"])
      .filter(col("km" as "id").gt(1));
    expect((await failureOf(gone.takeAll())).message).toContain('there is no column "km": there are "id"');
  });
});

test("a filter stays above what it would change", () => {
  const filter = <R extends { id: number }>(dataset: data.Dataset<R>): string | undefined =>
    dataset.filter(col("id").gt(1)).explain().split("Physical plan\n")[1]?.split("\n")[0];
  expect(filter(read().limit(3))).toBe("+- MapTasks filter(id > 1)");
  expect(filter(read().randomShuffle({ seed: 1 }))).toBe("+- Exchange randomShuffle->filter(id > 1)");
  expect(filter(read().repartition(2))).toBe("+- Exchange repartition(2)->filter(id > 1)");
  expect(filter(read().map(({ id }) => ({ id })))).toBe("+- ReadTasks readParquet->map->filter(id > 1)");
  expect(filter(read().withColumn("id", lit(1)))).toContain("withColumn(id: 1)->filter");
  // Rows of a function may lack the column in some blocks, and have it, as null, where blocks come together.
  expect(
    filter(
      read()
        .map(({ id }) => ({ id, km: 1 }))
        .sort("km"),
    ),
  ).toBe("+- Exchange sort(km)->filter(id > 1)");
});

test("random numbers, UUIDs and numbers of rows are those of the rows, whatever blocks there are, and stay below filters", async () => {
  const made = (dataset: data.Dataset): Promise<data.AnyRow[]> =>
    dataset
      .withColumns({ n: monotonicallyIncreasingId(), r: random({ seed: 3 }) })
      .filter(col("n").ge(50))
      .selectColumns(["id", "n", "r"])
      .takeAll();
  const rows = await made(read());
  expect(rows.map(({ n }) => n)).toEqual(Array.from({ length: 150 }, (_, i) => i + 50));
  expect(rows.every(({ id, n }) => id === n)).toBe(true);
  expect(await made(data.range(200).repartition(7))).toEqual(rows);
  const ids = data.range(1000).withColumn("key", uuid());
  const keys = (await ids.takeAll()).map(({ key }) => key);
  expect(new Set(keys).size).toBe(1000);
  expect((await ids.selectColumns(["key"]).takeAll()).map(({ key }) => key)).toEqual(keys);
});

test("functions of users run where their columns are, and their errors name the file", async () => {
  const limit = 20;
  const isNear = udf((km: data.Column<number | null>) => km.map((one) => one !== null && one < limit), { type: "bool" });
  const near = read()
    .filter(isNear(col("km")))
    .selectColumns(["id"]);
  expect(near.explain()).toContain("ReadTasks readParquet(columns: id, km; where: udf(km))->filter(udf(km))");
  expect((await near.takeAll()).map(({ id }) => id)).toEqual(rides.filter(({ km }) => km !== null && km < limit).map(({ id }) => id));
  const broken = udf(function broken(_city: unknown): string[] {
    throw new Error("no such city");
  });
  const { message } = await failureOf(
    read()
      .withColumn("x", broken(col("city")))
      .takeAll(),
  );
  expect(message).toMatch(/withColumn\(x: broken\(city\)\)[^]*rows 1 to 10 of .*rides\.parquet[^]*no such city/);
});
