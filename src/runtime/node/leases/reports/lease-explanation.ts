/**
 * Explains why a demand waits on a node: the answer to `why`, before names are added.
 *
 * A demand inside a pending placement group waits for the group's own resources. Pure; the lease manager brings the facts, and `lease-report.ts` makes the text.
 * The answer names holders by ids.
 */
import type { LeaseSpec } from "../../../scheduling/lease-spec.ts";
import type { ResourcePool } from "../../../scheduling/resource-pool.ts";
import type { LeaseExplanation } from "../lease-events.ts";
import { holdersOf, type NodeHolders } from "../resources/lease-holders.ts";
import { type NodeFacts, obstacleOf, refusalOf } from "../demands/lease-obstacles.ts";

interface ExplanationSources {
  readonly facts: NodeFacts;
  readonly holders: NodeHolders;
  /** Where its resources come from; undefined while its placement group is not there. */
  readonly pools: readonly ResourcePool[] | undefined;
  readonly workersStarting: number;
  /** Whether other nodes may hold a demand that is too large for this one: only the head knows demands that no node can hold. */
  readonly isClustered: boolean;
}

export function explainLease(
  spec: LeaseSpec,
  { facts, holders, pools, workersStarting, isClustered }: ExplanationSources,
): LeaseExplanation {
  const pendingGroup = pools === undefined ? spec.bundle?.group : undefined;
  const waiting = facts.groups.waiting.find(({ group }) => group === pendingGroup);
  // A pending group waits for resources of the node itself.
  const [wanted, from] = pools === undefined ? [waiting?.sum, [facts.pool]] : [spec.resources, pools];
  const fits = wanted === undefined || from.some((pool) => pool.fits(wanted));
  const lacking = fits ? [] : (from[0] as ResourcePool).lacking(wanted);
  const names = lacking.map(({ name }) => name);
  return {
    refusal: isClustered ? undefined : refusalOf(spec, facts),
    obstacle: isClustered ? undefined : obstacleOf(spec, facts),
    pendingGroup,
    lacking,
    holders: holdersOf(names, from, holders),
    workersStarting,
  };
}
