/**
 * The physical plan with the conditions on nodes that a pipeline's `labelSelector` sets, in the options of all its tasks and actors.
 *
 * Conditions of a step go before those of the pipeline on the same label. A step that names its node or a placement group has its place, and keeps it.
 */
import type { TaskOptions } from "../../core/index.ts";
import type { LabelSelector } from "../../core/internal.ts";
import type { PhysicalPlan } from "./physical-plan.ts";

/** The options that say where something runs. */
type Placed = Pick<TaskOptions<1>, "schedulingStrategy" | "placementGroup" | "labelSelector" | "fallbackStrategy">;

export function labelledPlan(plan: PhysicalPlan, selector: LabelSelector | undefined): PhysicalPlan {
  if (selector === undefined) return plan;
  const below = (input: PhysicalPlan): PhysicalPlan => labelledPlan(input, selector);
  switch (plan.kind) {
    case "input":
    case "stored":
    case "iterable":
      return plan;
    case "read":
      return { ...plan, options: labelled(plan.options, selector) };
    case "map": {
      const [first] = plan.chain;
      // Options of Python's definition stand below those of the step.
      const defined = first?.kind === "pythonBatches" ? (first.code.options as Placed) : {};
      const { compute, options } = plan;
      const made = compute?.kind === "actors" ? { ...compute, actorOptions: labelled(compute.actorOptions, selector, defined) } : compute;
      return { ...plan, input: below(plan.input), options: labelled(options, selector, defined), compute: made };
    }
    case "exchange": {
      const inputs = plan.inputs.map((input) => ({ ...input, plan: below(input.plan) }));
      return { ...plan, inputs, options: labelled(plan.options, selector) };
    }
    case "limit":
    case "blockOrder":
      return { ...plan, input: below(plan.input) };
    case "union":
      return { ...plan, inputs: plan.inputs.map(below) };
  }
}

/** @param defined - options that hold where `options` say nothing */
function labelled<O extends Placed>(options: O, selector: LabelSelector, defined: Placed = {}): O {
  const { schedulingStrategy, placementGroup, labelSelector, fallbackStrategy } = { ...defined, ...options };
  if (typeof schedulingStrategy === "object" || placementGroup !== undefined) return options;
  const made = { ...options, labelSelector: { ...selector, ...labelSelector } };
  if (fallbackStrategy === undefined) return made;
  return { ...made, fallbackStrategy: fallbackStrategy.map((other) => ({ labelSelector: { ...selector, ...other.labelSelector } })) };
}
