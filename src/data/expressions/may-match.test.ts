/** Exclusion of rows by bounds, against the rows themselves: a filter that keeps a row is never excluded. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { blockOfRows } from "../blocks/block.ts";
import { filteredRows } from "./evaluate.ts";
import { col, type Expression, lit, nodeOf } from "./expression.ts";
import { type ColumnFacts, mayMatch } from "./may-match.ts";

interface Row {
  readonly n: number | null;
  readonly t: string | null;
  readonly d: Date | null;
  readonly b: boolean | null;
}
const nullable = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { freq: 4 });
const number = fc.constantFrom(-2, -1, 0, -0, 1, 2, 3, Number.NaN, Number.POSITIVE_INFINITY);
const text = fc.constantFrom("", "a", "b", "é", "￿", "\u{1F469}");
const time = fc.integer({ min: -2, max: 2 }).map((ms) => new Date(ms));
const row: fc.Arbitrary<Row> = fc.record({ n: nullable(number), t: nullable(text), d: nullable(time), b: nullable(fc.boolean()) });

type Comparison = "eq" | "ne" | "gt" | "ge" | "lt" | "le";
const comparison = fc.constantFrom<Comparison>("eq", "ne", "gt", "ge", "lt", "le");
const leaf = fc.oneof(
  fc.tuple(comparison, number).map(([name, value]): Expression => col("n")[name](value)),
  fc.tuple(comparison, number).map(([name, value]): Expression => lit(value)[name](col("n"))),
  fc.tuple(comparison, text).map(([name, value]): Expression => col("t")[name](value)),
  fc.tuple(comparison, time).map(([name, value]): Expression => col("d")[name](value)),
  fc.tuple(comparison, fc.boolean()).map(([name, value]): Expression => col("b")[name](value)),
  fc.array(text, { maxLength: 2 }).map((values): Expression => col("t").isIn(values)),
  fc.constantFrom<Expression>(col("b"), col("n").isNull(), col("t").isNotNull(), col("n").add(1).gt(2), lit(true)),
);
const { filter } = fc.letrec<{ filter: Expression }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.tuple(tie("filter"), tie("filter")).map(([a, b]): Expression => a.and(b)),
    fc.tuple(tie("filter"), tie("filter")).map(([a, b]): Expression => a.or(b)),
    tie("filter").map((one): Expression => one.not()),
  ),
}));

function orderOf(a: unknown, b: unknown): number {
  if (typeof a === "string") return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  return Number(a) - Number(b);
}

/** The facts as a writer of statistics has them: NaN is left out, and without a value there are no bounds. */
function factsOf(rows: readonly Row[], name: keyof Row): ColumnFacts {
  const values = rows.map((one) => one[name]);
  const known = values.filter((value) => value !== null && !Number.isNaN(value)).toSorted(orderOf);
  const base = { rowCount: rows.length, nullCount: values.filter((value) => value === null).length, mayBeNaN: name === "n" };
  return known.length === 0 ? base : { ...base, least: known[0] as number, most: known.at(-1) as number };
}

test("what is excluded has no row that the filter keeps", () => {
  let excluded = 0;
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 4 }), filter, (rows, expression) => {
      const node = nodeOf(expression);
      if (mayMatch(node, (name) => factsOf(rows, name as keyof Row))) return;
      excluded += 1;
      const typed = [{ n: 0, t: "", d: new Date(0), b: true }, ...rows];
      expect([...filteredRows(blockOfRows(typed, "test"), node, "test")].filter((index) => index > 0)).toEqual([]);
    }),
    { numRuns: 5000 },
  );
  expect(excluded).toBeGreaterThan(100);
});

test("all that bounds can exclude is excluded", () => {
  const facts: ColumnFacts = { rowCount: 10, nullCount: 0, least: 3, most: 7, mayBeNaN: false };
  const n = col("n");
  const excluded: Expression[] = [
    n.gt(7),
    n.ge(8),
    n.lt(3),
    n.le(2),
    n.eq(8),
    n.isIn([1, 2, 9n]),
    n.isNull(),
    n.ge(3).not(),
    lit(7).lt(n),
    n.gt(5).and(n.lt(1)),
    n.gt(8).or(n.lt(1)),
    n.eq(10n ** 18n),
  ];
  const kept: Expression[] = [
    n.gt(6),
    n.ge(7),
    n.lt(4),
    n.le(3),
    n.eq(7),
    n.isIn([7]),
    n.isNotNull(),
    n.ge(4).not(),
    n.ne(5),
    n.add(1).gt(100),
    n.eq("7"),
  ];
  expect(excluded.filter((one) => mayMatch(nodeOf(one), () => facts)).map(String)).toEqual([]);
  expect(kept.filter((one) => !mayMatch(nodeOf(one), () => facts)).map(String)).toEqual([]);
});
