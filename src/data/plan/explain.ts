/** Plans as text: an operator a line, its inputs below it. */
import type { LogicalPlan } from "./logical-plan.ts";
import { inputsOf } from "./logical-plan.ts";
import { type PhysicalPlan, physicalInputs } from "./physical-plan.ts";

/** The logical and the physical plan, such as {@link physicalPlan} made of it. */
export function explain(logical: LogicalPlan, physical: PhysicalPlan): string {
  return ["Logical plan", ...logicalLines(logical, ""), "", "Physical plan", ...physicalLines(physical, "")].join("\n");
}

function logicalLines(plan: LogicalPlan, indent: string): string[] {
  return [`${indent}+- ${plan.name}`, ...inputsOf(plan).flatMap((input) => logicalLines(input, `${indent}   `))];
}

function physicalLines(plan: PhysicalPlan, indent: string): string[] {
  return [
    `${indent}+- ${OPERATORS[plan.kind]} ${plan.name}`,
    ...physicalInputs(plan).flatMap((input) => physicalLines(input, `${indent}   `)),
  ];
}

const OPERATORS = {
  input: "Blocks",
  stored: "Blocks",
  read: "ReadTasks",
  map: "MapTasks",
  exchange: "Exchange",
  limit: "Limit",
  union: "Union",
} as const;
