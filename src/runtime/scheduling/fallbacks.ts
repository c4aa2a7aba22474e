/**
 * The label selectors of a lease in order: the wanted one, then its fallbacks.
 *
 * As in Ray, a lease takes a selector if a matching node has room now. Without room for any selector, the lease waits for the first one that gets room. It is
 * infeasible only if no node matches any selector. Pure. The head's policies, a node's own leases, and explanations of waits use it.
 */
import { type Labels, matchesLabels } from "./label-selector.ts";
import { leaseKey, type LeasePlace, type LeaseSpec } from "./lease-spec.ts";

type Selectors = Pick<LeasePlace, "labels" | "fallbacks">;

/** The selectors, the first first; undefined is one that every node meets. */
export function selectorsOf({ labels, fallbacks }: Selectors): readonly (Labels | undefined)[] {
  return fallbacks === undefined ? [labels] : [labels, ...fallbacks];
}

export function meetsAnySelector(spec: Selectors, labels: Labels): boolean {
  return selectorsOf(spec).some((selector) => matchesLabels(selector, labels));
}

/** Whether a node is good enough for a lease only where no other has room. */
export function isFallbackNode(spec: Selectors, labels: Labels): boolean {
  return spec.fallbacks !== undefined && !matchesLabels(spec.labels, labels) && meetsAnySelector(spec, labels);
}

/** The keys of leases with one selector each, in their order; undefined where there is nothing to fall back on. */
export function alternativeKeys(spec: LeaseSpec): string[] | undefined {
  if (spec.fallbacks === undefined) return undefined;
  return selectorsOf(spec).map((labels) => leaseKey(spec.resources, { ...spec, labels, fallbacks: undefined }));
}

/** "whose label region is eu and zone is a", to be read after "a node". */
export function selectorText(selector: Labels | undefined): string {
  const conditions = Object.entries(selector ?? {}).map(([key, condition]) => `${key} is ${condition}`);
  return conditions.length === 0 ? "with any labels" : `whose label ${conditions.join(" and ")}`;
}

/** All of them: "whose label region is eu, or else whose label region is us". */
export function selectorsText(spec: Selectors): string {
  return selectorsOf(spec).map(selectorText).join(", or else ");
}
