/** `joinAsof`, `pivot`, `sample` of groups and `describe`: the results of Polars and pandas on random rows with nulls, and wrong arguments. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as data from "shoal/data";
import { expect, test } from "vitest";
import { failureOf, useSession } from "./session.ts";

useSession({ mode: "inProcess", numCpus: 2 });

type Numbers = Readonly<Record<string, number>>;
interface LeftRow {
  readonly id: number;
  readonly at: number | null;
  readonly ticker: string | null;
  readonly venue: number;
}
interface LongRow {
  readonly city: string | null;
  readonly year: number;
  readonly month: string | null;
  readonly sales: number | null;
  readonly name: string | null;
  readonly open: boolean | null;
}
interface Recorded {
  readonly left: LeftRow[];
  readonly right: { at: number | null; ticker: string; venue: number; quote: number }[];
  readonly asof: {
    strategy: data.AsofStrategy;
    by: ("ticker" | "venue")[];
    tolerance: number | null;
    allowExactMatches: boolean;
    quotes: (number | null)[];
  }[];
  readonly long: LongRow[];
  readonly months: string[];
  readonly pivotMax: Record<string, unknown>[];
  readonly pivotMean: Record<string, unknown>[];
  readonly pivotSeveral: Record<string, unknown>[];
  readonly describe: { polars: Record<string, Numbers>; pandas: Record<string, Numbers>; texts: Record<string, string | null> };
}

const RECORDED = JSON.parse(readFileSync(fileURLToPath(new URL("../vectors/data/tables/rows.json", import.meta.url)), "utf8")) as Recorded;
const LEFT = data.fromItems(RECORDED.left);
const RIGHT = data.fromItems(RECORDED.right);
const LONG = data.fromItems(RECORDED.long);

test.each(RECORDED.asof)(
  "as-of joins are those of Polars and pandas: $strategy by $by, tolerance $tolerance, exact matches $allowExactMatches",
  async ({ strategy, by, tolerance, allowExactMatches, quotes }) => {
    const other = RIGHT.dropColumns((["ticker", "venue"] as const).filter((column) => !by.includes(column)));
    const rows = await LEFT.repartition(3)
      .joinAsof(other.repartition(2) as data.Dataset<any>, {
        on: "at",
        ...(by.length > 0 && { by, partitions: 3 }),
        strategy,
        tolerance: tolerance ?? undefined,
        allowExactMatches,
      })
      .takeAll();
    const found = rows.toSorted((a, b) => a.id - b.id);
    expect(found).toEqual(RECORDED.left.map((row, i) => ({ ...row, quote: quotes[i] })));
  },
);

test("an as-of join compares times exactly, and its tolerance is in milliseconds", async () => {
  const at = new Date("2026-01-01T00:00:00Z");
  const trades = data.fromItems([0, 5, 5000].map((ms, id) => ({ id, at: new Date(at.getTime() + ms) })));
  const quotes = data.fromItems([{ time: new Date(at.getTime() - 1000), price: 7 }]);
  const joined = trades.joinAsof(quotes, { on: "at", rightOn: "time", tolerance: 1005 });
  expect((await joined.takeAll()).map(({ id, price, time }) => ({ id, price, time }))).toEqual([
    { id: 0, price: 7, time: new Date(at.getTime() - 1000) },
    { id: 1, price: 7, time: new Date(at.getTime() - 1000) },
    { id: 2, price: null, time: null },
  ]);
  const large = data.fromColumns({ at: BigInt64Array.of(9007199254740993n, 9007199254740995n) });
  const other = data.fromColumns({ at: BigInt64Array.of(9007199254740992n, 9007199254740994n), place: Int32Array.of(1, 2) });
  expect((await large.joinAsof(other, { on: "at", tolerance: 1n }).takeAll()).map(({ place }) => place)).toEqual([1, 2]);
  const floats = data.fromItems([{ x: 0.5 }, { x: Number.NaN }, { x: Number.POSITIVE_INFINITY }]);
  const points = data.fromItems([
    { x: Number.NaN, y: 0 },
    { x: 0.25, y: 1 },
  ]);
  expect((await floats.joinAsof(points, { on: "x" }).takeAll()).map(({ y }) => y)).toEqual([1, null, 1]);
});

test("an as-of join has no fault that reports of other engines tell of", async () => {
  const values = async (rows: data.Dataset<any>, column: string): Promise<unknown[]> =>
    ((await rows.takeAll()) as Record<string, unknown>[]).map((row) => row[column]);
  // pola-rs/polars#10534: no tolerance with by.
  const days = ["2022-01-02", "2023-01-03"].map((day) => ({ at: new Date(day), id: "a" }));
  const quotes = data.fromItems([{ at: new Date("2022-01-02"), id: "a", value: 1 }]);
  expect(await values(data.fromItems(days).joinAsof(quotes, { on: "at", by: "id", tolerance: 0 }), "value")).toEqual([1, null]);
  // pola-rs/polars#24999: days beside moments, with a tolerance.
  const dates = data.fromItems([{ day: "2025-10-13" }, { day: "2025-10-15" }]).withColumn("day", data.col("day").cast("date"));
  const moments = data.fromItems([9, 13].map((n) => ({ at: new Date(Date.UTC(2025, 9, n, 2)), n })));
  const dayMs = 86_400_000;
  expect(await values(dates.joinAsof(moments, { on: "day", rightOn: "at", tolerance: 100 * dayMs }), "n")).toEqual([9, 13]);
  const first = dates.limit(1).withColumn("n", data.lit(1));
  expect(await values(dates.joinAsof(first, { on: "day", tolerance: 2 * dayMs }), "n")).toEqual([1, 1]);
  expect(await values(dates.joinAsof(first, { on: "day", tolerance: 2 * dayMs - 1 }), "n")).toEqual([1, null]);
  // pola-rs/polars#27165: a null key of the group, and the row of another group before it.
  const mixed = data.fromItems([
    { n: 2, key: 0, group: null },
    { n: 3, key: null, group: 0 },
  ]) as data.Dataset<any>;
  const grouped = data.fromItems([{ key: 1, group: 0 }]).joinAsof(mixed, { on: "key", by: "group", strategy: "nearest" });
  expect(await values(grouped, "n")).toEqual([null]);
  // pola-rs/polars#11649: the nearest within a tolerance, of floats.
  const floats = data.fromItems([10.00001, 20, 30].map((b) => ({ a: 1, b })));
  const others = data.fromItems([10.00001, 20.0001, 29.999].map((c) => ({ a: 1, c })));
  const nearest = floats.joinAsof(others, { on: "b", rightOn: "c", by: "a", strategy: "nearest", tolerance: 0.001 });
  expect(await values(nearest, "c")).toEqual([10.00001, 20.0001, null]);
});

test("an as-of join takes whole numbers of any width, exactly up to their limits", async () => {
  const found = async (left: unknown, right: unknown, tolerance?: bigint): Promise<unknown[]> => {
    const rows = data.fromColumns({ k: left as BigInt64Array });
    const { length } = right as BigInt64Array;
    const others = data.fromColumns({ k: right as BigInt64Array, v: Int32Array.from({ length }, (_, i) => i) });
    return (await rows.joinAsof(others, { on: "k", tolerance }).takeAll()).map(({ v }) => v);
  };
  expect(await found(Int8Array.of(-1, 5), Uint16Array.of(0, 4))).toEqual([null, 1]);
  const [least, most] = [-(2n ** 63n), 2n ** 63n - 1n];
  expect(await found(BigInt64Array.of(most), BigInt64Array.of(least), 2n ** 64n - 1n)).toEqual([0]);
  expect(await found(BigInt64Array.of(most), BigInt64Array.of(least), 2n ** 64n - 2n)).toEqual([null]);
  expect(await found(BigUint64Array.of(2n ** 64n - 1n), BigUint64Array.of(0n, 2n ** 64n - 2n), 1n)).toEqual([1]);
  // Small numbers on one side, and large ones on the other.
  expect(await found(BigInt64Array.of(1n, most), BigInt64Array.of(0n, 2n))).toEqual([0, 1]);
  expect(await found(BigInt64Array.of(1n, 5n), BigInt64Array.of(1n, most))).toEqual([0, 0]);
  expect(await found(BigInt64Array.of(most), BigInt64Array.of(0n, 2n), 5n)).toEqual([null]);
});

test("an as-of join with a side without rows has the columns of both", async () => {
  const none = RIGHT.filter(data.col("quote").lt(0));
  const rows = await LEFT.joinAsof(none, { on: "at", by: "ticker", rightSuffix: "Right" }).takeAll();
  expect(rows).toHaveLength(RECORDED.left.length);
  expect(rows[0]).toEqual({ ...(RECORDED.left[0] as LeftRow), venueRight: null, quote: null });
  const schema = await LEFT.filter(data.col("id").lt(0))
    .joinAsof(RIGHT, { on: "at", by: ["ticker", "venue"] })
    .schema();
  expect(schema.names).toEqual(["id", "at", "ticker", "venue", "quote"]);
});

test("wrong as-of joins are told", async () => {
  expect(() => LEFT.joinAsof(1 as never, { on: "at" })).toThrow("Cannot call joinAsof: it takes a Dataset: received 1");
  expect(() => LEFT.joinAsof(RIGHT, {} as never)).toThrow("Cannot joinAsof: the option on is needed");
  expect(() => LEFT.joinAsof(RIGHT, { on: "at", direction: "forward" } as never)).toThrow("strategy");
  expect(() => LEFT.joinAsof(RIGHT, { on: "at", tolerance: -1 })).toThrow(RangeError);
  expect(() => LEFT.joinAsof(RIGHT, { on: "at", partitions: 2 })).toThrow("without the option by all rows are one partition");
  expect(() => LEFT.joinAsof(RIGHT, { on: "at", by: "at" })).toThrow("the column of on is none of by");
  const texts = LEFT.joinAsof(RIGHT, { on: "ticker", rightSuffix: "Right" }).takeAll();
  expect(String(await failureOf(texts))).toContain("the keys of on have to be numbers or times");
  const missing = LEFT.joinAsof(RIGHT, { on: "nothing" as "at", rightSuffix: "Right" }).takeAll();
  expect(String(await failureOf(missing))).toContain('there is no column "nothing"');
});

function byIndex(rows: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  const text = ({ city, year }: Record<string, unknown>): string => `${String(city)} ${String(year)}`;
  return rows.toSorted((a, b) => (text(a) < text(b) ? -1 : 1));
}

test("pivots are those of Polars, with a column for each value and aggregate", async () => {
  const groups = LONG.repartition(4).groupBy(["city", "year"], { numPartitions: 3 });
  const columns = RECORDED.months;
  const largest = await groups.pivot("month", { columns, aggregate: data.max("sales") }).takeAll();
  expect(byIndex(largest)).toEqual(byIndex(RECORDED.pivotMax));
  const means = await groups.pivot("month", { columns, aggregate: data.mean("sales") }).takeAll();
  expect(byIndex(means)).toEqual(byIndex(RECORDED.pivotMean));
  const several = groups.pivot("month", { columns, aggregate: { sales: data.max("sales"), name: data.max("name") } });
  expect(byIndex(await several.takeAll())).toEqual(byIndex(RECORDED.pivotSeveral));
});

test("a pivot names columns after numbers, booleans and null, and keeps the columns of no rows", async () => {
  const rows = LONG.groupBy("city").pivot("year", { columns: [2, 0n, 9], aggregate: data.count() });
  const expected = Object.fromEntries(
    ["x", "y", "z", null].map((city) => {
      const own = RECORDED.long.filter((row) => row.city === city);
      return [String(city), [2, 0].map((year) => own.filter((row) => row.year === year).length)];
    }),
  );
  expect((await rows.schema()).names).toEqual(["city", "2", "0", "9"]);
  for (const row of await rows.takeAll()) {
    expect([row["2"], row["0"], row["9"]]).toEqual([...(expected[String(row.city)] as number[]), null]);
  }
  const open = LONG.groupBy("year").pivot("open", { columns: [true, null], aggregate: data.count() });
  for (const row of await open.takeAll()) {
    const own = RECORDED.long.filter(({ year }) => year === row.year);
    expect([row.true, row.null]).toEqual([own.filter((one) => one.open === true).length, own.filter((one) => one.open === null).length]);
  }
  const none = LONG.filter(data.col("year").lt(0))
    .groupBy("city")
    .pivot("month", { columns: ["jan"], aggregate: data.sum("sales") });
  expect((await none.schema()).names).toEqual(["city", "jan"]);
  expect(await none.takeAll()).toEqual([]);
  expect(await rows.filter(data.col("2").gt(0)).count()).toBe(Object.values(expected).filter(([two]) => (two as number) > 0).length);
});

test("a pivot keeps null and NaN keys, and rows without any value", async () => {
  // pandas-dev/pandas#61113 and #21969.
  const sparse = data.fromItems([
    { row: null, column: 0, v: 0 },
    { row: 3, column: null, v: 4 },
    { row: Number.NaN, column: 1, v: null },
  ]);
  const wide = sparse.groupBy("row").pivot("column", { columns: [0, 1, null], aggregate: data.sum("v") });
  expect((await wide.takeAll()).toSorted((a, b) => (String(a.row) < String(b.row) ? -1 : 1))).toEqual([
    { row: 3, "0": null, "1": null, null: 4 },
    { row: Number.NaN, "0": null, "1": null, null: null },
    { row: null, "0": 0, "1": null, null: null },
  ]);
});

test("wrong pivots are told", async () => {
  const groups = LONG.groupBy("city");
  const aggregate = data.sum("sales");
  expect(() => groups.pivot(1 as never, { columns: ["jan"], aggregate })).toThrow("it takes the name of the column");
  expect(() => groups.pivot("city", { columns: ["x"], aggregate })).toThrow("is none of groupBy");
  expect(() => groups.pivot("month", { columns: [], aggregate })).toThrow("1 to 10000");
  expect(() => groups.pivot("month", { columns: ["jan", "jan"], aggregate })).toThrow(RangeError);
  expect(() => groups.pivot("month", { columns: ["city"], aggregate })).toThrow("two columns would have one name");
  expect(() => groups.pivot("month", { columns: ["jan"] } as never)).toThrow("it takes the options columns and aggregate");
  expect(() => groups.pivot("month", { columns: ["jan"], values: "sales" } as never)).toThrow("aggregate");
  const times = data.fromItems([{ k: 1, at: new Date(0), v: 1 }]).groupBy("k");
  const failure = await failureOf(times.pivot("at", { columns: ["x"], aggregate: data.sum("v") }).takeAll());
  expect(String(failure)).toContain("texts, numbers or booleans become columns");
});

test("a sample has so many rows of each group, at random and by the seed", async () => {
  const rows = data.range(3000).map(({ id }) => ({ id, k: id % 7 === 0 ? null : id % 3 }));
  const sampled = (seed: number, blocks = 5): Promise<{ id: number; k: number | null }[]> =>
    rows.repartition(blocks).groupBy("k", { numPartitions: 2 }).sample({ rows: 50, seed }).sort("id").takeAll();
  const first = await sampled(1);
  expect(Object.values(Object.groupBy(first, ({ k }) => String(k))).map((own) => own?.length)).toEqual([50, 50, 50, 50]);
  for (const { id, k } of first) expect(k).toBe(id % 7 === 0 ? null : id % 3);
  expect(await sampled(1, 2)).toEqual(first);
  expect(await sampled(2)).not.toEqual(first);
  // Uniform over the group: the mean of 50 of 857 numbers from 0 to 2999 is within five standard errors of the middle.
  const means = await Promise.all([1, 2, 3, 4].map(async (seed) => (await sampled(seed)).reduce((sum, { id }) => sum + id, 0) / 200));
  for (const mean of means) expect(Math.abs(mean - 1500)).toBeLessThan((5 * 866) / Math.sqrt(200));
  const small = await data.range(5).groupBy("id").sample({ rows: 3 }).count();
  expect(small).toBe(5);
});

test("a sample by a fraction takes that part of each group, and wrong options are told", async () => {
  const rows = data.range(1000).map(({ id }) => ({ id, k: id < 100 }));
  const taken = await rows.groupBy("k").sample({ fraction: 0.25, seed: 3 }).takeAll();
  expect([true, false].map((k) => taken.filter((row) => row.k === k).length)).toEqual([25, 225]);
  expect(new Set(taken.map(({ id }) => id)).size).toBe(250);
  expect(await rows.groupBy("k").sample({ fraction: 0 }).count()).toBe(0);
  expect((await rows.groupBy("k").sample({ rows: 2 }).schema()).names).toEqual(["id", "k"]);
  const groups = rows.groupBy("k");
  expect(() => groups.sample({})).toThrow("one of the options rows and fraction");
  expect(() => groups.sample({ rows: 1, fraction: 0.5 })).toThrow("one of the options rows and fraction");
  expect(() => groups.sample({ fraction: 2 })).toThrow(RangeError);
  expect(() => groups.sample({ n: 5 } as never)).toThrow("it is rows");
});

test("descriptions of numbers are those of Polars and pandas, and texts have counts and extremes", async () => {
  const described = await LONG.repartition(3).describe();
  const { polars, pandas, texts } = RECORDED.describe;
  for (const column of ["year", "sales"] as const) {
    const { nullCount, ...own } = described.column(column) as Numbers;
    const { null_count, ...others } = polars[column] as Numbers;
    expect(nullCount).toBe(null_count);
    for (const expected of [others, pandas[column] as Numbers])
      expect(own).toEqual(Object.fromEntries(Object.entries(expected).map(([name, value]) => [name, expect.closeTo(value, 10) as number])));
  }
  expect(described.column("name")).toEqual({
    count: Number(texts["count"]),
    nullCount: Number(texts["null_count"]),
    min: texts["min"],
    max: texts["max"],
  });
  const open = RECORDED.long.map((row) => row.open).filter((value) => value !== null);
  expect(described.column("open")).toMatchObject({ count: open.length, min: false, max: true });
  expect(described.rows.map(({ statistic }) => statistic)).toEqual([
    "count",
    "nullCount",
    "mean",
    "std",
    "min",
    "25%",
    "50%",
    "75%",
    "max",
  ]);
  expect(String(described).split("\n")[0]).toMatch(/^statistic +city +year/);
});

test("descriptions of NaN, decimals and few rows have no fault that reports of other engines tell of", async () => {
  // pola-rs/polars#12871: NaN is a value of the mean, and smaller and larger than none.
  const withNaN = (await data.fromItems([1, 2, 3, Number.NaN].map((a) => ({ a }))).describe()).column("a");
  expect(withNaN).toMatchObject({ count: 4, nullCount: 0, mean: Number.NaN, min: 1, max: 3 });
  // pola-rs/polars#13732 and #17971: decimals, and decimals that are all null.
  const texts = data.fromItems([
    { a: "1.10", b: null },
    { a: "2.25", b: null },
  ]);
  const decimals = await texts.withColumns({ a: data.col("a").cast("decimal<9, 2>"), b: data.col("b").cast("decimal<9, 2>") }).describe();
  expect(decimals.column("a")).toMatchObject({ count: 2, mean: 1.675, min: "1.10", max: "2.25" });
  expect(decimals.column("b")).toEqual({ count: 0, nullCount: 2, mean: null, std: null, min: null, max: null });
  const [one, none] = [data.fromItems([{ a: 1 }]), data.fromItems([{ a: 1 }]).filter(data.col("a").gt(1))];
  expect((await one.describe()).column("a")).toMatchObject({ count: 1, std: null, "50%": 1 });
  expect((await none.describe()).column("a")).toMatchObject({ count: 0, mean: null, "50%": null, max: null });
});

test("a description takes other quantiles and types of columns, and wrong options are told", async () => {
  const rows = data.fromItems([1, 2, 3, 4].map((n) => ({ n, at: new Date(n), list: [n] })));
  const described = await rows.describe({ quantiles: [0.025, 1] });
  expect(described.column("n")).toMatchObject({ "2.5%": 1.075, "100%": 4 });
  expect(described.column("at")).toEqual({ count: 4, nullCount: 0, min: new Date(1), max: new Date(4) });
  expect(described.column("list")).toEqual({ count: 4, nullCount: 0 });
  expect(await failureOf(rows.describe({ quantiles: [2] }))).toBeInstanceOf(RangeError);
  expect(String(await failureOf(rows.describe({ columns: ["none" as "n"] })))).toContain("there is no such column");
});
