/**
 * The label selectors of a lease in their order: the one that it asks for, and those that it falls back on.
 *
 * As in Ray, a selector is taken when a node that meets it has room now; where none has for any, it waits for the first that comes, and it can never run
 * only where no node meets any. Pure. Used by the policies of the head, by a node for its own leases, and where people are told what a lease waits for.
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
