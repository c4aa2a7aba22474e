/**
 * How free resources are given to running trials: `distributeResources` shares them evenly, `distributeResourcesToTopJob` gives them to the best.
 *
 * Both are functions for `ResourceChangingScheduler`. A trial never has less than at its beginning, and gives resources back when the
 * others need more than there are. Resources grow by a unit: `increaseBy`, else one GPU if trials have GPUs, else one CPU. The sums are
 * those of Ray's classes of these names.
 */
import { count, custom, flag, isPlainObject, readOptions } from "../../core/internal.ts";
import type { SchedulerView } from "../scheduler.ts";
import { oneMetric } from "../options/shared-options.ts";
import type { Mode, Trial, TrialBundle, TrialResources, TrialResult } from "../trials/trial.ts";

/** Argument of an allocation function. */
export interface AllocationRequest {
  readonly trial: Trial;
  readonly result: TrialResult;
  readonly view: SchedulerView;
  /** Resources with which trials begin. */
  readonly base: TrialResources;
  /** The metric and mode of the run. */
  readonly metric: string | undefined;
  readonly mode: Mode | undefined;
}

/** Returns new resources for a trial that has reported, or undefined for no change. */
export type AllocationFunction = (request: AllocationRequest) => TrialResources | undefined;

export interface DistributeResourcesOptions {
  /** Whether a trial gets more bundles; otherwise its only bundle grows. Default: false. */
  addBundles?: boolean;
  /** The unit by which a trial grows. */
  increaseBy?: TrialBundle | undefined;
  /** How many units a trial gets at most; -1 is without end. Default: -1. */
  increaseByTimes?: number;
  /** Resources of the cluster that no trial gets. */
  reserveResources?: TrialBundle | undefined;
}

export interface DistributeResourcesToTopJobOptions extends DistributeResourcesOptions {
  /** Default: the metric of the run. */
  metric?: string | undefined;
  mode?: Mode | undefined;
}

const bundle = custom<TrialBundle | undefined>("an object of amounts is needed", undefined, (value) =>
  isPlainObject(value) && Object.values(value).every((amount) => typeof amount === "number" && amount >= 0) ? "ok" : "wrong type",
);

const OPTIONS = { addBundles: flag(false), increaseBy: bundle, increaseByTimes: count({ min: -1 }, -1), reserveResources: bundle };

type Settings = Readonly<Required<Pick<DistributeResourcesOptions, "addBundles" | "increaseByTimes">>> &
  Readonly<Pick<DistributeResourcesOptions, "increaseBy" | "reserveResources">>;

/** CPUs and GPUs. */
interface Amount {
  readonly CPU: number;
  readonly GPU: number;
}

const NOTHING: Amount = { CPU: 0, GPU: 0 };

/** Shares free CPUs and GPUs evenly among running trials. @throws TypeError, RangeError */
export function distributeResources(options: DistributeResourcesOptions = {}): AllocationFunction {
  const settings = readOptions(options, { of: "distributeResources", options: OPTIONS });
  return (request) => allocate(settings, request, (sizes, unit) => evenShare(settings, sizes, unit));
}

/** Gives all free CPUs and GPUs to the best of the trials that have not got all that they may. @throws TypeError, RangeError */
export function distributeResourcesToTopJob(options: DistributeResourcesToTopJobOptions = {}): AllocationFunction {
  const { metric, mode, ...settings } = readOptions(options, { of: "distributeResourcesToTopJob", options: { ...OPTIONS, ...oneMetric } });
  return (request) =>
    allocate(settings, request, (sizes, unit) => {
      const best = bestTrial({ settings, sizes, metric: metric ?? request.metric, mode: mode ?? request.mode }, request.view);
      const keeps = request.trial.id !== best.id && unitsIn(unit, sizes.free) >= 0;
      return keeps ? sizes.added : resized(settings, { bundles: sizes.added, unit, free: sizes.free });
    });
}

interface Sizes {
  readonly free: Amount;
  readonly total: Amount;
  readonly base: readonly TrialBundle[];
  /** Bundles that the trial has beyond `base`. */
  readonly added: readonly TrialBundle[];
  readonly trialCount: number;
}

function allocate(
  settings: Settings,
  { trial, result, view, base }: AllocationRequest,
  addedFor: (sizes: Sizes, unit: Amount) => readonly TrialBundle[],
): TrialResources | undefined {
  if (!settings.addBundles && base.bundles.length > 1)
    throw new RangeError(
      `Cannot distribute resources: trials of ${base.bundles.length} bundles grow by more of them: set addBundles: true`,
    );
  if (result.trainingIteration < 1) return undefined;
  const reserved = amountOf(settings.reserveResources ?? {});
  const total = {
    CPU: (view.clusterResources["CPU"] ?? 0) - reserved.CPU,
    GPU: (view.clusterResources["GPU"] ?? 0) - reserved.GPU,
  };
  const trials = [...view.liveTrials.values()];
  const used = trials.map(({ resources }) => sumOf(resources.bundles)).reduce(plus, NOTHING);
  const unit = amountOf(
    settings.increaseBy ??
      (settings.addBundles ? (base.bundles.at(-1) as TrialBundle) : sumOf(base.bundles).GPU > 0 ? { GPU: 1 } : { CPU: 1 }),
  );
  const sizes: Sizes = {
    free: { CPU: total.CPU - used.CPU, GPU: total.GPU - used.GPU },
    total,
    base: base.bundles,
    added: addedTo(settings, trial.resources.bundles, base.bundles),
    trialCount: trials.length,
  };
  return { bundles: joined(settings, { first: base.bundles, second: addedFor(sizes, unit), unit, unitsMax: -1 }), strategy: base.strategy };
}

/** As many units for this trial as each has when all that is left after the base of all trials is dealt in turn. */
function evenShare(settings: Settings, { free, total, base, added, trialCount }: Sizes, unit: Amount): readonly TrialBundle[] {
  const perTrial = sumOf(base);
  let rest: Amount = { CPU: total.CPU - perTrial.CPU * trialCount, GPU: total.GPU - perTrial.GPU * trialCount };
  const dealt: (readonly TrialBundle[])[] = Array.from({ length: trialCount }, () => []);
  const full = new Set<number>();
  let share = 0;
  for (let turn = 0; full.size < trialCount && rest.CPU >= unit.CPU && rest.GPU >= unit.GPU; turn += 1) {
    const index = turn % trialCount;
    const before = dealt[index] as readonly TrialBundle[];
    const after = resized(settings, { bundles: before, unit, free: rest, stepMax: 1 });
    dealt[index] = after;
    const gained = minus(sumOf(after), sumOf(before));
    if (gained.CPU === 0 && gained.GPU === 0) full.add(index);
    else if (index === 0) share += 1;
    rest = minus(rest, gained);
  }
  return resized(settings, { bundles: added, unit, free, unitsMax: share });
}

interface Resize {
  readonly bundles: readonly TrialBundle[];
  readonly unit: Amount;
  readonly free: Amount;
  /** Units that may be added at once. */
  readonly stepMax?: number;
  /** Units that the trial may have then. */
  readonly unitsMax?: number;
}

/** Bundles that have grown by the units that are free, or have shrunk where less than nothing is. */
function resized(settings: Settings, { bundles, unit, free, stepMax = -1, unitsMax = -1 }: Resize): readonly TrialBundle[] {
  const wanted = unitsIn(unit, free);
  const units = stepMax > 0 && wanted > 0 ? Math.min(stepMax, wanted) : wanted;
  if (units === 0) return bundles;
  if (units < 0) {
    if (settings.addBundles) return bundles.slice(0, units);
    const { CPU, GPU } = sumOf(bundles.slice(0, 1));
    return [{ CPU: Math.max(0, CPU + unit.CPU * units), GPU: Math.max(0, GPU + unit.GPU * units) }];
  }
  const more = settings.addBundles
    ? Array.from({ length: units }, (): TrialBundle => ({ ...unit }))
    : [{ CPU: unit.CPU * units, GPU: unit.GPU * units }];
  const own = settings.increaseByTimes;
  const limit = own > 0 ? (unitsMax > 0 ? Math.min(unitsMax, own) : own) : unitsMax;
  return joined(settings, { first: bundles, second: more, unit, unitsMax: limit });
}

function joined(
  { addBundles }: Settings,
  { first, second, unit, unitsMax }: { first: readonly TrialBundle[]; second: readonly TrialBundle[]; unit: Amount; unitsMax: number },
): readonly TrialBundle[] {
  if (addBundles) {
    const all = [...first, ...second].filter((each) => (each["CPU"] ?? 0) > 0 || (each["GPU"] ?? 0) > 0);
    return unitsMax > 0 ? all.slice(0, unitsMax) : all;
  }
  const sum = plus(sumOf(first.slice(0, 1)), sumOf(second.slice(0, 1)));
  const most =
    unitsMax > 0
      ? { CPU: unit.CPU * unitsMax, GPU: unit.GPU * unitsMax }
      : { CPU: Number.POSITIVE_INFINITY, GPU: Number.POSITIVE_INFINITY };
  const others = Object.fromEntries(Object.entries(first[0] ?? {}).filter(([name]) => name !== "CPU" && name !== "GPU"));
  return [{ ...others, CPU: Math.min(sum.CPU, most.CPU), GPU: Math.min(sum.GPU, most.GPU) }];
}

function addedTo({ addBundles }: Settings, bundles: readonly TrialBundle[], base: readonly TrialBundle[]): readonly TrialBundle[] {
  return addBundles ? bundles.slice(base.length) : [{ ...minus(sumOf(bundles.slice(0, 1)), sumOf(base.slice(0, 1))) }];
}

function bestTrial(
  { settings, sizes, metric, mode }: { settings: Settings; sizes: Sizes; metric: string | undefined; mode: Mode | undefined },
  { liveTrials }: SchedulerView,
): Trial {
  if (metric === undefined || mode === undefined)
    throw new TypeError("Cannot distribute resources to the top job: it needs a metric and a mode: set them here or in tuneConfig");
  const sign = mode === "max" ? 1 : -1;
  const key = ({ lastResult }: Trial) => -sign * (typeof lastResult?.[metric] === "number" ? lastResult[metric] : Number.POSITIVE_INFINITY);
  const ranked = [...liveTrials.values()].sort((first, second) => key(first) - key(second) || 0);
  const unit = amountOf(settings.increaseBy ?? {});
  const times = settings.increaseByTimes > 0 ? settings.increaseByTimes : Number.POSITIVE_INFINITY;
  const most = times === Number.POSITIVE_INFINITY ? { CPU: times, GPU: times } : { CPU: unit.CPU * times, GPU: unit.GPU * times };
  const hasRoom = ({ resources }: Trial) => {
    const added = sumOf(addedTo(settings, resources.bundles, sizes.base));
    return added.CPU < most.CPU || added.GPU < most.GPU;
  };
  return ranked.find(hasRoom) ?? (ranked[0] as Trial);
}

/** How many units there are in an amount; below 0 where it is. */
function unitsIn(unit: Amount, free: Amount): number {
  if (unit.CPU > 0 && unit.GPU > 0) return Math.min(Math.floor(free.CPU / unit.CPU), Math.floor(free.GPU / unit.GPU));
  return unit.GPU > 0 ? Math.floor(free.GPU / unit.GPU) : Math.floor(free.CPU / unit.CPU);
}

function amountOf(given: TrialBundle): Amount {
  return { CPU: given["CPU"] ?? 0, GPU: given["GPU"] ?? 0 };
}

function sumOf(bundles: readonly TrialBundle[]): Amount {
  return bundles.map(amountOf).reduce(plus, NOTHING);
}

function plus(first: Amount, second: Amount): Amount {
  return { CPU: first.CPU + second.CPU, GPU: first.GPU + second.GPU };
}

function minus(first: Amount, second: Amount): Amount {
  return { CPU: first.CPU - second.CPU, GPU: first.GPU - second.GPU };
}
