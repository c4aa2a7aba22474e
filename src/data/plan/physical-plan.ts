/**
 * The physical plan: the operators of a run, each with its tasks' chain of transforms. `rules.ts` makes it, and `../engine/run.ts` runs it.
 */
import type { TaskOptions } from "../../core/index.ts";
import type { Block } from "../blocks/block.ts";
import type { Compute, TaskLimit } from "../engine/pools/compute.ts";
import type { Combine } from "../engine/exchange/combine.ts";
import type { Mix } from "../engine/operators/several-inputs.ts";
import type { ItemSource } from "../engine/operators/item-operator.ts";
import type { StoredBlock } from "../engine/operators/operator.ts";
import type { Partitioning } from "../engine/exchange/partition-task.ts";
import type { Transform } from "../engine/tasks/transform.ts";
import type { Source } from "./logical-plan.ts";

export type PhysicalPlan =
  | { readonly kind: "input"; readonly name: string; readonly blocks: readonly Block[] }
  | { readonly kind: "stored"; readonly name: string; readonly blocks: readonly StoredBlock[] }
  | {
      readonly kind: "read";
      readonly name: string;
      readonly source: Source;
      readonly chain: readonly Transform[];
      readonly options: TaskOptions<1>;
      /** Default: tasks, as many as suit the CPUs. */
      readonly compute?: TaskLimit | undefined;
      /** Set if a function behind the read runs in separate tasks or actors: a read of few parts cuts its blocks for these. */
      readonly cutFor?: CutFor | undefined;
    }
  | {
      readonly kind: "map";
      readonly name: string;
      readonly input: PhysicalPlan;
      readonly chain: readonly Transform[];
      readonly options: TaskOptions<1>;
      /** Default: tasks, as many as suit the CPUs. */
      readonly compute?: Compute | undefined;
    }
  | {
      readonly kind: "exchange";
      readonly name: string;
      /** A single input, or several to combine. */
      readonly inputs: readonly ExchangeInput[];
      readonly combine: Combine | undefined;
      readonly partitions: number | undefined;
      /** The transforms of each partition's rows. */
      readonly chain: readonly Transform[];
      readonly options: TaskOptions<1>;
    }
  | { readonly kind: "iterable"; readonly name: string; readonly items: ItemSource }
  | { readonly kind: "blockOrder"; readonly name: string; readonly input: PhysicalPlan; readonly seed: number }
  | { readonly kind: "limit"; readonly name: string; readonly input: PhysicalPlan; readonly count: number }
  | {
      readonly kind: "union";
      readonly name: string;
      readonly inputs: readonly PhysicalPlan[];
      /** Default: the blocks of one input after those of the other. */
      readonly mix?: Mix | undefined;
    };

interface CutFor {
  /** The function works best on multiples of so many rows. */
  readonly rows: number;
  /** Tasks or actors that run at a time. Default: as many as there are CPUs. */
  readonly workers: number | undefined;
}

/** Where an exchange takes rows from, and which of them come together. */
interface ExchangeInput {
  readonly plan: PhysicalPlan;
  readonly partitioning: Partitioning;
}

/** The plans that a plan takes blocks from. */
export function physicalInputs(plan: PhysicalPlan): readonly PhysicalPlan[] {
  if (plan.kind === "map" || plan.kind === "limit" || plan.kind === "blockOrder") return [plan.input];
  if (plan.kind === "exchange") return plan.inputs.map((input) => input.plan);
  return plan.kind === "union" ? plan.inputs : [];
}
