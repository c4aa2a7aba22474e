/**
 * The small side of a join whose large side is read from files: what the tasks that read have to know of it.
 *
 * Made by `run.ts` where the plan says that the right side is small before anything is read. The tasks of the left side do not begin until the exchange has all of the right
 * one and settles it. Then they join their rows where they read them, so that these are stored once, as joined rows, and the exchange hands their blocks on. Where the side is
 * not small after all, they read alone.
 */
import { SMALL_SIDE_TABLE_ROWS, WHOLE_INPUT_ROWS_MAX } from "../limits.ts";
import type { SourcePart } from "../plan/logical-plan.ts";
import type { PhysicalPlan } from "../plan/physical-plan.ts";
import { type Join, wholeSides } from "./join.ts";
import type { BlockRef } from "./operator.ts";
import type { Transform } from "./transform.ts";

export class SmallSide {
  readonly join: Join;
  /** What is done with joined rows. */
  readonly after: readonly Transform[];
  #blocks: readonly BlockRef[] | undefined;
  #isSettled = false;

  constructor(join: Join, after: readonly Transform[]) {
    this.join = join;
    this.after = after;
  }

  /** @param blocks - all of the side; undefined where it is not small */
  settle(blocks: readonly BlockRef[] | undefined): void {
    this.#blocks = blocks;
    this.#isSettled = true;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** What tasks join with what they read; undefined where they read alone. */
  get blocks(): readonly BlockRef[] | undefined {
    return this.#blocks;
  }
}

type Parts = ReadonlyMap<PhysicalPlan, readonly SourcePart[]>;

/** The small side of an exchange, where it is one that the tasks of the other side may join with. */
export function smallSideOf(
  { combine, partitions, inputs, chain, options }: PhysicalPlan & { kind: "exchange" },
  parts: Parts,
): SmallSide | undefined {
  if (combine?.kind !== "join" || partitions !== undefined || !wholeSides(combine.type).includes(1)) return undefined;
  const [left, right] = inputs.map(({ plan }) => plan) as [PhysicalPlan, PhysicalPlan];
  // Joined rows that ask for resources of their own are made apart.
  if (left.kind !== "read" || Object.keys(options).length > 0) return undefined;
  const rows = rowsAtMost(right, parts);
  if (rows === undefined || rows > WHOLE_INPUT_ROWS_MAX) return undefined;
  // Each task brings the small side into a table, which is worth it for as many rows of its own.
  const tasks = parts.get(left)?.length ?? 0;
  const leftRows = rowsIn(parts.get(left)) ?? 0;
  return rows * tasks <= Math.max(leftRows, SMALL_SIDE_TABLE_ROWS) ? new SmallSide(combine, chain) : undefined;
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
  "project",
  "download",
  "limit",
]);

/** How many rows a plan gives at most, where that is known before it runs. */
function rowsAtMost(plan: PhysicalPlan, parts: Parts): number | undefined {
  switch (plan.kind) {
    case "input":
    case "stored":
      return plan.blocks.reduce((sum, { rowCount }) => sum + rowCount, 0);
    case "read":
      return addsNoRows(plan.chain) ? rowsIn(parts.get(plan)) : undefined;
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
