/** Errors of steps that bring rows together, for columns that are no keys. */
import { expect, test } from "vitest";
import { count } from "../aggregates/aggregate.ts";
import { blockOfRows } from "../blocks/block.ts";
import { given } from "../engine/tasks/task.ts";
import { gather, runChain, type Transform } from "../engine/tasks/transform.ts";
import { aggregateStep } from "./exchange-steps.ts";

test("a column of lists is refused in the words of the method", async () => {
  const lists = blockOfRows([{ list: [1, 2] }], "the test");
  const run = (use?: string): Promise<unknown> =>
    gather(runChain(given([lists]), [aggregateStep(["list"], { rows: count() }, use).before as Transform]));
  await expect(run("take unique values of")).rejects.toThrow('Cannot take unique values of "list": it is of the type list');
  await expect(run()).rejects.toThrow('Cannot group by "list": it is of the type list');
});
