/** Names of tasks: of plans with many steps or columns, too, they are names that a task may have. */
import { expect, test } from "vitest";
import { NAME_LENGTH_MAX } from "../../core/limits.ts";
import type { Transform } from "../engine/tasks/transform.ts";
import type { LogicalPlan } from "./logical-plan.ts";
import { physicalPlan } from "./rules.ts";

const step = (input: LogicalPlan, transform: Transform): LogicalPlan => ({
  kind: "map",
  name: transform.name,
  input,
  transform,
  options: {},
});
const columns = Array.from({ length: 60 }, (_, i) => `a_rather_long_column_${i}`);
const select: Transform = { kind: "select", name: `selectColumns(${columns.join(", ")})`, columns };
const input: LogicalPlan = { kind: "input", name: "fromItems", blocks: [] };

test("the name of a step with many columns, and of many steps, has its beginning and its end", () => {
  const one = physicalPlan(step(input, select));
  expect(one.name).toMatch(/^selectColumns\(a_rather_long_column_0, .* … .*a_rather_long_column_59\)$/);
  let plan = step(input, select);
  for (let i = 0; i < 200; i += 1) plan = step(plan, { kind: "rename", name: `renameColumns(${i})`, columns: {} });
  const many = physicalPlan(plan);
  expect(many.name).toMatch(/^selectColumns\(.*->renameColumns\(199\)$/);
  expect(Math.max(one.name.length, many.name.length)).toBeLessThan(NAME_LENGTH_MAX - 100);
});
