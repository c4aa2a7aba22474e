/** A physical plan that another process can run: parts of sources are listed here, where their options and files are, and blocks go as references. */
import { DataError } from "../errors.ts";
import { partsOf } from "./logical-plan.ts";
import type { PhysicalPlan } from "./physical-plan.ts";

/** @param cpus - how many there are in the cluster */
export async function portablePlan(plan: PhysicalPlan, cpus: number): Promise<PhysicalPlan> {
  switch (plan.kind) {
    case "input":
      return plan;
    case "iterable":
      throw new DataError("Cannot call streamingSplit: an iterable can be read once, by the process that has it", {
        hint: "keep its rows first: (await dataset.materialize()).streamingSplit(n)",
      });
    case "stored": {
      const blocks = plan.blocks.map(({ ref, rowCount, sizeBytes, schema }) => ({ ref, rowCount, sizeBytes, schema }));
      return { ...plan, blocks };
    }
    case "read": {
      const { name, reader, shuffle } = plan.source;
      // Each run shuffles the parts once, there.
      const parts = await partsOf({ ...plan.source, shuffle: undefined }, cpus);
      return { ...plan, source: { name, reader, shuffle, parts } };
    }
    case "exchange":
      return {
        ...plan,
        inputs: await Promise.all(plan.inputs.map(async (input) => ({ ...input, plan: await portablePlan(input.plan, cpus) }))),
      };
    case "union":
      return { ...plan, inputs: await Promise.all(plan.inputs.map((input) => portablePlan(input, cpus))) };
    default:
      return { ...plan, input: await portablePlan(plan.input, cpus) };
  }
}
