/** `explode` and `unpivot`: rows, types, nulls, and wrong arguments. */
import * as data from "shoal/data";
import { expect, test } from "vitest";
import { failureOf, useSession } from "./session.ts";

useSession({ numCpus: 2, objectStoreMemoryBytes: 128 * 2 ** 20 });

test("explode gives a row an element, and one row for a null and an empty list", async () => {
  const items = [
    { id: 1, tags: ["a", "b"] },
    { id: 2, tags: [] },
    { id: 3, tags: null },
    { id: 4, tags: ["c", null] },
  ];
  expect(await data.fromItems(items).explode("tags").takeAll()).toEqual([
    { id: 1, tags: "a" },
    { id: 1, tags: "b" },
    { id: 2, tags: null },
    { id: 3, tags: null },
    { id: 4, tags: "c" },
    { id: 4, tags: null },
  ]);
});

test("explode goes through slices, other lists and more rows than a block", async () => {
  const lists = data.range(100_000).map(({ id }) => ({ id, parts: [{ n: id }, { n: -id }], other: [id] }));
  const sums = lists.filter(({ id }) => id % 2 === 1).explode("parts");
  expect(await sums.count()).toBe(100_000);
  expect(await sums.limit(3).takeAll()).toEqual([
    { id: 1, parts: { n: 1 }, other: [1] },
    { id: 1, parts: { n: -1 }, other: [1] },
    { id: 3, parts: { n: 3 }, other: [3] },
  ]);
});

test("unpivot gives a row a column, and brings values to one type", async () => {
  const wide = data.fromColumns({ id: Int32Array.of(1, 2), jan: Int32Array.of(3, 4), feb: [0.5, null] });
  const long = wide.unpivot(["jan", "feb"], { nameColumn: "month", valueColumn: "sales" });
  expect(await long.takeAll()).toEqual([
    { id: 1, month: "jan", sales: 3 },
    { id: 1, month: "feb", sales: 0.5 },
    { id: 2, month: "jan", sales: 4 },
    { id: 2, month: "feb", sales: null },
  ]);
  expect(String(await long.schema())).toMatch(/id +int32\s+month +string\s+sales +float64/);
});

test("wrong arguments are told", async () => {
  const rows = data.fromItems([{ id: 1, name: "a", variable: 2 }]);
  expect(() => rows.explode(1 as never)).toThrow(TypeError);
  expect(() => rows.unpivot([])).toThrow("Cannot call unpivot: it takes a column, or several: received none");
  expect(String(await failureOf(rows.explode("name").takeAll()))).toContain('column "name" has the type string, and a list is needed');
  expect(String(await failureOf(rows.unpivot(["id", "name"]).takeAll()))).toContain(
    'column "name" is string, and those before are float64',
  );
  expect(String(await failureOf(rows.unpivot(["id"]).takeAll()))).toContain('there is a column "variable" already');
  expect(String(await failureOf(rows.explode("none" as "name").takeAll()))).toContain('there is no column "none"');
});
