/** `createScheduler`: a scheduler by its name in Ray, for `tuneConfig.scheduler` and for runs that are restored. */
import { describeValue } from "../../core/internal.ts";
import type { TrialScheduler } from "../scheduler.ts";
import { ASHAScheduler } from "./asha-scheduler.ts";
import { FIFOScheduler } from "./fifo-scheduler.ts";
import { HyperBandForBOHB } from "./hyperband/hyperband-for-bohb.ts";
import { HyperBandScheduler } from "./hyperband/hyperband-scheduler.ts";
import { MedianStoppingRule } from "./median-stopping-rule.ts";
import { PB2 } from "./population/pb2.ts";
import { PopulationBasedTraining } from "./population/population-based-training.ts";
import { PopulationBasedTrainingReplay } from "./population/population-based-training-replay.ts";
import { ResourceChangingScheduler } from "./resource-changing-scheduler.ts";

type Options = Record<string, unknown>;

const SCHEDULERS = {
  fifo: () => new FIFOScheduler(),
  async_hyperband: (options: Options) => new ASHAScheduler(options),
  asynchyperband: (options: Options) => new ASHAScheduler(options),
  asha: (options: Options) => new ASHAScheduler(options),
  median_stopping_rule: (options: Options) => new MedianStoppingRule(options),
  medianstopping: (options: Options) => new MedianStoppingRule(options),
  hyperband: (options: Options) => new HyperBandScheduler(options),
  hb_bohb: (options: Options) => new HyperBandForBOHB(options),
  pbt: (options: Options) => new PopulationBasedTraining(options),
  pbt_replay: (options: Options) => new PopulationBasedTrainingReplay(options as unknown as { policy: string }),
  pb2: (options: Options) => new PB2(options as unknown as ConstructorParameters<typeof PB2>[0]),
  resource_changing: (options: Options) => new ResourceChangingScheduler(options),
} as const;

/** Names of schedulers. */
export type SchedulerName = keyof typeof SCHEDULERS;

/**
 * Makes a scheduler by name.
 *
 * @example
 * ```ts
 * const scheduler = createScheduler("asha", { maxT: 20 });
 * ```
 * @throws RangeError for an unknown name; errors of the scheduler's constructor for options
 */
export function createScheduler(name: SchedulerName | (string & {}), options: Readonly<Record<string, unknown>> = {}): TrialScheduler {
  const make = Object.hasOwn(SCHEDULERS, name.toLowerCase()) ? SCHEDULERS[name.toLowerCase() as SchedulerName] : undefined;
  if (make === undefined)
    throw new RangeError(`Cannot create a scheduler: there are ${Object.keys(SCHEDULERS).join(", ")}: received ${describeValue(name)}`);
  return make(options);
}
