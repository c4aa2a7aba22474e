/**
 * Turns the logical plan into the physical one, by rules that change no result:
 *
 * - **Fusion.** Consecutive transforms run in one task, and transforms behind a read run in the reading task: no block is stored between them. Transforms with
 *   other resources stay apart. So do transforms of classes, which run in pools of actors, and functions behind a pool or behind tasks of limited number,
 *   which would hold them back.
 * - **Cutting.** A read of few parts cuts its blocks for functions in separate tasks or actors, so that all of these work.
 * - **Partial aggregates.** A group-by computes partial states beside its rows, so that few rows travel.
 * - **Filters and columns go down** into capable reads: `push-down.ts`.
 * - **Limits go down.** Behind a limit, each task of the operator below gives no more rows than the limit: a read of a large file stops early.
 */
import type { TaskOptions } from "../../core/index.ts";
import type { Compute } from "../engine/pools/compute.ts";
import type { Combine } from "../engine/exchange/combine.ts";
import type { Partitioning } from "../engine/exchange/partition-task.ts";
import { isUserCode, type Transform } from "../engine/tasks/transform.ts";
import { BATCH_ROWS } from "../limits.ts";
import type { LogicalPlan } from "./logical-plan.ts";
import type { PhysicalPlan } from "./physical-plan.ts";
import { pushDown } from "./push-down.ts";

/** @param needed - the columns that are asked for. Default: all */
export function physicalPlan(plan: LogicalPlan, needed?: readonly string[]): PhysicalPlan {
  return planned(pushDown(plan, needed));
}

/** Tasks have names of at most 1,000 characters, to which operators add a few. */
const NAME_LENGTH = 800;

/** The name of the tasks of one step or of many: of a long one the beginning and the end. */
function taskName(name: string): string {
  return name.length <= NAME_LENGTH ? name : `${name.slice(0, NAME_LENGTH / 2)} … ${name.slice(-NAME_LENGTH / 2)}`;
}

function planned(plan: LogicalPlan): PhysicalPlan {
  switch (plan.kind) {
    case "input":
    case "stored":
    case "iterable":
      return plan;
    case "read":
      return { ...plan, name: taskName(plan.name), chain: [] };
    case "map":
      return fuse(planned(plan.input), plan.name, plan.transform, plan.options, plan.compute);
    case "limit":
      return { kind: "limit", name: plan.name, input: limitTasks(planned(plan.input), plan.name, plan.count), count: plan.count };
    case "exchange": {
      const { name, before, partitioning, partitions, after } = plan;
      const input = planned(plan.input);
      const prepared = before === undefined ? input : fuse(input, before.name, before, {});
      return {
        kind: "exchange",
        name: taskName(name),
        inputs: [{ plan: prepared, partitioning }],
        combine: undefined,
        partitions,
        chain: [after],
        options: {},
      };
    }
    case "combine": {
      const { name, combine, partitions } = plan;
      const inputs = plan.inputs.map((input, i) => ({ plan: planned(input), partitioning: partitioningOf(combine, i) }));
      return { kind: "exchange", name: taskName(name), inputs, combine, partitions, chain: [], options: {} };
    }
    case "blockOrder":
      return { ...plan, input: planned(plan.input) };
    case "union":
      return { ...plan, inputs: plan.inputs.map(planned) };
  }
}

/** Returns the partitioning that gathers an input's rows with those of the other inputs. */
function partitioningOf(combine: Combine, input: number): Partitioning {
  if (combine.kind === "zip") return { kind: "even" };
  const { leftKeys, rightKeys } = combine.kind === "join" ? combine : combine.equal;
  return { kind: "hash", keys: input === 0 ? leftKeys : rightKeys, use: "join on" };
}

/** The plan with one step of the engine's more. */
export function appendedStep(input: PhysicalPlan, step: Transform): PhysicalPlan {
  return fuse(input, step.name, step, {});
}

function fuse(input: PhysicalPlan, name: string, transform: Transform, options: TaskOptions<1>, compute?: Compute): PhysicalPlan {
  const fused = compute === undefined ? appended(input, transform, options) : undefined;
  return fused ?? { kind: "map", name: taskName(name), input: withCut(input, transform, compute), chain: [transform], options, compute };
}

/** Makes a read cut its blocks for a function in other tasks: by whole batches, or by rows. */
function withCut(input: PhysicalPlan, transform: Transform, compute: Compute | undefined): PhysicalPlan {
  if (input.kind !== "read") return input;
  const isOfBatches = transform.kind === "mapBatches" || transform.kind === "pythonBatches";
  if (!isOfBatches && !isUserCode(transform)) return input;
  const workers = compute?.kind === "tasks" ? compute.concurrency : compute?.max;
  return { ...input, cutFor: { rows: isOfBatches ? (transform.batchSize ?? BATCH_ROWS) : 1, workers } };
}

/** The input with one transform more in its tasks; undefined where they have other options, or there are none. */
function appended(input: PhysicalPlan, transform: Transform, options: TaskOptions<1>): PhysicalPlan | undefined {
  if (!hasTasks(input) || isPython(input) || transform.kind === "pythonBatches") return undefined;
  // A transform without options runs in the tasks that make its input.
  if (Object.keys(options).length > 0 && !sameOptions(input.options, options)) return undefined;
  if (input.kind !== "exchange" && input.compute !== undefined && isUserCode(transform)) return undefined;
  // Samples and numbered steps need the place of a task's rows among all rows, which only the driver knows, when it gives out blocks.
  if (transform.kind === "sample" || transform.kind === "numbered") return undefined;
  // A file of so many rows or bytes at least is of a task that waits for as many.
  if (transform.kind === "write" && (transform.minRowsPerFile ?? transform.minBytesPerFile) !== undefined) return undefined;
  // Batches of a number of rows are cut from all blocks that a task has, so such a task takes as many rows as it needs.
  if (transform.kind === "rebatch" || (transform.kind === "mapBatches" && transform.batchSize !== undefined)) return undefined;
  return { ...input, name: taskName(`${input.name}->${transform.name}`), chain: [...input.chain, transform] };
}

function sameOptions(a: TaskOptions<1>, b: TaskOptions<1>): boolean {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]) as Set<keyof TaskOptions<1>>;
  return [...keys].every((key) => a[key] === b[key]);
}

function limitTasks(input: PhysicalPlan, name: string, count: number): PhysicalPlan {
  if (!hasTasks(input) || isPython(input)) return input;
  return { ...input, chain: [...input.chain, { kind: "limit", name, count }] };
}

type PlanWithTasks = Extract<PhysicalPlan, { chain: unknown }>;

function hasTasks(plan: PhysicalPlan): plan is PlanWithTasks {
  return "chain" in plan;
}

/** A step of Python is alone in its tasks. */
function isPython({ chain }: PlanWithTasks): boolean {
  return chain[0]?.kind === "pythonBatches";
}
