/**
 * Options of the actor of a replica that is in no placement group: spread over the nodes, and on none that has as many replicas of the deployment as it may.
 *
 * Pure. Called by `replica-starter.ts`; which nodes are full is known by `deployment-state.ts`.
 */
import type { FallbackOption, LabelSelector } from "../../../core/index.ts";
import { NODE_ID_LABEL } from "../../../core/internal.ts";

/** Conditions on labels that the options of an actor have. */
interface Labelled {
  readonly labelSelector?: LabelSelector | undefined;
  readonly fallbackStrategy?: readonly FallbackOption[] | undefined;
}

export function spreadOptions(actorOptions: Readonly<Record<string, unknown>>, fullNodes: readonly string[]): object {
  const options = { ...actorOptions, schedulingStrategy: "spread" };
  if (fullNodes.length === 0) return options;
  const { labelSelector, fallbackStrategy } = actorOptions as Labelled;
  const apart = (selector: LabelSelector | undefined): LabelSelector => ({ ...selector, [NODE_ID_LABEL]: `!in(${fullNodes.join(",")})` });
  return {
    ...options,
    labelSelector: apart(labelSelector),
    // A fallback takes the place of the selector, and would let a full node in.
    ...(fallbackStrategy !== undefined && {
      fallbackStrategy: fallbackStrategy.map((fallback) => ({ ...fallback, labelSelector: apart(fallback.labelSelector) })),
    }),
  };
}
