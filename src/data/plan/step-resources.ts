/**
 * The resources of each step of a physical plan, and the check that limits leave enough for all steps.
 *
 * `engine/run.ts` asks before a run begins, so that no run waits for ever. Every task has to fit beside the fewest actors of all pools, because these hold their
 * resources to the end. `engine/pools/resource-limits.ts` counts while the pipeline runs. The default of a task, and of a pool's actor, is one CPU.
 */
import type { TaskOptions } from "../../core/index.ts";
import type { Amounts } from "../engine/pools/resource-limits.ts";
import { type PhysicalPlan, physicalInputs } from "./physical-plan.ts";

export interface StepResources {
  readonly name: string;
  readonly kind: "task" | "actor";
  /** The resources of each task or actor. */
  readonly amounts: Amounts;
  /** The fewest actors. */
  readonly min: number;
}

type Asked = Pick<TaskOptions<1>, "numCpus" | "numGpus" | "memoryBytes" | "resources">;

/** The resources of a step; undefined for one that has neither tasks nor actors. */
export function resourcesOf(plan: PhysicalPlan): StepResources | undefined {
  if (plan.kind !== "read" && plan.kind !== "map" && plan.kind !== "exchange") return undefined;
  const { name, chain, options } = plan;
  const [first] = chain;
  // Options of Python's definition stand below those of the step.
  const defined: Asked = first?.kind === "pythonBatches" ? first.code.options : {};
  if (plan.kind === "map" && plan.compute?.kind === "actors") {
    const { actorOptions, numCpus, min } = plan.compute;
    return { name, kind: "actor", amounts: amountsOf({ ...defined, ...actorOptions, numCpus }), min };
  }
  return { name, kind: "task", amounts: amountsOf({ ...defined, ...options }), min: 0 };
}

export function allResources(plan: PhysicalPlan): StepResources[] {
  const own = resourcesOf(plan);
  return [...physicalInputs(plan).flatMap(allResources), ...(own === undefined ? [] : [own])];
}

function amountsOf({ numCpus = 1, numGpus = 0, memoryBytes = 0, resources = {} }: Asked): Amounts {
  return { ...resources, CPU: numCpus, GPU: numGpus, memory: memoryBytes };
}

/** The most of each resource that a task of any step asks for. */
export function largestTask(steps: readonly StepResources[]): Amounts {
  const largest: Record<string, number> = {};
  for (const { kind, amounts } of steps)
    if (kind === "task") for (const [name, amount] of Object.entries(amounts)) largest[name] = Math.max(largest[name] ?? 0, amount);
  return largest;
}

/**
 * Refuses steps beyond the limits.
 *
 * @param limits - the pipeline's limits
 * @param from - describes the origin of a resource's limit
 * @throws RangeError where a task or an actor needs more, or where the fewest actors leave too little for a task
 */
export function refuseBeyond(limits: Amounts, steps: readonly StepResources[], from: (name: string) => string): void {
  for (const [resource, limit] of Object.entries(limits)) {
    const needs = ({ amounts }: StepResources): number => amounts[resource] ?? 0;
    for (const step of steps) {
      if (needs(step) > limit)
        throw new RangeError(
          `Cannot run ${step.name}: each of its ${step.kind}s needs ${needs(step)} of ${resource}, and ${from(resource)}: raise the limit, or let the step ask for less`,
        );
    }
    const { pools, held, largest, needed } = leastOf(resource, steps);
    if (needed <= limit) continue;
    const actors = pools.map((pool) => `${pool.name}: ${pool.min} of ${needs(pool)}`).join(", ");
    const beside =
      largest === undefined || needs(largest) === 0 ? "" : `, and a task of ${largest.name} needs ${needs(largest)} beside them`;
    throw new RangeError(
      `Cannot run ${(pools.at(-1) as StepResources).name}: the fewest actors of the pipeline hold ${rounded(held)} of ${resource} as long as it runs (${actors})${beside}, and ${from(resource)}: ` +
        `raise the limit to ${needed}, or let a step ask for less`,
    );
  }
}

/**
 * Returns limits, equal to the cluster's totals, for resources that several steps share and a paused task keeps, such as GPUs. Without them a task that pauses
 * because memory is full would keep its GPU from the step that frees memory. If the cluster has too little for the pipeline, nothing is refused, because the
 * cluster may grow.
 */
export function scarceLimits(steps: readonly StepResources[], totalOf: (name: string) => number): Amounts {
  const asked = new Map<string, number>();
  for (const { amounts } of steps)
    for (const [name, amount] of Object.entries(amounts)) if (amount > 0 && name !== "CPU") asked.set(name, (asked.get(name) ?? 0) + 1);
  const shared = [...asked].filter(([, count]) => count > 1).map(([name]) => name);
  return Object.fromEntries(shared.map((name) => [name, Math.max(totalOf(name), leastOf(name, steps).needed)]));
}

/** The least of a resource with which a pipeline comes to its end: the fewest actors of all pools, and beside them the largest task. */
function leastOf(resource: string, steps: readonly StepResources[]) {
  const needs = ({ amounts }: StepResources): number => amounts[resource] ?? 0;
  const pools = steps.filter((step) => step.kind === "actor" && needs(step) > 0);
  const held = pools.reduce((sum, pool) => sum + pool.min * needs(pool), 0);
  const largest = steps.filter(({ kind }) => kind === "task").toSorted((a, b) => needs(b) - needs(a))[0];
  return { pools, held, largest, needed: rounded(held + (largest === undefined ? 0 : needs(largest))) };
}

/** Without what sums of fractions add: 0.1 and 0.2 are 0.3. */
function rounded(amount: number): number {
  return Number(amount.toFixed(4));
}
