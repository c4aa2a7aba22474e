/** The statistics of columns by their types, and the table that a summary makes of them. */
import { describe, expect, test } from "vitest";
import { countDistinct, sum } from "./aggregates/aggregate.ts";
import type { Field } from "./blocks/data-type.ts";
import { DatasetSummary, summaryPlan } from "./summary.ts";

const FIELDS: readonly Field[] = [
  { name: "km", type: { kind: "int64", as: "number" } },
  { name: "city", type: { kind: "string" } },
  { name: "at", type: { kind: "timestamp", unit: "ms" } },
  { name: "tags", type: { kind: "list", of: { kind: "string" }, as: "array" } },
];

const statisticsOf = (column: string, plan = summaryPlan(FIELDS, {})): string[] =>
  plan.statistics.filter((one) => one.column === column).map(({ statistic }) => statistic);

describe("a plan of a summary", () => {
  test("has Ray's statistics of each type", () => {
    expect(statisticsOf("km")).toEqual(["count", "missingPct", "mean", "std", "min", "max", "approxQuantile", "zeroPct"]);
    expect(statisticsOf("city")).toEqual(["count", "missingPct", "approxTopK"]);
    expect(statisticsOf("at")).toEqual(["count", "missingPct", "min", "max"]);
    expect(statisticsOf("tags")).toEqual(["count", "missingPct"]);
  });

  test("takes some columns, and statistics of one's own by type", () => {
    const plan = summaryPlan(FIELDS, {
      columns: ["city", "km"],
      aggregates: (column, type) => (type === "string" ? { distinct: countDistinct(column) } : undefined),
    });
    expect(plan.columns).toEqual(["city", "km"]);
    expect(statisticsOf("city", plan)).toEqual(["distinct"]);
    expect(statisticsOf("km", plan)).toContain("mean");
  });

  test("is refused for columns that are not there, none, and what is no aggregate", () => {
    expect(() => summaryPlan(FIELDS, { columns: ["no"] })).toThrow('Cannot summarize "no": there is no such column');
    expect(() => summaryPlan([], {})).toThrow("there is no column");
    expect(() => summaryPlan([{ name: "statistic", type: { kind: "bool" } }], {})).toThrow('Cannot summarize a column "statistic"');
    expect(() => summaryPlan(FIELDS, { aggregates: () => ({ total: 3 }) as never })).toThrow('"total" is no aggregate');
  });
});

describe("a summary", () => {
  const plan = summaryPlan(FIELDS, {
    columns: ["km", "city"],
    aggregates: (column, type) => (type === "int64" ? { total: sum(column), approxQuantile: sum(column) } : undefined),
  });
  const top = [
    { value: "Rome", count: 2 },
    { value: "a city whose name goes on for longer than a cell", count: 1 },
    { value: new Uint8Array([1, 171]), count: 1 },
  ];
  const result = { "statistic 0": 7.123456789, "statistic 1": null, "statistic 2": 3, "statistic 3": 100 / 3, "statistic 4": top };
  const summary = new DatasetSummary<{ km: number; city: string }>(plan, result);

  test("has a row a statistic, by name, with a row for each element of a list", () => {
    expect(summary.rows).toEqual([
      { statistic: "approxTopK[0]", km: null, city: top[0] },
      { statistic: "approxTopK[1]", km: null, city: top[1] },
      { statistic: "approxTopK[2]", km: null, city: top[2] },
      { statistic: "count", km: null, city: 3 },
      { statistic: "missingPct", km: null, city: 100 / 3 },
      { statistic: "total", km: 7.123456789, city: null },
    ]);
    expect(summary.column("km")).toEqual({ total: 7.123456789 });
    expect(() => summary.column("at" as never)).toThrow("The summary tells nothing of");
  });

  test("prints itself as a table", () => {
    expect(String(summary)).toBe(
      [
        "statistic      km       city",
        "approxTopK[0]           Rome x 2",
        "approxTopK[1]           a city whose name goes on for l…",
        "approxTopK[2]           0x01ab x 1",
        "count                   3",
        "missingPct              33.3333",
        "total          7.12346",
      ].join("\n"),
    );
  });
});
