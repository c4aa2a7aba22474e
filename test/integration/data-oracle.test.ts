/**
 * Exchanges and other operators of datasets against plain arrays. The rows are random, with nulls, NaN, big integers and empty text, in
 * random blocks, some of which have dictionaries. The budget is the usual one or a byte. In-process, because rows are checked; deaths and
 * memory have separate tests.
 */
import fc from "fast-check";
import * as data from "shoal/data";
import { expect, test } from "vitest";
import { arrowOfBlocks } from "../../src/data/arrow/to-arrow.ts";
import { blockOfRows } from "../../src/data/blocks/block.ts";
import { withDictionaries } from "../oracles/dictionary-blocks.ts";
import { useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ mode: "inProcess", numCpus: 2 });

interface Values {
  readonly a: number | null;
  readonly s: string | null;
  readonly b: boolean | null;
  readonly g: bigint | null;
}
type Row = Values & { readonly i: number };
type Key = keyof Values;
type Blocks = readonly (readonly Values[])[];

const values: fc.Arbitrary<Values> = fc.record({
  a: fc.option(fc.oneof(fc.integer({ min: -4, max: 4 }), fc.constant(Number.NaN))),
  s: fc.option(fc.constantFrom("", "a", "b", "é", "zz")),
  b: fc.option(fc.boolean()),
  g: fc.option(fc.constantFrom(0n, 5n, -(2n ** 60n))),
});
const blocks: fc.Arbitrary<Blocks> = fc.array(fc.array(values, { minLength: 1, maxLength: 10 }), { minLength: 1, maxLength: 5 });
const key = fc.constantFrom<Key>("a", "s", "b", "g");
const keys = fc.uniqueArray(key, { minLength: 1, maxLength: 2 });
/** The usual budget, or one that holds no block at all. */
const settings = fc.constantFrom<data.DataSettings>({}, { memoryBytes: 1 });

/** The rows, numbered in their order. */
const rowsOf = (parts: Blocks): Row[] => parts.flat().map((one, i) => ({ ...one, i }));

/** The same rows, one block a part. Texts have a dictionary in some parts, and in others none. */
function datasetOf(parts: Blocks): data.Dataset<Row> {
  let next = 0;
  const tasks = parts.map((part) => {
    const rows = part.map((one) => ({ ...one, i: next++ }));
    const choice = part.length % 4;
    if (choice === 0) return { read: () => [rows] };
    const stream = arrowOfBlocks([withDictionaries(blockOfRows(rows, "a part"), choice)]);
    return { read: () => [stream] };
  });
  return data.readDatasource<Row>({ name: "parts", getReadTasks: () => tasks });
}

/** A text that tells values apart as groups and joins do: NaN equals NaN, 0n is not 0. */
const nameOf = (value: unknown): string => `${typeof value} ${String(value)}`;

const isOfNumber = (a: { readonly i: number | null }, b: { readonly i: number | null }): number => Number(a.i) - Number(b.i);

/** Compares without regard to the order. */
function expectSame(found: readonly object[], expected: readonly object[]): void {
  const textOf = (row: object): string =>
    JSON.stringify(
      Object.entries(row)
        .map(([name, value]) => `${name} ${nameOf(value)}`)
        .toSorted(byText),
    );
  const sorted = (rows: readonly object[]): object[] => rows.toSorted((a, b) => byText(textOf(a), textOf(b)));
  expect(sorted(found)).toEqual(sorted(expected));
}

const byText = (a: string, b: string): number => Number(a > b) - Number(a < b);

async function holds<Ts extends [unknown, ...unknown[]]>(numRuns: number, property: fc.IAsyncPropertyWithHooks<Ts>): Promise<void> {
  await fc.assert(property, { numRuns });
}

test("sort: by several keys, in both directions, stable, NaN and then null last", async () => {
  const rank = (value: unknown): number => (value === null ? 2 : Number(Number.isNaN(value)));
  const compare = (a: Row[Key], b: Row[Key], descending: boolean): number => {
    const ranks = rank(a) - rank(b);
    if (ranks !== 0 || rank(a) > 0) return ranks;
    const order = typeof a === "string" ? Buffer.compare(Buffer.from(a), Buffer.from(b as string)) : Number(a! > b!) - Number(a! < b!);
    return descending ? -order : order;
  };
  const directions = fc.tuple(fc.boolean(), fc.boolean());
  await holds(
    40,
    fc.asyncProperty(blocks, keys, directions, settings, async (parts, by, both, options) => {
      const descending = by.map((_, at) => both[at] as boolean);
      const expected = rowsOf(parts).toSorted((x, y) => {
        const orders = by.map((name, at) => compare(x[name], y[name], descending[at] as boolean));
        return orders.find((order) => order !== 0) ?? 0;
      });
      expect(await datasetOf(parts).withSettings(options).sort(by, { descending }).takeAll()).toEqual(expected);
    }),
  );
});

test("unique: each value once, and no null", async () => {
  await holds(
    25,
    fc.asyncProperty(blocks, key, settings, async (parts, name, options) => {
      const found = (await datasetOf(parts).withSettings(options).unique(name)).map(nameOf);
      const present = rowsOf(parts).map((one) => one[name]);
      expect(found.toSorted(byText)).toEqual([...new Set(present.filter((value) => value !== null).map(nameOf))].toSorted(byText));
    }),
  );
});

test("dropDuplicates: of equal rows the first or the last, whatever blocks they lie in", async () => {
  await holds(
    30,
    fc.asyncProperty(blocks, keys, settings, fc.constantFrom("first", "last"), async (parts, by, options, keep) => {
      const groups = Object.values(Object.groupBy(rowsOf(parts), (one) => by.map((name) => nameOf(one[name])).join())) as Row[][];
      const found = await datasetOf(parts).withSettings(options).dropDuplicates(by, { keep }).takeAll();
      expectSame(
        found,
        groups.map((rows) => rows.at(keep === "first" ? 0 : -1) as Row),
      );
    }),
  );
});

test("groupBy: aggregates and mapGroups, in any number of partitions", async () => {
  await holds(
    30,
    fc.asyncProperty(blocks, keys, settings, fc.integer({ min: 1, max: 4 }), async (parts, by, options, numPartitions) => {
      const groups = Object.values(Object.groupBy(rowsOf(parts), (one) => by.map((name) => nameOf(one[name])).join())) as Row[][];
      const expected = groups.map((rows) => {
        const ids = rows.map(({ i }) => i);
        const named = Object.fromEntries(by.map((name) => [name, rows[0]?.[name]]));
        return { ...named, n: ids.length, sum: ids.reduce((x, y) => x + y), least: ids[0], most: ids.at(-1), list: ids.join() };
      });
      const grouped = datasetOf(parts).withSettings(options).groupBy(by, { numPartitions });
      const aggregates = { n: data.count(), sum: data.sum("i"), least: data.min("i"), most: data.max("i"), list: data.asList("i") };
      const inOrder = (list: Iterable<number>): string =>
        Array.from(list)
          .toSorted((x, y) => x - y)
          .join();
      const found = await grouped.aggregate(aggregates).takeAll();
      expectSame(
        found.map((one) => ({ ...one, list: inOrder(one.list) })),
        expected,
      );
      const mapped = grouped.mapGroups((rows) => [{ list: rows.map(({ i }) => i).join() }], { batchFormat: "rows" });
      expectSame(
        (await mapped.takeAll()).map(({ list }) => ({ list: inOrder(list.split(",").map(Number)) })),
        expected.map(({ list }) => ({ list })),
      );
    }),
  );
});

test("repartition in all its forms, shuffles, and batches of every format: all rows once, in order where it is kept", async () => {
  await holds(
    15,
    fc.asyncProperty(blocks, fc.integer({ min: 1, max: 6 }), settings, async (parts, n, options) => {
      const rows = rowsOf(parts);
      const dataset = datasetOf(parts).withSettings(options);
      for (const ordered of [
        dataset.repartition(n),
        dataset.repartition({ rowsPerBlock: n }),
        dataset.repartition({ rowsPerBlock: n, strict: true }),
        dataset.mapBatches((batch) => batch, { batchSize: n }),
        dataset.mapBatches((batch) => batch, { batchSize: n, batchFormat: "rows" }),
        dataset.mapBatches((batch) => batch, { batchSize: n, batchFormat: "arrow" }),
      ] as data.Dataset<Row>[])
        expect(await ordered.takeAll()).toEqual(rows);
      for (const unordered of [
        dataset.repartition({ keys: ["s"], blocks: n }),
        dataset.randomShuffle({ seed: n }),
        dataset.randomizeBlockOrder({ seed: n }),
      ])
        expect((await unordered.takeAll()).toSorted(isOfNumber)).toEqual(rows);
    }),
  );
});

test("mix: rows of each dataset in its order, all of them or up to the first end; zip: row by row, however blocks lie", async () => {
  const weights = fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 }));
  await holds(
    30,
    fc.asyncProperty(blocks, blocks, weights, settings, async (left, right, shares, options) => {
      const [ours, theirs] = [rowsOf(left), rowsOf(right)];
      const others = datasetOf(right).map((one) => ({ ...one, i: one.i + 1000 }));
      for (const stop of ["all", "first"] as const) {
        const found = await datasetOf(left).withSettings(options).mix(others, { weights: shares, stop }).takeAll();
        const a = found.filter(({ i }) => i < 1000);
        const b = found.filter(({ i }) => i >= 1000).map((one) => ({ ...one, i: one.i - 1000 }));
        expect([a, b]).toEqual([ours.slice(0, a.length), theirs.slice(0, b.length)]);
        if (stop === "all") expect([a.length, b.length]).toEqual([ours.length, theirs.length]);
        else expect(a.length === ours.length || b.length === theirs.length).toBe(true);
      }
      const count = Math.min(ours.length, theirs.length);
      const renamed = datasetOf(right).map(({ i, g }) => ({ j: i, h: g }));
      const zipped = datasetOf(left).withSettings(options).limit(count).zip(renamed.limit(count));
      expect(await zipped.takeAll()).toEqual(ours.slice(0, count).map((one, at) => ({ ...one, j: at, h: theirs[at]?.g })));
    }),
  );
});

const JOINS: readonly data.JoinType[] = ["inner", "left", "right", "full", "leftSemi", "leftAnti", "rightSemi", "rightAnti"];

/** Each pair of rows by comparison. */
function joined(left: readonly Row[], right: readonly { readonly j: number }[], { on, type }: { on: Key; type: data.JoinType }): object[] {
  const valueOf = (one: object): unknown => (one as Record<string, unknown>)[on];
  const meet = (x: object, y: object): boolean => valueOf(x) !== null && valueOf(y) !== null && nameOf(valueOf(x)) === nameOf(valueOf(y));
  if (type === "leftSemi" || type === "leftAnti") return left.filter((x) => right.some((y) => meet(x, y)) === (type === "leftSemi"));
  if (type === "rightSemi" || type === "rightAnti") return right.filter((y) => left.some((x) => meet(x, y)) === (type === "rightSemi"));
  const pairs: object[] = left.flatMap((x) => right.filter((y) => meet(x, y)).map(({ j }) => ({ ...x, j })));
  if (type === "left" || type === "full") pairs.push(...left.filter((x) => !right.some((y) => meet(x, y))).map((x) => ({ ...x, j: null })));
  if (type === "right" || type === "full")
    pairs.push(...right.filter((y) => !left.some((x) => meet(x, y))).map((y) => ({ a: null, s: null, b: null, g: null, i: null, ...y })));
  return pairs;
}

test("join of every kind", async () => {
  const typed = fc.array(values, { minLength: 1, maxLength: 8 });
  await holds(
    60,
    fc.asyncProperty(
      fc.array(typed, { minLength: 1, maxLength: 3 }),
      blocks,
      key,
      fc.constantFrom(...JOINS),
      settings,
      async (left, right, on, type, options) => {
        const narrow = ({ i, ...one }: Row): { j: number } => ({ [on]: one[on], j: i });
        const dataset = datasetOf(left).withSettings(options);
        const found = await dataset.join(datasetOf(right).map(narrow) as data.Dataset<any>, { on, type, partitions: 3 }).takeAll();
        expectSame(found, joined(rowsOf(left), rowsOf(right).map(narrow), { on, type }));
      },
    ),
  );
});

test("files: Parquet and JSON come back as they were written", async () => {
  await holds(
    12,
    fc.asyncProperty(blocks, fc.integer({ min: 1, max: 6 }), async (parts, maxRowsPerFile) => {
      const rows = rowsOf(parts);
      const [parquet, json] = [`${folder}/parquet`, `${folder}/json`];
      await datasetOf(parts).writeParquet(parquet, { mode: "overwrite", maxRowsPerFile });
      expect((await data.readParquet<Row>(parquet).takeAll()).toSorted(isOfNumber)).toEqual(rows);
      await datasetOf(parts).writeJson(json, { mode: "overwrite" });
      const schema = { a: "float64", s: "string", b: "bool", g: "int64 as bigint", i: "float64" };
      // JSON has no NaN.
      const expected = rows.map((one) => ({ ...one, a: Number.isNaN(one.a) ? null : one.a }));
      expect((await data.readJson<Row>(json, { schema }).takeAll()).toSorted(isOfNumber)).toEqual(expected);
    }),
  );
});
