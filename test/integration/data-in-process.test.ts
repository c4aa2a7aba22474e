/**
 * Datasets in in-process mode: random pipelines give the same rows as the same steps on arrays, with any budget, and end where they are
 * left.
 */
import fc from "fast-check";
import * as data from "shoal/data";
import { expect, test } from "vitest";
import { useSession } from "./session.ts";

useSession({ mode: "inProcess", numCpus: 2 });

interface TestRow {
  readonly a: number;
  readonly b: string | null;
}
type Step = { readonly kind: "map" | "filter" | "flatMap" | "limit" | "union" | "select"; readonly n: number };

const row = fc.record({ a: fc.integer({ min: -50, max: 50 }), b: fc.option(fc.string({ maxLength: 3 })) });
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom<Step["kind"]>("map", "filter", "flatMap", "limit", "union", "select"),
  n: fc.integer({ min: 0, max: 12 }),
});

function onDataset(dataset: data.Dataset<TestRow>, { kind, n }: Step): data.Dataset<TestRow> {
  switch (kind) {
    case "map":
      return dataset.map(({ a, b }) => ({ a: a + n, b }));
    case "filter":
      return dataset.filter(({ a }) => a % 3 !== n % 3);
    case "flatMap":
      return dataset.flatMap((one) => (one.a > n ? [] : [one, { a: one.a, b: null }]));
    case "limit":
      return dataset.limit(n);
    case "union":
      return dataset.union(data.range(n).map(({ id }) => ({ a: id, b: "u" })));
    case "select":
      return dataset.renameColumns({ a: "c" }).selectColumns(["b", "c"]).renameColumns({ c: "a" });
  }
}

function onRows(rows: TestRow[], { kind, n }: Step): TestRow[] {
  switch (kind) {
    case "map":
      return rows.map(({ a, b }) => ({ a: a + n, b }));
    case "filter":
      return rows.filter(({ a }) => a % 3 !== n % 3);
    case "flatMap":
      return rows.flatMap((one) => (one.a > n ? [] : [one, { a: one.a, b: null }]));
    case "limit":
      return rows.slice(0, n);
    case "union":
      return [...rows, ...Array.from({ length: n }, (_, id) => ({ a: id, b: "u" }))];
    case "select":
      return rows;
  }
}

test("pipelines give what arrays give, with a large budget, one of a byte, and a limit of one CPU", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 12 }),
      fc.array(step, { maxLength: 5 }),
      fc.constantFrom({}, { memoryBytes: 1 }, { memoryBytes: 1, resourceLimits: { CPU: 1 } }),
      async (rows, steps, settings) => {
        const dataset = steps.reduce(onDataset, data.fromItems(rows) as unknown as data.Dataset<TestRow>);
        expect(await dataset.withSettings(settings).takeAll()).toEqual(steps.reduce(onRows, rows));
      },
    ),
    { numRuns: 60 },
  );
}, 30_000);

test("an endless second input of a union does not keep the first from ending", async () => {
  const endless = data.readDatasource<{ id: number }>({
    name: "endless",
    getReadTasks: () => [
      {
        read: function* () {
          for (;;) yield { id: new Float64Array(200_000) };
        },
      },
    ],
  });
  const both = data.range(1000).union(endless).withSettings({ memoryBytes: 1 });
  expect((await both.take(1500)).map(({ id }) => id).slice(990, 1002)).toEqual([990, 991, 992, 993, 994, 995, 996, 997, 998, 999, 0, 0]);
}, 20_000);

test("a key that nine of ten rows have is sorted, grouped, brought together and joined as any other, in several tasks", async () => {
  const count = 300_000;
  const rows = data.range(count).mapBatches(({ id }) => ({ id, key: Float64Array.from(id, (n) => (n % 10 === 0 ? n : 7)) }));
  const own = Array.from({ length: count }, (_, id) => ({ id, key: id % 10 === 0 ? id : 7 }));

  const sorted = rows.sort("key");
  const ids: number[] = [];
  for await (const { id } of sorted.iterBatches({ batchSize: 50_000 })) ids.push(...id);
  expect(ids).toEqual(own.toSorted((a, b) => a.key - b.key).map(({ id }) => id));

  const heavy = own.filter(({ key }) => key === 7).map(({ id }) => id);
  const groups = rows.groupBy("key", { numPartitions: 4 }).aggregate({ rows: data.count(), middle: data.quantile("id", 0.5) });
  const found = await groups.filter(({ key, rows: size }) => key === 7 || size !== 1).takeAll();
  expect(found).toEqual([{ key: 7, rows: heavy.length, middle: ((heavy[134_999] as number) + (heavy[135_000] as number)) / 2 }]);
  expect(await groups.count()).toBe(count / 10 + 1);

  const together = rows.repartition({ keys: ["key"], blocks: 4 });
  const blocks = await together
    .mapBatches(({ key }) => ({ sevens: [key.filter((one) => one === 7).length] }), { batchSize: count })
    .takeAll();
  expect(blocks.map(({ sevens }) => sevens).filter((sevens) => sevens > 0)).toEqual([heavy.length]);

  const joined = rows.join(
    data.range(count).mapBatches(({ id }) => ({ key: Float64Array.from(id), twice: id.map((n) => 2 * n) })),
    { on: "key" },
  );
  expect(await joined.sum("twice")).toBe(own.reduce((sum, { key }) => sum + 2 * key, 0));
  // A single partition would be a single task.
  for (const stats of [await sorted.stats(), await groups.stats()]) expect(stats?.operators.at(-1)?.tasks).toBeGreaterThan(2);
});
