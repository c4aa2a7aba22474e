/** Options of `repartition`: their meaning, and errors for wrong ones. */
import { expect, test } from "vitest";
import { type Block, blockOfRows, rowsOf } from "../blocks/block.ts";
import { given } from "../engine/tasks/task.ts";
import { runChain } from "../engine/tasks/transform.ts";
import { readRepartition } from "./repartition-options.ts";

test("sort brings the rows of a partition into the order of its keys, as one block", async () => {
  const step = readRepartition({ keys: ["city", "km"], sort: true });
  if (step.kind !== "exchange") return expect.unreachable();
  expect(step.exchange).toMatchObject({ name: "repartition(city, km, sort)", partitioning: { kind: "hash", keys: ["city", "km"] } });
  const parts = [
    [
      { city: "Rome", km: 2 },
      { city: "Oslo", km: 7 },
    ],
    [
      { city: null, km: 1 },
      { city: "Oslo", km: 3 },
    ],
  ].map((rows) => blockOfRows(rows, "the test"));
  const made: Block[] = [];
  for await (const block of runChain(given(parts), [step.exchange.after])) made.push(block);
  expect(made.map(rowsOf)).toEqual([
    [
      { city: "Oslo", km: 3 },
      { city: "Oslo", km: 7 },
      { city: "Rome", km: 2 },
      { city: null, km: 1 },
    ],
  ]);
});

test("strict is a step on rows", () => {
  expect(readRepartition({ rowsPerBlock: 5, strict: true })).toEqual({
    kind: "rebatch",
    name: "repartition(5 rows, strict)",
    rows: 5,
    isStrict: true,
  });
  expect(readRepartition({ rowsPerBlock: 5 })).toMatchObject({ name: "repartition(5 rows)", isStrict: false });
});

test.each([
  [{ blocks: 2, strict: true }, "strict with rowsPerBlock alone"],
  [{ keys: ["a"], strict: true }, "strict with rowsPerBlock alone"],
  [{ blocks: 2, sort: true }, "sort with keys alone"],
  [{ blocks: 2, shuffle: true, sort: true }, "sort with keys alone"],
  [{ rowsPerBlock: 5, sort: true }, "rowsPerBlock alone"],
  [{ rowsPerBlock: 5, strict: "yes" }, "Cannot set strict of repartition"],
  [{ sort: true }, "Cannot call repartition: it takes a number of blocks, or"],
])("%j is refused", (options, message) => {
  expect(() => readRepartition(options as never)).toThrow(message);
});
