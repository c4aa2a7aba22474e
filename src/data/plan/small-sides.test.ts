/** Joins that the tasks of the left read can make, because the right side is small. */
import { expect, test } from "vitest";
import type { Join } from "../engine/tables/join.ts";
import { labelledPlan } from "./labelled-plan.ts";
import type { LogicalPlan, Source, SourcePart } from "./logical-plan.ts";
import type { PhysicalPlan } from "./physical-plan.ts";
import { physicalPlan } from "./rules.ts";
import { smallSideOf } from "./small-sides.ts";

const combine: Join = { kind: "join", name: "join", type: "inner", leftKeys: ["k"], rightKeys: ["k"], leftSuffix: "", rightSuffix: "_2" };
const pool = { pool: "data" };

/** Whether the tasks of a read of a million rows join with `rightRows` others. */
function joinsWhereRead(
  rightRows: number,
  labels: { leftOptions?: object; selector?: Record<string, string>; concurrency?: number } = {},
): boolean {
  const part = (rowCount: number): SourcePart => ({ args: [], rowCount });
  const read = (name: string, rowCount: number, options: object): LogicalPlan => ({
    kind: "read",
    name,
    source: { name, reader: async function* () {}, parts: [part(rowCount)] },
    options,
  });
  const { concurrency } = labels;
  const compute = concurrency === undefined ? undefined : ({ kind: "tasks", concurrency } as const);
  const left = { ...read("left", 1_000_000, labels.leftOptions ?? {}), compute } as LogicalPlan;
  const inputs = [left, read("right", rightRows, {})];
  const plan = labelledPlan(physicalPlan({ kind: "combine", name: "join", inputs, combine }), labels.selector);
  if (plan.kind !== "exchange") return expect.unreachable();
  const parts = new Map(
    plan.inputs.map((input): [Source, SourcePart[]] => [
      (input.plan as Extract<PhysicalPlan, { kind: "read" }>).source,
      [part(input.plan === plan.inputs[0]?.plan ? 1_000_000 : rightRows)],
    ]),
  );
  return smallSideOf(plan, parts) !== undefined;
}

test("a small side joins in the tasks that read the other one", () => {
  expect(joinsWhereRead(10)).toBe(true);
  expect(joinsWhereRead(10_000_000)).toBe(false);
  // Few tasks that read would hold the join back.
  expect(joinsWhereRead(10, { concurrency: 1 })).toBe(false);
});

test("labels of the pipeline, which the tasks of the read have, too, change nothing; other places do", () => {
  expect(joinsWhereRead(10, { selector: pool })).toBe(true);
  expect(joinsWhereRead(10, { leftOptions: { labelSelector: pool } })).toBe(true);
  expect(joinsWhereRead(10, { selector: pool, leftOptions: { labelSelector: { zone: "a" } } })).toBe(false);
  expect(joinsWhereRead(10, { selector: pool, leftOptions: { schedulingStrategy: { nodeId: "n" } } })).toBe(false);
});
