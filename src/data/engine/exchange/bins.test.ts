/**
 * An exchange in one process: partition tasks and partitions' tasks, with and without bins, give the same rows as a single partition.
 *
 * Parts are copied on their way as the object store copies them, since both kinds of tasks free what they have read.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { count, sum } from "../../aggregates/aggregate.ts";
import { partialAggregate } from "../../aggregates/group-aggregate.ts";
import { type Block, blockOfRows, concatBlocks, type Row, rowsOf, takeBlock } from "../../blocks/block.ts";
import { sortedIndices } from "../../kernels/sort.ts";
import { joinBlocks } from "../tables/join.ts";
import { type PartitionFacts, type Partitioning, partition, sampleKeys } from "./partition-task.ts";
import { given, mapBlocks } from "../tasks/task.ts";
import { runChain } from "../tasks/transform.ts";
import type { WholeTransform } from "../tasks/whole-transforms.ts";

const someRow = fc.record({
  k: fc.option(fc.integer({ min: 0, max: 60 })),
  t: fc.string({ maxLength: 12 }),
  n: fc.double({ noNaN: true }),
});
const someBlocks = fc.array(fc.array(someRow, { minLength: 1, maxLength: 30 }), { minLength: 1, maxLength: 4 });

const blocksOf = (groups: readonly (readonly Row[])[]): Block[] => groups.map((rows) => blockOfRows(rows, "the test"));

/** Partitions each block by a separate task. @returns the parts of each partition */
function exchanged(
  partitioning: Partitioning,
  blocks: readonly Block[],
  [partitions, bins]: readonly [number, number],
  borders?: Block,
): Block[][] {
  const totalRows = blocks.reduce((rows, block) => rows + block.rowCount, 0);
  let firstRow = 0;
  const tasks = blocks.map((block) => {
    const request = { count: partitions, bins, totalRows, firstRow, ...(borders === undefined ? {} : { borders }) };
    firstRow += block.rowCount;
    return Array.from(partition(partitioning, request, structuredClone(block)), (item) => structuredClone(item));
  });
  return Array.from({ length: partitions }, (_, part) => tasks.map((items) => items[part] as Block));
}

/** The rows that the tasks of the partitions give, one partition after the other. */
async function reduced(after: WholeTransform, partitions: readonly (readonly Block[])[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const parts of partitions)
    for await (const item of mapBlocks([after], ...structuredClone(parts)))
      if ("vectors" in item) rows.push(...rowsOf(structuredClone(item)));
  return rows;
}

async function atOnce(after: WholeTransform, blocks: readonly Block[]): Promise<Row[]> {
  const own = structuredClone(blocks) as Block[];
  const all: Block[] = [];
  for await (const block of runChain(given(own), [after])) all.push(block);
  return rowsOf(concatBlocks(all));
}

const shape = fc.constantFrom<readonly [number, number]>([1, 1], [3, 1], [1, 4], [4, 4], [2, 16]);

test("a partition task tells of its parts, and how long it worked", () => {
  const hash = { kind: "hash", keys: ["k"], use: "group by" } as const;
  const block = blockOfRows(
    Array.from({ length: 5000 }, (_, k) => ({ k })),
    "the test",
  );
  const facts = [...partition(hash, { count: 2, bins: 1, totalRows: 5000, firstRow: 0 }, block)].at(-1) as PartitionFacts;
  expect(facts.parts.reduce((rows, { rowCount }) => rows + rowCount, 0)).toBe(5000);
  expect(facts.wallMs).toBeGreaterThan(0);
  expect(facts.cpuMs).toBeGreaterThan(0);
  const sample = sampleKeys([{ column: "k", descending: false }], 10, block);
  expect(sample.rows.rowCount).toBe(10);
  expect(sample.wallMs).toBeGreaterThan(0);
});

test("rows in a random order have the same one however they are cut", async () => {
  await fc.assert(
    fc.asyncProperty(someBlocks, shape, async (rows, cut) => {
      const blocks = blocksOf(rows);
      const random = { kind: "random", seed: 5 } as const;
      const after = { kind: "orderByHidden", name: "shuffle" } as const;
      const one = await reduced(after, exchanged(random, blocks, [1, 1]));
      expect(await reduced(after, exchanged(random, blocks, cut))).toEqual(one);
      expect(one.length).toBe(rows.flat().length);
      expect(Object.keys(one[0] as Row)).not.toContain("\0order");
    }),
    { numRuns: 60 },
  );
});

test("sorted rows are those of one partition, and rows of equal keys keep their order", async () => {
  await fc.assert(
    fc.asyncProperty(someBlocks, shape, fc.boolean(), async (rows, [partitions, bins], descending) => {
      const blocks = blocksOf(rows);
      const keys = [{ column: "k", descending }];
      const all = takeBlock(concatBlocks(blocks), sortedIndices(concatBlocks(blocks), keys));
      const places = Uint32Array.from({ length: partitions * bins - 1 }, (_, i) =>
        Math.floor(((i + 1) * all.rowCount) / (partitions * bins)),
      );
      const borders = takeBlock({ rowCount: all.rowCount, names: ["k"], vectors: all.vectors.slice(0, 1) }, places);
      const after = { kind: "sortRows", name: "sort", keys } as const;
      expect(await reduced(after, exchanged({ kind: "range", keys }, blocks, [partitions, bins], borders))).toEqual(rowsOf(all));
    }),
    { numRuns: 60 },
  );
});

test("groups are those of one partition", async () => {
  await fc.assert(
    fc.asyncProperty(someBlocks, shape, async (rows, cut) => {
      const aggregates = Object.entries({ rows: count(), n: sum("n") });
      const states = blocksOf(rows).map((block) => partialAggregate(block, ["k"], aggregates));
      const after = { kind: "mergeAggregates", name: "groups", keys: ["k"], aggregates } as const;
      const byKey = (groups: Row[]): Row[] => groups.toSorted((a, b) => Number(a["k"] ?? -1) - Number(b["k"] ?? -1));
      const partitioned = exchanged({ kind: "hash", keys: ["k"], use: "group by" }, states, cut);
      expect(byKey(await reduced(after, partitioned))).toEqual(byKey(await atOnce(after, states)));
    }),
    { numRuns: 60 },
  );
});

test("joined rows are those of one partition, also where a side has no row in a bin, or none at all", () => {
  fc.assert(
    fc.property(someBlocks, fc.array(fc.integer({ min: 0, max: 80 }), { maxLength: 20 }), shape, (rows, others, cut) => {
      const join = {
        kind: "join",
        name: "join",
        type: "full",
        leftKeys: ["k"],
        rightKeys: ["k"],
        leftSuffix: "",
        rightSuffix: "",
      } as const;
      const left = blocksOf(rows);
      const right =
        others.length === 0
          ? []
          : [
              blockOfRows(
                others.map((k) => ({ k, weight: `${k}` })),
                "the test",
              ),
            ];
      const hash = { kind: "hash", keys: ["k"], use: "join on" } as const;
      const [leftParts, rightParts] = [left, right].map((side) => exchanged(hash, side, cut)) as [Block[][], Block[][]];
      const text = (joined: readonly Row[]): string[] =>
        joined.map((row) => JSON.stringify([row["k"], row["t"], row["n"], row["weight"]])).toSorted();
      const parts = leftParts.flatMap((own, i) => rowsOf(concatBlocks([...joinBlocks(join, own, rightParts[i] ?? [])])));
      expect(text(parts)).toEqual(text(rowsOf(concatBlocks([...joinBlocks(join, left, right)]))));
    }),
    { numRuns: 60 },
  );
});

test("keys that are chosen for one partition are in many of another exchange", () => {
  const hash = { kind: "hash", keys: ["k"], use: "group by" } as const;
  const partitionsOf = (keys: readonly number[], seed: number | undefined): number[] => {
    const request = { count: 16, bins: 1, totalRows: keys.length, firstRow: 0, seed };
    const block = blockOfRows(
      keys.map((k) => ({ k })),
      "test",
    );
    const facts = [...partition(hash, request, block)].at(-1) as PartitionFacts;
    return facts.parts.map(({ rowCount }) => rowCount);
  };
  const chosen = Array.from({ length: 3000 }, (_, k) => k).filter((k) => partitionsOf([k], undefined)[3] === 1);
  expect(partitionsOf(chosen, undefined)[3]).toBe(chosen.length);
  expect(Math.max(...partitionsOf(chosen, 12_345))).toBeLessThan(chosen.length / 4);
});
