/** Plans as text: an operator a line, its inputs below it. */
import type { LogicalPlan } from "./logical-plan.ts";
import { inputsOf } from "./logical-plan.ts";
import { type PhysicalPlan, physicalInputs } from "./physical-plan.ts";

/** Prints a logical plan and the physical plan that {@link physicalPlan} made. @param name - the dataset's name */
export function explain(logical: LogicalPlan, physical: PhysicalPlan, name?: string): string {
  return [
    name === undefined ? "Logical plan" : `Logical plan of ${name}`,
    ...logicalLines(logical, ""),
    "",
    "Physical plan",
    ...physicalLines(physical, ""),
  ].join("\n");
}

function logicalLines(plan: LogicalPlan, indent: string): string[] {
  return [`${indent}+- ${plan.name}`, ...inputsOf(plan).flatMap((input) => logicalLines(input, `${indent}   `))];
}

function physicalLines(plan: PhysicalPlan, indent: string): string[] {
  return [`${indent}+- ${operatorLine(plan)}`, ...physicalInputs(plan).flatMap((input) => physicalLines(input, `${indent}   `))];
}

function operatorLine(plan: PhysicalPlan): string {
  const compute = plan.kind === "map" || plan.kind === "read" ? plan.compute : undefined;
  if (compute === undefined) return `${OPERATORS[plan.kind]} ${plan.name}`;
  if (compute.kind === "tasks") return `${OPERATORS[plan.kind]} ${plan.name} x ${compute.concurrency}`;
  const { min, max } = compute;
  return `ActorPool ${plan.name} x ${min === max ? min : `${min}..${max ?? "CPUs"}`}`;
}

const OPERATORS = {
  input: "Blocks",
  stored: "Blocks",
  read: "ReadTasks",
  map: "MapTasks",
  exchange: "Exchange",
  iterable: "Items",
  blockOrder: "BlockOrder",
  limit: "Limit",
  union: "Union",
} as const;
