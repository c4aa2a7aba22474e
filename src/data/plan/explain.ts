/** Plans as text: an operator a line, its inputs below it. */
import type { LogicalPlan } from "./logical-plan.ts";
import { inputsOf } from "./logical-plan.ts";
import type { PhysicalPlan } from "./physical-plan.ts";

/** The logical and the physical plan, such as {@link physicalPlan} made of it. */
export function explain(logical: LogicalPlan, physical: PhysicalPlan): string {
  return ["Logical plan", ...logicalLines(logical, ""), "", "Physical plan", ...physicalLines(physical, "")].join("\n");
}

function logicalLines(plan: LogicalPlan, indent: string): string[] {
  return [`${indent}+- ${plan.name}`, ...inputsOf(plan).flatMap((input) => logicalLines(input, `${indent}   `))];
}

function physicalLines(plan: PhysicalPlan, indent: string): string[] {
  const inputs = plan.kind === "map" || plan.kind === "limit" ? [plan.input] : plan.kind === "union" ? plan.inputs : [];
  return [`${indent}+- ${OPERATORS[plan.kind]} ${plan.name}`, ...inputs.flatMap((input) => physicalLines(input, `${indent}   `))];
}

const OPERATORS = { input: "Blocks", stored: "Blocks", read: "ReadTasks", map: "MapTasks", limit: "Limit", union: "Union" } as const;
