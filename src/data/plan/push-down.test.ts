/** The columns that steps ask of the read before them. */
import { expect, test } from "vitest";
import { readRepartition } from "../options/repartition-options.ts";
import type { Transform } from "../engine/tasks/transform.ts";
import type { ExpressionNode } from "../expressions/nodes.ts";
import type { ExchangePlan, LogicalPlan, Wanted } from "./logical-plan.ts";
import { pushDown } from "./push-down.ts";

/** The columns that a read is asked for where `columns` of the step behind it are wanted. */
function wantedBy(step: Omit<ExchangePlan, "kind" | "input">, columns: readonly string[]): Wanted["columns"] {
  let wanted: Wanted | undefined;
  const source = {
    name: "read",
    reader: async function* () {},
    parts: [],
    pushDown: (asked: Wanted) => {
      wanted = asked;
      return undefined;
    },
  };
  const plan: LogicalPlan = { kind: "exchange", input: { kind: "read", name: "read", source, options: {} }, ...step };
  pushDown(plan, columns);
  return wanted?.columns;
}

test.each([
  [{ keys: ["city"] }, ["km", "city"]],
  [{ keys: ["city"], sort: true }, ["km", "city"]],
  [{ blocks: 3 }, ["km"]],
])("repartition by %j reads its keys, also where nobody asks for them behind it", (options, columns) => {
  const step = readRepartition(options);
  if (step.kind !== "exchange") return expect.unreachable();
  expect(wantedBy(step.exchange, ["km"])).toEqual(columns);
});

/** The kinds of the steps above the read, from the read on. */
function stepsBehind(step: Transform): readonly string[] {
  const source = { name: "read", reader: async function* () {}, parts: [], columns: ["keep", "x"] };
  const read: LogicalPlan = { kind: "read", name: "read", source, options: {} };
  const made: LogicalPlan = { kind: "map", name: step.name, input: read, transform: step, options: {} };
  const filter: Transform = { kind: "filterExpression", name: "filter", expression: { kind: "column", name: "keep" } };
  const kinds: string[] = [];
  for (
    let plan = pushDown({ kind: "map", name: "filter", input: made, transform: filter, options: {} });
    plan.kind === "map";
    plan = plan.input
  )
    kinds.unshift(plan.transform.kind);
  return kinds;
}

test("a filter stays above the step that computes its column", () => {
  const node: ExpressionNode = { kind: "column", name: "x" };
  const step = (name: string): Transform => ({ kind: "withColumns", name: "withColumns", columns: [{ name, node }] });
  expect(stepsBehind(step("keep"))).toEqual(["withColumns", "filterExpression"]);
  expect(stepsBehind(step("x"))).toEqual(["filterExpression", "withColumns"]);
});

test("a filter goes into the inputs of a union, and stays above a mix, which takes shares of what comes", () => {
  const source = { name: "read", reader: async function* () {}, parts: [], columns: ["keep"] };
  const read: LogicalPlan = { kind: "read", name: "read", source, options: {} };
  const transform: Transform = { kind: "filterExpression", name: "filter", expression: { kind: "column", name: "keep" } };
  const kindOf = (mix: object): string => {
    const input = { kind: "union", name: "union", inputs: [read, read], ...mix } as LogicalPlan;
    return pushDown({ kind: "map", name: "filter", input, transform, options: {} }).kind;
  };
  expect([kindOf({}), kindOf({ mix: { weights: [1, 1] } })]).toEqual(["union", "map"]);
});

test("filters go below what expressions compute, and stay above functions of users, which would be shown other rows", () => {
  const x: ExpressionNode = { kind: "column", name: "x" };
  const call: ExpressionNode = { kind: "userCall", name: "f", fn: (values) => values, inputs: [x], type: undefined };
  expect(stepsBehind({ kind: "withColumns", name: "withColumns", columns: [{ name: "y", node: x }] })).toEqual([
    "filterExpression",
    "withColumns",
  ]);
  expect(stepsBehind({ kind: "withColumns", name: "withColumns", columns: [{ name: "y", node: call }] })).toEqual([
    "withColumns",
    "filterExpression",
  ]);
});
