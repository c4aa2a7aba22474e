/**
 * `ResourceChangingScheduler`: another scheduler's decisions, and more resources for continuing trials while some are free.
 *
 * After a result with which the base scheduler lets a trial continue, an allocation function returns the trial's resources. If they differ,
 * the trial continues with them from a checkpoint that it saves on its way. All trials begin with equal resources.
 */
import { describeValue } from "../../core/internal.ts";
import type { Decision, SchedulerAction, SchedulerView, TrialScheduler } from "../scheduler.ts";
import type { Config, JsonValue, Mode, Trial, TrialBundle, TrialResources, TrialResult } from "../trials/trial.ts";
import { type AllocationFunction, distributeResources } from "./distribute-resources.ts";
import { FIFOScheduler } from "./fifo-scheduler.ts";

export interface ResourceChangingSchedulerOptions {
  /** Default: a `FIFOScheduler`. */
  baseScheduler?: TrialScheduler | undefined;
  /** Default: `distributeResources()`. */
  resourcesAllocationFunction?: AllocationFunction | undefined;
}

export class ResourceChangingScheduler implements TrialScheduler {
  readonly #base: TrialScheduler;
  readonly #allocate: AllocationFunction;
  #metric: string | undefined;
  #mode: Mode | undefined;
  /** Resources with which trials begin, taken from the first trial. */
  #resources: TrialResources | undefined;
  /** Trials whose resources were changed: a continued run adds them with their new ones. */
  readonly #changed = new Set<string>();

  /** @throws TypeError */
  constructor({
    baseScheduler = new FIFOScheduler(),
    resourcesAllocationFunction = distributeResources(),
  }: ResourceChangingSchedulerOptions = {}) {
    if (typeof resourcesAllocationFunction !== "function")
      throw new TypeError(
        `Cannot make a ResourceChangingScheduler: resourcesAllocationFunction is a function: received ${describeValue(resourcesAllocationFunction)}`,
      );
    this.#base = baseScheduler;
    this.#allocate = resourcesAllocationFunction;
  }

  setSearchProperties(metric: string | undefined, mode: Mode | undefined): void {
    this.#metric = metric;
    this.#mode = mode;
    this.#base.setSearchProperties(metric, mode);
  }

  onTrialAdd(trial: Trial, view: SchedulerView): Config | void {
    this.#resources ??= structuredClone(trial.resources);
    if (!this.#changed.has(trial.id) && !isSame(trial.resources, this.#resources))
      throw new RangeError(
        `Cannot add trial ${trial.id}: a ResourceChangingScheduler needs trials that begin with equal resources: received ${describeValue(trial.resources)}`,
      );
    return this.#base.onTrialAdd(trial, view);
  }

  onTrialResult(trial: Trial, result: TrialResult, view: SchedulerView): Decision {
    const decision = this.#base.onTrialResult(trial, result, view);
    if (
      decision !== "continue" &&
      (typeof decision === "string" || decision.verdict !== "continue" || decision.actions.some(concerns(trial)))
    )
      return decision;
    const base = this.#resources as TrialResources;
    const resources = this.#allocate({ trial, result, view, base, metric: this.#metric, mode: this.#mode });
    if (resources === undefined || isSame(resources, trial.resources)) return decision;
    this.#changed.add(trial.id);
    const actions = typeof decision === "string" ? [] : decision.actions;
    return { verdict: "continue", actions: [...actions, { type: "resources", trialId: trial.id, resources }] };
  }

  onTrialComplete(trial: Trial, result: TrialResult | undefined, view: SchedulerView): readonly SchedulerAction[] | void {
    return this.#base.onTrialComplete(trial, result, view);
  }

  onTrialError(trial: Trial, view: SchedulerView): readonly SchedulerAction[] | void {
    return this.#base.onTrialError(trial, view);
  }

  onTrialRemove(trial: Trial, view: SchedulerView): readonly SchedulerAction[] | void {
    return this.#base.onTrialRemove(trial, view);
  }

  chooseTrialToRun(view: SchedulerView): string | undefined {
    return this.#base.chooseTrialToRun(view);
  }

  onIdle(view: SchedulerView): readonly SchedulerAction[] | void {
    return this.#base.onIdle?.(view);
  }

  save(): JsonValue {
    return { base: this.#base.save(), resources: (this.#resources ?? null) as unknown as JsonValue, changed: [...this.#changed] };
  }

  restore(state: JsonValue): void {
    const saved = state as unknown as { base: JsonValue; resources: TrialResources | null; changed: string[] };
    this.#base.restore(saved.base);
    this.#resources = saved.resources === null ? undefined : structuredClone(saved.resources);
    this.#changed.clear();
    for (const trialId of saved.changed) this.#changed.add(trialId);
  }
}

/** Whether an action moves a trial already. */
function concerns({ id }: Trial): (action: SchedulerAction) => boolean {
  return ({ type, trialId }) => trialId === id && type !== "checkpoint";
}

/** Whether bundles hold the same amounts; an amount of 0 counts as absent. */
function isSame(first: TrialResources, second: TrialResources): boolean {
  const amounts = (bundle: TrialBundle) =>
    JSON.stringify(
      Object.entries(bundle)
        .filter(([, amount]) => amount > 0)
        .sort(([one], [other]) => (one < other ? -1 : 1)),
    );
  return (
    first.strategy === second.strategy &&
    first.bundles.length === second.bundles.length &&
    first.bundles.every((bundle, index) => amounts(bundle) === amounts(second.bundles[index] as TrialBundle))
  );
}
