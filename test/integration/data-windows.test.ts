/** `groupBy(...).window(...)`: its columns are those of pandas on random rows with nulls, and wrong arguments are told. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as data from "shoal/data";
import { expect, test } from "vitest";
import { failureOf, useSession } from "./session.ts";

useSession({ numCpus: 2, objectStoreMemoryBytes: 128 * 2 ** 20 });

type Row = Readonly<Record<string, number | string | null>>;
const EXPECTED = JSON.parse(readFileSync(fileURLToPath(new URL("../vectors/data/windows/rows.json", import.meta.url)), "utf8")) as Row[];
const GIVEN = EXPECTED.map(({ id, group, order, value }) => ({
  id: id as number,
  group: group as string | null,
  order: order as number | null,
  value: value as number | null,
})).toSorted((a, b) => a.id - b.id);

const STATISTICS = ["sum", "mean", "min", "max"] as const;
const FUNCTIONS = {
  rank: data.rank(),
  denseRank: data.denseRank(),
  rowNumber: data.rowNumber(),
  lag: data.lag("value", 2),
  lead: data.lead("value"),
  ...Object.fromEntries(STATISTICS.map((statistic) => [`running_${statistic}`, data.running(statistic, "value")])),
  ...Object.fromEntries(STATISTICS.map((statistic) => [`rolling_${statistic}`, data.rolling(statistic, "value", { rows: 5, minRows: 3 })])),
  ...Object.fromEntries(STATISTICS.map((statistic) => [`full_${statistic}`, data.rolling(statistic, "value", { rows: 4 })])),
};

test("ranks, shifts, and running and rolling statistics are those of pandas", async () => {
  const rows = (await data
    .fromItems(GIVEN)
    .repartition(7)
    .groupBy("group")
    .window(FUNCTIONS, { orderBy: "order" })
    .takeAll()) as unknown as Row[];
  expect(rows).toHaveLength(EXPECTED.length);
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const expected of EXPECTED) {
    const row = byId.get(expected.id) as Row;
    expect(Object.keys(row).toSorted()).toEqual(Object.keys(expected).toSorted());
    for (const [name, value] of Object.entries(expected))
      expect({ [name]: row[name] }).toEqual({ [name]: typeof value === "number" ? (expect.closeTo(value, 8) as unknown) : value });
  }
});

test("rows of a group come in order, in both directions and by several columns", async () => {
  const items = Array.from({ length: 60 }, (_, i) => ({ city: `c${i % 3}`, day: i % 4, id: i }));
  const options = { orderBy: ["day", "id"], descending: [true, false] } as const;
  const rows = await data
    .fromItems(items)
    .groupBy("city")
    .window({ n: data.rowNumber(), before: data.lag("id") }, options)
    .takeAll();
  for (const city of ["c0", "c1", "c2"]) {
    const own = rows.filter((row) => row.city === city);
    const sorted = items.filter((item) => item.city === city).toSorted((a, b) => b.day - a.day || a.id - b.id);
    expect(own).toEqual(sorted.map((item, i) => ({ ...item, n: i + 1, before: sorted[i - 1]?.id ?? null })));
  }
});

test("values of other types shift as they are, and a column of the name is replaced", async () => {
  const items = [1, 2, 3].map((i) => ({ k: 1, i, name: `n${i}`, at: new Date(i) }));
  const rows = data
    .fromItems(items)
    .groupBy("k")
    .window({ name: data.lag("name"), at: data.lead("at") }, { orderBy: "i" });
  expect(await rows.takeAll()).toEqual([
    { k: 1, i: 1, name: null, at: new Date(2) },
    { k: 1, i: 2, name: "n1", at: new Date(3) },
    { k: 1, i: 3, name: "n2", at: null },
  ]);
});

test("infinities leave with their rows", async () => {
  const items = [1, Number.POSITIVE_INFINITY, 2, 3].map((value, i) => ({ k: 1, i, value }));
  const rows = await data
    .fromItems(items)
    .groupBy("k")
    .window({ sum: data.rolling("sum", "value", { rows: 2, minRows: 1 }) }, { orderBy: "i" })
    .takeAll();
  expect(rows.map(({ sum }) => sum)).toEqual([1, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 5]);
});

test("wrong arguments are told where they are written, or with the column", async () => {
  const groups = data.fromItems([{ k: 1, name: "a" }]).groupBy("k");
  expect(() => groups.window({ n: "rank" } as never, { orderBy: "name" })).toThrow("Cannot call window: it takes an object of functions");
  expect(() => groups.window({ n: data.rank() }, { orderBy: "name", descending: [true, false] })).toThrow(
    "Cannot call window: it takes a direction for each",
  );
  expect(() => data.rolling("sum", "k", { rows: 2, minRows: 3 })).toThrow(
    "Cannot call rolling: it takes a minRows up to rows (2): received 3",
  );
  expect(() => data.rolling("sum", "k", {} as never)).toThrow("Cannot call rolling: it takes the option rows");
  expect(() => data.running("median" as never, "k")).toThrow("Cannot call running: it takes one of sum, mean, min, max");
  expect(() => data.lag("k", -1)).toThrow("Cannot call lag: it takes a whole number of rows from 0: received -1");
  const texts = groups.window({ n: data.running("sum", "name") }, { orderBy: "name" }).takeAll();
  expect(String(await failureOf(texts))).toContain('column "name" has the type string, and numbers are needed');
  const none = groups.window({ n: data.lag("none" as "name") }, { orderBy: "name" }).takeAll();
  expect(String(await failureOf(none))).toContain('there is no column "none"');
});
