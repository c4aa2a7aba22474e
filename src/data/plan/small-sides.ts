/**
 * Finds the joins of a physical plan with a small right side, so that the left side's reading tasks can join directly.
 *
 * The choice depends on facts before any read: row counts of the sources' parts, and existing blocks. `run.ts` asks once the parts are listed. The side's bytes
 * are known later, and the exchange decides by them.
 */
import type { TaskOptions } from "../../core/index.ts";
import { wholeSides } from "../engine/tables/join.ts";
import { SmallSide } from "../engine/tables/small-side.ts";
import type { Transform } from "../engine/tasks/transform.ts";
import { SMALL_SIDE_TABLE_ROWS, WHOLE_INPUT_ROWS_MAX } from "../limits.ts";
import type { Source, SourcePart } from "./logical-plan.ts";
import type { PhysicalPlan } from "./physical-plan.ts";

type Parts = ReadonlyMap<Source, readonly SourcePart[]>;

/** The small side of an exchange, where it is one that the tasks of the other side may join with. */
export function smallSideOf(
  { combine, partitions, inputs, chain, options }: PhysicalPlan & { kind: "exchange" },
  parts: Parts,
): SmallSide | undefined {
  if (combine?.kind !== "join" || partitions !== undefined || !wholeSides(combine.type).includes(1)) return undefined;
  const [left, right] = inputs.map(({ plan }) => plan) as [PhysicalPlan, PhysicalPlan];
  // Joined rows that ask for resources of their own are made apart.
  if (left.kind !== "read" || left.compute !== undefined || !asksOnlyFor(options, left.options)) return undefined;
  const rows = rowsAtMost(right, parts);
  if (rows === undefined || rows > WHOLE_INPUT_ROWS_MAX) return undefined;
  // Each task makes a table of the small side, which pays for at least as many left rows.
  const tasks = parts.get(left.source)?.length ?? 0;
  const leftRows = rowsIn(parts.get(left.source)) ?? 0;
  return rows * tasks <= Math.max(leftRows, SMALL_SIDE_TABLE_ROWS) ? new SmallSide(combine, chain) : undefined;
}

/** Whether an exchange asks for nothing, or for the labels of the pipeline alone, which the tasks of the read have, too. */
function asksOnlyFor(options: TaskOptions<1>, { labelSelector }: TaskOptions<1>): boolean {
  return Object.keys(options).length === 0 || JSON.stringify(options) === JSON.stringify({ labelSelector });
}

/** Transforms that give no more rows than they take. */
const ROWS_STAY: ReadonlySet<string> = new Set<Transform["kind"]>([
  "map",
  "filter",
  "filterExpression",
  "select",
  "drop",
  "rename",
  "withColumns",
  "unnest",
  "project",
  "download",
  "hashSplit",
  "limit",
  "conform",
]);

/** The most rows that a plan gives, where that is known before it runs. */
function rowsAtMost(plan: PhysicalPlan, parts: Parts): number | undefined {
  switch (plan.kind) {
    case "input":
    case "stored":
      return plan.blocks.reduce((sum, { rowCount }) => sum + rowCount, 0);
    case "read":
      return addsNoRows(plan.chain) ? rowsIn(parts.get(plan.source)) : undefined;
    case "map":
      return addsNoRows(plan.chain) ? rowsAtMost(plan.input, parts) : undefined;
    case "limit":
      return Math.min(plan.count, rowsAtMost(plan.input, parts) ?? plan.count);
    default:
      return undefined;
  }
}

function rowsIn(parts: readonly SourcePart[] = []): number | undefined {
  return parts.reduce<number | undefined>(
    (sum, { rowCount }) => (sum === undefined || rowCount === undefined ? undefined : sum + rowCount),
    0,
  );
}

function addsNoRows(chain: readonly Transform[]): boolean {
  return chain.every(({ kind }) => ROWS_STAY.has(kind));
}
