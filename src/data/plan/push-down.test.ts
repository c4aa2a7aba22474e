/** The columns that steps ask of the read before them. */
import { expect, test } from "vitest";
import { readRepartition } from "../repartition-options.ts";
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
