/**
 * `getRuntimeContext()` tells code where it runs, and gives the abort signal of the task.
 *
 * The facts are plain data and travel as such, in results for instance. The signals belong to one task in one process: the task's signal is
 * made on request, and in a copy from elsewhere neither aborts.
 */
import { writtenRuntimeEnv } from "../../runtime/environment/runtime-env.ts";
import { parseLeaseSpec } from "../../runtime/scheduling/lease-spec.ts";
import { type TaskContext, taskContext } from "../../runtime/worker/tasks/task-context.ts";
import { requireRuntime } from "../current-runtime.ts";
import type { PreemptionInfo, RuntimeContext } from "../types/cluster-types.ts";

export type ContextFacts = Omit<RuntimeContext, "signal" | "preemptionSignal">;

export let factsOf: (value: object) => ContextFacts | undefined;

class ContextView {
  readonly #context: TaskContext | undefined;
  readonly #preemption: AbortSignal;
  readonly #facts: ContextFacts;

  static {
    factsOf = (value) => (#facts in value ? value.#facts : undefined);
  }

  constructor(facts: ContextFacts, context: TaskContext | undefined, preemption: AbortSignal = new AbortController().signal) {
    this.#preemption = preemption;
    this.#facts = facts;
    this.#context = context;
    Object.assign(this, facts);
  }

  get preemptionSignal(): AbortSignal {
    return this.#preemption;
  }

  get signal(): AbortSignal {
    return this.#context === undefined ? new AbortController().signal : this.#context.cancellation.signal;
  }
}

/** A copy of the facts of another place. */
export function contextFrom(facts: ContextFacts): RuntimeContext {
  return new ContextView(facts, undefined) as ContextView & ContextFacts;
}

export function currentContext(): RuntimeContext {
  const { options, environments, preemption } = requireRuntime();
  const { jobId, nodeId, processId, namespace, labels } = options;
  const context = taskContext.current;
  const facts: ContextFacts = {
    jobId,
    nodeId,
    workerId: processId,
    namespace,
    taskId: context === undefined || context.callId === 0 ? undefined : context.taskId(jobId),
    taskName: context?.name,
    actorId: context?.place.actor,
    actorName: context?.place.actorName,
    assignedResources: context?.place.resources ?? {},
    acceleratorIds: context?.place.accelerators ?? {},
    nodeLabels: labels,
    placementGroupId: context === undefined ? undefined : parseLeaseSpec(context.place.shape).bundle?.group,
    runtimeEnv: writtenRuntimeEnv(environments.inherited),
    wasCurrentActorReconstructed: (context?.place.incarnation ?? 0) > 0,
    preemption: preemption.info,
  };
  return new ContextView(facts, context, preemption.signal) as ContextView & ContextFacts;
}

/**
 * Follows the notices of a drain of this process's node: the present one and each later one, as a node may be drained again with another
 * deadline. @returns ends that
 */
export function followPreemption(tell: (notice: PreemptionInfo) => void): () => void {
  return requireRuntime().preemption.follow(tell);
}
