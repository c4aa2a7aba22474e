/** Chooses the distribution of an action space. */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import { MultiDiscrete } from "../spaces/multi-discrete.ts";
import type { Space } from "../spaces/space.ts";
import type { ActionDistribution } from "./action-distribution.ts";
import { DeterministicActions, SquashedActions } from "./bounded-actions.ts";
import { CategoricalActions } from "./categorical-actions.ts";
import { EpsilonGreedyActions } from "./epsilon-greedy-actions.ts";
import { GaussianActions } from "./gaussian-actions.ts";

/** How actions come of a network's numbers: drawn from a distribution, or by the value of each. A relaxed policy is deterministic for numbers, and draws choices. */
export type PolicyKind = "stochastic" | "values" | "squashed" | "deterministic" | "relaxed";

export interface ActionOptions {
  /** Default: `"stochastic"`. */
  readonly policyKind?: PolicyKind;
  readonly normalizeActions: boolean;
  readonly clipActions: boolean;
}

/** @throws TypeError for spaces of actions that no distribution covers */
export function actionDistribution(space: Space, { normalizeActions, clipActions, policyKind }: ActionOptions): ActionDistribution {
  if (policyKind === "values") {
    if (space instanceof Discrete) return new EpsilonGreedyActions(space);
    throw new TypeError(
      `Cannot choose actions by their values: the action space is Discrete: received ${describeValue(space.toJSON())}. Use SAC for a Box, PPO for MultiDiscrete`,
    );
  }
  if (policyKind === "deterministic" || (policyKind === "relaxed" && !(space instanceof Discrete))) return new DeterministicActions(space);
  if (policyKind === "squashed" && !(space instanceof Discrete)) return new SquashedActions(space);
  if (space instanceof Discrete || space instanceof MultiDiscrete) return new CategoricalActions(space);
  if (space instanceof Box) return new GaussianActions(space, { isNormalized: normalizeActions, isClipped: clipActions });
  throw new TypeError(
    `Cannot make a policy: the action space is Discrete, MultiDiscrete or Box: received ${describeValue(space.toJSON())}. Give the environment another action space`,
  );
}
