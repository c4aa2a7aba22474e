/** Tests that filters see every row before the limit, and that pages are complete and disjoint while rows are added. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { StatePredicate } from "../wire/observing/state-messages.ts";
import { type KeyedRow, matches, selectRows } from "./select-rows.ts";

const rowsOf = (times: readonly number[]): KeyedRow[] =>
  times.map((timeMs, index) => ({ key: [timeMs, `id-${index}`], row: { index, isOdd: index % 2 === 1 } }));

test("the one row that matches is found behind 20,000 that do not", () => {
  const rows = rowsOf(Array.from({ length: 20_001 }, (_, index) => 30_000 - index));
  const found = selectRows(rows, { filters: [["index", "=", 20_000]], limit: 100, detail: false });
  expect([found.rows.map(({ row }) => row["index"]), found.total, found.numFiltered]).toEqual([[20_000], 20_001, 1]);
});

test("pages give each row that was there exactly once, newest first, while newer rows are added", () => {
  const times = fc.array(fc.nat(20), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(times, times, fc.integer({ min: 1, max: 7 }), (before, added, limit) => {
      const all = rowsOf(before);
      const seen: KeyedRow[] = [];
      for (;;) {
        const page = selectRows(all, { filters: [], limit, before: seen.at(-1)?.key, detail: false });
        if (page.rows.length === 0) break;
        seen.push(...page.rows);
        for (const [index, timeMs] of added.splice(0, 2).entries())
          all.push({ key: [100 + timeMs, `new-${all.length}-${index}`], row: {} });
      }
      expect(seen.map(({ key }) => key[1]).sort()).toEqual(before.map((_, index) => `id-${index}`).sort());
      expect(seen.every(({ key }, index) => index === 0 || Number(key[0]) <= Number(seen[index - 1]?.key[0]))).toBe(true);
    }),
  );
});

test("pages by a column give each row once, rows without a value last, in both directions", () => {
  const value = fc.oneof(fc.constant(null), fc.integer({ min: -2, max: 2 }), fc.constantFrom("a", "b"), fc.boolean());
  fc.assert(
    fc.property(fc.array(value, { maxLength: 40 }), fc.boolean(), fc.integer({ min: 1, max: 5 }), (values, isDescending, limit) => {
      const all = values.map((column, index): KeyedRow => ({ key: [index, `id-${index}`], row: { column } }));
      const order = { column: "column", isDescending };
      const seen: KeyedRow[] = [];
      for (let before: KeyedRow["key"] | undefined; ; ) {
        const { rows } = selectRows(all, { filters: [], limit, before, order, detail: false });
        if (rows.length === 0) break;
        seen.push(...rows);
        before = rows.at(-1)?.key;
      }
      expect(seen.map(({ key }) => key[1]).sort()).toEqual(values.map((_, index) => `id-${index}`).sort());
      const numbers = seen.map(({ row }) => row["column"]).filter((found) => typeof found === "number");
      expect(numbers).toEqual(numbers.toSorted((a, b) => (isDescending ? b - a : a - b)));
      const firstNull = seen.findIndex(({ row }) => row["column"] === null);
      if (firstNull >= 0) expect(seen.slice(firstNull).every(({ row }) => row["column"] === null)).toBe(true);
    }),
  );
});

test.each<[StatePredicate, boolean]>([
  [["pid", "=", "7"], true],
  [["pid", "<", 8], true],
  [["pid", ">", 7], false],
  [["pid", "!=", 7], false],
  [["name", "contains", "esi"], true],
  [["name", "<", 1], false],
  [["none", "=", null], true],
  [["none", "!=", "x"], true],
  [["none", "contains", ""], false],
  [["labels", "contains", "zone"], true],
])("%j is %s for a row", (predicate, expected) => {
  expect(matches({ pid: 7, name: "resize", none: null, labels: { zone: "a" } }, predicate)).toBe(expected);
});
