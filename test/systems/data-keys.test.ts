/**
 * Keys of every type beside DuckDB: groups, distinct values and joins of random tables with nulls, NaN and both zeros, in several files and row groups.
 *
 * Python writes the tables and has DuckDB answer. Every group, duplicate and pair of a join must be the same rows.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as data from "shoal/data";
import { expect, test } from "vitest";
import { useFolder, useSession } from "../integration/session.ts";
import { pythonOfTables } from "./table-libraries.ts";

const PROGRAM = fileURLToPath(new URL("python/keys.py", import.meta.url));
const folder = useFolder();
useSession({ mode: "inProcess", numCpus: 2 });

interface Answer {
  readonly keys: readonly string[];
  /** For each group the number of rows, and the sum, the least and the largest of their numbers. */
  readonly groups: readonly (readonly number[])[];
  readonly joined: readonly number[];
  readonly distinct: number;
}

const byNumbers = (a: readonly number[], b: readonly number[]): number =>
  a.map((one, i) => one - (b[i] as number)).find((difference) => difference !== 0) ?? 0;

async function expectSame(table: data.Dataset<any>, { keys, groups, joined, distinct }: Answer): Promise<void> {
  const name = keys.join(", ");
  const grouped = table.groupBy([...keys], { numPartitions: 3 });
  const aggregates = { n: data.count(), s: data.sum("i"), f: data.min("i"), l: data.max("i") };
  const totals = (await grouped.aggregate(aggregates).takeAll()).map(({ n, s, f, l }: any) => [n, s, f, l] as number[]);
  expect(totals.toSorted(byNumbers), `groupBy ${name}`).toEqual(groups);
  const mapped = await grouped
    .mapGroups(
      (rows: any[]) => {
        const numbers = rows.map(({ i }) => Number(i));
        return [{ t: [numbers.length, numbers.reduce((x, y) => x + y), Math.min(...numbers), Math.max(...numbers)] }];
      },
      { batchFormat: "rows" },
    )
    .takeAll();
  expect(mapped.map(({ t }: any) => Array.from(t as number[])).toSorted(byNumbers), `mapGroups ${name}`).toEqual(groups);
  for (const [keep, at] of [
    ["first", 2],
    ["last", 3],
  ] as const) {
    const kept = (await table.dropDuplicates([...keys], { keep }).takeAll()).map(({ i }: any) => i as number);
    expect(
      kept.toSorted((a, b) => a - b),
      `dropDuplicates ${name}`,
    ).toEqual(groups.map((group) => group[at] as number).toSorted((a, b) => a - b));
  }
  const [key] = keys as [string];
  expect(await table.aggregate({ d: data.countDistinct(key) }), `countDistinct ${key}`).toEqual({ d: distinct });
  expect(await table.unique(key), `unique ${key}`).toHaveLength(distinct);
  const right = table.selectColumns([...keys, "i"]).renameColumns({ i: "j" });
  const left = table.selectColumns([...keys, "i"]);
  let [count, sum] = [0, 0];
  for await (const { i, j } of left.join(right, { on: [...keys], partitions: 3 }) as AsyncIterable<any>) {
    count += 1;
    sum += i * 1000 + j;
  }
  expect([count, sum], `join ${name}`).toEqual(joined);
}

test.each([1, 2, 3, 4])(
  "groups, distinct values and joins by keys of every type are those of DuckDB: table %i",
  { timeout: 300_000 },
  async (seed) => {
    const path = join(folder, `${seed}`);
    mkdirSync(path);
    const answers = JSON.parse(execFileSync(pythonOfTables(), [PROGRAM, path, `${seed}`], { encoding: "utf8" })) as Answer[];
    expect(answers.length).toBeGreaterThan(40);
    const table = await data.readParquet<any>(path).materialize();
    for (const answer of answers) await expectSame(table, answer);
  },
);
