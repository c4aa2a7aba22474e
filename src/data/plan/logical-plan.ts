/**
 * The logical plan: what a dataset is made of, as the user wrote it. Plain data, never changed; a dataset adds a node above that of another.
 *
 * `rules.ts` makes the physical plan of it, `explain.ts` shows both.
 */
import type { TaskOptions } from "../../core/index.ts";
import type { Block } from "../blocks/block.ts";
import type { BlockRef } from "../engine/operator.ts";
import type { Reader } from "../engine/task.ts";
import type { Transform } from "../engine/transform.ts";

/** A place where rows come from, in parts that are read apart. */
export interface Source {
  /** What plans call it, such as `readCsv`. */
  readonly name: string;
  readonly reader: Reader;
  /** The parts, in the order of their rows. `cpus`: how many there are in the cluster. */
  parts(cpus: number): Promise<readonly SourcePart[]>;
}

export interface SourcePart {
  /** What the reader is called with. */
  readonly args: readonly unknown[];
  /** Where it is known without reading. */
  readonly rowCount?: number;
}

export type LogicalPlan =
  | { readonly kind: "input"; readonly name: string; readonly blocks: readonly Block[] }
  | { readonly kind: "stored"; readonly name: string; readonly blocks: readonly BlockRef[] }
  | { readonly kind: "read"; readonly name: string; readonly source: Source; readonly options: TaskOptions<1> }
  | {
      readonly kind: "map";
      readonly name: string;
      readonly input: LogicalPlan;
      readonly transform: Transform;
      readonly options: TaskOptions<1>;
    }
  | { readonly kind: "limit"; readonly name: string; readonly input: LogicalPlan; readonly count: number }
  | { readonly kind: "union"; readonly name: string; readonly inputs: readonly LogicalPlan[] };

/** The plans that a plan takes rows from. */
export function inputsOf(plan: LogicalPlan): readonly LogicalPlan[] {
  if (plan.kind === "map" || plan.kind === "limit") return [plan.input];
  return plan.kind === "union" ? plan.inputs : [];
}
