/** Bundles of resources for each trial: the first is for the trial itself, the others for the processes that it starts. */
import { describeValue } from "../../core/internal.ts";
import type { PlacementStrategy } from "../../core/index.ts";
import type { TrialBundle } from "../trials/trial.ts";

const STRATEGIES: readonly PlacementStrategy[] = ["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"];

/**
 * Several bundles for each trial. Tasks and actors that the trial starts run in the bundles unless they say otherwise.
 *
 * @example
 * withResources(train, new PlacementGroupFactory([{ CPU: 1 }, { CPU: 2 }, { CPU: 2 }], "SPREAD"));
 */
export class PlacementGroupFactory {
  readonly bundles: readonly TrialBundle[];
  readonly strategy: PlacementStrategy;

  /** @throws TypeError, RangeError for bundles that are none */
  constructor(bundles: readonly TrialBundle[], strategy: PlacementStrategy = "PACK") {
    if (!Array.isArray(bundles) || bundles.length === 0)
      throw new TypeError(`Cannot make bundles: a list such as [{ CPU: 1 }, { CPU: 2 }] is needed: received ${describeValue(bundles)}`);
    if (!STRATEGIES.includes(strategy))
      throw new RangeError(`Cannot make bundles: the strategy is ${STRATEGIES.join(", ")}: received ${describeValue(strategy)}`);
    for (const [i, bundle] of bundles.entries())
      for (const [name, amount] of Object.entries(bundle))
        if (typeof amount !== "number" || !(amount >= 0))
          throw new RangeError(`Cannot make bundles: ${name} of bundle ${i} must be a number from 0: received ${describeValue(amount)}`);
    this.bundles = bundles.map((bundle: TrialBundle) => ({ ...bundle }));
    this.strategy = strategy;
  }
}
