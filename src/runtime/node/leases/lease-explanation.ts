/**
 * What a demand waits for on a node: the answer to `why`, before names are put to it.
 *
 * A demand inside a placement group that is not there yet waits for what the group waits for. Pure; the lease manager brings what it knows, and
 * `lease-report.ts` makes text of it.
 */
import type { LeaseSpec } from "../../scheduling/lease-spec.ts";
import type { ResourcePool } from "../../scheduling/resource-pool.ts";
import type { LeaseExplanation } from "./lease-events.ts";
import { holdersOf, type NodeHolders } from "./lease-holders.ts";
import { type NodeFacts, obstacleOf, refusalOf } from "./lease-obstacles.ts";

interface ExplanationSources {
  readonly facts: NodeFacts;
  readonly holders: NodeHolders;
  /** Where its resources come from; undefined while its placement group is not there. */
  readonly pools: readonly ResourcePool[] | undefined;
  readonly workersStarting: number;
  /** What this node cannot hold may be held by another: only the head knows what none can. */
  readonly isClustered: boolean;
}

export function explainLease(
  spec: LeaseSpec,
  { facts, holders, pools, workersStarting, isClustered }: ExplanationSources,
): LeaseExplanation {
  const pendingGroup = pools === undefined ? spec.bundle?.group : undefined;
  const waiting = facts.groups.waiting.find(({ group }) => group === pendingGroup);
  // What a pending group waits for, it waits for on the node.
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
